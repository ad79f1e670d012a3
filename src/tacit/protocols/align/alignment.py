"""Entity alignment: parties find the records that all of them have, by private set intersection of their ids.

The problem. Holder k has ids X_k, as digests of 32 bytes. Everyone shall know how many ids all have in common; if these
are enough, each holder shall know which of its own they are, and all of them one order. P_1 leads and P_2 keeps a key;
they are the first two holders that do not coordinate. First a function that P_k can compute anywhere, and P_1 at its
own ids only (`blind_function`, whose equations lead to this one):

    F_k(x) = H(x, K_k(x) + s_k AND C(x)),       at x in X_1 also H(x, v_k(x)),  which P_1 computes                   (1)

Holders k, l > 1 share a seed, so that each id has a share at each of them, and all shares of one id cancel. P_2 has a
key besides:

    z_k(x) = XOR_l PRF(seed_kl, x),        XOR_k>1 z_k(x) = 0,        G(x) = PRF(key of P_2, x)                      (2)

Each k > 1 sends P_1 a key-value store (`crypto.sets.key_value_store`) of its own ids,

    store_k:  x -> F_k(x) XOR z_k(x),      XOR G(x) at P_2                                                           (3)

and P_1 reads all of them at each of its own:

    V(x) = XOR_k>1 store_k(x) XOR F_k(x)  =  G(x)  if x is in all sets,  else uniform                                (4)

P_1 lacks G's key and cannot tell which. It sends the hashes of V, sorted, to the coordinator, and P_2 those of G(x) of
its own ids:

    count = | {h(V(x)): x in X_1}  and  {h(G(x)): x in X_2} |                                                        (5)

The coordinator learns (5), however few they are. It publishes (5), or that it is below `min_records`, and then the run
ends: no id was opened, to anybody. Otherwise it tells P_1 which hashes matched, and P_1 tells all holders their ids, as
hashes under a fresh key; the order of these hashes is the order of the records from then on, and tells nothing.

Roles. Holder: has ids. Coordinator: counts; it may be a holder, but neither P_1 nor P_2.

Threat. Semi-honest. Before the count is published nobody learns anything but sizes: P_1 of every set, everyone of X_1,
the coordinator of X_2 and of (5). To hide (5) below `min_records` from the coordinator too, the comparison itself would
have to be computed in shares. Pairwise intersections, and their sizes, stay unknown. This holds for every coalition in
which there is at most one of P_1, P_2 and the coordinator, with any other holders; of two of these three, with or
without others, it does not:
  P_1 with P_2 or the coordinator     which ids of X_1 all holders outside of the coalition have, counted or not
  P_2 with the coordinator            can test guessed ids, for being in the sets of all holders outside
Rests on computational Diffie-Hellman in ristretto255, AES, and BLAKE2b as a random oracle.

Parties that deviate are not guarded against. What is known of a P_1 that does: alone it may learn s_k, and then
computes F_k everywhere, and G still hides from it who is in which set; the coordinator refuses a list of tokens that is
longer or shorter than the published size. Together with P_2 or the coordinator it may then test any number of guesses
by itself.

Not protected: what the result itself tells. Every holder learns which of its records all others have, be it patients of
another clinic, and which some other lacks. A party that puts guessed ids among its own tests them: nothing checks that
it has such records. Who repeats the run with other ids of its own learns from the difference. The count is the
coordinator's word, which P_1 checks against what it is told.

Source: 001 section 3 takes aligned records for granted. Kolesnikov, Matania, Pinkas, Rosulek, Trieu: Practical
multi-party private set intersection from symmetric-key techniques, CCS 2017 (shares of zero in stores); (1) as in
`blind_function`; counting before opening is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import I64, U8, U64
from tacit.choreo import At, Coordinator, Everyone, Holder, Message, Pads, PeerError, Result, Role, Run, choreography
from tacit.choreo.protocol import LARGE, SMALL, Brought, Cost, Declaration, Inputs, Planned, Rehearsal, Stage
from tacit.crypto.pads.entropy import prf
from tacit.crypto.sets import key_value_store, row_hash
from tacit.crypto.sets.oprf import VALUE, load_sodium
from tacit.errors import LocalError
from tacit.protocols.align.blind_function import blind_values, count_blocks
from tacit.protocols.facts import COMMON, COMMON_HOWEVER_FEW, ID_COUNTS, MATCHED, UNIFORM
from tacit.protocols.sums.secure_sum import name_own_seed, protect

Mask = NDArray[np.bool_]

BLOCK = 1 << 18  # columns that are masked at once: a step of the progress bar
ENOUGH = 10  # common records, unless the caller says otherwise
DIGEST, TOKEN = 32, 16  # bytes


class Aligned(Result):
    """How many records all parties have, and which rows of each party's own table they are, unless only counted."""

    count: int
    rows: At[I64] | None = None


class Size(Message, tells=ID_COUNTS):
    """How many ids P_1 has, |X_1|."""

    ids: int


class Store(
    Message,
    tells=(
        ID_COUNTS,
        UNIFORM,
    ),
):
    """A key-value store of the sender's ids, (3)."""

    words: U64


