"""Landmarks: the points through which the Nystroem map sees all data, as means of at least `min_cluster` records.

The problem. Holder k has rows X_k, n_k of them and `rows` in all. Everyone shall know about `count` points that lie among the
records as k-means centres do, and of no record more than its part in such a mean.

source="local", this file. Each holder clusters its own rows, about count n_k / rows clusters, one at least where it has
min_cluster rows, none where it has fewer. A cluster is a union of groups of the run (`atoms`), or a piece of one, so that sums over
clusters tell nothing about sums over groups; it has at least min_cluster rows, and at least as many as a group
(`numeric.landmarks`). The same clusters serve later runs that ask for as many. A secure sum delivers a list only if everybody
knows where in it to write, so places are drawn first. L centres in all, L being opened by a sum; each takes one of the free
slots of a table of 16 L, at random:

    o_s = sum_k how many centres of holder k drew slot s;      slots with o_s = 1 are kept                     (1)
    eight times, each time with the centres that have no slot yet
    the matrix of kept slots x columns = sum_k (row s = the centre of k that has slot s, else 0)               (2)

Every draw is independent, also of the same holder's others: so o has one distribution, whoever holds the centres. A
draw fails with probability below L / (16 L - L) = 1/15, so that a centre has no slot at the end, and is left out, with
probability below 15^-8 < 4e-10, and far below where L is large: only few draw a second time.

source="joint": one clustering of all rows, in `joint_landmarks`.

Roles. Holder: rows, perhaps none. Coordinator: learns L, o and (2), publishes which slots are kept, and (2).

Threat. Semi-honest; coalitions as in `secure_sum`. A coalition knows which landmarks are its own, and so which are all
the others' together: with two holders each knows the other's, and M - 1 of M holders know the last one's and their
number. Which of the others a landmark belongs to nobody learns while the sums hold, with or without the coordinator:
slots are drawn alike by all.

Not protected. Landmarks are public, and each is a mean of real records: what they have in common (a constant column, a
column that is 0 in all but one, equal records) it shows. A landmark that lies where only one holder can have records
says whose it is. A coordinator that lied about (1) could open the sum of two landmarks, or leave some out; one that
tells holders different things gets an error. A holder that stays away would leave a hole in (2), so `threshold` sums are refused.

Source: 004 section 3.2 (k-means at each party, centres by the secure sum); (1) is not in it. docs/methods/landmarks.md.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tacit.choreo import F64, I64, U64, Array, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.crypto.pads import stream
from tacit.errors import LocalError
from tacit.numeric.atoms import OUT
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.landmarks import clusters_of_groups, means
from tacit.numeric.ring import Z64, Ring
from tacit.protocols.atoms import Atoms, clustered, keep
from tacit.protocols.joint_landmarks import joint_landmarks
from tacit.protocols.secure_sum import Protection, secure_sum

SOURCES = ("local", "joint")
SLOTS = 16  # per landmark
DRAWS = 8  # rounds of (1), always as many: how many are needed is chance, and the text of a run is not
SEED = 0  # of k-means: no secret, so that the same rows give the same landmarks


class Rows(Protocol):
    """What a holder brings along."""

    X: F64


class Total(Message, tells="how many landmarks all holders have together"):
    """L."""

    landmarks: int


class Kept(Message, tells="which slots one landmark each has drawn, at random and without saying whose"):
    """Slots with o_s = 1, in this round of (1)."""

    slots: I64


class Landmarks(Message, tells="every landmark: the mean of at least min_cluster records of one holder, without saying whose"):
    """(2), in an order that says nothing."""

    centres: F64


@choreography(opens={Everyone: "the landmarks, each the mean of at least min_cluster records, over whole groups of rows"})
def landmarks(
    run: Run,
    data: At[Any],
    atoms: At[Atoms],
    *,
    source: str,
    count: int,
    rows: int,
    min_cluster: int,
    by: Protection,
    fixed: FixedPoint,
    rounds: int = 15,
    witness: bool = False,
) -> tuple[F64, At[Atoms]]:
    """Public landmarks of all holders' rows, by the paper's way (local) or by one clustering of all rows (joint)."""
    refuse(source, count, rows, min_cluster, by, rounds)
    run.local(Holder, check_range, data, source, fixed, run.who(Holder))
    if source == "local":
        return local_landmarks(run, data, atoms, count=count, rows=rows, min_cluster=min_cluster, by=by, fixed=fixed)
    return joint_landmarks(
        run, data, atoms, size=count, min_cluster=min_cluster, by=by, fixed=fixed, rounds=rounds, witness=witness
    )  # fmt: skip


@choreography(
    opens={
        Coordinator: "how many landmarks drew each slot of a table, which is as random as the draws",
        Everyone: "the mean of every cluster of at least min_cluster records of one holder; not whose it is,"
        " except that a holder knows its own, and so of two holders each knows the other's; how many there are",
    }
)
def local_landmarks(
    run: Run, data: At[Any], atoms: At[Atoms], *, count: int, rows: int, min_cluster: int, by: Protection, fixed: FixedPoint
) -> tuple[F64, At[Atoms]]:
    """Each holder's own centres, united."""
    atoms = run.local(Holder, cluster, data, atoms, count, rows, min_cluster)
    keep(run, atoms)
    own = run.local(Holder, own_centres, data, atoms)
    found = secure_sum(run, run.local(Holder, number, own), to=Coordinator, by=by, what="number of landmarks")
    total = run.publish(Total, run.local(Coordinator, total_of, found)).landmarks
    if not total:
        raise LocalError(
            f"no party has the min_cluster={min_cluster} records, or the min_count of a class, that one landmark stands for:"
            " bring more rows, or use landmark_source='fourier'"
        )
    s = run.carry(slot=run.local(Holder, no_slots, own), kept=np.empty(0, dtype=np.int64))
    for _ in run.rounds(DRAWS, s):
        drawn = run.local(Holder, draw, s.slot, s.kept, SLOTS * total, run.random(Holder))
        kept = reserve(run, drawn, slots=SLOTS * total, by=by)
        s.slot = run.local(Holder, settle, s.slot, drawn, kept)
        s.kept = np.sort(np.append(s.kept, kept))
    return deliver(run, own, s.slot, kept=s.kept, by=by, fixed=fixed), atoms


