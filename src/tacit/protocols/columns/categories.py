"""Which texts of a column at least min_count records have, over rows that many hold; no rarer text is named.

The problem. Holder k has n_k(v) records with the text v in a column. Everyone shall learn the texts with

    n(v) = sum_k n_k(v) >= min_count                                                                               (1)

and nobody a rarer one. The holders agree on a key K that the coordinator does not have. A keyed hash puts every text
into one of S slots in each of R rows of a table:

    s_r(v) = HMAC-SHA-512(K, column, v)_r mod S                                                                    (2)
    T_r[s] = sum over v with s_r(v) = s of n(v)                      by a masked sum, to the coordinator           (3)
    a slot is full if T_r[s] >= min_count; which are is published                                                  (4)

A holder takes one of its texts to be frequent if its slots are full in all R rows. A frequent text always is; a rare
one only if other texts fill all of its slots. A column of which more than 1/32 of the slots of a row are full is not
one of categories, and nothing of it is named. So a rare text is named with a probability of at most 32^-R, about
10^-18, if frequent texts fill the slots; if rare ones do, as in a column of ids, where its own record brings each slot
nearer to full, below 10^-12 for min_count = 5 and 10^-7 for min_count = 2 (a test computes both).

    for each full slot of the first rows: the bits of the text in it, and of its hash, by a `secure_or`            (5)

All holders of a text mark the same bits, so (5) is the text itself and does not tell who has it, nor how many have.
Where two frequent texts share a slot, their marks run together and the hash does not fit; another row has them apart.

Roles. Holder: rows. Coordinator: opens (3), publishes (4); opens (5), publishes the texts.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: the coordinator sees how often texts occur, rare ones
too, but not which they are. Together with a holder, which has K, it can test a text that it guesses, and learns its
count. A text of exactly min_count records at all sites of which a coalition has all but a few: it knows that others
have these.
Source: ours; tables as in Cormode and Muthukrishnan, Journal of Algorithms 55, 2005.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.protocols.columns.counts import Cells, Fewest, Names, own_values
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import Protection, secure_sum

ROWS, SLOTS = 12, 4096  # R and S of (2)
MOST = SLOTS // 32  # full slots of a row, of a column that has categories
NAMING = 4  # rows of (5)
LONGEST, CHECK = 64, 4  # bytes of a text that is named, and of its hash

Counts = dict[str, dict[str, int]]  # column -> text -> how many records have it


class TextCells(Cells, Protocol):
    """What a holder brings along: cells, and the texts that the numbers of a column stand for."""

    @property
    def texts(self) -> Mapping[str, tuple[str, ...]]:
        """The holder's own texts of each column of texts."""
        ...


class KeyShare(
    Message,
    tells=Fact(
        "columns.category_key",
        "nobody",
        "key",
        "party",
        "a random share of the key by which holders hide texts from the coordinator",
    ),
):
    """A holder's share of K."""

    share: bytes


class FullSlots(
    Message,
    tells=Fact(
        "columns.full_slots",
        "holders",
        "membership",
        "column",
        "which slots of a keyed hash hold min_count records or more; a holder that guesses a text sees"
        " whether so many records have it",
    ),
):
    """Which slots are full, (4), of each column; `crowded` if a column has too many texts for categories."""

    full: Flags
    crowded: Flags


class Categories(
    Message,
    tells=Fact(
        "columns.categories", "holders", "aggregate", "column", "the texts of each column that min_count records have"
    ),
):
    """The frequent texts of each column, (1)."""

    texts: tuple[tuple[str, ...], ...]


class Discovered(Result):
    """The frequent texts of each column in sorted order, and the columns that have too many for categories."""

    categories: dict[str, tuple[str, ...]]
    crowded: tuple[str, ...]


@choreography(
    opens={
        Coordinator: Fact(
            "columns.text_counts",
            "holders",
            "count",
            "group",
            "how often the texts of a column occur over all parties, without the texts themselves",
        ),
        Everyone: Fact(
            "columns.frequent_texts",
            "holders",
            "aggregate",
            "column",
            "the texts of each column that min_count records or more have, over all parties",
        ),
    }
)
def discover_categories(
    run: Run,
    data: At[TextCells],
    *,
    names: Names,
    fewest: Fewest,
    protected: Protected,
    by: Protection | None = None,
) -> Discovered:
    """Return the texts of each column that enough records have, (1)."""
    by = by or protected.protect(run, to=Coordinator)
    counts = run.local(Holder, count_texts, data, names, fewest.min_rows, run.who(Holder))
    own = run.random(Holder)
    shares = run.send(KeyShare, Holder >> Holder, run.local(Holder, KeyShare, own))
    key = run.local(Holder, join_key, own, shares, run.who(Holder))
    total = secure_sum(run, run.local(Holder, fill_slots, counts, key), to=Coordinator, by=by, what="hashed texts")
    slots = run.publish(FullSlots, run.local(Coordinator, find_full, total, fewest.min_count))
    crowded = tuple(name for name, many in zip(names, slots.crowded, strict=True) if many)
    if not slots.full.any():
        return Discovered(categories=dict.fromkeys(names, ()), crowded=crowded)
    bits = run.local(Holder, write_texts, counts, key, slots.full)
    marked = secure_or(run, bits, to=Coordinator, by=by, what="frequent texts")
    named = run.publish(Categories, run.local(Coordinator, read_texts, marked, slots.full)).texts
    return Discovered(categories=dict(zip(names, named, strict=True)), crowded=crowded)


