"""Sparse records: trained on as they are, to the model of the same records with all their cells."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_array, csr_matrix, random_array
from sklearn.base import clone

import tacit
from tacit.errors import LocalError
from tacit.inspect import permutation_importance

LINEAR, RBF = {"kernel": "linear"}, {"kernel": "rbf", "landmarks": 12}
MAPS = {
    "linear": LINEAR,
    "rbf": RBF,
    "joint": {**RBF, "landmark_source": "joint"},
    "fourier": {"kernel": "rbf", "landmarks": 30, "landmark_source": "fourier"},
    "poly": {"kernel": "poly", "landmarks": 12, "degree": 2, "coef0": 1.0},
    "witness": {**RBF, "witness": True},
}


def make_records(rows=600, columns=40, density=0.1, seed=0):
    """Return sparse records of normal values, in which nothing is tied, and their classes."""
    draw = np.random.default_rng(seed)
    X = csr_array(
        random_array((rows, columns), density=density, rng=draw, data_sampler=lambda size: draw.normal(size=size))
    )
    return X, np.where(X @ draw.normal(size=columns) + 0.1 * draw.normal(size=rows) > 0, "ill", "well")


X, Y = make_records()


def simulate(cells, **options):
    return tacit.simulate(cells, Y, parties=4, seed=0, **options)


def sent(cells, params):
    """Return every message of a training: its place in the text, from whom to whom, what it tells, and its size."""
    federation = simulate(cells)
    rows = federation.run(tacit.PanSVC(**params, random_state=0).request(federation)).ledger.rows
    sizes = [None if row.type == "Kept" else (row.shapes, row.bytes) for row in rows]  # slots are drawn in secret
    told = [(row.place, row.sender, row.receiver, row.type, row.tells) for row in rows]
    return list(zip(told, sizes, strict=True))


@pytest.mark.parametrize("params", MAPS.values(), ids=MAPS)
def test_the_model_is_that_of_the_dense_records(params):
    sparse, dense = (tacit.PanSVC(**params, random_state=0).fit(simulate(cells)) for cells in (X, X.toarray()))
    assert sparse.n_iter_ == dense.n_iter_
    assert np.allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("params", [LINEAR, RBF], ids=["linear", "rbf"])
@pytest.mark.filterwarnings("ignore:class rare has 3 records")
def test_records_that_take_no_part_are_left_out_of_sparse_ones_too(params):
    y = np.where(np.arange(len(Y)) < 3, "rare", Y)  # too few for a group anywhere
    sparse, dense = (
        tacit.PanSVC(**params, random_state=0).fit(tacit.simulate(cells, y, parties=4, seed=0))
        for cells in (X, X.toarray())
    )
    assert np.allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("params", [LINEAR, RBF], ids=["linear", "rbf"])
def test_what_is_sent_and_told_is_that_of_dense_records(params):
    assert sent(X, params) == sent(X.toarray(), params)


def test_no_message_is_larger_where_more_cells_are_not_0():
    few, many = (make_records(density=density)[0] for density in (0.02, 0.5))
    assert many.nnz > 20 * few.nnz
    assert sent(few, {**LINEAR, "max_rounds": 2}) == sent(many, {**LINEAR, "max_rounds": 2})


def test_plain_sparse_records_of_any_layout_are_taken():
    models = [tacit.PanSVC(kernel="linear", random_state=0).fit(kind(X), Y) for kind in (csr_matrix, coo_matrix)]
    values = [model.decision_function(kind(X)) for model, kind in zip(models, (coo_matrix, csr_matrix), strict=True)]
    assert np.array_equal(*values)
    assert models[0].score(X, Y) > 0.9
    assert models[0].predict(X[:5]).tolist() == models[0].predict(X.toarray()[:5]).tolist()


def test_the_same_cell_twice_is_their_sum_and_no_cell_is_kept_that_is_0():
    twice = coo_matrix(([1.0, 2.0, 0.0, 5.0], ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 3))
    part = tacit.simulate(twice, [0, 1, 1], parties=1).parts["party-1"]
    assert part.X.values.tolist() == [3.0, 5.0]
    assert part.X.toarray().tolist() == twice.toarray().tolist()
    assert not part.X.values.flags.writeable


def test_a_search_splits_and_evaluates_sparse_federations():
    found = []
    for cells in (X, X.toarray()):
        train, test = tacit.train_test_split(simulate(cells), test_size=0.3, random_state=0)
        search = tacit.FederatedGridSearch(tacit.PanSVC(kernel="linear", random_state=0), {"C": [0.1, 1.0]}, cv=2).fit(
            train
        )
        assert train.sparse == test.sparse == (cells is X)
        found.append(
            (search.best_params_["C"], search.best_score_, search.score(test), tacit.evaluate(search, test).score)
        )
    assert found[0] == pytest.approx(found[1])


def test_probabilities_are_those_of_dense_records():
    svm = tacit.PanSVC(kernel="linear", probability=True, random_state=0)
    models = (clone(svm).fit(simulate(cells)) for cells in (X, X.toarray()))
    assert np.allclose(*(model.predict_proba(X) for model in models), atol=1e-9)


def test_columns_are_scaled_and_centred_and_stay_sparse():
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.PanSVC(**RBF))]
    dense = (
        tacit.Pipeline([(name, clone(step)) for name, step in steps])
        .fit(simulate(X.toarray()))
        .decision_function(X.toarray())
    )
    sparse = tacit.Pipeline([(name, clone(step)) for name, step in steps]).fit(simulate(X))
    assert sparse[0].transform(simulate(X)).sparse
    assert np.allclose(sparse.decision_function(X), dense, rtol=0, atol=1e-9)


def test_a_pipeline_takes_plain_sparse_records():
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.PanSVC(**LINEAR))]).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_no_step_writes_down_all_cells():
    rows, columns, kept = 2000, 10_000, 10  # 160 MB with all their cells
    draw = np.random.default_rng(0)
    cells = (
        draw.normal(size=rows * kept),
        draw.integers(columns, size=rows * kept),
        np.arange(0, rows * kept + 1, kept),
    )
    wide = csr_array(cells, shape=(rows, columns))
    y = wide @ draw.normal(size=columns) > 0
    for params in (LINEAR, {**RBF, "landmarks": 4}):
        tracemalloc.start()
        try:
            federation = tacit.simulate(wide, y, parties=4)
            model = tacit.PanSVC(**params, max_rounds=2).fit(federation)
            model.score(federation)
            assert tracemalloc.get_traced_memory()[1] < 50e6
        finally:
            tracemalloc.stop()


def refuse(what):
    with pytest.raises((LocalError, TypeError), match=r"[Ss]parse data was passed") as caught:
        what()
    text = str(caught.value)
    assert "toarray()" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "what",
    [
        lambda: tacit.GramSVC().fit(X, Y),
        lambda: tacit.SecureELMClassifier().fit(X, Y),
        lambda: tacit.ConsensusSVC(kernel="linear").fit(X, Y),
        lambda: tacit.FederatedImputer().fit(X),
        lambda: tacit.FederatedScaler(method="robust").fit(X),
        lambda: tacit.PanSVC(epsilon=1.0, kernel="linear").fit(X, Y),
        lambda: tacit.simulate(X, Y, parties=3, partition="vertical"),
        lambda: tacit.Federation.from_parts([X, X.toarray()], partition="arbitrary"),
        lambda: tacit.GramSVC().fit(simulate(X)),
        lambda: tacit.SecureELMClassifier(random_state=0).fit(simulate(X)),
        lambda: tacit.ConsensusSVC(kernel="linear").fit(simulate(X)),
        lambda: tacit.FederatedImputer().fit(simulate(X)),
        lambda: tacit.FederatedScaler(method="robust").fit(simulate(X)),
        lambda: tacit.PanSVC(epsilon=1.0, kernel="linear").fit(simulate(X)),
        lambda: tacit.PanSVC(device="cuda").fit(simulate(X)),
        lambda: simulate(X).describe(),
        lambda: tacit.SecureELMClassifier(random_state=0).fit(simulate(X.toarray())).predict(simulate(X)),
        lambda: tacit.PanSVC(kernel="linear").fit(simulate(X)).release_check(simulate(X)),
        lambda: permutation_importance(tacit.PanSVC(kernel="linear").fit(simulate(X)), simulate(X)),
        lambda: tacit.FederatedImputer().fit(simulate(X.toarray())).transform(simulate(X)),
    ],
)
def test_who_needs_all_cells_says_so_in_one_line(what):
    refuse(what)


def test_a_cell_that_is_no_number_is_refused_by_its_place():
    bad = csr_array(([1.0, np.nan], ([0, 2], [0, 3])), shape=X.shape)
    with pytest.raises(LocalError, match=r"Input X contains NaN or infinity: column 'x3' of X has a value in row 3"):
        simulate(bad)


def test_the_centralised_learner_is_compared_on_sparse_records_too():
    model = tacit.PanSVC(kernel="linear").fit(simulate(X), compare=True)
    dense = tacit.PanSVC(kernel="linear").fit(simulate(X.toarray()), compare=True)
    accuracy = "accuracy of the reference on them"
    assert model.report_.comparison[accuracy] == dense.report_.comparison[accuracy]
