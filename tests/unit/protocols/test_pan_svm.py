"""PAN-SVM as a whole: classes, weights and maps as the pooled SVM has them; what is refused.

What witnesses check before the planes.
"""

from __future__ import annotations

import dataclasses
import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight

from conformance.planes import Tapped, objective, rows_of
from tacit.attacks.coordinator import OwnCoordinator
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.features.feature_map import basis_of
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.scores.folds import votes
from tacit.numeric.svm.kernels import gamma_of
from tacit.numeric.svm.problems import problems, signs_of
from tacit.protocols.labels import weigh_classes
from tacit.protocols.planes import problems as protocol
from tacit.protocols.planes.feature_map import Bases, FeatureMap, map_records
from tacit.protocols.planes.pan_search import PAN_SEARCH
from tacit.protocols.planes.pan_svm import PAN_SVM, pan_svm
from tacit.protocols.planes.problems import Svm, choose_size

SHAPE = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "C": 3.0}
EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own


def table(n=120, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def trained(X, y, parties=3, weight=None, run=Tapped, steps=None, **params: Any) -> Any:
    """Over single rows, unless it is asked for otherwise."""
    parts = np.array_split(np.arange(len(X)), parties) if isinstance(parties, int) else parties
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    features = tuple("abcdefgh"[: X.shape[1]])
    held = {
        p: part_of(X[i], y[i], None if weight is None else weight[i], features)
        for p, i in zip(names, parts, strict=True)
    }
    with run(roster, job=b"pan", entropy=RootEntropy(roster.parties, b"pan")) as playing:
        playing.steps = steps or {}
        playing.fixed = FixedPoint(32, terms=len(names))
        result = pan_svm(playing, playing.hold(Holder, held), svm=Svm(**{**SHAPE, **EXACT, **params}))
    return SimpleNamespace(**result.as_dict(), run=playing)


def pooled_objective(result, X, y, weight, C, k=0):
    """Of scikit-learn's SVM on the same map."""
    F, signs = map_records(result.map, X), signs_of(y, result.pairs)[:, k]
    use = signs != 0
    svc = SVC(kernel="linear", C=C, tol=1e-6).fit(F[use], signs[use], sample_weight=weight[use])
    return objective(rows_of(F, signs, weight), svc.coef_[0], float(svc.intercept_[0]), C)


SOURCES = {
    "fourier": {"landmark_source": "fourier", "landmarks": 50},
    "local": {"landmark_source": "local", "landmarks": 0.15},
    "joint": {"landmark_source": "joint", "landmarks": 0.15},
    "auto": {"landmark_source": "local", "landmarks": "auto"},
    "poly": {"kernel": "poly", "gamma": 0.3, "landmarks": 0.15},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "landmarks": 0.15},
    "linear": {"kernel": "linear"},
}


@pytest.mark.parametrize("source", SOURCES)
def test_it_is_the_pooled_svm_on_the_same_map(source):
    X, y = table()
    result = trained(X, y, tol=1e-4, **SOURCES[source])
    found, best = result.solution, pooled_objective(result, X, y, np.ones(120), 3.0)
    assert found.objective[0] <= best * (1 + 1e-4) + 1e-6
    assert found.bound[0] <= best * (1 + 1e-6)
    assert result.classes == (0, 1)
    assert result.pairs == ((1, 0),)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_every_problem_of_several_classes_is_the_pooled_one(multi_class):
    X, y = table(classes=3)
    result = trained(X, y, tol=1e-4, multi_class=multi_class, **SOURCES["fourier"])
    for k in range(3):
        assert result.solution.objective[k] <= pooled_objective(result, X, y, np.ones(120), 3.0, k) * (1 + 1e-4) + 1e-6


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 0.3, 1: 5.0}])
def test_weights_of_records_and_classes_multiply(class_weight):
    X, y = table()
    y = np.where(X[:, 0] > 0.8, 1, 0)
    weight = np.random.default_rng(3).uniform(0.2, 2, 120)
    of_class = np.ones(2) if class_weight is None else compute_class_weight(class_weight, classes=np.array([0, 1]), y=y)
    result = trained(X, y, weight=weight, class_weight=class_weight, tol=1e-4, **SOURCES["fourier"])
    best = pooled_objective(result, X, y, weight * of_class[y], 3.0)
    assert result.solution.objective[0] == pytest.approx(best, rel=2e-4)


