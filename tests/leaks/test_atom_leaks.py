"""What is opened of rows.

Functions of sums over groups of at least min_count rows of one class at one holder, and nothing else.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import tacit
from leaks.views import FIXED, played
from tacit.attacks.coordinator import play
from tacit.choreo import Coordinator, Holder
from tacit.errors import LocalError, PeerError
from tacit.federation.part import Part, part_of
from tacit.numeric.groups.atoms import combine_labels, make_groups, upper_losses
from tacit.numeric.svm.problems import Pairs, problems, signs_of
from tacit.protocols.planes import cutting_plane as planes
from tacit.protocols.planes import margin_moments
from tacit.protocols.planes import rows as plane_rows
from tacit.protocols.planes.rows import Rows
from tacit.protocols.sums.atoms import HoldBack, Told, begin
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice

LEAST = 4
WDBC = StandardScaler().fit_transform(load_breast_cancer().data)
MALIGNANT = load_breast_cancer().target


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def held(seed: int, problems: int = 2, pairs: Pairs = ()) -> dict[str, tuple[Rows, Part]]:
    """Rows of three holders, of different numbers, with signs of several problems; or of these pairs of classes."""
    rng, made = np.random.default_rng(seed), {}
    for name, n in (("a", 41), ("b", 52), ("c", 63)):
        F, y = rng.normal(size=(n, 3)), rng.integers(0, 1 + max(map(max, pairs), default=1), n)
        signs = np.stack([np.where(y > 0, 1, -1), np.where(y > 0, -1, 1)][:problems], axis=1).astype(np.int8)
        signs = signs_of(y, pairs) if pairs else signs
        made[name] = (Rows(F + y[:, None] * 0.8, signs, np.ones(n)), part_of(F, y, None, ("p", "q", "r")))
    return made


def solve(own: dict[str, tuple[Rows, Part]], C: float = 5.0) -> Any:
    """The cutting planes over groups of `LEAST` rows, two tables of features, two prices."""

    def play(run: Any) -> Any:
        kinds = {p: np.asarray(part.y, np.int64) for p, (_, part) in own.items()}
        data, kind = run.hold(Holder, {p: part for p, (_, part) in own.items()}), run.hold(Holder, kinds)
        atoms = run.local(Holder, begin, data, kind, Told((("identity", 3),)), HoldBack(LEAST, accept_risk=True))
        tables = run.hold(
            Holder, {p: (rows, Rows(rows.F[:, :2], rows.signs, rows.weight)) for p, (rows, _) in own.items()}
        )
        voice, columns = Voice(run, protect(run, to=Coordinator), FIXED), own["a"][0].signs.shape[1]
        prices = ((C / 10, C), (C,))
        return planes.cutting_plane(run, tables, atoms, voice=voice, prices=prices, widths=(3, 2), columns=columns)

    return play


class Script:
    """Rounds sets as the protocol does, and remembers how; or does again what it remembers, whatever the rows are."""

    def __init__(self, module: Any) -> None:
        self.real, self.module, self.known, self.count = module.round_to_groups, module, {}, defaultdict(int)
        self.again = False

    def rounded(self, group: Any, h: Any, least: int, slack: float, fresh: int) -> Any:
        key = (group.tobytes(), fresh, self.count[group.tobytes(), fresh])
        self.count[key[:2]] += 1
        if not self.again or key not in self.known:  # a view that differs takes other rounds
            self.known[key] = self.real(group, h, least, slack, fresh)
        return self.known[key]

    def replay(self) -> None:
        self.again = True
        self.count.clear()


def turned(F: Any, label: Any, seed: int) -> Any:
    """Other rows with the same sums and the same second moments over every group.

    Deviations from the mean are rotated among its rows.
    """
    rng, other = np.random.default_rng(seed), F.copy()
    for own in np.unique(label[label >= 0]):
        rows = np.flatnonzero(label == own)
        mean = F[rows].mean(axis=0)
        Q = np.linalg.qr(np.column_stack([np.ones(len(rows)), rng.normal(size=(len(rows), len(rows) - 1))]))[0]
        inner = np.linalg.qr(rng.normal(size=(len(rows) - 1, len(rows) - 1)))[0]
        U = Q @ np.block([[np.eye(1), np.zeros((1, len(rows) - 1))], [np.zeros((len(rows) - 1, 1)), inner]]) @ Q.T
        other[rows] = mean + U @ (F[rows] - mean)
    return other


def views(monkeypatch: Any, seed: int, pairs: Pairs = ()) -> tuple[Any, Any, float]:
    """What the coordinator sees of two tables with the same groups and sums, and by how much the tables differ."""
    script = Script(planes)
    monkeypatch.setattr(planes, "round_to_groups", script.rounded)
    own, kept = held(seed, pairs=pairs), {}
    first, _ = played(solve(own), tuple(own), kept)
    others = {
        p: (Rows(turned(rows.F, kept[p].label, seed), rows.signs, rows.weight), part) for p, (rows, part) in own.items()
    }
    script.replay()
    second, _ = played(solve(others), tuple(own))
    return first, second, max(float(np.abs(others[p][0].F - own[p][0].F).max()) for p in own)


@pytest.mark.parametrize(("seed", "classes"), [*((seed, 2) for seed in range(6)), (0, 3), (1, 3)])
def test_two_tables_with_the_same_sums_over_groups_give_the_coordinator_the_same_view(monkeypatch, seed, classes):
    """Over all problems together, with more than two classes over all pairs of them."""
    first, second, apart = views(monkeypatch, seed, problems(classes, "ovo") if classes > 2 else ())
    assert apart > 0.5
    assert [place for place, _ in first.sums] == [place for place, _ in second.sums]
    for (place, a), (_, b) in zip(first.sums, second.sums, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6, rtol=1e-6, err_msg=place)


def test_a_line_search_that_opens_the_losses_of_single_rows_is_caught(monkeypatch):
    """The test above can fail: hinge losses are no function of sums over groups."""
    exact = lambda group, h, ahead, weight, steps: np.array(  # noqa: E731 - stands in for a function
        [(weight * np.maximum(h + k * (ahead - h), 0.0))[group >= 0].sum() for k in steps]
    )
    monkeypatch.setattr(planes, "upper_losses", exact)
    first, second, _ = views(monkeypatch, 0)
    assert any(
        a.shape == b.shape and not np.allclose(a, b, atol=1e-6)
        for (_, a), (_, b) in zip(first.sums, second.sums, strict=False)
    )


def test_a_set_that_is_no_union_of_groups_is_caught(monkeypatch):
    """The test above can fail: a holder that sums its rows within the margin, unrounded, shows more."""
    real = planes.round_to_groups

    def careless(group: Any, h: Any, least: int, slack: float, fresh: int) -> Any:
        return (h > 0) & (group >= 0), real(group, h, least, slack, fresh)[1]

    monkeypatch.setattr(planes, "round_to_groups", careless)
    monkeypatch.setattr(planes, "sums_of_groups", lambda rows, problems, V, _group: planes.sums_of(rows, problems, V))
    first, second, _ = views(monkeypatch, 1)
    assert any(
        a.shape == b.shape and not np.allclose(a, b, atol=1e-6)
        for (_, a), (_, b) in zip(first.sums, second.sums, strict=False)
    )


def smallest(fed: tacit.Federation) -> int:
    """How many rows the smallest atom of any party has; its rows are of one class."""
    sizes = []
    for party, past in fed.backend.past.items():
        y = fed.parts[party].y
        for own in np.unique(past.label[past.label >= 0]):
            rows = past.label == own
            assert y is None or len(np.unique(y[rows])) == 1
            sizes.append(int(rows.sum()))
    return min(sizes)


def federation(X: Any, y: Any, parties: int = 3) -> tacit.Federation:
    return tacit.Federation.simulate(X, y, parties=parties, partition="horizontal", seed=1)


IRIS = (StandardScaler().fit_transform(load_iris().data), load_iris().target)
RISKY = {"accept_risk": True}
RUNS: dict[str, Any] = {
    "linear": tacit.PanSVC(kernel="linear", C=10, min_count=5),
    "landmarks": tacit.PanSVC(C=10, gamma=0.03, landmarks=20, min_count=6, **RISKY),
    "joint": tacit.PanSVC(C=10, gamma=0.03, landmark_source="joint", landmarks=20, min_count=6, **RISKY),
    "fourier": tacit.PanSVC(C=10, gamma=0.03, landmark_source="fourier", landmarks=50, min_count=5, **RISKY),
    "probability": tacit.PanSVC(kernel="linear", probability=True, min_count=5),
    "heavy class": tacit.PanSVC(kernel="linear", C=1e6, class_weight={0: 1.0, 1: 1e-8}, min_count=5, tol=1e-2),
    "search": tacit.FederatedGridSearch(tacit.PanSVC(kernel="linear", min_count=5), {"C": [0.1, 10.0]}, cv=3),
    "halving": tacit.FederatedHalvingSearch(tacit.PanSVC(kernel="linear", min_count=5), {"C": [0.1, 1.0, 10.0]}, cv=3),
    "wrapper": tacit.VotedWrapperSelector(tacit.PanSVC(kernel="linear", min_count=5, **RISKY), n_features_to_select=27,
                                          cv=2),
    "filter": tacit.FilterWrapperSelector(
        tacit.PanSVC(kernel="linear", min_count=5, **RISKY), n_features_to_select=28, cv=2
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_no_atom_has_fewer_rows_than_min_count_whatever_is_trained_searched_or_selected(name):
    fed = federation(WDBC[:300], MALIGNANT[:300])
    RUNS[name].fit(fed)
    assert smallest(fed) >= 5


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_no_atom_has_fewer_rows_than_min_count_with_three_classes(multi_class):
    fed = federation(*IRIS)
    tacit.PanSVC(kernel="linear", C=100, min_count=5, multi_class=multi_class, **RISKY).fit(fed)
    assert smallest(fed) >= 5


def test_a_search_and_probabilities_of_pairs_hold_back_as_those_of_rests_do_whatever_was_trained_before():
    fed = federation(*IRIS)
    tacit.PanSVC(kernel="linear", min_count=5, multi_class="ovr", **RISKY).fit(fed)
    tacit.PanSVC(kernel="linear", min_count=5, multi_class="ovo", probability=True, **RISKY).fit(fed)
    svm = tacit.PanSVC(kernel="linear", min_count=5, multi_class="ovo", **RISKY)
    tacit.FederatedGridSearch(svm, {"C": [0.1, 10.0]}, cv=2).fit(fed)
    assert smallest(fed) >= 5


def test_of_a_class_with_few_rows_at_a_party_no_pair_opens_a_sum_there(monkeypatch):
    """The rows of a class of which a party has fewer than a group take no part in any pair, as in no rest."""
    X, y = IRIS
    few = np.concatenate([np.flatnonzero(y != 2)[::3], np.flatnonzero(y == 2)[:4]])
    others = np.setdiff1d(np.arange(150), few)
    parts = [(X[few], y[few]), (X[others[::2]], y[others[::2]]), (X[others[1::2]], y[others[1::2]])]
    summed = {}
    honest = planes.sums_of

    def spied(rows: Any, of: Any, V: Any) -> Any:
        summed.setdefault(len(rows.F), []).append(np.asarray(V).any(axis=1))
        return honest(rows, of, V)

    monkeypatch.setattr(planes, "sums_of", spied)
    monkeypatch.setattr(plane_rows, "sums_of", spied)
    fed = tacit.Federation.from_parts(parts, partition="horizontal")
    tacit.PanSVC(kernel="linear", min_count=5, multi_class="ovo", **RISKY).fit(fed)
    ever = np.any(summed[len(few)], axis=0)
    assert ever[y[few] != 2].all()
    assert not ever[y[few] == 2].any()


def test_atoms_hold_over_runs_of_many_kinds_on_the_same_rows():
    fed = federation(WDBC, MALIGNANT)
    for name in ("linear", "fourier", "landmarks", "search", "probability", "joint", "heavy class"):
        estimator = clone(RUNS[name])
        estimator.set_params(**{param: True for param in estimator.get_params() if param.endswith("accept_risk")}).fit(
            fed
        )
        assert smallest(fed) >= 5, name


def test_what_may_be_told_of_the_same_rows_is_spent_at_last():
    """Bounds on losses are counted over all jobs: a job that would tell more than the unknowns is refused."""
    fed = federation(WDBC[:90, :3], MALIGNANT[:90])
    models = (tacit.PanSVC(kernel="linear", C=C).fit(fed) for C in np.linspace(1.0, 1.2, 21))
    with pytest.raises(
        LocalError, match="allow fewer than 3 bounds on losses to be opened, with all that was opened of them before"
    ):
        list(models)
    assert max(past.told.sum() for past in fed.backend.past.values()) <= 0.8


def test_a_coordinator_that_asks_for_more_bounds_than_were_agreed_on_is_refused():
    own = held(0, problems=1)

    def greedy(pools: Any, pace: Any, exact: bool) -> Any:  # noqa: FBT001 - as the step it replaces
        honest = planes.direction(pools, pace, exact)
        return dataclasses.replace(honest, steps=np.linspace(0.1, 1.0, 10_000))

    with pytest.raises(PeerError, match="the coordinator asks for more bounds on losses than this site allows"):
        play({"direction": greedy}, {p: rows for p, (rows, _) in own.items()}, C=1.0, min_count=LEAST)


def test_the_same_map_of_other_columns_or_cells_is_another_map():
    """Else jobs that name their columns in another order would tell as much again for nothing."""
    X, y = WDBC[:60, :8], MALIGNANT[:60].astype(np.int64)
    names = tuple("abcdefgh")
    first = begin(part_of(X, y, None, names), y, Told((("map", 64),)), HoldBack("auto"))
    for columns, values in (([1, 0, *range(2, 8)], X), (list(range(8)), X * 2.0)):
        part = part_of(values[:, columns], y, None, tuple(names[j] for j in columns))
        again = begin(dataclasses.replace(part, past=first.past), y, Told((("map", 64),)), HoldBack("auto"))
        assert again.least > 1.9 * first.least
    same = begin(
        dataclasses.replace(part_of(X, y, None, names), past=first.past), y, Told((("map", 64),)), HoldBack("auto")
    )
    assert same.least == first.least


def test_a_record_without_weight_is_in_no_sum_of_columns_either():
    """It is in no training, and the difference would show it."""
    weight = np.ones(60)
    weight[7] = 0.0
    parts = [(WDBC[i : i + 60], MALIGNANT[i : i + 60], np.ones(60) if i else weight) for i in (0, 60, 120)]
    scaler = tacit.FederatedScaler().fit(tacit.Federation.from_parts(parts, partition="horizontal"))
    assert scaler.n_samples_seen_[0] == 179
    np.testing.assert_allclose(scaler.mean_ * 179, np.delete(WDBC[:180], 7, axis=0).sum(axis=0), atol=1e-6)


def test_a_class_of_which_a_holder_has_few_rows_takes_no_part_there():
    y = np.concatenate([np.zeros(40, int), np.ones(3, int)])
    parts = [(WDBC[:43], y), (WDBC[50:93], 1 - y[::-1] * 0), (WDBC[100:200], MALIGNANT[100:200])]
    fed = tacit.Federation.from_parts(parts, partition="horizontal")
    tacit.PanSVC(kernel="linear", min_count=5, **RISKY).fit(fed)
    assert (fed.backend.past["party-1"].label[y == 1] == -1).all()
    assert (fed.backend.past["party-1"].label[y == 0] >= 0).all()


def test_what_column_sums_and_class_sums_leave_between_them_is_no_record():
    """A lone record of its class at one party is in neither, so their difference does not show it."""
    X, y = WDBC[:120], MALIGNANT[:120].copy()
    y[:40] = [1] + [0] * 39
    parts = [(X[i : i + 40], y[i : i + 40]) for i in (0, 40, 80)]
    fed = tacit.Federation.from_parts(parts, partition="horizontal")
    scaler = tacit.FederatedScaler().fit(fed)
    opened = scaler.mean_ * scaler.n_samples_seen_
    assert scaler.n_samples_seen_[0] == 119
    np.testing.assert_allclose(opened, X[1:].sum(axis=0), atol=1e-6)


def test_weights_are_equal_within_a_group_so_that_none_singles_a_row_out():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 3)), np.arange(60) % 2, np.ones(60)
    weight[7] = 1e6
    part = part_of(X, y, weight, ("a", "b", "c"))
    atoms = begin(part, y.astype(np.int64), Told((("identity", 3),)), HoldBack(5))
    for own in np.unique(atoms.group[atoms.group >= 0]):
        assert len(np.unique(atoms.weight[atoms.group == own])) == 1
        assert (atoms.group == own).sum() >= 5


@pytest.mark.parametrize("least", [pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_all_small_tables_of_atoms_classes_and_gaps_show_no_few_rows(least):
    """Every labelling of six rows by two atoms, two classes and rows that stay away.

    What a run uses of an atom, and what it leaves.
    """
    for label, kind in product(product((0, 1), repeat=6), product((-1, 0, 1), repeat=6)):
        label_, kind_ = np.array(label), np.array(kind)
        group = make_groups(label_, np.zeros(6, int), kind_, least)
        after = combine_labels(label_, group)
        for atom in (0, 1):
            pieces = [int(np.sum((label_ == atom) & (after == own))) for own in np.unique(after[label_ == atom])]
            assert len(pieces) < 2 or min(pieces) >= least, (label, kind)
        used = np.unique(group[group >= 0])
        assert all((group == own).sum() >= least and len(np.unique(kind_[group == own])) == 1 for own in used), (
            label,
            kind,
        )


def test_an_atom_of_which_a_few_rows_are_gone_takes_no_part():
    label, kind = np.zeros(10, int), np.zeros(10, int)
    assert (make_groups(label, np.full(10, 2), kind, 3) == -1).all()
    assert (make_groups(label, np.full(10, 3), kind, 3) >= 0).all()
    assert (make_groups(label, np.zeros(10, int), kind, 3) >= 0).all()


def test_moments_of_rows_within_the_margin_are_over_unions_of_groups(monkeypatch):
    script = Script(margin_moments)
    monkeypatch.setattr(margin_moments, "round_to_groups", script.rounded)
    fed = federation(WDBC[:200, :6], MALIGNANT[:200])
    tacit.VotedWrapperSelector(tacit.PanSVC(kernel="linear", min_count=5, **RISKY), n_features_to_select=4, cv=2).fit(
        fed
    )
    assert script.known
    for (group, *_), (marked, finer) in script.known.items():
        before = np.frombuffer(group, dtype=np.int64)
        for own in np.unique(finer[finer >= 0]):
            assert len(np.unique(marked[finer == own])) == 1
            assert (finer == own).sum() >= 5
            assert len(np.unique(before[finer == own])) == 1


def test_bounds_along_the_line_depend_on_counts_sums_and_squares_of_groups_only():
    rng = np.random.default_rng(3)
    group, weight, steps = np.repeat([0, 1, 2], 5), np.ones(15), np.linspace(0, 2, 7)
    h, ahead = rng.normal(size=15), rng.normal(size=15)
    both = turned(np.column_stack([h, ahead]), group, 5)
    assert np.abs(both[:, 0] - h).max() > 0.1
    np.testing.assert_allclose(
        upper_losses(group, h, ahead, weight, steps),
        upper_losses(group, both[:, 0], both[:, 1], weight, steps),
        rtol=1e-9,
    )
