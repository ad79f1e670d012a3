"""Whose records a table has, and digests of what is in them, both under the secret key of a register.

A person may have several records: they come, go and are dealt together. Without a column of persons each id is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64, U8, U64, Array, Flags
from tacit.crypto.sets.row_hash import words
from tacit.federation.ids import digests
from tacit.federation.table import Table

U32 = NDArray[np.uint32]
MARK, CELL = b"tacit person", b"tacit cell"
WORDS = 2  # of a mark


@dataclass(frozen=True, repr=False)
class Persons:
    """The persons of a table.

    marks: two words for each person, in no order of the table. of: the person of each record. contents: for each column
    a digest of what it says of each person. digests: of their ids, under no key.
    """

    marks: U64
    of: I64
    contents: dict[str, U32]
    digests: U8

    def __len__(self) -> int:
        return len(self.marks)


def find_persons(
    key: bytes, table: Table, ids: Array, persons: Array | None = None, label: str | None = None
) -> Persons:
    """Return whose records these are; `ids` name records, and `persons` those whose they are."""
    record = digests(ids, table)
    own, of = record, np.arange(len(record), dtype=np.int64)
    if persons is not None:
        own, of = np.unique(digests(persons, table, repeated=True), axis=0, return_inverse=True)
    marks = words(own, WORDS, use=MARK, key=key)
    records = words(record, 1, use=MARK, key=key)[:, 0]
    contents = {name: _sum_up(records, value, of, len(marks), key, name) for name, value in _columns_of(table, label)}
    return Persons(marks, of.astype(np.int64).reshape(-1), contents, own)


def _columns_of(table: Table, label: str | None) -> list[tuple[str, U64]]:
    """Return what each column holds, as words: of texts, which have other numbers in another file, their digests."""
    found = [(name, _words_of(table, j, name)) for j, name in enumerate(table.features)]
    if table.y is not None and label is not None:
        found.append((label, _hash_labels(table.y)))
    return found


def _words_of(table: Table, j: int, name: str) -> U64:
    column: F64 = np.ascontiguousarray(table.X[:, j], dtype=np.float64)
    column = np.where(np.isnan(column), np.nan, column) + 0.0  # one NaN, and no negative zero
    if name not in table.texts:
        return column.view(np.uint64)
    known = np.append(_hash_texts(table.texts[name]), np.uint64(0))
    return np.asarray(known[np.where(np.isnan(column), len(known) - 1, column).astype(np.int64)])


def _hash_texts(texts: tuple[str, ...]) -> U64:
    rows = [np.frombuffer(text.encode()[:128].ljust(128, b"\0"), np.uint8) for text in texts]
    return words(np.array(rows, dtype=np.uint8).reshape(-1, 128), 1, use=CELL)[:, 0]


def _hash_labels(y: Array) -> U64:
    if y.dtype.kind in "fiub":
        return np.ascontiguousarray(y, dtype=np.float64).view(np.uint64)
    names, at = np.unique(y.astype(str), return_inverse=True)
    return np.asarray(_hash_texts(tuple(names.tolist()))[at])


def _sum_up(records: U64, values: U64, of: I64, count: int, key: bytes, name: str) -> U32:
    """Return a digest of a column for each person: the sum of those of its records, in whatever order they stand."""
    rows = np.stack([records, values], axis=1).view(np.uint8).reshape(-1, 16)
    own = words(rows, 1, use=CELL, key=_key_of(key, name))[:, 0]
    total = np.zeros(count, dtype=np.uint64)
    np.add.at(total, of.reshape(-1), own)
    return (total >> np.uint64(32)).astype(np.uint32) | np.uint32(1)  # never 0, which stands for unknown


def _key_of(key: bytes, name: str) -> bytes:
    """Return the key of a column."""
    return blake2b(name.encode(), key=key, digest_size=32, person=CELL).digest()


def take_persons(persons: Persons, kept: Flags) -> Persons:
    """Return some of the persons, with their records only."""
    number = np.cumsum(kept) - 1
    of = number[persons.of[kept[persons.of]]]
    contents = {name: digest[kept] for name, digest in persons.contents.items()}
    return Persons(persons.marks[kept], of, contents, persons.digests[kept])
