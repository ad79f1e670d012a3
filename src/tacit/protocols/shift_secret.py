"""Secret shift: the coordinator sees every block once, under a vector that it has no part of; holders see nothing.

The problem is that of `shift_ring` and `shift_vertical`: the coordinator shall train on rows that are all moved alike.

Rows. The first holder draws a key g and sends it to each other holder under a pad of their pair seed. All derive

    r from PRF(g, "shift"),     on request an orthogonal Q from PRF(g, "rotation")                             (1)
    P_m uploads A_m Q + r       once; Q = 1 without rotation                                                   (2)

Columns. Every holder draws its own r_m and Q_m over its own columns, and uploads A_m Q_m + r_m to a site without data.

Linear and RBF decisions stay those of the pooled table: both see only differences of rows and their lengths. The key
gets one more word, 0, under its pad, so that parties who were told different things notice it                (3)

Roles. Holder: data. Coordinator: a site without data; a holder would know g, or whose the rows are. Labeller, Asker: as
in `shift_vertical`.

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
from typing import Any

import numpy as np

from tacit.choreo import F64, U64, Asker, At, Coordinator, Each, Holder, Message, PeerError, Run, choreography
from tacit.crypto.agreement import pair_seed
from tacit.crypto.entropy import prf
from tacit.errors import LocalError
from tacit.numeric.ring import Z64
from tacit.numeric.shift import rotation_of, shift_of
from tacit.protocols.secure_sum import PublicKey, own_key
from tacit.protocols.shift_ring import (
    Blocks,
    Records,
    Shift,
    ShiftedSVM,
    answers,
    check_kernel,
    check_labels,
    gather_labels,
    move,
    narrow_columns,
    train,
    words_of,
)
from tacit.protocols.shift_vertical import draw_columns, shift_vertical_predict, train_on_columns

WORDS = 5  # a key of 32 bytes, and (3)


class GroupKey(Message, tells="the key of the common shift, for holders only: under a pad of sender and receiver"):
    """The key g of (1)."""

    words: U64


class MovedRows(
    Message,
    tells="the sender's rows under the common secret shift: exact differences, or with rotation distances, between the rows of all holders",
    ragged=True,
):
    """(2)."""

    rows: F64


@choreography(
    opens={
        Coordinator: "every row under one unknown vector, and with rotation one unknown rotation: all row differences, or all distances;"
        " all rows in clear once one record or the minimum of the columns is known, with rotation about as many records as columns;"
        " every label; how many rows each holder has",
        Holder: "the common shift, with which whoever sees the coordinator's table reads all rows",
    }
)
def shift_secret_rows(
    run: Run,
    data: At[Any],
    width: At[Any],
    *,
    kernel: str,
    gamma: float | str,
    C: float,
    distribution: str = "uniform",
    rotation: bool = False,
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    probability: bool = False,
) -> dict[str, Any]:
    """Train; the coordinator ends with a `ShiftedSVM`, every holder with the common `Shift`."""
    check_kernel(kernel)
    check_apart(run)
    run.local(Holder, check_labels, data, run.who(Holder))
    shifts = run.local(Holder, common_shift, agree(run), width, distribution, rotation)
    blocks = upload(run, data, shifts)
    labels, names = gather_labels(run, data, class_weight)
    return {
        "classes": names,
        **train(run, run.local(Coordinator, np.concatenate, blocks), labels, kernel, gamma, C, tol, max_iter, probability=probability),
        "shifts": shifts,
        "narrow": run.local(Holder, narrow_columns, data, width, distribution),
    }


@choreography(opens={Coordinator: "the new records, moved as in training", Holder: "the decision values of its own records"})
def shift_secret_rows_predict(run: Run, data: At[Any], model: At[ShiftedSVM], shifts: At[Shift]) -> At[Any]:
    """Decision values of every holder's own new records, at that holder."""
    return answers(run, model, upload(run, data, shifts))


