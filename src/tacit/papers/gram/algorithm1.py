"""Gram matrix by 001's Algorithm 1, corrected: cell by cell, under the coordinator's key. For small tables.

The problem. Cells of m records have owners, as in `gram_arbitrary`. For every pair of records j <= i and every column
k, with P_a the owner of A_jk and P_b that of A_ik, all under the public key of Q, the coordinator:

    P_a >> P_b    E(A_jk)                                                              (lines 7, 8)              (1)
    P_b           E(A_jk)^A_ik E(0; z) = E(A_jk A_ik)                                  (line 9)                  (2)
    the product of (2) over all k passes from owner to owner, and to Q, which decrypts (lines 10 to 18)          (3)

E(0; z) is missing in line 9 as printed: without it P_a, who knows its own ciphertext, finds a small A_ik by trial
(`attacks.small_exponent`). Only j <= i is computed. All cells that P_a has for P_b travel in one message, and the
products (3) of all pairs of records pass once through the parties, each of which multiplies its own terms in: what each
computes is Algorithm 1's, in another order. Every message is authenticated as in `secure_product`: a ciphertext that
was altered, or made elsewhere, is refused.

Roles. Holder: cells. Coordinator: Q.

Threat. Semi-honest, and no collusion with Q: all that holders receive is encrypted under its key, so Q and a party's
two neighbours in (3) learn that party's terms, and Q and P_b learn P_a's cells. `gram_arbitrary` by products resists
both, and is thousands of times cheaper.

Source: 001 section 5, Algorithm 1 and Theorem 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

import numpy as np

from tacit.arrays import F64, I64, U8
from tacit.choreo import At, Coordinator, Each, Fact, Holder, Message, PeerError, Run, choreography
from tacit.crypto.pads.entropy import prf
from tacit.errors import LocalError, MissingExtraError
from tacit.numeric.cells.integers import Cells
from tacit.numeric.cells.ownership import Owners
from tacit.papers.gram.secure_product import check_authentic
from tacit.protocols.facts import PUBLIC_KEY

GRAM_OF_CELLS = Fact("gram.of_cells", "holders", "record", "record", "the gram matrix of all cells")

RECORDS = 200  # more take hours


class PaillierKey(Message, tells=PUBLIC_KEY):
    """The public key of the coordinator, lines 1 and 2."""

    body: bytes


class EncryptedCells(
    Message,
    tells=Fact(
        "gram.encrypted_cells",
        "nobody",
        "nothing",
        "none",
        "nothing to anybody without the coordinator's key: the sender's cells of the columns in which the"
        " receiver owns cells too",
    ),
    ragged=True,
):
    """The sender's cells for one peer under the coordinator's key, (1), authenticated."""

    rows: U8
    mac: bytes


class RunningProducts(
    Message,
    tells=Fact(
        "gram.encrypted_products",
        "nobody",
        "nothing",
        "none",
        "nothing to anybody without the coordinator's key: a ciphertext for every pair of records",
    ),
):
    """The products of (3) on their way from party to party, authenticated."""

    rows: U8
    mac: bytes


class DotProducts(
    Message, tells=Fact("gram.dot_products", "holders", "record", "record", "the dot products of all pairs of records")
):
    """The products of (3), complete, authenticated."""

    rows: U8
    mac: bytes


@choreography(
    opens={
        Coordinator: (
            GRAM_OF_CELLS,
            Fact(
                "gram.sent_cells",
                "holder",
                "record",
                "cell",
                "together with any holder, also the cells that were sent to that holder",
            ),
        )
    }
)
def gram_algorithm1(
    run: Run, table: At[I64], *, owners: Owners, cells: Cells, key_bits: int = 2048
) -> At[tuple[F64, ...]]:
    """Return the gram matrix in one packed band, at the coordinator."""
    check_size(owners)
    secret = run.local(Coordinator, new_key, run.random(Coordinator), key_bits)
    key = run.publish(PaillierKey, run.local(Coordinator, public_part, secret, key_bits)).body
    me, tag = run.who(Holder), run.tag()
    own = run.local(Holder, encrypt_own, table, run.random(Holder), owners, key, key_bits, me)
    sent = run.send(EncryptedCells, Holder >> Holder, run.local(Holder, seal_cells, own, tag, me))
    received = run.local(Holder, open_cells, sent, tag, owners, me)
    seed = run.random(Holder)
    terms = run.local(Holder, multiply_own, table, received, seed, owners, cells, key, key_bits, me)  # (2)
    at, *others = run.members(Holder)
    passed = run.local(at, np.copy, terms)
    for holder in others:
        tag = run.tag()
        told = run.send(RunningProducts, at >> holder, run.local(at, seal_products, passed, tag))
        passed, at = run.local(holder, multiply_in, told, tag, terms, key, key_bits), holder
    tag = run.tag()
    told = run.send(DotProducts, at >> Coordinator, run.local(at, seal_complete, passed, tag))
    return run.local(Coordinator, decrypt_products, told, tag, secret, key_bits, cells)


def check_size(owners: Owners) -> None:
    """Refuse tables that take hours."""
    if owners.shape[0] > RECORDS:
        raise LocalError(
            f"method='algorithm1' is a reference for up to {RECORDS} records, got {owners.shape[0]}: use"
            " method='product'"
        )


def load_paillier() -> ModuleType:
    """Return the module of the scheme, whose library is installed separately."""
    try:
        return import_module("tacit.papers.gram.engines.paillier_cells")
    except ImportError:
        raise MissingExtraError("method='algorithm1'", "he") from None


def sent_cells(owners: Owners, a: str, b: str) -> list[tuple[int, int]]:
    """Return rows and columns, in the whole table, of the cells that a sends to b."""
    rows, columns = np.nonzero(owners.masks[a])
    shared = owners.present(b)
    return [
        (int(owners.rows[a][i]), int(k)) for i, k in zip(rows, owners.columns[a][columns], strict=True) if shared[k]
    ]


def spread_cells(table: I64, owners: Owners, me: str) -> I64:
    """Return the party's cells in the whole table, zeros elsewhere."""
    A = np.zeros(owners.shape, np.int64)
    A[np.ix_(owners.rows[me], owners.columns[me])] = table
    return A


