"""What metrics and probabilities give away.

Nothing that is told is of a few records, nothing follows by subtraction.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from conformance.pan_oracle import parts_at
from conformance.score_reference import N, pooled, score_parts
from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.scores import fold_scores, score_counts
from tacit.protocols.scores.platt import Scores, platt
from tacit.protocols.scores.score_counts import Scored, Sizes, curve, sizes_from
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice
from tacit.registry import execute_together

from leaks.views import Tapped  # isort: skip

LEAST = 2


def test_whatever_the_scores_no_bin_that_is_told_holds_a_few_of_a_class():
    """All histograms of five bins with up to three records of either side in each."""
    area, every = np.zeros((2, 2)), [np.array(cells, dtype=float) for cells in product(range(4), repeat=5)]
    sides = [cells for cells in every if cells.sum() == 0 or cells.sum() >= LEAST]
    for P, other in product(sides[::17], sides[::11]):
        told = curve(P, other, area, 5, LEAST)
        for side, total in ((told.positives, P.sum()), (told.negatives, other.sum())):
            assert np.all((side == 0) | (side >= LEAST))
            assert side.sum() == total


def hidden_may_follow(sizes: Any, shows: Any) -> bool:
    """Whether what is not shown is of one or two sites, or of a few records of a class."""
    rest = [size for size, seen in zip(sizes, shows, strict=True) if not seen]
    total = np.sum(rest, axis=0) if rest else np.zeros(2)
    return bool(np.any(total)) and (len(rest) < 3 or bool(np.any((total > 0) & (total < LEAST))))


def test_sites_show_their_own_only_where_all_others_stay_hidden():
    """All sizes of two classes up to 2 at four sites, and all choices of who shows."""
    for sizes in product(product(range(3), repeat=2), repeat=4):
        if np.sum(sizes) % 5:  # a fifth of them will do
            continue
        for shows in product((True, False), repeat=4):
            rest = [np.array(size) * (not seen) for size, seen in zip(sizes, shows, strict=True)]
            told = sizes_from(
                np.stack([np.sum(sizes, axis=0), np.sum(rest, axis=0)]).astype(np.uint64), 2, LEAST, shows.count(False)
            )
            assert not (told.apart and hidden_may_follow(sizes, shows))


def scored(sizes: tuple[int, int], seed: int) -> Scored:
    codes = np.repeat(np.arange(2), sizes)
    values = np.random.default_rng(seed).normal(size=(len(codes), 1))
    return Scored(values, np.empty((len(codes), 0)), codes, (values[:, 0] > 0).astype(np.int64))


def left_by_subtraction() -> Any:
    parts = {name: scored((9, 9) if name != "d" else (9, 2), i) for i, name in enumerate("abcd")}
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    params = {"n_classes": 2, "per_site": dict.fromkeys("abcd", 5)}
    found = execute_together(roster, "score_counts", {"scored": (Holder, parts)}, params).result
    d = np.bincount(parts["d"].codes * 2 + parts["d"].chosen, minlength=4).reshape(2, 2)
    return found.tally.confusion - sum(each.confusion for each in found.sites.values()), d


def test_a_rule_that_looks_at_nobody_else_gives_a_site_away_and_the_real_one_does_not(monkeypatch):
    rest, d = left_by_subtraction()
    assert rest.sum() == 65
    with monkeypatch.context() as patch:
        patch.setattr(
            score_counts,
            "sizes_from",
            lambda counted, classes, *_: Sizes(counted[0].astype(np.int64), apart=classes > 0),
        )
        rest, d = left_by_subtraction()
    np.testing.assert_array_equal(rest, d)


def opened_by(parts: dict[str, Scores]) -> tuple[Any, list[Any]]:
    """What `platt` gives, and every sum that the coordinator reads on the way."""
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    sizes = np.bincount(pooled(2).codes).astype(float)
    with Tapped(roster, job=b"platt", entropy=RootEntropy(roster.parties, b"platt")) as run:
        voice = Voice(run, protect(run, to=Coordinator), FixedPoint(32, terms=len(parts)))
        AB = platt(run, run.hold(Holder, parts), voice=voice, sizes=sizes)
        return AB, [values for _, values in run.sums]


def test_the_sums_of_probabilities_do_not_depend_on_who_holds_which_record():
    parts = score_parts(("p1", "p2", "p3"), 2)
    rows = np.random.default_rng(1).permutation(N)
    whole = pooled(2)
    dealt = {p: Scores(whole.values[i], whole.codes[i]) for p, i in zip(parts, np.array_split(rows, 3), strict=True)}
    (one, sums), (other, others) = opened_by(parts), opened_by(dealt)
    np.testing.assert_allclose(one, other, atol=1e-8)
    assert (
        [s.shape for s in sums] == [s.shape for s in others] == [(1, 6)] * len(sums)
    )  # six numbers of a column, and no more
    np.testing.assert_allclose(sums, others, atol=1e-6)
    assert 3 <= len(sums) <= 10


@pytest.mark.parametrize("protocol", ["pan_svm", "consensus_horizontal"])
def test_probabilities_are_fitted_to_means_over_groups_of_rows(monkeypatch, protocol):
    """What leaves a holder for them depends on no single row's decision value."""
    least, seen = 3, []
    real = fold_scores.scores_of

    def spied(atoms: Any, values: Any) -> Any:
        seen.append((atoms, real(atoms, values)))
        return seen[-1][1]

    monkeypatch.setattr(fold_scores, "scores_of", spied)
    parts = parts_at(("p1", "p2", "p3"), 2)
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    params = {
        "kernel": "linear",
        "gamma": 1.0,
        "degree": 3,
        "coef0": 0.0,
        "C": 1.0,
        "min_count": least,
        "probability": True,
    }
    execute_together(roster, protocol, {"data": (Holder, parts)}, {**params, "accept_risk": True})
    assert len(seen) == 3
    for atoms, scores in seen:
        group = atoms.group[atoms.group >= 0]
        for own in np.unique(group):
            assert (group == own).sum() >= least
            assert np.ptp(scores.values[group == own], axis=0).max() == 0


@pytest.mark.parametrize("sites", [(), ("a", "b", "c", "d")])
def test_holders_receive_nothing_but_what_is_published(sites):
    parts = {name: scored((9, 9), i) for i, name in enumerate("abcd")}
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    params = {"n_classes": 2, "per_site": dict.fromkeys(sites, 5)}
    ledger = execute_together(roster, "score_counts", {"scored": (Holder, parts)}, params).ledger
    assert {row.type for row in ledger if row.receiver_role == "holder"} == set()
    assert {row.sender for row in ledger if row.type == "OwnCounts"} == set(sites)
