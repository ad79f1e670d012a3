"""Secret shift over rows: the coordinator sees every block once, under a vector that it has no part of.

The problem is that of `shift_ring`: the coordinator shall train on rows that are all moved alike. (Over columns
`shift_vertical` with a site that holds no data does.) The first holder draws a key g and sends it to each other holder
under a pad of their pair seed. All derive

    r from PRF(g, "shift"),     on request an orthogonal Q from PRF(g, "rotation")                             (1)
    P_m uploads A_m Q + r       once; Q = 1 without rotation                                                   (2)

Linear and RBF decisions stay those of the pooled table: both see only differences of rows and their lengths. The key
gets one more word, 0, under its pad, so that parties who were told different things notice it                (3)

Roles. Holder: rows with labels. Coordinator: a site without data; a holder would know g.

Threat. Semi-honest. Against `shift_ring` this closes two holes: the coordinator has no second view to subtract, and no
holder sees anything of another's rows. What the coordinator has is the geometry: without rotation all row differences,
with it all distances between rows. One known record, or a known minimum of the columns, gives r and with it all rows;
with rotation about as many known records as there are columns do, and independent component analysis finds many columns
without any. A coordinator with any one holder opens all rows; that holder's own records would do it too.

Not protected: all of that (docs/adr/0012-what-a-secret-shift-leaves.md). `accept_risk` must be said.

Source: beyond 002; the rotation as in its reference to Chen and Liu, 2005.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Coordinator, Each, Fact, Holder, Message, Pads, PeerError, Run, choreography
from tacit.choreo.protocol import Declaration
from tacit.crypto.pads.entropy import prf, words_of
from tacit.errors import LocalError
from tacit.numeric.ring.words import Z64
from tacit.papers.dual_svm import Solver
from tacit.papers.facts import EVERY_LABEL
from tacit.papers.labels import check_labels, gather_labels
from tacit.papers.parameters import WEAK
from tacit.papers.shift.formulas import rotation_of, shift_of
from tacit.papers.shift.ring import (
    OF_SHIFT,
    OWN_ANSWERS,
    ROTATION,
    Blocks,
    Shift,
    ShiftedSVM,
    Trained,
    answers,
    check_kernel,
    find_narrow,
    fit,
    move,
    stack_blocks,
)
from tacit.protocols.parameters import RadialKernel
from tacit.protocols.part import Records, Table
from tacit.protocols.sums.secure_sum import protect

WORDS = 5  # a key of 32 bytes, and (3)


class GroupKey(
    Message,
    tells=Fact(
        "shift.group_key",
        "nobody",
        "key",
        "party",
        "the key of the common shift, for holders only: under a pad of sender and receiver",
    ),
):
    """The key g of (1), under a pad, with the check word of (3)."""

    words: U64


class MovedRows(
    Message,
    tells=Fact(
        "shift.moved_rows",
        "holder",
        "record",
        "record",
        "the sender's rows under the common secret shift: exact differences, or with rotation distances, between the"
        " rows of all holders",
    ),
    ragged=True,
):
    """The sender's rows under the common shift, (2)."""

    rows: F64


@choreography(
    opens={
        Coordinator: (
            Fact(
                "shift.row_differences",
                "holder",
                "record",
                "record",
                "every row under one unknown vector, and with rotation one unknown rotation: all row differences, or"
                " all distances",
            ),
            Fact(
                "shift.rows_once_known",
                "holder",
                "record",
                "record",
                "all rows in clear once one record or the minimum of the columns is known; with rotation once"
                " about as many records are known as there are columns",
            ),
            EVERY_LABEL,
            Fact("shift.row_counts", "holder", "size", "party", "how many rows each holder has"),
        ),
        Holder: Fact(
            "shift.common_shift",
            "holder",
            "key",
            "all",
            "the common shift, with which whoever sees the coordinator's table reads all rows",
        ),
    }
)
def shift_secret_rows(
    run: Run,
    data: At[Records],
    width: At[F64],
    *,
    kernel: RadialKernel,
    solver: Solver,
    distribution: str = "uniform",
    rotation: bool = False,
) -> Trained:
    """Train; the coordinator ends with a `ShiftedSVM`, every holder with the common `Shift`."""
    check_kernel(kernel.name)
    check_apart(run)
    run.local(Holder, check_labels, data, run.who(Holder))
    shifts = run.local(Holder, derive_shift, agree(run), width, distribution, rotation=rotation)
    table = run.local(Coordinator, stack_blocks, upload(run, data, shifts))
    labels, names = gather_labels(run, data, solver.class_weight)
    return Trained(
        classes=names,
        model=run.local(Coordinator, fit, table, labels, kernel, solver),
        shifts=shifts,
        narrow=run.local(Holder, find_narrow, data, width, distribution),
    )