def slots_of(key: bytes, column: str, text: str) -> I64:
    """Return the slot of a text in every row, (2)."""
    digest = hmac.digest(key, f"{column}\0{text}".encode(), hashlib.sha512)
    return np.frombuffer(digest, dtype="<u2", count=ROWS).astype(np.int64) % SLOTS


# Steps at the holders


def count_texts(part: TextCells, names: Names, min_rows: int, me: str) -> Counts:
    """Return how many of the holder's records have which text."""
    counts: Counts = {}
    for name, codes in zip(names, own_values(part, names, min_rows, me).T, strict=True):
        numbers, times = np.unique(codes[~np.isnan(codes)].astype(np.int64), return_counts=True)
        texts = part.texts[name]
        counts[name] = {texts[k]: int(n) for k, n in zip(numbers, times, strict=True) if can_be_named(texts[k])}
    return counts


def can_be_named(text: str) -> bool:
    """Whether a text is short and plain enough for a category."""
    return text.isprintable() and len(text.encode()) <= LONGEST


def join_key(own: bytes, shares: Mapping[str, KeyShare], me: str) -> bytes:
    """Return K: a hash of all holders' shares."""
    known = {**{party: message.share for party, message in shares.items()}, me: own}
    return hashlib.sha256(b"category key" + b"".join(known[party] for party in sorted(known))).digest()


def fill_slots(counts: Counts, key: bytes) -> U64:
    """Return this holder's part of (3), a table for each column."""
    table = np.zeros((len(counts), ROWS, SLOTS), dtype=np.uint64)
    for own, (name, texts) in zip(table, counts.items(), strict=True):
        for text, n in texts.items():
            own[np.arange(ROWS), slots_of(key, name, text)] += np.uint64(n)
    return table


def write_texts(counts: Counts, key: bytes, full: Flags) -> Flags:
    """Return this holder's marks of (5): a row of bits for each full slot of the first rows."""
    places = list_places(full)
    bits = np.zeros((len(places), 8 * (LONGEST + CHECK)), dtype=np.bool_)
    for column, (name, texts) in enumerate(counts.items()):
        for text in texts:
            slots = slots_of(key, name, text)
            if full[column, np.arange(ROWS), slots].all():
                rows = [places[column, r, int(slots[r])] for r in range(NAMING)]
                bits[rows] |= bits_of(text)
    return bits


def list_places(full: Flags) -> dict[tuple[int, int, int], int]:
    """Return which row of (5) each full slot has, by column, row and slot."""
    return {(int(c), int(r), int(s)): k for k, (c, r, s) in enumerate(np.argwhere(full[:, :NAMING]))}


def bits_of(text: str) -> Flags:
    """Return a text and its hash as bits."""
    padded = text.encode().ljust(LONGEST, b"\0")
    return np.unpackbits(np.frombuffer(padded + check_of(padded), dtype=np.uint8)).astype(np.bool_)


def check_of(padded: bytes) -> bytes:
    """Return the hash that shows whether bits are those of one text."""
    return hashlib.sha256(b"category" + padded).digest()[:CHECK]


# Steps at the coordinator


def find_full(total: U64, min_count: int) -> FullSlots:
    """Return which slots are full, (4); none of a column with too many texts."""
    full = total >= np.uint64(min_count)
    crowded = full.sum(axis=2).max(axis=1) > MOST
    return FullSlots(full & ~crowded[:, None, None], crowded)


def read_texts(marked: Flags, full: Flags) -> Categories:
    """Return the texts of (5) whose hash fits, sorted, each once."""
    found: list[set[str]] = [set() for _ in full]
    for (column, _, _), k in list_places(full).items():
        whole = np.packbits(marked[k]).tobytes()
        padded, check = whole[:LONGEST], whole[LONGEST:]
        if hmac.compare_digest(check_of(padded), check):
            found[column].add(padded.rstrip(b"\0").decode())
    return Categories(tuple(tuple(sorted(texts)) for texts in found))
