"""Gram matrix by 001's Algorithm 1, corrected: cell by cell, under the coordinator's key. The reference for small tables.

The problem. Cells of m records have owners, as in `gram_arbitrary`. For every pair of records j <= i and every column k, with P_a the owner
of A_jk and P_b that of A_ik, all under the public key of Q, the coordinator:

    P_a >> P_b    E(A_jk)                                                              (lines 7, 8)              (1)
    P_b           E(A_jk)^A_ik E(0; z) = E(A_jk A_ik)                                  (line 9)                  (2)
    the product of (2) over all k passes from owner to owner, and to Q, which decrypts (lines 10 to 18)          (3)

E(0; z) is missing in line 9 as printed: without it P_a, who knows its own ciphertext, finds a small A_ik by trial
(`attacks.small_exponent`). Only j <= i is computed. All cells that P_a has for P_b travel in one message, and the products (3) of all pairs
of records pass once through the parties, each of which multiplies its own terms in: what each computes is Algorithm 1's, in another order.
Every message is authenticated as in `secure_product`: a ciphertext that was altered, or made elsewhere, is refused.

Roles. Holder: cells. Coordinator: Q.

Threat. Semi-honest, and no collusion with Q: all that holders receive is encrypted under its key, so Q and a party's two neighbours in (3)
learn that party's terms, and Q and P_b learn P_a's cells. `gram_arbitrary` by products resists both, and is thousands of times cheaper.

Source: 001 section 5, Algorithm 1 and Theorem 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Each, Holder, Message, PeerError, Run, choreography
from tacit.crypto.entropy import prf
from tacit.errors import LocalError, MissingExtraError
from tacit.numeric.cells import Cells
from tacit.numeric.ownership import Owners
from tacit.protocols.secure_product import authentic

U8 = NDArray[np.uint8]
RECORDS = 200  # more take hours


class PaillierKey(Message, tells="nothing: a public key made for this run"):
    """Lines 1, 2."""

    body: bytes


class EncryptedCells(
    Message,
    tells="nothing to who lacks the coordinator's key: the sender's cells of the columns in which the receiver owns cells too",
    ragged=True,
):
    """(1), authenticated."""

    rows: U8
    mac: bytes


class RunningProducts(Message, tells="nothing to who lacks the coordinator's key: a ciphertext for every pair of records"):
    """(3), on its way, authenticated."""

    rows: U8
    mac: bytes


class DotProducts(Message, tells="the dot products of all pairs of records"):
    """(3), complete, authenticated."""

    rows: U8
    mac: bytes


@choreography(opens={Coordinator: "the gram matrix of all cells; together with any holder also the cells that this one was sent"})
def gram_algorithm1(run: Run, table: At[I64], *, owners: Owners, cells: Cells, key_bits: int = 2048) -> At[tuple[F64, ...]]:
    """The gram matrix in one packed band."""
    check_size(owners)
    secret = run.local(Coordinator, new_key, run.random(Coordinator), key_bits)
    key = run.publish(PaillierKey, run.local(Coordinator, public_part, secret, key_bits)).body
    me, tag = run.who(Holder), run.tag()
    own = run.local(Holder, encrypted, table, run.random(Holder), owners, key, key_bits, me)
    sent = run.send(EncryptedCells, Holder >> Holder, run.local(Holder, sealed_cells, own, tag, me))
    received = run.local(Holder, opened_cells, sent, tag, owners, me)
    terms = run.local(Holder, own_terms, table, received, run.random(Holder), owners, cells, key, key_bits, me)  # (2)
    at, *others = run.members(Holder)
    passed = run.local(at, np.copy, terms)
    for holder in others:
        tag = run.tag()
        told = run.send(RunningProducts, at >> holder, run.local(at, sealed_products, passed, tag))
        passed, at = run.local(holder, multiplied, told, tag, terms, key, key_bits), holder
    tag = run.tag()
    told = run.send(DotProducts, at >> Coordinator, run.local(at, complete, passed, tag))
    return run.local(Coordinator, decrypted, told, tag, secret, key_bits, cells)


def check_size(owners: Owners) -> None:
    """Refuse what takes hours."""
    if owners.shape[0] > RECORDS:
        raise LocalError(f"method='algorithm1' is a reference for up to {RECORDS} records, got {owners.shape[0]}: use method='product'")


def paillier() -> ModuleType:
    """The scheme, whose library is installed separately."""
    try:
        return import_module("tacit.crypto.paillier_cells")
    except ImportError:
        raise MissingExtraError("method='algorithm1'", "he") from None


def sent_cells(owners: Owners, a: str, b: str) -> list[tuple[int, int]]:
    """Rows and columns, in the whole table, of the cells that a sends to b."""
    rows, columns = np.nonzero(owners.masks[a])
    shared = owners.present(b)
    return [(int(owners.rows[a][i]), int(k)) for i, k in zip(rows, owners.columns[a][columns], strict=True) if shared[k]]


def whole(table: I64, owners: Owners, me: str) -> I64:
    """The party's cells in the whole table, zeros elsewhere."""
    A = np.zeros(owners.shape, np.int64)
    A[np.ix_(owners.rows[me], owners.columns[me])] = table
    return A