@pytest.mark.parametrize("least", [1, 3])
def test_records_without_weight_take_no_part_in_anything(least):
    X, y = table()
    weight = np.where(np.arange(120) % 4 == 0, 0.0, 1.0)
    y[np.flatnonzero(weight == 0)[:3]] = 7  # a class of theirs alone is none
    parts = np.array_split(np.arange(120), 3)
    kept = [np.flatnonzero(weight[i] > 0) + i[0] for i in parts]
    for source in ("fourier", "local", "joint"):
        asked = {**SOURCES[source], "gamma": 0.25, "min_count": least}
        with_them, without = trained(X, y, parts, weight, **asked), trained(X, y, kept, **asked)
        assert with_them.classes == without.classes == (0, 1)
        np.testing.assert_array_equal(with_them.taking, without.taking)
        np.testing.assert_allclose(with_them.solution.w, without.solution.w, atol=1e-7)


@pytest.mark.parametrize(
    "parties", [2, 5, [np.arange(0, 60), np.arange(60, 60), np.arange(60, 119), np.arange(119, 120)]]
)
def test_with_fourier_features_it_is_the_same_model_for_any_split(parties):
    X, y = table()
    by_class = np.argsort(y, kind="stable")
    first = trained(X, y, 3, **SOURCES["fourier"]).solution
    for order in (np.arange(120), by_class):
        parts = [order[i] for i in (np.array_split(np.arange(120), parties) if isinstance(parties, int) else parties)]
        other = trained(X, y, parts, **SOURCES["fourier"]).solution
        np.testing.assert_allclose(other.w, first.w, atol=1e-6)
        np.testing.assert_allclose(other.b, first.b, atol=1e-6)


# Groups


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_small_class_of_three_is_in_no_sum_at_all(multi_class):
    """With it in the rest of the others' problems, its sum would be what is left when theirs are taken away."""
    X, y = table(n=80)
    y[:3] = 2
    asked = {"multi_class": multi_class, "min_count": 4, **SOURCES["linear"]}
    result, again = trained(X, y, **asked), trained(np.where(y[:, None] == 2, 1e3, X), y, **asked)
    np.testing.assert_array_equal(result.sizes, np.bincount(y))
    np.testing.assert_array_equal(result.taking, np.where(np.arange(3) == 2, 0, np.bincount(y)))
    np.testing.assert_array_equal(again.solution.w, result.solution.w)
    values = 100 * X @ result.solution.w.T + result.solution.b
    chosen = votes(values, result.pairs, 3).argmax(axis=1) if multi_class == "ovo" else values.argmax(axis=1)
    assert 2 not in chosen


def test_rows_of_a_class_of_which_their_holder_has_few_are_in_no_sum():
    X, y = table(n=90)
    parts = np.array_split(np.argsort(y, kind="stable"), 3)  # the first has one class, the last the other
    y[parts[0][:2]] = 1
    result, again = (
        trained(Z, y, parts, min_count=3, **SOURCES["linear"])
        for Z in (X, np.where(np.isin(np.arange(90), parts[0][:2])[:, None], 50.0, X))
    )
    np.testing.assert_array_equal(result.taking, np.bincount(y) - [0, 2])
    np.testing.assert_array_equal(again.solution.w, result.solution.w)


@pytest.mark.parametrize(("min_count", "words"), [
    (25, "for a group of min_count=25, and a classifier needs two classes that take part"),
    ("auto", "for a group of min_count='auto', .* ask for fewer landmarks, or lower min_count"),
])  # fmt: skip
def test_where_fewer_than_two_classes_have_groups_training_is_refused_in_one_line(min_count, words):
    X, y = table(n=90)
    asked = {"landmark_source": "fourier", "landmarks": 90, "min_count": min_count}
    with pytest.raises(LocalError, match=words) as refused:
        trained(X, y, **asked)
    assert "\n" not in str(refused.value)
    trained(X, y, **{**asked, "min_count": 4})


def test_groups_smaller_than_auto_need_a_word():
    X, y = table(n=300)
    asked = {"landmark_source": "fourier", "landmarks": 40}
    auto = trained(X, y, **asked, min_count="auto", accept_risk=False).least
    assert set(auto) == {"p1", "p2", "p3"}
    most = max(auto.values())
    assert most > 5
    trained(X, y, **asked, min_count=most, accept_risk=False)
    with pytest.raises(
        LocalError,
        match=f"min_count=5 is less than the {most} rows that keep the numbers this run opens, with those of earlier",
    ):
        trained(X, y, **asked, min_count=5, accept_risk=False)
    assert set(trained(X, y, **asked, min_count=5, accept_risk=True).least.values()) == {5}


