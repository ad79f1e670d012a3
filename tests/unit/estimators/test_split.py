"""`train_test_split` and `cross_val_score`, in the words of who knows scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import cross_val_score as sklearn_cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tacit
from tacit import LocalError
from tacit.federation.slices import Choice
from tacit.model_selection.validation import deal_groups

SPLITS = ("horizontal", "vertical", "arbitrary")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :6], y


@pytest.mark.parametrize("partition", SPLITS)
def test_a_quarter_is_set_aside_and_every_record_is_on_one_side(cancer, partition):
    X, y = cancer
    learn, judge = tacit.train_test_split(tacit.simulate(X, y, parties=3, partition=partition), random_state=0)
    assert judge.n_rows / len(X) == pytest.approx(0.25, abs=0.01)
    both = np.concatenate([learn.pooled()[0], judge.pooled()[0]])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(X, axis=0))
    assert {tuple(part.features) for part in learn.parts.values()} == {
        tuple(part.features) for part in judge.parts.values()
    }


def test_every_site_sets_a_quarter_of_each_of_its_classes_aside(cancer):
    fed = tacit.simulate(*cancer, parties=3, split="dirichlet", alpha=2.0, seed=1)
    _, judge = tacit.train_test_split(fed, test_size=0.25, stratify=True, random_state=0)
    for party, part in fed.parts.items():
        whole, held = np.bincount(part.y, minlength=2), np.bincount(judge.parts[party].y, minlength=2)
        for n, m in zip(whole, held, strict=True):
            assert m == pytest.approx(n / 4, abs=1) or n < 20


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_over_columns_all_sites_set_the_same_records_aside(cancer, partition):
    X, y = cancer
    learn, judge = tacit.train_test_split(tacit.simulate(X, y, parties=3, partition=partition), random_state=0)
    for side in (learn, judge):
        assert {len(part.X) for part in side.parts.values()} == {side.n_rows}
    rows = [np.flatnonzero((record == X).all(axis=1))[0] for record in judge.pooled()[0]]
    np.testing.assert_array_equal(judge.pooled()[1], y[rows])


def test_records_with_ids_are_set_aside_by_their_ids():
    X = np.random.default_rng(0).normal(size=(80, 4))
    ids = np.array([f"p{i}" for i in range(80)])
    held = []
    for seed in (1, 2):  # the same records, in another order at every party
        orders = [np.random.default_rng((seed, k)).permutation(80) for k in range(2)]
        parts = [(X[orders[0], :2], np.arange(80)[orders[0]]), X[orders[1], 2:]]
        settings = {"partition": "vertical", "ids": [ids[order] for order in orders], "allow_two_parties": True}
        fed = tacit.from_parts(parts, **settings)
        _, judge = tacit.train_test_split(fed, random_state=0)
        held.append(set(judge.pooled()[1].tolist()))
    assert held[0] == held[1]
    assert len(held[0]) == 20


def test_the_same_random_state_gives_the_same_split_and_none_another_one(cancer):
    fed = tacit.simulate(*cancer, parties=3)

    def held(state: int | None) -> set[bytes]:
        return {row.tobytes() for row in tacit.train_test_split(fed, random_state=state)[1].pooled()[0]}

    assert held(3) == held(3)
    assert held(3) != held(4)
    assert held(None) != held(None)


def test_a_split_is_said_in_public_words_and_no_row_is_named(cancer):
    learn, judge = tacit.train_test_split(tacit.simulate(*cancer, parties=3), random_state=0)
    inner, _ = tacit.train_test_split(learn, random_state=1)
    assert [choice.parts for choice in (*inner.choices, *judge.choices)] == [(0,), (0,), (1,)]
    assert all(isinstance(choice, Choice) and choice.deal.shares == (0.75, 0.25) for choice in inner.choices)


def test_plain_arrays_are_split_as_scikit_learn_does(cancer):
    X, y = cancer
    assert [len(part) for part in tacit.train_test_split(X, y, random_state=0)] == [426, 143, 426, 143]


def test_what_cannot_be_split_is_refused_in_one_line(cancer):
    X, y = cancer
    rows, columns = tacit.simulate(X, y, parties=3), tacit.simulate(X, y, parties=3, partition="vertical")
    small = tacit.simulate(X[:2], y[:2], parties=1)
    cases = [
        (rows, {"test_size": 1.5}, r"The 'test_size' parameter of train_test_split must be a float in the range"),
        (
            rows,
            {"stratify": y},
            "sites divide by their own labels: stratify must be True, False or None, not ndarray",
        ),
        (rows, {"random_state": "x"}, "The 'random_state' parameter of train_test_split"),
        (columns, {"stratify": True}, r"only 'party-1' has labels, .* leave stratify= out"),
        (small, {"random_state": 2}, r"leaves a part of \d+% without any record: no site has one to spare"),
    ]
    for fed, settings, words in cases:
        with pytest.raises(LocalError, match=words) as caught:
            tacit.train_test_split(fed, **settings)
        assert "\n" not in str(caught.value)
    assert tacit.train_test_split(columns)[1].n_rows == 142, "the remedy"
    with pytest.raises(LocalError, match="a Federation holds its labels itself"):
        tacit.train_test_split(rows, y)


# cross_val_score


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "partition"),
    [
        (tacit.SVC(), "horizontal"),
        (tacit.ELMClassifier(n_hidden=20), "horizontal"),
        (tacit.SVC(), "vertical"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_scores_over_folds_are_about_those_of_svc_on_the_pooled_records(cancer, model, partition):
    X, y = cancer
    scores = tacit.cross_val_score(model, tacit.simulate(X, y, parties=3, partition=partition), cv=5, random_state=0)
    assert scores.shape == (5,)
    assert scores.mean() == pytest.approx(sklearn_cross_val_score(SVC(), X, y).mean(), abs=0.03)
    assert not hasattr(model, "classes_"), "the model itself stays as it is"


def test_a_regressor_is_scored_by_r2():
    X, y = load_diabetes(return_X_y=True)
    fed = tacit.simulate(20 * X, y, parties=3)
    found = tacit.cross_validate(tacit.ELMRegressor(n_hidden=20), fed, cv=4, random_state=0)
    assert found.metric == "r2"
    assert found.mean == pytest.approx(0.48, abs=0.08)
    assert sum(each.n_records for each in found.evaluations) == len(y)


def test_a_pipeline_is_prepared_once_and_its_report_has_all_runs():
    X, y = load_wine(return_X_y=True)
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(kernel="linear"))])
    found = tacit.cross_validate(model, tacit.simulate(X, y, parties=3), cv=3, random_state=0)
    assert found.mean > 0.9
    assert "prepared once, on all records" in found.how
    assert {"prepare_columns", "train_svm"} <= {opened.protocol for opened in found.report.opens}
    assert sum(opened.protocol == "prepare_columns" for opened in found.report.opens) == 1


def test_other_figures_of_an_evaluation_are_scores_too(cancer):
    fed = tacit.simulate(*cancer, parties=3)
    assert tacit.cross_val_score(tacit.SVC(kernel="linear"), fed, cv=2, scoring="roc_auc").min() > 0.9
    with pytest.raises(LocalError, match=r"The 'scoring' parameter of cross_validate must be a str among"):
        tacit.cross_val_score(tacit.ELMClassifier(), fed, scoring="mcc")
    with pytest.raises(
        LocalError,
        match=r"The 'cv' parameter of cross_validate must be an int in the range \[2, inf\), or the str 'site'",
    ):
        tacit.cross_val_score(tacit.SVC(), fed, cv=1)
    with pytest.raises(LocalError, match="use scikit-learn's for plain arrays"):
        tacit.cross_val_score(tacit.SVC(), cancer[0])


# In simulation: scorers of scikit-learn, groups, repeats, sites


def test_any_scorer_of_scikit_learn_scores_in_simulation(cancer):
    X, y = cancer
    model = tacit.Pipeline(
        [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(kernel="linear", probability=True, random_state=0))]
    )
    found = tacit.cross_validate(model, tacit.simulate(X, y, parties=3), cv=2, scoring="neg_log_loss", random_state=0)
    assert (found.metric, len(found.scores)) == ("neg_log_loss", 2)
    assert -0.3 < found.mean < -0.01
    exact = tacit.cross_validate(
        model, tacit.simulate(X, y, parties=3), cv=2, scoring="balanced_accuracy", random_state=0
    )
    judged = exact.evaluations[0]
    assert exact.scores[0] == judged.balanced_accuracy


def test_groups_stay_whole():
    rng = np.random.default_rng(0)
    person = rng.integers(0, 60, 400)
    X = rng.normal(size=(60, 50))[person]  # they tell the person, whose class is drawn: nothing else can be learnt
    y = rng.integers(0, 2, 60)[person]
    fed = tacit.simulate(X, y, parties=3)
    model = tacit.SVC(kernel="linear", random_state=0)
    apart = tacit.cross_validate(model, fed, cv=4, groups=person, random_state=0)
    assert apart.mean + 0.15 < tacit.cross_validate(model, fed, cv=4, random_state=0).mean
    assert sum(each.n_records for each in apart.evaluations) == 400
    fold = deal_groups(person, 4, 0)
    assert all(len(set(fold[person == each])) == 1 for each in set(person))
    assert np.ptp(np.bincount(fold)) <= np.bincount(person).max()
    with pytest.raises(LocalError, match="groups has 3 entries for 400 records"):
        tacit.cross_validate(model, fed, groups=[1, 2, 3])
    with pytest.raises(LocalError, match="2 groups are too few for 5 folds"):
        tacit.cross_validate(model, fed, groups=person % 2)


def test_a_site_is_left_out_and_all_may_be_repeated(cancer):
    X, y = cancer
    fed = tacit.simulate(X, y, parties=3)
    svm = tacit.SVC(kernel="linear", random_state=0)
    found = tacit.cross_validate(svm, fed, cv="site")
    assert [each.name for each in found.evaluations] == [f"records of {party}" for party in fed.parts]
    assert [each.n_records for each in found.evaluations] == [len(part.X) for part in fed.parts.values()]
    again = tacit.cross_validate(svm, fed, cv=2, n_repeats=2, random_state=0)
    assert len(again.scores) == 4
    assert again.evaluations[0].confusion != again.evaluations[2].confusion
    with pytest.raises(LocalError, match="by rows: leave groups and n_repeats out"):
        tacit.cross_validate(svm, tacit.simulate(X, y, parties=3, partition="vertical"), cv="site")


# random_state


def test_without_a_random_state_every_fit_draws_anew_and_with_one_it_does_not(cancer):
    fed = tacit.simulate(*cancer, parties=3)
    for state, alike in ((None, False), (7, True)):
        seeds = [tacit.SVC(random_state=state).request(fed).params["repeat"] for _ in range(2)]
        assert (seeds[0] == seeds[1]) is alike