@choreography(
    opens={
        Coordinator: Fact("shift.new_rows", "holder", "record", "record", "the new records, moved as in training"),
        Holder: OWN_ANSWERS,
    }
)
def shift_secret_rows_predict(run: Run, data: At[Table], model: At[ShiftedSVM], shifts: At[Shift]) -> At[F64]:
    """Return decision values of every holder's own new records, at that holder."""
    return answers(run, model, upload(run, data, shifts))


@choreography(
    opens={
        Holder: Fact("shift.common_key", "nobody", "key", "all", "a key that all holders share and nobody else knows")
    }
)
def agree(run: Run) -> At[bytes]:
    """Return the key g of (1), at every holder."""
    starter, pads = run.members(Holder)[0], run.pads(protect(run).seeds, run.tag())
    shares = run.local(starter, share_key, run.random(starter), pads, run.who(starter))
    told = run.send(GroupKey, starter >> Holder, shares)
    return run.local(Holder, open_key, told, pads, run.who(Holder), str(starter))


@choreography(opens={Coordinator: Fact("shift.uploaded", "holder", "record", "record", "every holder's moved rows")})
def upload(run: Run, data: At[Table], shifts: At[Shift]) -> At[Blocks]:
    """Send (2), and return the blocks in the order of the holders."""
    moved = run.send(MovedRows, Holder >> Coordinator, run.local(Holder, move_rows, data, shifts))
    return run.local(Coordinator, order_blocks, moved)


def check_apart(run: Run) -> None:
    """Refuse a coordinator that holds data: it would know the shift."""
    site = run.roster[Coordinator][0]
    if site in run.roster[Holder]:
        raise LocalError(
            f"shift='secret' hides data from a coordinator that has none, and {site!r} holds some: name a site without"
            " data"
        )


# Steps


def share_key(key: bytes, pads: Pads, me: str) -> Each:
    """Return the key and the check word (3) for each other holder, under the pair's pad.

    The starter keeps its own copy in clear, which never leaves it.
    """
    words = np.append(np.frombuffer(key, dtype="<u8").astype(np.uint64), np.uint64(0))
    shared = {party: GroupKey(Z64.add(words.copy(), pads.put_on(party, WORDS))) for party in pads.seeds}
    return Each({**shared, me: GroupKey(words)})


def open_key(message: GroupKey, pads: Pads, me: str, starter: str) -> bytes:
    """Return the key, once (3) holds."""
    words = message.words.copy()
    if words.shape != (WORDS,):
        raise PeerError(f"{starter} sent a key of another length than 32 bytes: stop and ask {starter}")
    if me != starter:
        words = Z64.add(words, pads.take_off(starter, WORDS), sign=-1)
    if words[-1]:
        raise PeerError(
            f"the key that {starter} sent {me} does not open: the parties were told different things; compare their"
            " audits"
        )
    return words[:-1].astype("<u8").tobytes()


def derive_shift(key: bytes, width: F64, distribution: str, *, rotation: bool) -> Shift:
    """Return the shift that all holders derive from the key, (1)."""
    d = len(width)
    r = shift_of(words_of(prf(key, b"shift"), d), width, distribution)
    return Shift(r, rotation_of(words_of(prf(key, b"rotation"), d * d), d) if rotation else None)


def move_rows(part: Table, shift: Shift) -> MovedRows:
    """Return the holder's rows, moved, (2)."""
    return MovedRows(move(part.X, shift))


def order_blocks(messages: Mapping[str, MovedRows]) -> Blocks:
    """Return the rows of all holders; messages come in the order of the holders."""
    return tuple(message.rows for message in messages.values())


SHIFT_SECRET_ROWS = Declaration(shift_secret_rows, attacked=WEAK, parameters=(*OF_SHIFT, ROTATION))
SHIFT_SECRET_ROWS_PREDICT = Declaration(shift_secret_rows_predict, attacked=WEAK)