@choreography(
    opens={
        Coordinator: "every holder's columns under its own unknown vector, and with rotation its own unknown rotation: all differences of"
        " rows, or all distances, within each holder's columns; a column once one value or the minimum is known, with rotation a"
        " holder's columns once about as many records as it has columns are; every label",
        Holder: "how many records and columns each party has; the names of the classes",
    }
)
def shift_secret_columns(
    run: Run,
    data: At[Any],
    width: At[Any],
    *,
    kernel: str,
    gamma: float | str,
    C: float,
    distribution: str = "uniform",
    rotation: bool = False,
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    probability: bool = False,
) -> dict[str, Any]:
    """Train; the coordinator, a site without data, ends with a `ShiftedSVM`, every holder with its `Shift`."""
    check_apart(run)
    shifts = draw_columns(run, width, distribution=distribution, rotation=rotation)
    return train_on_columns(
        run, data, width, shifts, kernel=kernel, gamma=gamma, C=C, distribution=distribution, class_weight=class_weight, tol=tol,
        max_iter=max_iter, probability=probability,
    )  # fmt: skip


@choreography(opens={Coordinator: "the new records' columns, moved as in training", Asker: "the decision values"})
def shift_secret_columns_predict(run: Run, data: At[Any], model: At[ShiftedSVM], shifts: At[Shift]) -> At[Any]:
    """Decision values of new records, at the asker."""
    return shift_vertical_predict(run, data, model, shifts)


@choreography(opens={Holder: "a key that all holders share and nobody else knows; public keys"})
def agree(run: Run) -> At[bytes]:
    """The key g of (1), at every holder."""
    starter, private = run.members(Holder)[0], run.random(Holder)
    keys = run.publish_all(PublicKey, run.local(Holder, own_key, private))
    theirs = {party: message.key for party, message in keys.items()}
    pads = run.pads(run.local(Holder, seeds_with, private, theirs, run.who(Holder), str(starter)), run.tag())
    told = run.send(GroupKey, starter >> Holder, run.local(starter, share_key, run.random(starter), pads, run.who(starter)))
    return run.local(Holder, open_key, told, pads, run.who(Holder), str(starter))


@choreography(opens={Coordinator: "every holder's moved rows"})
def upload(run: Run, data: At[Any], shifts: At[Shift]) -> At[Blocks]:
    """(2); the blocks in the order of the holders."""
    return run.local(Coordinator, in_order, run.send(MovedRows, Holder >> Coordinator, run.local(Holder, moved_rows, data, shifts)))


def check_apart(run: Run) -> None:
    """A coordinator that holds data knows the shift."""
    site = run.roster[Coordinator][0]
    if site in run.roster[Holder]:
        raise LocalError(f"shift='secret' hides data from a coordinator that has none, and {site!r} holds some: name a site without data")


# Steps


def seeds_with(private: bytes, keys: Mapping[str, bytes], me: str, starter: str) -> dict[str, bytes]:
    """The starter's seed with each other holder; each other holder's with the starter."""
    others = [party for party in keys if party != me and starter in (me, party)]
    try:
        return {party: pair_seed(private, keys[party], b"group key") for party in others}
    except ValueError:
        raise PeerError(f"a public key that {me} received is not an X25519 key") from None


def share_key(key: bytes, pads: Any, me: str) -> Each:
    """The key and the check word (3) for each other holder, under the pair's pad; to itself in clear, which never leaves."""
    words = np.append(np.frombuffer(key, dtype="<u8").astype(np.uint64), np.uint64(0))
    shared = {party: GroupKey(Z64.add(words.copy(), pads.put_on(party, WORDS))) for party in pads.seeds}
    return Each({**shared, me: GroupKey(words)})


def open_key(message: GroupKey, pads: Any, me: str, starter: str) -> bytes:
    """The key, once (3) holds."""
    words = message.words.copy()
    if words.shape != (WORDS,):
        raise PeerError(f"{starter} sent a key of another length than 32 bytes: stop and ask {starter}")
    if me != starter:
        words = Z64.add(words, pads.take_off(starter, WORDS), sign=-1)
    if words[-1]:
        raise PeerError(f"the key that {starter} sent {me} does not open: the parties were told different things; compare their audits")
    return words[:-1].astype("<u8").tobytes()


def common_shift(key: bytes, width: F64, distribution: str, rotation: bool) -> Shift:  # noqa: FBT001 - a step
    """(1)."""
    d = len(width)
    r = shift_of(words_of(prf(key, b"shift"), d), width, distribution)
    return Shift(r, rotation_of(words_of(prf(key, b"rotation"), d * d), d) if rotation else None)


def moved_rows(part: Records, shift: Shift) -> MovedRows:
    """(2)."""
    return MovedRows(move(part.X, shift))


def in_order(messages: Mapping[str, MovedRows]) -> Blocks:
    """Messages come in the order of the holders."""
    return tuple(message.rows for message in messages.values())
