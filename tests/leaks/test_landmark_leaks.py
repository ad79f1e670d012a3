"""What landmarks give away: not whose they are, and no record alone; and what shows it if they did.

Delivery and reservation are enumerated exactly, as in `enumeration`: a column of the landmarks, or a slot of the table,
is one combination of all values and all pads in Z_q. Two landmarks are in the hands of three holders in all nine ways,
in the same slots; the view of the coordinator, and of the coordinator and a holder without landmarks, must have the
same distribution over the pads in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from leaks.enumeration import Digits, EnumeratedEntropy, Tapped
from tacit.attacks.cluster_difference import Round, cluster_difference, lloyd_sums, members, single_out
from tacit.attacks.landmark_exposure import landmark_exposure
from tacit.choreo import Coordinator, Holder, Roster, Run
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Ring
from tacit.protocols.planes import joint_landmarks as joint
from tacit.protocols.planes import landmarks as protocol
from tacit.protocols.sums.atoms import HoldBack, Told, begin
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice
from tacit.runtimes.together import Together

WDBC = MinMaxScaler((-1, 1)).fit_transform(load_breast_cancer().data)
NAMES = ("p1", "p2", "p3")
ROSTER = Roster({Holder: NAMES, Coordinator: ("coordinator",)})
Hands = tuple[str, str]  # who has the first landmark and who the second
Play = Callable[[Run, Any, Hands, Digits, Ring], None]


def delivered(run: Run, by: Any, hands: Hands, digits: Digits, ring: Ring) -> None:
    """Landmark i has digit i as its columns, and slot 3 i of those kept."""
    own = {
        p: np.array([digits.of(i) for i in range(2) if hands[i] == p], dtype=np.float64).reshape(-1, digits.size)
        for p in NAMES
    }
    slot = {p: np.array([3 * i for i in range(2) if hands[i] == p], dtype=np.int64) for p in NAMES}
    held = (run.hold(Holder, own), run.hold(Holder, slot))
    protocol.deliver(run, *held, kept=np.array([0, 3]), by=by, fixed=FixedPoint(0, terms=3), ring=ring)


def reserved(run: Run, by: Any, hands: Hands, digits: Digits, ring: Ring) -> None:
    """Slot e is drawn by landmark i as often as digit i of e says."""
    times = [np.repeat(np.arange(digits.size), digits.of(i).astype(np.int64)) for i in range(2)]
    drawn = {p: np.concatenate([np.empty(0, np.int64), *(times[i] for i in range(2) if hands[i] == p)]) for p in NAMES}
    protocol.reserve(run, run.hold(Holder, drawn), slots=digits.size, by=by, ring=ring)


def view(play: Play, hands: Hands, q: int, coalition: Sequence[str], entropy: type[EnumeratedEntropy]) -> Any:
    """What the coalition sees, a column of sorted numbers (all pads) for each pair of values."""
    digits = Digits(q, 2)
    for _ in ("count", "enumerate"):
        source = entropy(ROSTER.parties, digits)
        with Tapped(ROSTER, job=b"leak test", entropy=source) as run:
            play(run, protect(run, to=Coordinator), hands, digits, Ring(q))
        digits.pads = len(source.numbers)
        digits.freeze()
    seen = sorted(((s, m) for s, r, m in run.seen if {s, r} & set(coalition)), key=lambda pair: pair[0])
    pads = [values for p in coalition for _, values in sorted(source.known[p].items())]
    return coded([*(m.words[:-1].reshape(-1, digits.size) for _, m in seen), *(v[None] for v in pads)], q)


def coded(blocks: Iterable[Any], q: int) -> Any:
    columns = np.concatenate(list(blocks))
    assert q ** len(columns) < 2**63
    code = np.zeros(columns.shape[1], dtype=np.uint64)
    for column in columns:
        code = code * np.uint64(q) + column
    return np.sort(code.reshape(-1, q * q), axis=0)  # the two values are the low digits


def says_whose(
    play: Play,
    q: int,
    coalition: Sequence[str] = ("coordinator",),
    entropy: type[EnumeratedEntropy] = EnumeratedEntropy,
) -> bool:
    """Whether two ways to hold the landmarks, by holders outside the coalition, can be told apart."""
    outside = [p for p in NAMES if p not in coalition]
    first, *others = (view(play, hands, q, coalition, entropy) for hands in product(outside, repeat=2))
    return not all(np.array_equal(first, other) for other in others)


class NoPad(EnumeratedEntropy):
    def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
        return np.zeros_like(super().pad(party, seed, tag, words))


@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("coalition", [("coordinator",), ("coordinator", "p3"), ("coordinator", "p1")])
@pytest.mark.parametrize("play", [delivered, reserved])
def test_who_holds_a_landmark_changes_nothing_that_others_see(play, coalition, q):
    assert not says_whose(play, q, coalition)


@pytest.mark.parametrize("play", [delivered, reserved])
def test_without_pads_it_is_seen_whose_landmark_it_is(play):
    assert says_whose(play, 2, entropy=NoPad)


def occupancies(split: tuple[int, ...], draw: Callable[..., Any], slots: int = 5) -> Counter[tuple[int, ...]]:
    """How often each occupancy occurs, over all draws of four landmarks, so many of them at each holder."""
    seen: Counter[tuple[int, ...]] = Counter()
    for drawn in product(range(slots), repeat=sum(split)):
        dice, total = list(drawn), np.zeros(slots, dtype=np.int64)
        for own in split:
            mine, dice = dice[:own], dice[own:]
            seed = np.array(mine, dtype=np.uint64).tobytes()
            total += protocol.occupancy(draw(np.full(own, -1), np.empty(0, np.int64), slots, seed), slots).astype(
                np.int64
            )
        seen[tuple(total.tolist())] += 1
    return seen


def test_the_occupancy_of_slots_has_one_distribution_whoever_holds_the_landmarks(monkeypatch):
    monkeypatch.setattr(protocol, "words", lambda seed, n: np.frombuffer(seed, np.uint64, n))
    one, *others = (occupancies(split, protocol.draw) for split in ((4, 0), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)))
    assert all(other == one for other in others)


def test_draws_that_avoid_ones_own_slots_are_caught(monkeypatch):
    """It would save collisions, and say that colliding landmarks are of different holders."""
    monkeypatch.setattr(protocol, "words", lambda seed, n: np.frombuffer(seed, np.uint64, n))

    def apart(slot: Any, kept: Any, slots: int, seed: bytes) -> Any:
        drawn = protocol.draw(slot, kept, slots, seed)
        for i in range(len(drawn)):
            while drawn[i] in drawn[:i]:
                drawn[i] = (drawn[i] + 1) % slots
        return drawn

    assert occupancies((4, 0), apart) != occupancies((2, 2), apart)


def played(parts: Sequence[Any], kind: type[Together] = Together, **asked: Any) -> tuple[Any, Any]:
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    held = {p: part_of(X, None, None, tuple(map(str, range(X.shape[1])))) for p, X in zip(names, parts, strict=True)}
    asked = {"rows": sum(map(len, parts)), "min_cluster": 5, **asked}
    kinds = {p: np.zeros(len(X), np.int64) for p, X in zip(names, parts, strict=True)}
    rule = HoldBack(min(asked["min_cluster"], asked.pop("min_count", 5)), accept_risk=True)
    with kind(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        fixed, witness = FixedPoint(32, len(names)), asked.pop("witness", False)
        voice, data = Voice(run, protect(run, to=Coordinator), fixed, witness), run.hold(Holder, held)
        atoms = run.local(Holder, begin, data, run.hold(Holder, kinds), Told((("identity", parts[0].shape[1]),)), rule)
        return protocol.landmarks(run, data, atoms, voice=voice, **asked)[0], run


def split(X: Any, parties: int = 5) -> list[Any]:
    return [X[rows] for rows in np.array_split(np.random.default_rng(0).permutation(len(X)), parties)]


class Measured(Together):
    """Keeps the size of every frame but the lists of slots, which chance decides."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sizes: list[tuple[str, str, str, int]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        self.sizes += [(place, s, r, frames.nbytes) for (s, r), frames in outbox.items() if not place.endswith("Kept")]
        return super()._exchange(place, outbox, wanted, missing)


