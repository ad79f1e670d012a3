"""Sparse records: trained on as they are, to the model of the same records with all their cells."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_array, csr_matrix, random_array
from sklearn.base import clone

import tacit
from tacit.errors import LocalError
from tacit.inspect import permutation_importance

LINEAR, RBF = {"kernel": "linear"}, {"kernel": "rbf", "features": 12}
MAPS = {
    "linear": LINEAR,
    "rbf": RBF,
    "poly": {"kernel": "poly", "features": 12, "degree": 2, "coef0": 1.0},
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
    rows = federation.run(tacit.SVC(**params, random_state=0).request(federation)).ledger.rows
    sizes = [None if row.type == "Kept" else (row.shapes, row.bytes) for row in rows]  # slots are drawn in secret
    told = [(row.place, row.sender, row.receiver, row.type, row.tells) for row in rows]
    return list(zip(told, sizes, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("params", MAPS.values(), ids=MAPS)
def test_the_model_is_that_of_the_dense_records(params):
    sparse, dense = (tacit.SVC(**params, random_state=0).fit(simulate(cells)) for cells in (X, X.toarray()))
    assert np.allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("params", [LINEAR, RBF], ids=["linear", "rbf"])
@pytest.mark.filterwarnings("ignore:class rare has 3 records")
def test_records_that_take_no_part_are_left_out_of_sparse_ones_too(params):
    y = np.where(np.arange(len(Y)) < 3, "rare", Y)  # too few for a group anywhere
    sparse, dense = (
        tacit.SVC(**params, random_state=0).fit(tacit.simulate(cells, y, parties=4, seed=0))
        for cells in (X, X.toarray())
    )
    assert np.allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("params", [LINEAR, RBF], ids=["linear", "rbf"])
def test_what_is_sent_and_told_is_that_of_dense_records(params):
    assert sent(X, params) == sent(X.toarray(), params)


def test_no_message_is_larger_where_more_cells_are_not_0():
    few, many = (make_records(density=density)[0] for density in (0.02, 0.5))
    assert many.nnz > 20 * few.nnz
    assert sent(few, LINEAR) == sent(many, LINEAR)


def test_plain_sparse_records_of_any_layout_are_taken():
    models = [tacit.SVC(kernel="linear", random_state=0).fit(kind(X), Y) for kind in (csr_matrix, coo_matrix)]
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


def test_probabilities_are_those_of_dense_records():
    svm = tacit.SVC(kernel="linear", probability=True, random_state=0)
    models = (clone(svm).fit(simulate(cells)) for cells in (X, X.toarray()))
    assert np.allclose(*(model.predict_proba(X) for model in models), atol=1e-9)


def test_a_pipeline_takes_plain_sparse_records():
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(**LINEAR))]).fit(X, Y)
    assert model.score(X, Y) > 0.9


def refuse(what):
    with pytest.raises((LocalError, TypeError), match=r"[Ss]parse data was passed") as caught:
        what()
    text = str(caught.value)
    assert "toarray()" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "what",
    [
        lambda: tacit.FederatedImputer().fit(X),
        lambda: tacit.FederatedScaler(method="robust").fit(X),
        lambda: tacit.SVC(epsilon=1.0, kernel="linear").fit(X, Y),
        lambda: tacit.simulate(X, Y, parties=3, partition="vertical"),
        lambda: tacit.Federation.from_parts([X, X.toarray()], partition="arbitrary"),
        lambda: tacit.SVC(loss="hinge").fit(simulate(X)),
        lambda: tacit.FederatedGridSearch(tacit.SVC(), {"alpha": [0.1]}).fit(simulate(X)),
        lambda: tacit.FederatedImputer().fit(simulate(X)),
        lambda: tacit.FederatedScaler(method="robust").fit(simulate(X)),
        lambda: tacit.SVC(epsilon=1.0, kernel="linear").fit(simulate(X)),
        lambda: simulate(X).describe(),
        lambda: tacit.SVC(kernel="linear").fit(simulate(X)).release_check(simulate(X)),
        lambda: permutation_importance(tacit.SVC(kernel="linear").fit(simulate(X)), simulate(X)),
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
    model = tacit.SVC(kernel="linear").fit(simulate(X), compare=True)
    dense = tacit.SVC(kernel="linear").fit(simulate(X.toarray()), compare=True)
    accuracy = "accuracy of the reference on them"
    assert model.report_.comparison[accuracy] == dense.report_.comparison[accuracy]
