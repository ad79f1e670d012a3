"""Gram matrix of binary records by set intersections: the coordinator compares blindly hashed features.

The problem. A record of zeros and ones is the set S_i of the numbers of its ones, and a dot product is an intersection:

    x_i . x_j = | S_i and S_j |                                                                                     (1)

Every holder k puts its scalar on the features, hashed to a group in which scalars commute (`crypto.sets.oprf`), and all
others put theirs on too, so that a feature has one token, whoever started, and nobody alone can make it:

    T_f = H(f)^(s_1 s_2 ... s_M)                                                                                    (2)

A holder sends its features through all others, in a random order of its own, and the coordinator gets their tokens; the
holder sends it the records, as zeros and ones in that order. All pairs of parties are compared in these M passes. With
T the matrix that the coordinator makes of equal tokens, a column for each,

    G = T T'                                                                                                       (3)

equals the gram matrix of the pooled records, whether these are split by rows, by columns or cell by cell: where several
parties own cells of a record, its set is the union of theirs. By columns no two parties have a feature in common, and
no two tokens are equal.

Roles. Holder: binary cells. Coordinator: compares; holds no data unless it is one of the holders.

Threat. Semi-honest. Holders learn how many features and records the others have: what passes them are points under the
owner's scalar, each of them once (001 passes every record's set on, which shows the next party the table). A
coordinator that colludes with nobody cannot make a token. But a feature has the same token in every record, or (1)
would not be there to be counted, and so

    T  is the binary table of all parties, up to the order of its columns.                                          (4)

Whoever knows how frequent features are, and which occur together, finds their order again: `attacks.token_frequency`.
This is why `method="intersection"` needs `accept_risk`; a homomorphic product shows the coordinator (3) and not (4).

Not protected: the coordinator together with one holder, or a coordinator that is one: by rows and cell by cell that
holder knows which of its tokens is which feature, and so the name of every column of (4).

Source: 001 section 4 (binary features, after Yu, Jiang, Vaidya 2006), Vaidya, Clifton 2005 (intersection by commutative
hashing).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64, U8
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, PeerError, Role, Run, choreography
from tacit.crypto.sets.oprf import hash_to_points, load_sodium, make_scalar, raise_points
from tacit.crypto.sets.row_hash import order_of, sorted_rows
from tacit.errors import LocalError
from tacit.protocols.part import Table

Bits = NDArray[np.bool_]
DIGEST = 32  # bytes


class Shape(
    Message, tells=Fact("gram.own_shape", "holder", "size", "party", "how many records and features the sender has")
):
    """How many records and features a holder has; public before anything else."""

    records: int
    features: int


class Features(
    Message,
    tells=Fact(
        "gram.hashed_features",
        "nobody",
        "nothing",
        "none",
        "nothing more: the owner's features, hashed to a group and under scalars that the receiver lacks",
    ),
):
    """A holder's features on their way to (2), in the owner's random order."""

    points: U8


class Finished(
    Message,
    tells=Fact(
        "gram.tokens",
        "holder",
        "membership",
        "column",
        "the tokens of a holder's features, equal to those of others where the features are",
    ),
):
    """The tokens (2) of a holder's features."""

    points: U8


class Sets(
    Message,
    tells=Fact(
        "gram.sets",
        "holder",
        "record",
        "record",
        "the sender's records, as many as it has, whose features have tokens for names: its table up to the order of"
        " its columns",
    ),
    ragged=True,
):
    """A holder's records with a column for each token, in the order in which tokens were sent."""

    cells: Bits


@choreography(
    opens={
        Coordinator: (
            Fact(
                "gram.binary_table",
                "holders",
                "record",
                "record",
                "the binary table of all parties up to the order of its columns, and so the gram matrix",
            ),
            Fact(
                "gram.column_names",
                "holders",
                "membership",
                "column",
                "by rows and cells, together with any holder, the names of the columns too",
            ),
        ),
        Everyone: Fact("gram.shapes", "holder", "size", "party", "how many records and features each party has"),
    }
)
def gram_intersection(run: Run, data: At[Table], *, partition: str) -> At[F64]:
    """Return the gram matrix (3), at the coordinator.

    Records by rows stand in the public order of the parties.
    """
    members = run.members(Holder)
    run.local(Holder, check_binary, data, run.who(Holder))
    shapes = run.publish_all(Shape, run.local(Holder, measure, data))
    check_shapes(shapes, partition)
    secret = run.random(Holder)
    begun = run.local(Holder, hash_own, data, partition, run.who(Holder), secret)
    tokens = [pass_through(run, run.local(k, sort_points, begun), k, members, secret) for k in members]
    sets = run.send(Sets, Holder >> Coordinator, run.local(Holder, shuffle_columns, data, begun))
    return run.local(Coordinator, gram_of, sets, partition, *tokens)