def test_no_message_is_longer_where_a_holder_has_more_landmarks():
    """The same landmarks in other hands: the same list is published, and every frame has the same size."""
    pair = np.repeat(np.random.default_rng(0).normal(size=(12, 3)), 5, axis=0)
    (first, one), (second, other) = (
        played([pair[:at], pair[at : at + 5], pair[at + 5 :]], Measured, source="local", count=12) for at in (5, 50)
    )
    np.testing.assert_array_equal(first, second)
    assert one.sizes == other.sizes


# joint


def views(
    monkeypatch: pytest.MonkeyPatch, parts: Sequence[Any], count: int = 10, least: int = 5
) -> tuple[list[Any], list[Any]]:
    """What the coordinator knows after each round, and the cell of each row at the first holder."""
    known: list[Any] = []
    cells: list[Any] = [np.zeros(len(parts[0]), np.int32)]
    grown, descend = joint.grow_cells, joint.descend

    def keep(*args: Any) -> Any:
        known.append(grown(*args))
        return known[-1]

    def follow(cell: Any, *args: Any) -> Any:
        after = descend(cell, *args)
        if len(cell) == len(parts[0]):
            cells.append(after)
        return after

    with monkeypatch.context() as patch:
        patch.setattr(joint, "grow_cells", keep)
        patch.setattr(joint, "descend", follow)
        played(parts, source="joint", count=count, min_count=least)
    return known, cells