def test_weights_of_a_group_are_made_equal():
    X, y = table(n=200)
    weight = np.random.default_rng(3).uniform(0.2, 2.0, 200)
    asked = {"min_count": 4, **SOURCES["linear"]}
    found = trained(X, y, weight=weight, **asked).solution
    again = trained(X, y, weight=np.where(np.arange(200) == 7, 1.001, 1.0) * weight, **asked).solution
    assert 0 < np.abs(found.w - again.w).max() < 0.01
    best = pooled_objective(trained(X, y, **SOURCES["linear"]), X, y, weight, 3.0)
    assert objective(rows_of(X, signs_of(y, ((1, 0),))[:, 0], weight), found.w[0], found.b[0], 3.0) <= 1.1 * best


def test_with_too_few_rows_for_local_landmarks_at_every_party_joint_ones_exist():
    X, y = table(n=24)
    with pytest.raises(
        LocalError,
        match="no party has the min_cluster=5 records, or the min_count of a class, that one landmark stands for",
    ):
        trained(X, y, 6, landmark_source="local", landmarks=3)
    assert trained(X, y, 6, landmark_source="joint", landmarks=3).map.source == "joint"
    assert trained(X, y, 3, landmark_source="local", landmarks=3).map.source == "local"


# Small parts


def test_problems_and_their_signs():
    codes = np.array([0, 1, 2])
    assert problems(2, "ovo") == ((1, 0),)
    np.testing.assert_array_equal(signs_of(codes[:2], problems(2, "ovr")), [[-1], [1]])
    np.testing.assert_array_equal(signs_of(codes, problems(3, "ovr")), 2 * np.eye(3) - 1)
    np.testing.assert_array_equal(signs_of(codes, problems(3, "ovo")), [[1, 1, 0], [-1, 0, 1], [0, -1, -1]])


@pytest.mark.parametrize(("asked", "rows", "expected"), [
    (0.15, 1000, 150), (0.15, 6666, 999), (0.15, 6667, 1000), (0.15, 10**6, 1000), (40.0, 100, 40), (1, 50, 1),
    (2000, 10**6, 2000),
])  # fmt: skip
def test_a_share_is_capped_and_a_number_is_not(asked, rows, expected):
    assert choose_size(Svm(**SHAPE | {"landmarks": asked}), rows, 10) == expected