def pass_through(
    run: Run, passed: At[Features], owner: Role, members: tuple[Role, ...], secret: At[bytes]
) -> At[Finished]:
    """Send one holder's features through all others, in public order, to the coordinator."""
    at = owner
    for k in members:
        if k != owner:
            passed, at = run.local(k, put_on, run.send(Features, at >> k, passed), secret), k
    return run.send(Finished, at >> Coordinator, run.local(at, finish, passed))


# Before anything is sent


def check_binary(data: Table, me: str) -> None:
    """Refuse what is neither 0 nor 1, and a place without the library."""
    load_sodium()
    wrong = np.argwhere((data.X != 0) & (data.X != 1))
    if len(wrong):
        row, column = (int(i) + 1 for i in wrong[0])
        raise LocalError(
            f"method='intersection' takes zeros and ones, and row {row} of {me} has another value in column {column}:"
            " encode it as binary columns, or leave out method="
        )


def measure(data: Table) -> Shape:
    """Return how many records and features a holder has."""
    return Shape(*data.X.shape)


def check_shapes(shapes: Mapping[str, Shape], partition: str) -> None:
    """Refuse tables that do not fit: by rows features must agree, by columns records, cell by cell both."""
    if partition not in ("horizontal", "vertical", "arbitrary"):
        raise LocalError(f"partition must be 'horizontal', 'vertical' or 'arbitrary', got {partition!r}")
    alike = {"horizontal": ("features",), "vertical": ("records",), "arbitrary": ("records", "features")}[partition]
    for what in alike:
        found = {party: getattr(shape, what) for party, shape in shapes.items()}
        if len(set(found.values())) > 1:
            told = ", ".join(f"{party} {n}" for party, n in found.items())
            raise LocalError(f"a {partition} split needs as many {what} at every party: {told}")


# Steps


def hash_own(data: Table, partition: str, me: str, secret: bytes) -> U8:
    """Return H(f)^s_k of the holder's own features; by columns a feature is its holder's alone."""
    owner = me if partition == "vertical" else ""
    names = np.frombuffer(b"".join(sha256(f"{owner}/{j}".encode()).digest() for j in range(data.X.shape[1])), np.uint8)
    return raise_points(hash_to_points(names.reshape(-1, DIGEST), b"tacit feature"), make_scalar(secret))


def sort_points(begun: U8) -> Features:
    """Return the points in sorted order, which is random to all who lack the scalar."""
    return Features(sorted_rows(begun))


def put_on(passed: Features, secret: bytes) -> Features:
    """Return the points under one more scalar of (2)."""
    return Features(raise_points(passed.points, make_scalar(secret)))


def finish(passed: Features) -> Finished:
    """Return the tokens, which all scalars are on."""
    return Finished(passed.points)


def shuffle_columns(data: Table, begun: U8) -> Sets:
    """Return the records, their columns in the order of the points."""
    return Sets(np.ascontiguousarray(data.X[:, order_of(begun)] != 0))


def gram_of(sets: Mapping[str, Sets], partition: str, *tokens: Finished) -> F64:
    """Return the gram matrix (3)."""
    names, column = np.unique(np.vstack([told.points for told in tokens]), axis=0, return_inverse=True)
    ends = np.cumsum([len(told.points) for told in tokens])
    tables = [
        place_columns(held.cells, at, len(names))
        for held, at in zip(sets.values(), np.split(column.ravel(), ends[:-1]), strict=True)
    ]
    T = np.vstack(tables) if partition == "horizontal" else np.sum(tables, axis=0)
    if T.max(initial=0) > 1:
        raise PeerError(
            "a cell is owned by two parties: in every cell at most one of them has a one; compare who owns what"
        )
    return np.asarray(T @ T.T)


def place_columns(cells: Bits, at: I64, width: int) -> F64:
    """Return a holder's records among the columns of T."""
    if cells.shape[1:] != at.shape:
        raise PeerError(f"records of {cells.shape[1]} features came with {len(at)} tokens: stop and ask the sender")
    T = np.zeros((len(cells), width))
    T[:, at] = cells
    return T