class Tokens(
    Message,
    tells=(
        ID_COUNTS,
        COMMON_HOWEVER_FEW,
    ),
):
    """One list of (5), sorted."""

    hashes: U8


class Count(
    Message,
    tells=COMMON,
):
    """How many ids are common, (5); None for too few."""

    common: int | None


class Matched(
    Message,
    tells=MATCHED,
):
    """Which tokens of the receiver were matched, by place in the list that it sent."""

    marks: Mask


class Opening(
    Message,
    tells=MATCHED,
):
    """Hashes of the common ids under the key, sorted."""

    key: bytes
    names: U8


@choreography(
    opens={
        Everyone: (
            COMMON,
            ID_COUNTS,
        ),
        Coordinator: (
            COMMON_HOWEVER_FEW,
            ID_COUNTS,
        ),
        Holder: ID_COUNTS,
    }
)
def align(run: Run, ids: At[U8], *, min_records: int = ENOUGH, count_only: bool = False, block: int = BLOCK) -> Aligned:
    """Return the count of common ids, and unless `count_only` each holder's own rows of these.

    The rows stand in an order that all holders share.
    """
    leader, keeper, *rest = seat_holders(run)
    others = (keeper, *rest)
    if min_records < 1:
        raise LocalError(
            f"min_records={min_records}: at least one record must be common to all parties; give a whole number from"
            " 1 on"
        )
    run.local(Holder, check_ids, ids, run.who(Holder))
    seeds = protect(run).seeds
    size = run.publish(Size, run.local(leader, size_of, ids)).ids
    salt = run.tag()  # bound to the size: nobody knows codes and bands before
    asked, F = blind_values(run, ids, leader, others, salt, size=size, block=block)
    names, zero = tuple(str(k) for k in others), run.tag()
    G = run.local(keeper, key_ids, ids, run.random(keeper))
    shares = {k: run.local(k, add_zero_share, ids, F[k], seeds, names, run.who(k), zero) for k in others}
    noise = run.pads(run.local(Holder, name_own_seed, run.random(Holder)), run.tag())
    values = {k: run.local(k, xor, shares[k], G) if k == keeper else shares[k] for k in others}
    stores = [run.send(Store, k >> leader, run.local(k, fill_store, ids, values[k], noise, salt)) for k in others]
    V = run.local(leader, read_stores, ids, asked, salt, *stores)
    first = run.send(Tokens, leader >> Coordinator, run.local(leader, list_tokens, V))
    second = run.send(Tokens, keeper >> Coordinator, run.local(keeper, list_tokens, G))
    marks = run.local(Coordinator, match_tokens, first, second, size)
    common = run.publish(Count, run.local(Coordinator, count_common, marks, min_records)).common
    if common is None:
        raise LocalError(say_too_few(min_records))
    run.note(common=common)
    if count_only:
        return Aligned(count=common)
    return Aligned(count=common, rows=open_common(run, ids, V, marks, leader, common))


@choreography(opens={Holder: MATCHED})
def open_common(run: Run, ids: At[U8], V: At[U64], marks: At[Mask], leader: Role, common: int) -> At[I64]:
    """Return each holder's rows of the common ids, in the order that all share."""
    told = run.send(Matched, Coordinator >> leader, run.local(Coordinator, Matched, marks))
    opening = run.local(leader, name_common, ids, V, told, run.random(leader), common)
    return run.local(Holder, rows_of, ids, run.send(Opening, leader >> Holder, opening), common)


# Before anything is sent


def seat_holders(run: Run) -> tuple[Role, ...]:
    """Return P_1, P_2 and all other holders; the first two do not coordinate."""
    members, site = run.members(Holder), run.roster[Coordinator][0]
    free = [m for m in members if m.party != site]
    if len(free) < 2:  # noqa: PLR2004 - whose ids are compared
        raise LocalError(
            "alignment needs two parties that do not coordinate, or the counting would open ids: name a separate"
            " coordinator"
        )
    return (*free, *(m for m in members if m.party == site))


def check_ids(ids: U8, me: str) -> None:
    """Refuse what is no list of different ids, and a place without the library."""
    load_sodium()
    if ids.dtype != np.uint8 or ids.shape[1:] != (DIGEST,) or not len(ids):
        raise LocalError(f"the ids of {me} must be at least one digest of {DIGEST} bytes, got shape {ids.shape}")
    if row_hash.has_repeats(ids):
        raise LocalError(
            f"{me} has an id twice: every record needs an id of its own; merge or leave out the repeated ones"
        )


def say_too_few(least: int) -> str:
    """Return the one line that tells everybody that too few records are common."""
    found, remedy = f"fewer than {least} records are", " else agree on a smaller min_records"
    if least == 1:
        found, remedy = "no record is", ""
    return f"{found} common to all parties, and nothing more was opened: are their ids written alike?{remedy}"


def size_of(ids: U8) -> Size:
    """Return how many ids P_1 has."""
    return Size(len(ids))


# Steps of (2) to (4)


def key_ids(ids: U8, key: bytes) -> U64:
    """Return G of (2)."""
    return pseudorandom(ids, prf(key, b"kept"))


