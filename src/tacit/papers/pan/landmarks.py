"""Bottom layer of PAN-SVM: every party's k-means centres become public landmarks, without saying whose they are.

The problem. Party h has n_h records, n in all. Everyone shall know L = K_1 + ... + K_H landmarks: K_h = share n_h
centres of each party's own k-means (`kmeans`). A secure sum delivers a list only if everybody knows where in it to
write. So each centre draws one of 16 L slots at random, and draws again among the free slots, eight times in all, until
it is alone there (a centre has no slot at the end, and is left out, with probability below 15^-8):

    o_s = sum_h how many centres of party h drew slot s;    slots with o_s = 1 are kept                             (1)
    the table of kept slots x columns = sum_h (row s = the centre of h that has slot s, else 0)                     (2)

Roles. Holder: records, perhaps none. Coordinator: learns L, o and (2), publishes which slots are kept, and (2).

Threat. Semi-honest; coalitions as in `secure_sum`. Which of the other parties a landmark belongs to nobody learns,
because all draw slots alike; of two parties, each knows the other's.

Not protected. Landmarks are public. A centre of a cluster of one record IS that record: at 25 % landmarks 10 to 53 %
of the centres of the paper's tables are records, at 15 % 2 to 34 %. The paper counts on k-means to mask the records.

Source: 004 section 3.2.2.1; the slots are ours, since the paper's secure sum adds numbers and delivers no lists.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.crypto.pads.entropy import words_of
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.papers.pan.kmeans import find_centres
from tacit.protocols.part import Table
from tacit.protocols.sums.secure_sum import Protection, secure_sum

SLOTS = 16  # for each landmark
DRAWS = 8  # always as many: how many are needed is chance, and what a run says is not
AUTO_SHARE, AUTO_MOST = 0.25, 400  # what landmarks="auto" is: such a share of the records, or as many

LANDMARKS = Fact(
    "pan_svm.landmarks", "holder", "record", "group",
    "the landmarks: each is the mean of one party's records in a cluster, which may be a single record; not whose",
)  # fmt: skip
SLOTS_TAKEN = Fact(
    "pan_svm.slots", "nobody", "nothing", "none", "which random slots exactly one landmark drew, not whose"
)


class LandmarkCount(
    Message, tells=Fact("pan_svm.landmark_count", "holders", "count", "all", "how many landmarks all parties have")
):
    """The number L of landmarks of all parties together."""

    landmarks: int


class KeptSlots(Message, tells=SLOTS_TAKEN):
    """The slots with o_s = 1 in this round of (1)."""

    slots: I64


class LandmarkTable(Message, tells=LANDMARKS):
    """The landmarks (2), in the order of their values, which says nothing of slots."""

    centres: F64


@choreography(
    opens={
        Coordinator: Fact(
            "pan_svm.slot_counts", "holders", "count", "all", "how many landmarks drew each slot of a table, at random"
        ),
        Everyone: LANDMARKS,
    }
)
def share_landmarks(run: Run, rows: At[Table], *, share: float, by: Protection, fixed: FixedPoint) -> F64:
    """Tell everyone the k-means centres of all parties' own records, `share` of them each."""
    own = run.local(Holder, own_centres, rows, share)
    count = secure_sum(run, run.local(Holder, count_centres, own), to=Coordinator, by=by, what="number of landmarks")
    total = run.publish(LandmarkCount, run.local(Coordinator, read_count, count)).landmarks
    s = run.carry(slot=run.local(Holder, no_slots, own), kept=np.empty(0, dtype=np.int64))
    for _ in run.rounds(DRAWS, s):
        drawn = run.local(Holder, draw_slots, s.slot, s.kept, SLOTS * total, run.random(Holder))
        taken = run.local(Holder, count_draws, drawn, SLOTS * total)
        taken = secure_sum(run, taken, to=Coordinator, by=by, what="slots")
        kept = run.publish(KeptSlots, run.local(Coordinator, keep_single_draws, taken)).slots
        s.slot, s.kept = run.local(Holder, settle, s.slot, drawn, kept), np.sort(np.append(s.kept, kept))
    placed = run.local(Holder, place_centres, own, s.slot, s.kept)
    table = secure_sum(run, placed, to=Coordinator, by=by, fixed=fixed, what="landmarks")
    return run.publish(LandmarkTable, run.local(Coordinator, sort_landmarks, table)).centres


def share_of(landmarks: float | str, rows: int) -> float:
    """Return which share of its records each party makes landmarks of."""
    if isinstance(landmarks, str):
        return min(AUTO_SHARE, AUTO_MOST / rows)
    if landmarks > rows:
        raise LocalError(f"landmarks={landmarks:g} of {rows} records: ask for as many as there are records, or fewer")
    return landmarks / rows if landmarks >= 1 else float(landmarks)


# Steps at the holders


def own_centres(rows: Table, share: float) -> F64:
    """Return the centres of a party's own records, one at least where it has records."""
    wanted = max(1, int(share * len(rows.X) + 0.5))
    return find_centres(rows.X, wanted) if len(rows.X) else np.empty((0, rows.X.shape[1]))


def count_centres(own: F64) -> U64:
    """Return how many centres this party has, as one word."""
    return np.array([len(own)], dtype=np.uint64)


def no_slots(own: F64) -> I64:
    """Return -1 for every centre: none has a slot yet."""
    return np.full(len(own), -1, dtype=np.int64)


def draw_slots(slot: I64, kept: I64, slots: int, seed: bytes) -> I64:
    """Return a free slot, drawn at random, for every centre that has none."""
    free, waiting = np.setdiff1d(np.arange(slots), kept), np.flatnonzero(slot < 0)
    drawn = np.full(len(slot), -1, dtype=np.int64)
    drawn[waiting] = free[words_of(seed, len(waiting)) % np.uint64(len(free))]
    return drawn


def count_draws(drawn: I64, slots: int) -> U64:
    """Return a party's part of (1): how many of its centres drew each slot."""
    return np.bincount(drawn[drawn >= 0], minlength=slots).astype(np.uint64)


def settle(slot: I64, drawn: I64, kept: I64) -> I64:
    """Return the slots of a party's centres; one that drew alone keeps its slot."""
    return np.where(np.isin(drawn, kept), drawn, slot)


def place_centres(own: F64, slot: I64, kept: I64) -> F64:
    """Return a party's part of (2)."""
    table, placed = np.zeros((len(kept), own.shape[1])), slot >= 0
    table[np.searchsorted(kept, slot[placed])] = own[placed]
    return table


# Steps at the coordinator


def read_count(total: U64) -> LandmarkCount:
    """Return the number of landmarks from its word."""
    return LandmarkCount(int(total[0]))


def keep_single_draws(taken: U64) -> KeptSlots:
    """Return the slots that exactly one centre drew, (1)."""
    return KeptSlots(np.flatnonzero(taken == 1).astype(np.int64))


def sort_landmarks(table: F64) -> LandmarkTable:
    """Return the landmarks in an order that does not depend on chance."""
    return LandmarkTable(np.ascontiguousarray(table[np.lexsort(table.T[::-1])]))