@pytest.mark.parametrize("source", ["local", "fourier"])
@pytest.mark.parametrize("min_count", ["auto", 1])
@pytest.mark.parametrize("rows", [5, 40, 1000, 10**7])
def test_as_many_as_suit_the_table_are_no_more_than_there_can_be(source, min_count, rows):
    for min_cluster in (1, 5, 30):
        svm = Svm(**SHAPE | {"landmark_source": source, "min_count": min_count, "min_cluster": min_cluster})
        size = choose_size(svm, rows, 30)
        assert 1 <= size <= 1000
        assert source == "fourier" or size <= max(1, rows // min_cluster)


def test_balanced_weights_are_scikit_learns():
    y = np.repeat([0, 1, 2], [5, 20, 11])
    theirs = compute_class_weight("balanced", classes=np.arange(3), y=y)
    np.testing.assert_allclose(weigh_classes((0, 1, 2), np.array([5.0, 20.0, 11.0]), "balanced"), theirs)
    np.testing.assert_array_equal(weigh_classes(("a", "b"), np.ones(2), {"b": 4}), [1, 4])


def test_gamma_is_scikit_learns_scale_of_the_pooled_records():
    X, y = table()
    X = 3 * X + 7
    result = trained(X, y, **SOURCES["fourier"])
    assert result.map.gamma == pytest.approx(1 / (4 * X.var()), rel=1e-8)
    assert trained(X, y, gamma="auto", **SOURCES["fourier"]).map.gamma == 0.25
    assert gamma_of("scale", 4, 0, 0.0, 0.0) == 1.0
    assert gamma_of("scale", 2, 6, 18.0, 54.0) == 1.0, "constant records have no variance"


# Refused


REFUSED = {
    "source": ({"landmark_source": "moon"}, "unknown landmark_source 'moon': use one of local, joint, fourier"),
    "fourier": (
        {"kernel": "poly", "landmark_source": "fourier"},
        "landmark_source='fourier' is for the rbf kernel, not for 'poly'",
    ),
    "share": (
        {"landmarks": 0.3},
        "a centre stands for at least min_cluster=5 records, so at most 20 % of the rows can be landmarks, got 30 %",
    ),
    "kernel": ({"kernel": "cosine"}, "unknown kernel 'cosine'"),
    "method": ({"method": "magic"}, "unknown secure sum 'magic'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_sent(name):
    params, words = REFUSED[name]
    runs = []

    class Kept(Tapped):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            runs.append(self)

    with pytest.raises(LocalError, match=words):
        trained(*table(), run=Kept, **params)
    assert not len(runs[0].ledger)


def test_labels_that_are_missing_or_of_one_class_are_refused():
    X, y = table()
    with pytest.raises(
        LocalError, match=r"the labels of all parties hold one class only \(\(1,\)\): a classifier needs at least 2"
    ):
        trained(X, np.ones_like(y))
    roster = Roster({Holder: ("a", "b", "c"), Coordinator: ("coordinator",)})
    parts = {
        p: part_of(X[i::3], None if p == "b" else y[i::3], None, tuple("abcd")) for i, p in enumerate(roster[Holder])
    }
    with (
        Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run,
        pytest.raises(
            LocalError, match="b has records without labels: in a horizontal split every party labels its own"
        ),
    ):
        pan_svm(run, run.hold(Holder, parts), svm=Svm(**SHAPE))
    assert not len(run.ledger)


def test_training_and_search_take_the_parameters_of_one_list_by_name():
    ours, searchs = PAN_SVM.takes, PAN_SEARCH.takes
    named = inspect.signature(Svm).parameters
    assert list(ours) == list(named)
    assert set(searchs) - set(ours) == {"candidates", "cv", "scoring", "refit", "factor"}
    assert all(searchs[name].default == ours[name].default == named[name].default for name in named)
    with pytest.raises(TypeError, match="'price'"):
        trained(*table(), price=1.0)


# Witnesses, before the planes


def test_a_lie_about_the_class_sizes_or_gamma_stops_witnesses():
    def lie(*args: Any) -> Any:
        honest = protocol.sizes_and_gamma(*args)
        return dataclasses.replace(honest, gamma=honest.gamma * 2)

    X, y = table()
    trained(X, y, run=OwnCoordinator, steps={"sizes_and_gamma": lie}, **SOURCES["fourier"])
    with pytest.raises(PeerError, match="the coordinator published a Known whose gamma does not follow from the sums"):
        trained(X, y, run=OwnCoordinator, steps={"sizes_and_gamma": lie}, witness=True, **SOURCES["fourier"])


@pytest.mark.parametrize(
    "change", [lambda B: 2.0 * B, lambda B: B[:, :-2], lambda B: B[:-1]], ids=["scaled", "narrower", "shorter"]
)
def test_a_basis_that_does_not_belong_to_the_landmarks_stops_witnesses(change):
    def lie(*args: Any) -> Any:
        return Bases(tuple(np.ascontiguousarray(change(basis_of(args[0], kernel))) for kernel in args[1]))

    X, y = table()
    with pytest.raises(PeerError, match="published a basis that does not belong to the landmarks: stop and ask it"):
        trained(X, y, run=OwnCoordinator, steps={"bases_at": lie}, witness=True, **SOURCES["local"])


def test_a_turned_basis_is_as_good_as_any():
    def turned(*args: Any) -> Any:
        B = basis_of(args[0], args[1][0])
        Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(B.shape[1],) * 2))
        return Bases((B @ Q,))

    X, y = table()
    first = trained(X, y, tol=1e-5, **SOURCES["local"])
    other = trained(X, y, run=OwnCoordinator, steps={"bases_at": turned}, witness=True, tol=1e-5, **SOURCES["local"])
    F, G = (map_records(r.map, X) @ r.solution.w[0] + r.solution.b[0] for r in (first, other))
    np.testing.assert_allclose(F, G, atol=1e-2)


def test_a_map_without_a_column_leaves_the_bias():
    none = np.empty((0, 0))
    empty = FeatureMap("local", "linear", 1.0, 3, 0.0, np.zeros((3, 4)), np.empty((3, 0)), 0, 0)
    assert map_records(empty, np.ones((5, 4))).shape == (5, 0)
    assert (
        map_records(FeatureMap("identity", "linear", 1.0, 3, 0.0, none, none, 0, 4), np.ones((5, 4)), "float32").dtype
        == np.float32
    )
