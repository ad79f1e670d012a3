"""Landmarks: the points through which the Nystroem map sees all data, as means of at least `min_cluster` records.

The problem. Holder k has rows X_k, n_k of them and `rows` in all. Everyone shall know about `count` points that lie
among the records as k-means centres do, and of no record more than its part in such a mean.

source="local", this file. Each holder clusters its own rows, about count n_k / rows clusters, one at least where it has
min_cluster rows, none where it has fewer. A cluster is a union of groups of the run (`atoms`), or a piece of one, so
that sums over clusters tell nothing about sums over groups; it has at least min_cluster rows, and at least as many as a
group (`numeric.features.landmarks`). The same clusters serve later runs that ask for as many. A secure sum delivers a
list only if everybody knows where in it to write, so places are drawn first. L centres in all, L being opened by a sum;
each takes one of the free slots of a table of 16 L, at random:

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
tells holders different things gets an error. A holder that stays away would leave a hole in (2), so `threshold` sums
are refused.

Source: 004 section 3.2 (k-means at each party, centres by the secure sum); (1) is not in it. docs/methods/landmarks.md.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.crypto.pads.stream import stream
from tacit.errors import LocalError
from tacit.numeric.devices import device_of
from tacit.numeric.features.landmarks import clusters_of_groups, means
from tacit.numeric.groups.numbering import OUT, count_labels
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.part import Records
from tacit.protocols.planes.feature_map import Columns, Points
from tacit.protocols.planes.joint_landmarks import joint_landmarks
from tacit.protocols.sums.atoms import Atoms, keep, remember_clusters
from tacit.protocols.sums.secure_sum import OF_SOME, Protection, secure_sum
from tacit.protocols.witness import Voice
from tacit.scratch import ROWS, blocks, fill, make_column, select_rows, side_by_side, spread_rows
from tacit.sparse import each

SOURCES = ("local", "joint")
SLOTS = 16  # per landmark
DRAWS = 8  # rounds of (1), always as many: how many are needed is chance, and the text of a run is not
SEED = 0  # of k-means: no secret, so that the same rows give the same landmarks


class Total(
    Message, tells=Fact("landmarks.total", "holders", "count", "all", "how many landmarks all holders have together")
):
    """The number L of landmarks of all holders together."""

    landmarks: int


class Kept(
    Message,
    tells=Fact(
        "landmarks.kept_slots",
        "nobody",
        "nothing",
        "none",
        "which slots one landmark each has drawn, at random and without saying whose",
    ),
):
    """The slots with o_s = 1 in this round of (1)."""

    slots: I64


class Landmarks(
    Message,
    tells=Fact(
        "landmarks.local",
        "holder",
        "aggregate",
        "group",
        "every landmark: the mean of at least min_cluster records of one holder, without saying whose",
    ),
):
    """The landmarks (2), in an order that says nothing."""

    centres: F64


@choreography(
    opens={
        Everyone: Fact(
            "landmarks.means",
            "holder",
            "aggregate",
            "group",
            "the landmarks, each the mean of at least min_cluster records, over whole groups of rows",
        )
    }
)
def landmarks(
    run: Run,
    data: Points,
    atoms: At[Atoms],
    *,
    voice: Voice,
    source: str,
    count: int,
    rows: int,
    min_cluster: int,
    rounds: int = 15,
    device: str = "cpu",
) -> tuple[F64, At[Atoms]]:
    """Return public landmarks of all holders' rows, and the atoms after them.

    They are found as in the paper (local), or by one clustering of all rows (joint).
    """
    refuse(source, count, rows, min_cluster, voice.by, rounds)
    run.local(Holder, check_range, data, source, voice.fixed, run.who(Holder))
    if source == "local":
        asked = {"count": count, "rows": rows, "min_cluster": min_cluster}
        return local_landmarks(run, data, atoms, voice=voice, **asked, device=device)
    return joint_landmarks(run, data, atoms, voice=voice, size=count, min_cluster=min_cluster, rounds=rounds)


@choreography(
    opens={
        Coordinator: Fact(
            "landmarks.drawn_slots",
            "holders",
            "count",
            "all",
            "how many landmarks drew each slot of a table, which is as random as the draws",
        ),
        Everyone: Fact(
            "landmarks.local_means",
            "holder",
            "aggregate",
            "group",
            "the mean of every cluster of at least min_cluster records of one holder; not whose it is, except that a"
            " holder knows its own, and so of two holders each knows the other's; how many there are",
        ),
    }
)
def local_landmarks(
    run: Run,
    data: Points,
    atoms: At[Atoms],
    *,
    voice: Voice,
    count: int,
    rows: int,
    min_cluster: int,
    device: str = "cpu",
) -> tuple[F64, At[Atoms]]:
    """Return the centres that the holders found in their own rows, without saying whose they are."""
    atoms = run.local(Holder, cluster, data, atoms, count, rows, min_cluster, device)
    keep(run, atoms)
    own = run.local(Holder, own_centres, data, atoms)
    found = secure_sum(
        run, run.local(Holder, count_centres, own), to=Coordinator, by=voice.by, what="number of landmarks"
    )
    total = run.publish(Total, run.local(Coordinator, total_of, found)).landmarks
    if not total:
        raise LocalError(
            f"no party has the min_cluster={min_cluster} records, or the min_count of a class, that one landmark stands"
            " for: bring more rows; after earlier runs on these records use the same columns, gamma and hold-out, since"
            " another map needs larger groups; or use landmarks that are no records, landmark_source='fourier' (PanSVC)"
            " or 'ranges' (ConsensusSVC)"
        )
    s = run.carry(slot=run.local(Holder, no_slots, own), kept=np.empty(0, dtype=np.int64))
    for _ in run.rounds(DRAWS, s):
        drawn = run.local(Holder, draw, s.slot, s.kept, SLOTS * total, run.random(Holder))
        kept = reserve(run, drawn, slots=SLOTS * total, by=voice.by)
        s.slot = run.local(Holder, settle, s.slot, drawn, kept)
        s.kept = np.sort(np.append(s.kept, kept))
    return deliver(run, own, s.slot, kept=s.kept, by=voice.by, fixed=voice.fixed), atoms


@choreography(
    opens={
        Coordinator: Fact("landmarks.slot_counts", "holders", "count", "all", "how many landmarks drew each slot"),
        Everyone: Fact("landmarks.slots", "nobody", "nothing", "none", "the slots that exactly one landmark drew"),
    }
)
def reserve(run: Run, drawn: At[I64], *, slots: int, by: Protection, ring: Ring = Z64) -> I64:
    """Return the slots that exactly one centre drew in this round, (1)."""
    taken = secure_sum(run, run.local(Holder, occupancy, drawn, slots), to=Coordinator, by=by, what="slots", ring=ring)
    return run.publish(Kept, run.local(Coordinator, keep_single_draws, taken)).slots


@choreography(
    opens={Everyone: Fact("landmarks.delivered", "holder", "aggregate", "group", "the landmarks in the kept slots")}
)
def deliver(
    run: Run, own: At[Array], slot: At[I64], *, kept: I64, by: Protection, fixed: FixedPoint | None, ring: Ring = Z64
) -> F64:
    """Return the landmarks in the kept slots, (2)."""
    placed = run.local(Holder, place_centres, own, slot, kept)
    table = secure_sum(run, placed, to=Coordinator, by=by, fixed=fixed, what="landmarks", ring=ring)
    return run.publish(Landmarks, run.local(Coordinator, list_landmarks, table)).centres


# Refused before anything is sent


def refuse(source: str, count: int, rows: int, min_cluster: int, by: Protection, rounds: int) -> None:
    """Raise before anything is sent if these landmarks cannot be made."""
    if source not in SOURCES:
        raise LocalError(f"unknown landmark source {source!r}: use one of {', '.join(SOURCES)}")
    if min_cluster < 1 or rounds < 1:
        raise LocalError(
            f"landmarks need min_cluster >= 1 and rounds >= 1, got min_cluster={min_cluster}, rounds={rounds}"
        )
    if by.method in OF_SOME:
        raise LocalError(
            f"secure_sum={by.method!r} lets holders stay away, and a landmark without its holder is lost: use"
            " 'pairwise'"
        )
    if rows < min_cluster:
        raise LocalError(
            f"{rows} rows in all are fewer than the min_cluster={min_cluster} that one landmark stands for: lower"
            " min_cluster"
        )
    refuse_count(count, rows, min_cluster)


def refuse_share(share: float, min_cluster: int) -> None:
    """Raise unless 0 < share <= 1 / min_cluster."""
    if not 0 < share <= 1:
        raise LocalError(
            f"landmarks as a share of the rows must lie between 0 and 1, got {share}: lower landmarks, or give a count"
        )
    if share > 1 / min_cluster:
        raise LocalError(
            f"a centre stands for at least min_cluster={min_cluster} records, so at most {100 / min_cluster:.4g} % of"
            f" the rows can be landmarks, got {100 * share:.4g} %: lower landmarks or min_cluster"
        )


def refuse_count(count: int, rows: int, min_cluster: int) -> None:
    """Raise unless 1 <= count <= rows / min_cluster."""
    if not 1 <= count <= rows:
        raise LocalError(f"{count} landmarks of {rows} rows: ask for at least 1 and at most as many as there are rows")
    if count > rows // min_cluster:
        raise LocalError(
            f"a centre stands for at least min_cluster={min_cluster} records, so {rows} rows give at most"
            f" {rows // min_cluster} landmarks, got {count}: lower landmarks or min_cluster"
        )


def check_range(part: Records | Columns, source: str, fixed: FixedPoint, me: str) -> None:
    """Raise if a landmark or a sum might not fit into fixed point.

    No mean is larger than the largest value, and no sum than the sum of absolute values.
    """
    largest, total = np.zeros((2, part.X.shape[1]))
    for _, block in blocks(part.X, ROWS):
        absolute = each(block, np.abs)
        largest, total = np.maximum(largest, absolute.max(axis=0, initial=0.0)), total + absolute.sum(axis=0)
    fixed.encode(largest if source == "local" else total, f"features of {me}")


# Steps at the holders


def cluster(
    part: Records | Columns, atoms: Atoms, count: int, rows: int, min_cluster: int, device: str = "cpu"
) -> Atoms:
    """Return the atoms split by this holder's part of the clusters, which it finds on its device.

    The clusters of an earlier run are taken again if they are as many, large enough and whole.
    """
    past, kinds = atoms.past, count_labels(atoms.kind)[1:].sum()
    least, wanted = max(min_cluster, atoms.least), max(1, int(count * kinds / rows + 0.5))
    before = count_labels(past.cluster)[1:]
    lost = any((gone[own >= 0] > 0).any() for _, (own, gone) in side_by_side(past.cluster, past.absent))
    if past.clusters == wanted and before.any() and not lost and before[before > 0].min() >= min_cluster:
        return atoms
    use = fill(lambda own: own >= 0, atoms.group, dtype=np.bool_)
    taking = select_rows(atoms.group, use)
    if len(taking) < least:
        return remember_clusters(atoms, np.full(len(atoms.group), OUT), 0)
    group = make_column(taking, len(taking), 0, np.int64) if atoms.least == 1 else taking
    found = clusters_of_groups(select_rows(part.X, use), group, wanted, least, SEED, device_of(device))
    return remember_clusters(atoms, spread_rows(found, use, OUT), wanted)


def own_centres(part: Records | Columns, atoms: Atoms) -> F64:
    """Return the means of this holder's clusters."""
    return means(part.X, atoms.past.cluster)[0]