@choreography(opens={Coordinator: "how many drew each slot", Everyone: "the slots that one drew"})
def reserve(run: Run, drawn: At[Any], *, slots: int, by: Protection, ring: Ring = Z64) -> I64:
    """One round of (1)."""
    taken = secure_sum(run, run.local(Holder, occupancy, drawn, slots), to=Coordinator, by=by, what="slots", ring=ring)
    return run.publish(Kept, run.local(Coordinator, once, taken)).slots


@choreography(opens={Everyone: "the landmarks in the kept slots"})
def deliver(run: Run, own: At[Any], slot: At[Any], *, kept: I64, by: Protection, fixed: FixedPoint | None, ring: Ring = Z64) -> F64:
    """(2)."""
    table = secure_sum(run, run.local(Holder, placed, own, slot, kept), to=Coordinator, by=by, fixed=fixed, what="landmarks", ring=ring)
    return run.publish(Landmarks, run.local(Coordinator, listed, table)).centres


# Refused before anything is sent


def refuse(source: str, count: int, rows: int, min_cluster: int, by: Protection, rounds: int) -> None:
    """What cannot be asked for, in one line."""
    if source not in SOURCES:
        raise LocalError(f"unknown landmark source {source!r}: use one of {', '.join(SOURCES)}")
    if min_cluster < 1 or rounds < 1:
        raise LocalError(f"landmarks need min_cluster >= 1 and rounds >= 1, got min_cluster={min_cluster}, rounds={rounds}")
    if by.method == "threshold":
        raise LocalError("secure_sum='threshold' lets holders stay away, and a landmark without its holder is lost: use 'pairwise'")
    if rows < min_cluster:
        raise LocalError(f"{rows} rows in all are fewer than the min_cluster={min_cluster} that one landmark stands for: lower min_cluster")
    refuse_count(count, rows, min_cluster)


def refuse_share(share: float, min_cluster: int) -> None:
    """0 < share <= 1 / min_cluster."""
    if not 0 < share <= 1:
        raise LocalError(f"landmarks as a share of the rows must lie between 0 and 1, got {share}: lower landmarks, or give a count")
    if share > 1 / min_cluster:
        raise LocalError(
            f"a centre stands for at least min_cluster={min_cluster} records, so at most {100 / min_cluster:.4g} % of the rows can be"
            f" landmarks, got {100 * share:.4g} %: lower landmarks or min_cluster"
        )


