"""Entity alignment: parties that hold columns of overlapping records find those that all of them have, by private set intersection.

The problem. Holder k has ids X_k, as digests of 32 bytes. Everyone shall know how many ids all have in common; if these are enough,
each holder shall know which of its own they are, and all of them one order. P_1 leads and P_2 keeps a key; they are the first two
holders that do not coordinate. First a function that only P_k can compute, and that P_1 learns of its own ids, blindly (`crypto.oprf`):

    F_k(x) = H'(x, H(x)^s_k),       P_1 asks for H(x)^r, is answered H(x)^(r s_k), takes r off                      (1)

Holders k, l > 1 share a seed, so that each id has a share at each of them, and all shares of one id cancel. P_2 has a key besides:

    z_k(x) = XOR_l PRF(seed_kl, x),        XOR_k>1 z_k(x) = 0,        G(x) = PRF(key of P_2, x)                       (2)

Each k > 1 sends P_1 a key-value store (`crypto.key_value_store`) of its own ids,

    store_k:  x -> F_k(x) XOR z_k(x),      XOR G(x) at P_2                                                          (3)

and P_1 reads all of them at each of its own:

    V(x) = XOR_k>1 store_k(x) XOR F_k(x)  =  G(x)  if x is in all sets,  else uniform                               (4)

P_1 lacks G's key and cannot tell which. It sends the hashes of V, sorted, to the coordinator, and P_2 those of G(x) of its own ids:

    count = | {h(V(x)): x in X_1}  and  {h(G(x)): x in X_2} |                                                       (5)

The coordinator learns (5), however few they are. It publishes (5), or that it is below `min_records`, and then the run ends: no id was
opened, to anybody. Otherwise it tells P_1 which hashes matched, and P_1 tells all holders their ids, as hashes under a fresh key; the
order of these hashes is the order of the records from then on, and tells nothing.

Roles. Holder: has ids. Coordinator: counts; it may be a holder, but neither P_1 nor P_2.

Threat. Semi-honest. Before the count is published nobody learns anything but sizes: P_1 of every set, everyone of X_1, the
coordinator of X_2 and of (5). To hide (5) below `min_records` from the coordinator too, the comparison itself would have to be computed in
shares. Pairwise intersections, and their sizes, stay unknown. This holds for every coalition in which there is at most one
of P_1, P_2 and the coordinator, with any other holders; of two of these three, with or without others, it does not:
  P_1 with P_2 or the coordinator     which ids of X_1 all holders outside of the coalition have, counted or not
  P_2 with the coordinator            can test guessed ids, for being in the sets of all holders outside
Rests on Diffie-Hellman in ristretto255, and BLAKE2b as a random oracle.

Not protected: what the result itself tells. Every holder learns which of its records all others have, be it patients of another
clinic, and which some other lacks. A party that puts guessed ids among its own tests them: nothing checks that it has such records. Who
repeats the run with other ids of its own learns from the difference. The count is the coordinator's word, which P_1 checks against what
it is told.

Source: 001 section 3 takes aligned records for granted. Kolesnikov, Matania, Pinkas, Rosulek, Trieu: Practical multi-party private
set intersection from symmetric-key techniques, CCS 2017 (shares of zero in stores); Jarecki, Kiayias, Krawczyk: Round-optimal
password-protected secret sharing, ASIACRYPT 2014 (1); counting before opening is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import I64, U64, At, Coordinator, Everyone, Holder, Message, PeerError, Role, Run, choreography
from tacit.crypto import key_value_store, row_hash
from tacit.crypto.entropy import prf
from tacit.crypto.oprf import VALUE, inverse, outputs, points, raised, scalar, sodium
from tacit.errors import LocalError
from tacit.protocols.secure_sum import own, protect

U8 = NDArray[np.uint8]
Mask = NDArray[np.bool_]

BLOCK = 4096  # ids asked about at once: a step of the progress bar
ENOUGH = 10  # common records, unless the caller says otherwise
DIGEST, TOKEN = 32, 16  # bytes
NOTHING = np.zeros((0, VALUE), np.uint64)


class Size(Message, tells="how many ids the first holder has"):
    """|X_1|."""

    ids: int


class Blinded(Message, tells="nothing more: ids of the first holder, hashed to a group and under its secret scalar"):
    """H(x)^r of (1)."""

    points: U8


class Answered(Message, tells="nothing more: the receiver's blinded ids, under the sender's scalar too"):
    """H(x)^(r s_k) of (1)."""

    points: U8


class Store(Message, tells="how many ids the sender has; its words are uniform to a receiver who lacks the keys"):
    """(3)."""

    words: U64


class Tokens(Message, tells="how many ids the sender has; who has both lists of them learns how many are common to all, however few"):
    """One list of (5), sorted."""

    hashes: U8


class Count(Message, tells="how many ids are common to all holders, or that they are fewer than min_records"):
    """(5); None for too few."""

    common: int | None


class Matched(Message, tells="which of the receiver's ids are common to all holders, and so which some other holder lacks"):
    """By place in the list that it sent."""

    marks: Mask


class Opening(
    Message,
    tells="which of the receiver's ids are common to all holders, and so which some other holder lacks; in which random order they stand",
):
    """Hashes of the common ids under the key, sorted."""

    key: bytes
    names: U8


@choreography(
    opens={
        Everyone: "how many ids are common to all holders, or only that they are fewer than min_records; how many ids the first holder has",
        Coordinator: "how many ids are common to all holders, even if fewer than min_records; how many ids the second holder has",
        Holder: "the first: how many ids each of the others has",
    }
)
def align(run: Run, ids: At[U8], *, min_records: int = ENOUGH, count_only: bool = False, block: int = BLOCK) -> dict[str, Any]:
    """The count of common ids; and unless `count_only`, each holder's own rows of these, in the order that all share."""
    leader, keeper, *rest = seats(run)
    others = (keeper, *rest)
    if min_records < 1:
        raise LocalError(f"min_records={min_records}: at least one record must be common to all parties; give a whole number from 1 on")
    run.local(Holder, check_ids, ids, run.who(Holder))
    seeds = protect(run, to=Coordinator).seeds
    size = run.publish(Size, run.local(leader, size_of, ids)).ids
    asked, F = blind_values(run, ids, leader, others, -(-size // block))
    salt, names = run.tag(), tuple(k.party for k in others)
    G = run.local(keeper, kept, ids, run.random(keeper))
    shares = run.local(Holder, shared, ids, F, seeds, names, run.who(Holder), run.tag())
    noise = run.pads(run.local(Holder, own, run.random(Holder)), run.tag())
    values = {k: run.local(k, xor, shares, G) if k == keeper else shares for k in others}
    stores = [run.send(Store, k >> leader, run.local(k, stored, ids, values[k], noise, salt)) for k in others]
    V = run.local(leader, looked_up, ids, asked, salt, *stores)
    first = run.send(Tokens, leader >> Coordinator, run.local(leader, tokens, V))
    second = run.send(Tokens, keeper >> Coordinator, run.local(keeper, tokens, G))
    marks = run.local(Coordinator, matching, first, second)
    common = run.publish(Count, run.local(Coordinator, counted, marks, min_records)).common
    if common is None:
        raise LocalError(too_few(min_records))
    run.note(common=common)
    return {"count": common} if count_only else {"count": common, "rows": open_common(run, ids, V, marks, leader, common)}


def blind_values(run: Run, ids: At[U8], leader: Role, others: Sequence[Role], blocks: int) -> tuple[At[U64], At[U64]]:
    """(1) in blocks: at P_1 the XOR over k of F_k of its own ids, at each k its F_k of its own."""
    secret = run.random(Holder)
    s = run.carry(asked=run.local(leader, nothing), own=run.local(Holder, nothing))
    for t in run.rounds(blocks, s):
        mine = run.local(Holder, raise_own, ids, secret, t, blocks)
        blinded = run.local(leader, Blinded, mine)
        arrived = [run.send(Blinded, leader >> k, blinded) for k in others]
        back = [run.send(Answered, k >> leader, run.local(k, answer, b, secret)) for k, b in zip(others, arrived, strict=True)]
        s.asked = run.local(leader, unblind, s.asked, ids, secret, t, blocks, *back)
        s.own = run.local(Holder, evaluate, s.own, ids, mine, t, blocks)  # of P_1, whose scalar is its blinding, nobody needs it
    return s.asked, s.own


@choreography(opens={Holder: "which of its own ids all other holders have, and so which some other lacks; a random order of these"})
def open_common(run: Run, ids: At[U8], V: At[U64], marks: At[Mask], leader: Role, common: int) -> At[I64]:
    """Each holder's rows of the common ids, in the order that all share."""
    told = run.send(Matched, Coordinator >> leader, run.local(Coordinator, Matched, marks))
    opening = run.local(leader, named, ids, V, told, run.random(leader), common)
    return run.local(Holder, rows_of, ids, run.send(Opening, leader >> Holder, opening), common)


# Before anything is sent


def seats(run: Run) -> tuple[Role, ...]:
    """P_1, P_2 and all other holders; the first two do not coordinate."""
    members, site = run.members(Holder), run.roster[Coordinator][0]
    free = [m for m in members if m.party != site]
    if len(free) < 2:  # noqa: PLR2004 - whose ids are compared
        raise LocalError("alignment needs two parties that do not coordinate, or the counting would open ids: name a separate coordinator")
    return (*free, *(m for m in members if m.party == site))


def check_ids(ids: U8, me: str) -> None:
    """Refuse what is no list of different ids, and a place without the library."""
    sodium()
    if ids.dtype != np.uint8 or ids.ndim != 2 or ids.shape[1] != DIGEST or not len(ids):  # noqa: PLR2004 - rows of bytes
        raise LocalError(f"the ids of {me} must be at least one digest of {DIGEST} bytes, got shape {ids.shape}")
    ordered = row_hash.sorted_rows(ids)
    if (ordered[1:] == ordered[:-1]).all(axis=1).any():
        raise LocalError(f"{me} has an id twice: every record needs an id of its own; merge or leave out the repeated ones")


def too_few(least: int) -> str:
    """In one line, for everybody."""
    found = "no record is" if least == 1 else f"fewer than {least} records are"
    remedy = "are their ids written alike?" if least == 1 else "are their ids written alike? else agree on a smaller min_records"
    return f"{found} common to all parties, and nothing more was opened: {remedy}"


def size_of(ids: U8) -> Size:
    """Of P_1."""
    return Size(len(ids))


# Steps of (1)


def nothing() -> U64:
    """No values yet."""
    return NOTHING


def raise_own(ids: U8, secret: bytes, t: int, blocks: int) -> U8:
    """H(x)^s of one's own ids, the t-th of so many parts."""
    return raised(points(_part(ids, t, blocks), b"tacit id"), scalar(secret))


def answer(asked: Blinded, secret: bytes) -> Answered:
    """The same scalar on what P_1 asks about."""
    return Answered(raised(asked.points, scalar(secret)))


def unblind(before: U64, ids: U8, secret: bytes, t: int, blocks: int, *answers: Answered) -> U64:
    """F_k of P_1's ids, over all k."""
    mine, off = _part(ids, t, blocks), inverse(scalar(secret))
    found = np.zeros((len(mine), before.shape[1]), np.uint64)
    for told in answers:
        if told.points.shape != (len(mine), DIGEST):
            raise PeerError(f"{len(mine)} ids were asked about and {len(told.points)} answered: stop and ask who did")
        found ^= outputs(mine, raised(told.points, off))
    return np.vstack([before, found])


def evaluate(before: U64, ids: U8, mine: U8, t: int, blocks: int) -> U64:
    """F_k of one's own ids."""
    return np.vstack([before, outputs(_part(ids, t, blocks), mine)])


def _part(ids: U8, t: int, blocks: int) -> U8:
    """As many parts for everyone as P_1 has blocks: nobody else's size sets the pace."""
    return ids[len(ids) * t // blocks : len(ids) * (t + 1) // blocks]


# Steps of (2) to (4)


def kept(ids: U8, key: bytes) -> U64:
    """G of (2)."""
    return pseudorandom(ids, prf(key, b"kept"))


def shared(ids: U8, F: U64, seeds: dict[str, bytes], others: Sequence[str], me: str, tag: bytes) -> U64:
    """F_k(x) XOR z_k(x); P_1 has no share."""
    out = F.copy()
    for other in others:
        if me in others and other != me:
            out ^= pseudorandom(ids, prf(seeds[other], b"share of zero", tag))
    return out


def pseudorandom(ids: U8, key: bytes) -> U64:
    """PRF of (2)."""
    return row_hash.words(ids, VALUE, use=b"tacit share", key=key)


def xor(a: U64, b: U64) -> U64:
    """Entry by entry."""
    return a ^ b


def stored(ids: U8, values: U64, noise: Any, salt: bytes) -> Store:
    """(3)."""
    rows = key_value_store.bands(ids, salt, key_value_store.width(len(ids)))
    words = np.concatenate([chunk.copy() for chunk in noise.put_on("own", rows.columns * values.shape[1])])
    return Store(key_value_store.filled(rows, values, words.reshape(rows.columns, -1)))


def looked_up(ids: U8, asked: U64, salt: bytes, *stores: Store) -> U64:
    """(4)."""
    out = asked.copy()
    for store in stores:
        if store.words.ndim != 2 or store.words.shape[1] != out.shape[1]:  # noqa: PLR2004 - columns of words
            raise PeerError(f"a key-value store arrived in shape {store.words.shape}: stop and ask who sent it")
        out ^= key_value_store.read(store.words, key_value_store.bands(ids, salt, len(store.words)))
    return out


# Steps of (5) and of the opening


def tokens(values: U64) -> Tokens:
    """The list of (5); sorted, so that the order tells nothing."""
    return Tokens(row_hash.sorted_rows(hidden(values)))


def hidden(values: U64) -> U8:
    """The hash h of every value."""
    return row_hash.hashes(np.ascontiguousarray(values).view(np.uint8), TOKEN, use=b"tacit token")


def matching(first: Tokens, second: Tokens) -> Mask:
    """Which of the first list are in the second."""
    both = np.vstack([first.hashes, second.hashes])
    order = row_hash.order_of(both)
    same = (both[order[1:]] == both[order[:-1]]).all(axis=1)
    found = np.zeros(len(both), np.bool_)
    found[order[1:][same]] = found[order[:-1][same]] = True
    return found[: len(first.hashes)]


def counted(marks: Mask, least: int) -> Count:
    """Fewer than `least` are not told apart."""
    found = int(marks.sum())
    return Count(found if found >= least else None)


def named(ids: U8, values: U64, told: Matched, key: bytes, common: int) -> Opening:
    """P_1 finds the matched ids behind their tokens; their number must be the one that was published."""
    if told.marks.shape != (len(ids),) or int(told.marks.sum()) != common:
        raise PeerError(f"the coordinator published {common} common ids and marked others: stop and ask it")
    rows = row_hash.order_of(hidden(values))[told.marks]
    return Opening(key, row_hash.sorted_rows(names_of(ids[rows], key)))


def rows_of(ids: U8, opening: Opening, common: int) -> I64:
    """Where the common ids stand here, in the order of their names."""
    mine = names_of(ids, opening.key)
    order = row_hash.order_of(mine)
    place = np.searchsorted(_sortable(mine)[order], _sortable(opening.names))
    rows = order[np.minimum(place, len(order) - 1)]
    if len(opening.names) != common or (mine[rows] != opening.names).any():
        raise PeerError("the first holder opened ids that are not here: stop and ask it")
    return rows.astype(np.int64)


def names_of(ids: U8, key: bytes) -> U8:
    """Of ids, under the key of this opening."""
    return row_hash.hashes(ids, TOKEN, use=b"tacit name", key=key)


def _sortable(rows: U8) -> NDArray[Any]:
    """Rows of bytes as records that NumPy orders as wholes."""
    words = np.ascontiguousarray(rows).view(">u8")
    return words.view([(f"w{i}", ">u8") for i in range(words.shape[1])])[:, 0]
