"""A deal: which part of a split each record goes to, said in a few public words that every party follows by itself.

A deal names no record. Each party orders its own records by a hash of their ids under the public seed, or, where they
have no ids, by numbers drawn from the seed, and cuts that order by the shares. So

    rows      each party deals its own records, class by class if it is stratified, and tells nobody how many there are
    columns   all parties have the same records, with the same ids or in the same order, and find the same parts
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from tacit.arrays import I64, U8, U64, Array
from tacit.crypto.sets.row_hash import words
from tacit.numeric.scores.folds import deal_shares
from tacit.scratch import distinct, fill

USE = b"tacit deal"


@dataclass(frozen=True)
class Deal:
    """How records are dealt into parts.

    shares: of every part, about which share of the records it gets.
    seed: public; the same seed deals the same records alike.
    stratify: whether each party deals its records class by class.
    """

    shares: tuple[float, ...]
    seed: int
    stratify: bool

    def part_of(self, party: str, labels: Array | None, ids: U8 | None, count: int) -> I64:
        """Return the part of each of a party's records; `party` is empty where all parties have the same ones."""
        draw = np.random.default_rng((self.seed, *party.encode()))
        kind = classes_of(labels if self.stratify else None, count)
        return deal_shares(kind, self._keys(ids, count, draw), self.shares, draw)

    def _keys(self, ids: U8 | None, count: int, draw: np.random.Generator) -> U64:
        """Return by what records are ordered: nothing that a record's place in a table decides, if it has an id."""
        if ids is None:
            return draw.permutation(count).astype(np.uint64)
        return words(ids, 1, use=USE, key=sha256(str(self.seed).encode()).digest())[:, 0]


@dataclass(frozen=True)
class Choice:
    """Some parts of a deal: what a party is told about the records that a run is to use."""

    deal: Deal
    parts: tuple[int, ...]

    def chosen(self, part: Mapping[str, I64]) -> dict[str, I64]:
        """Return which of its own records each party takes."""
        return {party: np.flatnonzero(np.isin(of, self.parts)) for party, of in part.items()}


def classes_of(labels: Array | None, count: int) -> I64:
    """Return a party's labels as numbers from 0; one class for all where it has none, or numbers as targets.

    Labels are taken for classes if there is at most one for every 10 records.
    """
    if labels is not None:
        found = distinct(labels)
        if len(found) * 10 <= count:
            return fill(lambda own: np.searchsorted(found, own), labels, dtype=np.int64)
    return np.zeros(count, dtype=np.int64)