def refuse_count(count: int, rows: int, min_cluster: int) -> None:
    """1 <= count <= rows / min_cluster."""
    if not 1 <= count <= rows:
        raise LocalError(f"{count} landmarks of {rows} rows: ask for at least 1 and at most as many as there are rows")
    if count > rows // min_cluster:
        raise LocalError(
            f"a centre stands for at least min_cluster={min_cluster} records, so {rows} rows give at most {rows // min_cluster} landmarks,"
            f" got {count}: lower landmarks or min_cluster"
        )


def check_range(part: Rows, source: str, fixed: FixedPoint, me: str) -> None:
    """No mean is larger than the largest value, and no sum than the sum of absolute values."""
    size = np.abs(part.X)
    fixed.encode(size.max(axis=0, initial=0.0) if source == "local" else size.sum(axis=0), f"features of {me}")


# Steps at the holders


def cluster(part: Rows, atoms: Atoms, count: int, rows: int, min_cluster: int) -> Atoms:
    """This holder's rows in its part of the clusters; those of an earlier run, if they are as many, large enough and whole."""
    use, past = np.flatnonzero(atoms.group >= 0), atoms.past
    least, wanted = max(min_cluster, atoms.least), max(1, int(count * (atoms.kind >= 0).sum() / rows + 0.5))
    before, lost = past.cluster[past.cluster >= 0], past.absent[past.cluster >= 0].any()
    if past.clusters == wanted and len(before) and not lost and np.unique(before, return_counts=True)[1].min() >= min_cluster:
        return atoms
    if len(use) < least:
        return clustered(atoms, np.full(len(atoms.group), OUT), 0)
    group = np.zeros(len(use), dtype=np.int64) if atoms.least == 1 else atoms.group[use]
    found = np.full(len(atoms.group), OUT, dtype=np.int64)
    found[use] = clusters_of_groups(part.X[use], group, wanted, least, SEED)
    return clustered(atoms, found, wanted)


def own_centres(part: Rows, atoms: Atoms) -> F64:
    """The means of this holder's clusters."""
    use = atoms.past.cluster >= 0
    return means(part.X[use], atoms.past.cluster[use])[0] if use.any() else np.empty((0, part.X.shape[1]))


def number(own: Array) -> U64:
    """Of this holder's centres."""
    return np.array([len(own)], dtype=np.uint64)


def no_slots(own: Array) -> I64:
    """The slot of each centre; -1 is none."""
    return np.full(len(own), -1, dtype=np.int64)


def draw(slot: I64, kept: I64, slots: int, seed: bytes) -> I64:
    """A free slot for every centre without one, each drawn on its own."""
    free = np.setdiff1d(np.arange(slots), kept)
    waiting = np.flatnonzero(slot < 0)
    drawn = np.full(len(slot), -1, dtype=np.int64)
    drawn[waiting] = free[words(seed, len(waiting)) % np.uint64(len(free))]
    return drawn


def words(seed: bytes, n: int) -> U64:
    """As many uniform words of the party's own randomness."""
    return np.concatenate([np.empty(0, np.uint64), *(chunk.copy() for chunk in stream(seed, n))])


def occupancy(drawn: I64, slots: int) -> U64:
    """This holder's part of (1)."""
    return np.bincount(drawn[drawn >= 0], minlength=slots).astype(np.uint64)


def settle(slot: I64, drawn: I64, kept: I64) -> I64:
    """Who drew alone stays."""
    return np.where(np.isin(drawn, kept), drawn, slot)


def placed(own: Array, slot: I64, kept: I64) -> Array:
    """This holder's part of (2)."""
    table = np.zeros((len(kept), own.shape[1]), dtype=own.dtype)
    mine = slot >= 0
    table[np.searchsorted(kept, slot[mine])] = own[mine]
    return table


# Steps at the coordinator


def total_of(found: U64) -> Total:
    """L."""
    return Total(int(found[0]))


def once(taken: U64) -> Kept:
    """(1)."""
    return Kept(np.flatnonzero(taken == 1))


def listed(table: F64) -> Landmarks:
    """Sorted by value, so that the order depends on nothing else."""
    return Landmarks(table[np.lexsort(table.T[::-1])])