def count_centres(own: Array) -> U64:
    """Return how many centres this holder has, as one word."""
    return np.array([len(own)], dtype=np.uint64)


def no_slots(own: Array) -> I64:
    """Return -1 for every centre: none has a slot yet."""
    return np.full(len(own), -1, dtype=np.int64)


def draw(slot: I64, kept: I64, slots: int, seed: bytes) -> I64:
    """Return a free slot for every centre without one, each drawn on its own."""
    free = np.setdiff1d(np.arange(slots), kept)
    waiting = np.flatnonzero(slot < 0)
    drawn = np.full(len(slot), -1, dtype=np.int64)
    drawn[waiting] = free[words(seed, len(waiting)) % np.uint64(len(free))]
    return drawn


def words(seed: bytes, n: int) -> U64:
    """Return n uniform words of the party's own randomness."""
    return np.concatenate([np.empty(0, np.uint64), *(chunk.copy() for chunk in stream(seed, n))])


def occupancy(drawn: I64, slots: int) -> U64:
    """Return this holder's part of (1): how many of its centres drew each slot."""
    return np.bincount(drawn[drawn >= 0], minlength=slots).astype(np.uint64)


def settle(slot: I64, drawn: I64, kept: I64) -> I64:
    """Return the slots of this holder's centres: one that drew alone keeps its slot."""
    return np.where(np.isin(drawn, kept), drawn, slot)


def place_centres(own: Array, slot: I64, kept: I64) -> Array:
    """Return this holder's part of (2): its centres in their slots, 0 elsewhere."""
    table = np.zeros((len(kept), own.shape[1]), dtype=own.dtype)
    mine = slot >= 0
    table[np.searchsorted(kept, slot[mine])] = own[mine]
    return table


# Steps at the coordinator


def total_of(found: U64) -> Total:
    """Return the number L of landmarks."""
    return Total(int(found[0]))


def keep_single_draws(taken: U64) -> Kept:
    """Return the slots that exactly one centre drew, (1)."""
    return Kept(np.flatnonzero(taken == 1))


def list_landmarks(table: F64) -> Landmarks:
    """Return the landmarks sorted by value, so that their order depends on nothing else."""
    return Landmarks(table[np.lexsort(table.T[::-1])])