# Steps at the holders


def encrypted(table: I64, seed: bytes, owners: Owners, key: bytes, key_bits: int, me: str) -> dict[str, U8]:
    """(1) for each peer, each cell encrypted once."""
    A = whole(table, owners, me)
    wanted = {b: sent_cells(owners, me, b) for b in owners.rows if b != me}
    place = {cell: t for t, cell in enumerate(sorted({cell for cells in wanted.values() for cell in cells}))}
    rows = paillier().encrypt([int(A[cell]) for cell in place], key, key_bits, seed)
    return {b: rows[[place[cell] for cell in cells]] for b, cells in wanted.items()}


def sealed_cells(own: Mapping[str, U8], tag: bytes, me: str) -> Each:
    """To each peer its own."""
    return Each({b: EncryptedCells(rows, _mac(tag, rows, me, b)) for b, rows in own.items()})


def opened_cells(sent: Mapping[str, EncryptedCells], tag: bytes, owners: Owners, me: str) -> dict[str, U8]:
    """From each peer as many as it owns."""
    for a, message in sent.items():
        authentic(message.mac, _mac(tag, message.rows, a, me), f"a message of cells of {a}")
        if len(message.rows) != (expected := len(sent_cells(owners, a, me))):
            raise PeerError(f"{a} sent {len(message.rows)} encrypted cells where it owns {expected}: stop and ask it")
    return {a: message.rows for a, message in sent.items()}


def own_terms(table: I64, sent: Mapping[str, U8], seed: bytes, owners: Owners, cells: Cells, key: bytes, key_bits: int, me: str) -> U8:
    """The product of (2) over the cells A_ik that are the party's own, for every pair of records; its own A_jk it need not encrypt."""
    A = whole(table, owners, me)
    received = {cell: t for t, cell in enumerate(cell for a in sent for cell in sent_cells(owners, a, me))}
    pairs = [(i, j) for i in range(len(A)) for j in range(i + 1)]
    uses = [
        (t, received[j, k], int(A[i, k])) for t, (i, j) in enumerate(pairs) for k in np.flatnonzero(A[i]).tolist() if (j, k) in received
    ]
    local = A @ A.T
    totals = paillier().encrypt([int(local[pair]) for pair in pairs], key, key_bits, seed, factor=cells.terms * cells.bound)
    ciphers = np.concatenate(list(sent.values())) if sent else totals[:0]
    found: U8 = paillier().raised(totals, ciphers, np.array(uses, np.int64).reshape(-1, 3), key, key_bits)
    return found


def sealed_products(passed: U8, tag: bytes) -> RunningProducts:
    """To the next party."""
    return RunningProducts(passed, _mac(tag, passed))


def multiplied(told: RunningProducts, tag: bytes, terms: U8, key: bytes, key_bits: int) -> U8:
    """(3)."""
    authentic(told.mac, _mac(tag, told.rows), "a message of running products")
    found: U8 = paillier().multiplied(told.rows, terms, key, key_bits)
    return found


def complete(passed: U8, tag: bytes) -> DotProducts:
    """The last party's."""
    return DotProducts(passed, _mac(tag, passed))


def _mac(tag: bytes, rows: U8, *names: str) -> bytes:
    return prf(tag, *(name.encode() for name in names), rows.tobytes())


# Steps at the coordinator


def new_key(seed: bytes, key_bits: int) -> bytes:
    """Line 1."""
    secret: bytes = paillier().new_key(seed, key_bits)
    return secret


def public_part(secret: bytes, key_bits: int) -> PaillierKey:
    """Line 2."""
    return PaillierKey(paillier().public_of(secret, key_bits))


def decrypted(told: DotProducts, tag: bytes, secret: bytes, key_bits: int, cells: Cells) -> tuple[F64, ...]:
    """Line 18."""
    authentic(told.mac, _mac(tag, told.rows), "the message of dot products")
    return (cells.decode(paillier().decrypt(told.rows, secret, key_bits)),)
