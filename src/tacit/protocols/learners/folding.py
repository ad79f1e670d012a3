"""Fixed folds: which records a search leaves out in turn, ordered so that only the size of each fold is public.

A site's records have fold numbers of its own, if it fixes them once for all jobs; else every five records that follow
each other are in five folds, by a public seed. Each holder puts its own records in the order of their folds and tells
how many each fold has. Over columns and cells all holders have the same records, and so the same folds.

Roles, threat: sizes are all that is told. Source: ours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import I64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError, PeerError
from tacit.numeric.ring.words import public_words
from tacit.protocols.facts import SIZES
from tacit.protocols.part import Held

FOLDS = 5


class FoldSizes(Message, tells=SIZES, of_records=False):
    """How many of the sender's records are in each fold."""

    records: I64


@dataclass(frozen=True)
class Folded:
    """What is public: how many records each holder has labels of in each fold; a line for each holder."""

    sizes: I64

    @property
    def rows(self) -> tuple[int, ...]:
        """How many records each holder has labels of."""
        return tuple(self.sizes.sum(axis=1).tolist())

    @property
    def fold(self) -> I64:
        """The fold of each record, holder by holder."""
        return np.concatenate([np.repeat(np.arange(FOLDS), each) for each in self.sizes])

    def own(self, at: int) -> list[slice]:
        """Return where a holder's records of each fold are among its own."""
        ends = np.cumsum(self.sizes[at]).tolist()
        return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def count(self, at: I64) -> tuple[int, ...]:
        """Return how many of these records each holder has labels of."""
        return tuple(np.diff(np.searchsorted(at, np.cumsum([0, *self.rows]))).tolist())

    def sample(self, most: int, used: int) -> I64:
        """Return the numbers of the records that are scored: of each holder and fold the first, alike many of all."""
        share = min(1.0, most / max(int(self.sizes[:, :used].sum()), 1))
        starts = np.cumsum([0, *self.rows])[:-1]
        found = [
            starts[i] + part.start + np.arange(int(np.ceil(share * (part.stop - part.start))))
            for i in range(len(self.sizes))
            for part in self.own(i)[:used]
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])


@choreography(opens={Everyone: SIZES})
def fold_records(run: Run, data: At[Held], partition: str, labeller: str | None, seed: int) -> tuple[At[Held], Folded]:
    """Return everybody's records in the order of folds, and how many there are in each."""
    holders = run.roster[Holder]
    folds = run.local(Holder, own_folds, data, seed, run.who(Holder), holders, partition)
    told = run.publish_all(FoldSizes, run.local(Holder, count_folds, folds, partition, run.who(Holder)))
    sizes = np.stack([np.resize(told[p].records, FOLDS) for p in holders])
    if labeller is not None:
        same = {tuple(line) for line in sizes.tolist() if any(line)}
        if len(same) > 1:
            raise PeerError("the holders have different folds of the same records: align the records, or their folds")
        sizes = sizes * (np.array(holders) == labeller)[:, None]
    if not sizes.sum(axis=0).all():
        raise LocalError(f"{int(sizes.sum())} records leave one of {FOLDS} folds empty: bring more records")
    return run.local(Holder, order_records, data, folds), Folded(sizes)


# Steps at the holders


def own_folds(part: Held, seed: int, me: str, holders: tuple[str, ...], partition: str) -> I64:
    """Return the fold of each of a holder's records."""
    given = getattr(part, "folds", None)
    n = len(part.X)
    if given is not None:
        return np.asarray(given, dtype=np.int64) % FOLDS
    blocks, at = -(-n // FOLDS), holders.index(me) if partition == "horizontal" else 0
    words = public_words(seed + at, max(blocks, 1) * FOLDS).reshape(-1, FOLDS)
    return np.argsort(words, axis=1, kind="stable").ravel()[:n].astype(np.int64)


def count_folds(folds: I64, partition: str, me: str) -> FoldSizes:
    """Return how many records are in each fold."""
    del partition, me
    return FoldSizes(np.bincount(folds, minlength=FOLDS)[:FOLDS].astype(np.int64))


def to_plain(values: Any) -> Any:
    """Return an array whose texts, as tables of texts have them, are an array of texts."""
    return np.array(values.tolist()) if values.dtype == object else np.ascontiguousarray(values)


def order_records(part: Held, folds: I64) -> Held:
    """Return a holder's records in the order of their folds."""
    order = np.argsort(folds, kind="stable")
    held = {name: getattr(part, name, None) for name in ("X", "y", "weight", "owned", "unlabelled")}
    cut = {name: None if each is None else to_plain(np.asarray(each[order])) for name, each in held.items()}
    return dataclasses.replace(part, **cut)  # type: ignore[type-var]  # whoever holds records has them as a record