def add_zero_share(ids: U8, F: U64, seeds: dict[str, bytes], others: Sequence[str], me: str, tag: bytes) -> U64:
    """Return F_k(x) XOR z_k(x)."""
    out = F.copy()
    for other in others:
        if other != me:
            out ^= pseudorandom(ids, prf(seeds[other], b"share of zero", tag))
    return out


def pseudorandom(ids: U8, key: bytes) -> U64:
    """Return the PRF of (2)."""
    return row_hash.words(ids, VALUE, use=b"tacit share", key=key)


def xor(a: U64, b: U64) -> U64:
    """Return the XOR of two arrays, entry by entry."""
    return a ^ b


def fill_store(ids: U8, values: U64, noise: Pads, salt: bytes) -> Store:
    """Return the key-value store of (3)."""
    rows = key_value_store.place_bands(ids, salt, key_value_store.count_columns(len(ids)))
    words = np.concatenate([chunk.copy() for chunk in noise.put_on("own", rows.columns * values.shape[1])])
    return Store(key_value_store.fill(rows, values, words.reshape(rows.columns, -1)))


def read_stores(ids: U8, asked: U64, salt: bytes, *stores: Store) -> U64:
    """Return V of (4) for P_1's ids."""
    out = asked.copy()
    for store in stores:
        if store.words.ndim != 2 or store.words.shape[1] != out.shape[1]:  # noqa: PLR2004 - columns of words
            raise PeerError(f"a key-value store arrived in shape {store.words.shape}: stop and ask the sender")
        out ^= key_value_store.read(store.words, key_value_store.place_bands(ids, salt, len(store.words)))
    return out


# Steps of (5) and of the opening


def list_tokens(values: U64) -> Tokens:
    """Return a list of (5), sorted so that the order tells nothing."""
    return Tokens(row_hash.sorted_rows(hash_values(values)))


def hash_values(values: U64) -> U8:
    """Return the hash h of every value."""
    return row_hash.hashes(np.ascontiguousarray(values).view(np.uint8), TOKEN, use=b"tacit token")


def match_tokens(first: Tokens, second: Tokens, size: int) -> Mask:
    """Return which of the first list are in the second; refuse more or fewer than the ids that P_1 said it has."""
    for told, due in ((first, size), (second, len(second.hashes))):
        if told.hashes.shape != (due, TOKEN):
            raise PeerError(
                f"{due} tokens of {TOKEN} bytes are due, and shape {told.hashes.shape} came: stop and ask the sender"
            )
    return row_hash.find_rows(second.hashes, first.hashes) >= 0


def count_common(marks: Mask, least: int) -> Count:
    """Return how many ids are common; fewer than `least` are not told apart."""
    found = int(marks.sum())
    return Count(found if found >= least else None)


def name_common(ids: U8, values: U64, told: Matched, key: bytes, common: int) -> Opening:
    """Return the matched ids behind their tokens, as hashes; their number must be the one that was published."""
    if told.marks.shape != (len(ids),) or int(told.marks.sum()) != common:
        raise PeerError(
            f"the coordinator published {common} common ids and marked another number of them: stop and ask it"
        )
    rows = row_hash.order_of(hash_values(values))[told.marks]
    return Opening(key, row_hash.sorted_rows(names_of(ids[rows], key)))


def rows_of(ids: U8, opening: Opening, common: int) -> I64:
    """Return where the common ids stand here, in the order of their names."""
    right = opening.names.shape == (common, TOKEN)
    rows = row_hash.find_rows(names_of(ids, opening.key), opening.names) if right else None
    if rows is None or (rows < 0).any():
        raise PeerError("the first holder opened ids that are not here: stop and ask it")
    return rows


def names_of(ids: U8, key: bytes) -> U8:
    """Return the names of ids under the key of this opening."""
    return row_hash.hashes(ids, TOKEN, use=b"tacit name", key=key)


# Alignment as jobs name it: what it needs, how it is rehearsed and what it costs


def same_ids(stage: Stage) -> Inputs:
    """Return invented ids, the same at every holder."""
    same = np.random.default_rng(0).integers(0, 256, (stage.records, DIGEST), np.uint8)
    return {"ids": (Holder, dict.fromkeys(stage.roster[Holder], same))}


def estimate(planned: Planned) -> Cost:
    """Scale from rehearsals: bytes grow with the ids; every block of columns is sent to each holder but the first."""
    small, large = (planned.rehearse(n) for n in (SMALL, LARGE))
    growth, blocks = (
        (planned.records - SMALL) / (LARGE - SMALL),
        count_blocks(planned.records, planned.complete["block"]),
    )
    sent = zip(planned.roster.parties, planned.traffic(small), planned.traffic(large), strict=True)
    moved = {p: round(a + max(0.0, growth) * (b - a)) for p, a, b in sent}
    return Cost(rounds=small.rounds + (len(planned.roster[Holder]) - 1) * (blocks - 1), bytes=moved)


ALIGN = Declaration(
    align,
    {"ids": Brought(Holder, "ids")},
    Rehearsal(same_ids, lambda _: {"min_records": 1}, estimate),
)