# Steps at the holders


def encrypt_own(table: I64, seed: bytes, owners: Owners, key: bytes, key_bits: int, me: str) -> dict[str, U8]:
    """Return the encrypted cells (1) for each peer, each cell encrypted once."""
    A = spread_cells(table, owners, me)
    wanted = {b: sent_cells(owners, me, b) for b in owners.rows if b != me}
    place = {cell: t for t, cell in enumerate(sorted({cell for cells in wanted.values() for cell in cells}))}
    rows = load_paillier().encrypt([int(A[cell]) for cell in place], key, key_bits, seed)
    return {b: rows[[place[cell] for cell in cells]] for b, cells in wanted.items()}


def seal_cells(own: Mapping[str, U8], tag: bytes, me: str) -> Each:
    """Return for each peer its own cells, authenticated."""
    return Each({b: EncryptedCells(rows, _mac(tag, rows, me, b)) for b, rows in own.items()})


def open_cells(sent: Mapping[str, EncryptedCells], tag: bytes, owners: Owners, me: str) -> dict[str, U8]:
    """Return the encrypted cells of each peer; refuse more or fewer than it owns."""
    for a, message in sent.items():
        check_authentic(message.mac, _mac(tag, message.rows, a, me), f"a message of cells of {a}")
        if len(message.rows) != (expected := len(sent_cells(owners, a, me))):
            raise PeerError(f"{a} sent {len(message.rows)} encrypted cells where it owns {expected}: stop and ask it")
    return {a: message.rows for a, message in sent.items()}


def multiply_own(
    table: I64, sent: Mapping[str, U8], seed: bytes, owners: Owners, cells: Cells, key: bytes, key_bits: int, me: str
) -> U8:
    """Return the product of (2) over the cells A_ik that are the party's own, for every pair of records.

    The party need not encrypt its own A_jk.
    """
    A = spread_cells(table, owners, me)
    received = {cell: t for t, cell in enumerate(cell for a in sent for cell in sent_cells(owners, a, me))}
    pairs = [(i, j) for i in range(len(A)) for j in range(i + 1)]
    uses = [
        (t, received[j, k], int(A[i, k]))
        for t, (i, j) in enumerate(pairs)
        for k in np.flatnonzero(A[i]).tolist()
        if (j, k) in received
    ]
    local = A @ A.T
    totals = load_paillier().encrypt(
        [int(local[pair]) for pair in pairs], key, key_bits, seed, factor=cells.terms * cells.bound
    )
    ciphers = np.concatenate(list(sent.values())) if sent else totals[:0]
    found: U8 = load_paillier().raise_ciphers(totals, ciphers, np.array(uses, np.int64).reshape(-1, 3), key, key_bits)
    return found


def seal_products(passed: U8, tag: bytes) -> RunningProducts:
    """Return the running products for the next party, authenticated."""
    return RunningProducts(passed, _mac(tag, passed))


def multiply_in(told: RunningProducts, tag: bytes, terms: U8, key: bytes, key_bits: int) -> U8:
    """Return the running products with the party's own terms multiplied in, (3)."""
    check_authentic(told.mac, _mac(tag, told.rows), "a message of running products")
    found: U8 = load_paillier().multiply(told.rows, terms, key, key_bits)
    return found


def seal_complete(passed: U8, tag: bytes) -> DotProducts:
    """Return the last party's products for the coordinator, authenticated."""
    return DotProducts(passed, _mac(tag, passed))


def _mac(tag: bytes, rows: U8, *names: str) -> bytes:
    return prf(tag, *(name.encode() for name in names), rows.tobytes())


# Steps at the coordinator


def new_key(seed: bytes, key_bits: int) -> bytes:
    """Return the secret key of the coordinator, line 1."""
    secret: bytes = load_paillier().new_key(seed, key_bits)
    return secret


def public_part(secret: bytes, key_bits: int) -> PaillierKey:
    """Return the public key of the coordinator, line 2."""
    return PaillierKey(load_paillier().public_of(secret, key_bits))


def decrypt_products(told: DotProducts, tag: bytes, secret: bytes, key_bits: int, cells: Cells) -> tuple[F64, ...]:
    """Return the gram matrix that the products hold, line 18."""
    check_authentic(told.mac, _mac(tag, told.rows), "the message of dot products")
    return (cells.decode(load_paillier().decrypt(told.rows, secret, key_bits)),)