def as_rounds(known: Sequence[Any], cells: Sequence[Any]) -> list[Round]:
    """The coordinator's knowledge, in the form that the attack takes.

    A cell is a cluster, opened where it has changed.
    """
    most, told = len(known[-1].size), []
    for cell, opened in zip(cells[1:], known, strict=True):
        size, total = np.zeros(most, np.int64), np.zeros((most, opened.total.shape[1]))
        size[: len(opened.size)], total[: len(opened.size)] = opened.size, opened.total
        told.append(Round(size, total, size > 0, cell.astype(np.int64)))
    return told


@pytest.mark.parametrize("count", [5, 10, 50])
def test_every_opened_sum_is_over_enough_records_and_no_combination_singles_one_out(count, monkeypatch):
    known, cells = views(monkeypatch, [WDBC, WDBC[:0], WDBC[:0]], count)
    told = as_rounds(known, cells)
    for after, opened in zip(cells[1:], known, strict=True):
        np.testing.assert_array_equal(np.bincount(after), opened.size)
        assert opened.size.min() >= 5
    patterns = np.unique(members(told), axis=1, return_counts=True)[1]
    assert patterns.min() >= 5, "rows that no sum tells apart"
    assert single_out(members(told)).size == 0
    assert cluster_difference(told, WDBC).found.size == 0


def test_a_cut_that_leaves_one_record_is_caught(monkeypatch):
    """A coordinator that calls every cut fine gets a record only where rows are groups of their own."""
    X = np.vstack([WDBC, np.full(30, 9.0)])  # so far from all others that a cut leaves it alone
    honest = joint.choose_done
    monkeypatch.setattr(joint, "choose_done", lambda cells, cuts, sums, _: honest(cells, cuts, sums, 1))
    known, cells = views(monkeypatch, [X, X[:0], X[:0]], least=1)
    assert known[-1].size.min() == 1
    assert len(X) - 1 in single_out(members(as_rounds(known, cells)))
    known, cells = views(monkeypatch, [X, X[:0], X[:0]], least=5)
    assert known[-1].size.min() >= 5
    assert single_out(members(as_rounds(known, cells))).size == 0


def test_holders_see_cuts_and_landmarks_and_nothing_else():
    _, run = played(split(WDBC, 3), source="joint", count=10)
    told = {row.type for row in run.ledger if row.receiver in NAMES}
    assert told == {"PublicKey", "Middle", "Cuts", "Done", "JointLandmarks"}


# attacks


def test_lloyds_rounds_by_secure_sums_give_single_records_away():
    found = cluster_difference(lloyd_sums(WDBC, 20, 15, seed=0), WDBC)
    assert found.found.size > 20
    assert found.found.size > 0.4 * len(found.records)


def test_holding_back_small_moves_ends_the_differences_but_not_the_combinations():
    """Why the joint landmarks are made in another way."""
    held = [lloyd_sums(WDBC, k, 15, seed, min_cluster=5) for k in (5, 10, 20) for seed in range(3)]
    assert sum(cluster_difference(told, WDBC).found.size for told in held) == 0
    assert sum(single_out(members(told)).size for told in held) >= 3


def test_a_combination_of_sums_is_found():
    pair = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 1, 0]], dtype=np.bool_)
    np.testing.assert_array_equal(single_out(pair), np.arange(4))
    np.testing.assert_array_equal(single_out(pair[:2]), [])
    np.testing.assert_array_equal(single_out(np.array([[1, 1, 1, 0], [1, 1, 0, 0]], dtype=np.bool_)), [2])


@pytest.mark.parametrize("source", ["local", "joint"])
def test_landmarks_of_five_records_are_no_records(source):
    found, _ = played(split(WDBC), source=source, count=85)
    exposed = landmark_exposure(found, WDBC)
    assert exposed.share == 0
    assert exposed.distance.min() > 1e-2


@pytest.mark.parametrize(("share", "least"), [(0.15, 0.1), (0.35, 0.3)])
def test_landmarks_of_one_record_are_that_record(share, least):
    found, _ = played(split(WDBC), source="local", count=int(share * len(WDBC)), min_cluster=1)
    exposed = landmark_exposure(found, WDBC)
    assert exposed.share >= least
    laid_open = exposed.distance < 1e-6
    np.testing.assert_allclose(found[laid_open], WDBC[exposed.record[laid_open]], atol=1e-8)


def test_no_landmarks_expose_nothing():
    assert landmark_exposure(np.empty((0, 30)), WDBC).share == 0
