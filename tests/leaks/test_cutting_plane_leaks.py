"""What cutting planes give away: sums of many rows that differ by many, and nothing else that a row is in."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from leaks.planes import PUBLISHED, Played, blobs, played, rows_of
from tacit.attacks.coordinator import play
from tacit.choreo import PeerError
from tacit.protocols import cutting_plane as protocol
from tacit.protocols.row_problems import problems, signs_of

TRAPS = [  # seeds, rows, columns, noise, C: little data and a large C, so that few rows are within the margin
    (0, 40, 3, 0.5, 1.0), (1, 60, 5, 1.0, 10.0), (2, 80, 8, 0.3, 1.0), (3, 120, 4, 2.0, 0.1), (4, 30, 2, 0.2, 30.0), (5, 100, 10, 0.7, 3.0),
]  # fmt: skip


def trap(seed: int, n: int, columns: int, noise: float, C: float, min_count: int, **params: Any) -> Played:
    return played(blobs(n, columns, seed, noise), C=C, min_count=min_count, tol=1e-4, **params)


def three_classes(min_count: int, multi_class: str) -> Played:
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, 90)
    F = rng.normal(size=(90, 3)) + 1.5 * np.eye(3)[codes]
    return played(rows_of(F, signs_of(codes, problems(3, multi_class))), C=5.0, min_count=min_count, tol=1e-4)


def differences(done: Played, problem: int = 0) -> list[int]:
    """By how many rows each two of the sums that are open differ, the empty one among them."""
    return [int((V ^ W).sum()) for V, W in combinations(done.sets(problem), 2)]


def check_sets(done: Played) -> None:
    """The sets that the transcript gives are those that were summed, so it is they that matter."""
    first, *rounds = done.run.sums[1:2] + [(p, s) for p, s in done.run.sums[2:] if s.ndim == 2 and s.shape[1:] == first_width(done)]
    expected = [done.sets(k) for k in range(done.rows.signs.shape[1])]
    opened: list[list[Any]] = [[] for _ in expected]
    for k, sums in enumerate(np.reshape(first[1], (len(expected), 2, -1))):
        opened[k] += list(sums)
    for (_, sums), go, step in zip(rounds, done.run.of(protocol.Direction), done.run.of(protocol.Step), strict=False):
        for k, total in zip(go.live[step.cut >= 0], sums, strict=True):
            opened[k].append(total)
    for k, sets in enumerate(expected):
        classes = sets[2:] if len(sets) > 3 and done.run.of(protocol.Start)[0].both[k] else [sets[1], sets[0], *sets[2:]]
        assert len(opened[k]) == len(classes)
        for total, V in zip(opened[k], classes, strict=True):
            signed = np.where(V, done.rows.weight * done.rows.signs[:, k], 0.0)
            truth = [*(signed @ done.rows.F), signed.sum(), np.where(V, done.rows.weight, 0.0).sum()]
            np.testing.assert_allclose(total, truth, atol=1e-6)


def first_width(done: Played) -> tuple[int, ...]:
    return (done.rows.F.shape[1] + 2,)


@pytest.mark.parametrize("min_count", [2, 5, 9])
@pytest.mark.parametrize("case", TRAPS, ids=lambda c: f"{c[1]}x{c[2]}")
def test_no_opened_sum_and_no_difference_of_two_is_over_fewer_rows_than_min_count(case, min_count):
    done = trap(*case, min_count)
    check_sets(done)
    assert min(differences(done)) >= min_count


def test_without_the_rule_a_few_rows_are_laid_open_all_the_time():
    """The test above can fail."""
    found = [d for case in TRAPS for d in differences(trap(*case, 1))]
    assert found.count(1) > 5
    assert sum(1 <= d < 5 for d in found) > 50


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_the_rule_holds_in_every_problem_of_several(multi_class):
    done = three_classes(5, multi_class)
    check_sets(done)
    assert min(d for k in range(3) for d in differences(done, k)) >= 5
    assert any(d < 5 for k in range(3) for d in differences(three_classes(1, multi_class), k))


def nearest_union(done: Played, classes: int) -> int:
    """By how many rows a cut of any problem differs from a union of classes, at least; a class is summed in its own problem."""
    members = [done.rows.signs[:, c] > 0 for c in range(classes)]
    cuts = [V for k in range(classes) for V in done.sets(k)[4:]]
    return min(sum(int(min((V & c).sum(), (~V & c).sum())) for c in members) for V in cuts)


def test_no_cut_is_a_union_of_classes_but_for_a_few_rows():
    X, y = load_iris(return_X_y=True)
    rows = rows_of(X, signs_of(y, problems(3, "ovr")))
    found = {classes: [nearest_union(played(rows, C=C, tol=1e-4, classes=classes), 3) for C in (0.1, 0.01, 0.001)] for classes in (0, 3)}
    assert min(found[3]) >= 5
    assert min(found[0]) < 5, "without the rule there is such a cut"


@pytest.mark.parametrize("small", [1, 2, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_class_of_too_few_rows_is_never_summed_alone_nor_told_from_the_others(small, sign):
    rows = blobs(n=70, seed=small)
    y = np.full(70, -sign)
    y[:small] = sign
    done = played(rows_of(rows.F, y), C=10.0)
    assert list(done.run.of(protocol.Start)[0].both) == [0]
    assert min(differences(done)) >= 5
    assert min(int((V ^ (y == sign)).sum()) for V in done.sets()[1:]) >= 5
    check_sets(done)


def test_losses_are_told_only_where_enough_rows_contribute():
    done = trap(3, 60, 3, 0.1, 1000.0, 5)
    counts, losses = ([s for p, s in done.run.sums if p.split("/")[-2] == name] for name in ("secure_sum", "secure_sum#1"))
    held_back = 0
    for allowed, n, R in zip(done.run.of(protocol.Allowed), counts[1:], losses[1:], strict=True):
        few = np.isin(np.rint(n[: R.shape[1]]), [1, 2, 3, 4])
        assert not R[0][few].any()
        assert not allowed.losses[0][few].any()
        held_back += few.sum()
    assert held_back > 0, "there was something to hold back"


def test_what_the_coordinator_reads_is_the_same_whoever_holds_which_rows():
    """So it depends on the rows only through the sums over all holders."""
    rows = blobs(n=90, seed=3)
    order = np.random.default_rng(0).permutation(90)
    splits = [np.array_split(order, 3), np.split(order, [1, 2]), [order[:0], order[:45], order[45:]]]
    first, *others = [played(rows, split) for split in splits]
    for other in others:
        assert [p for p, _ in other.run.sums] == [p for p, _ in first.run.sums]
        for (_, a), (_, b) in zip(first.run.sums, other.run.sums, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("witness", [False, True])
def test_nobody_receives_anything_but_masked_vectors_and_what_is_published(witness):
    ledger = trap(*TRAPS[0], 5, witness=witness).run.ledger
    coordinator, holder = ({row.type for row in ledger if row.receiver == who} for who in ("coordinator", "p2"))
    assert coordinator == {"PublicKey", "Masked"}
    assert holder == {"PublicKey", *PUBLISHED} | ({"Masked"} if witness else set())


# A coordinator that lies


def all_allowed(*args: Any) -> Any:
    honest = protocol.allow(*args)
    return protocol.Allowed(np.ones_like(honest.losses), np.ones_like(honest.cuts))


def both_classes(*args: Any) -> Any:
    return protocol.Start(np.ones_like(protocol.may_start(*args).both))


def another_cut(*args: Any) -> Any:
    honest = protocol.choose(*args)
    return protocol.Step(honest.best, np.where(honest.cut == 31, 29, 31))


def another_model(*args: Any) -> Any:
    found = protocol.models(*args).solution
    return protocol.Models(protocol.Solution(found.w * 1.01, found.b, found.objective, found.bound, found.rounds, found.held))


LIES = {
    "allow": (all_allowed, "Allowed"),
    "may_start": (both_classes, "Start"),
    "choose": (another_cut, "Step"),
    "models": (another_model, "Solution"),
}


@pytest.mark.parametrize("step", LIES)
def test_a_lie_passes_unseen_by_holders_that_do_not_see_the_sums_and_stops_those_that_do(step):
    lie, name = LIES[step]
    rows = blobs(n=40, columns=3, noise=0.5)
    few = np.where(np.arange(40) < 2, 1, -1)
    held = {f"p{i}": rows_of(rows.F[i::3], (few if step == "may_start" else rows.signs[:, 0])[i::3]) for i in range(3)}
    play({step: lie}, held, C=1.0)
    with pytest.raises(PeerError, match=f"the coordinator published a {name} whose .* does not follow from the sums"):
        play({step: lie}, held, C=1.0, witness=True)
