"""A holder's own cells of columns: what every term of a statistic is computed of.

By rows these are all columns of its rows, by columns whole columns, otherwise some cells of any. A column of which it
has no cell has no value there. Missing values are left out, and nearly constant columns are constant
(`protocols.prepare.cells`), so that the same text finds statistics of any split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tacit.arrays import F64, I64, Array, Flags
from tacit.choreo import Message, State
from tacit.protocols.facts import COLUMNS, DESCRIPTION, UNLIKE
from tacit.protocols.part import OwnCells
from tacit.protocols.shares.gates import Opening
from tacit.scratch import ROWS, blocks, is_on_disk, map_blocks
from tacit.sparse import Sparse, is_sparse

ENOUGH = 20  # values of a column before it can be taken for one of ids

Names = tuple[str, ...]
Values = tuple[bool | int | float | str, ...]


class Cells(OwnCells, Protocol):
    """What a holder brings along: cells with the names of their columns; missing values are NaN."""

    @property
    def features(self) -> Names:
        """The names of the columns."""
        ...


class TextCells(Cells, Protocol):
    """What a holder brings along: cells, the texts that numbers stand for, and those that its dictionary declares."""

    @property
    def texts(self) -> Mapping[str, tuple[str, ...]]:
        """The holder's own texts of each column of texts."""
        ...

    @property
    def dictionary(self) -> Mapping[str, tuple[str, ...]]:
        """The texts that columns may have, which are public."""
        ...


class Ready(State):
    """A holder's cells as statistics are made of them: with nearly constant columns constant.

    at: the place of every column that is asked for; -1 for one that the holder does not have.
    texts: of columns of texts, the holder's own.
    """

    X: Any
    owned: Flags | None
    at: I64
    texts: dict[str, tuple[str, ...]]

    def read(self, columns: I64) -> Iterator[list[F64]]:
        """Yield the values of these columns, block by block, missing ones as NaN; none of a column -1."""
        at = np.where(columns < 0, -1, self.at[columns]).tolist()
        rows = ROWS if is_on_disk(self.X) or is_sparse(self.X) else max(len(self.X), 1)
        for place, block in blocks(self.X, rows):
            owned = None if self.owned is None else self.owned[place]
            yield [_own(block, owned, j) for j in at]

    def add_terms(self, columns: I64, term: Callable[[list[F64]], I64]) -> I64:
        """Return the sum over blocks of a term of the present values of these columns."""
        total = term([np.empty(0)] * columns.size)
        for values in self.read(columns):
            total = total + term([x[~np.isnan(x)] for x in values])
        return total


def make_ready(part: TextCells, names: Names, least: int) -> Ready:
    """Return a holder's cells, and where the named columns are among them."""
    place = {name: j for j, name in enumerate(part.features)}
    owned = getattr(part, "owned", None)
    at = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    return Ready(level_rare(part.X, least, owned), owned, at, dict(getattr(part, "texts", {})))


def _own(block: Any, owned: Flags | None, j: int) -> F64:
    """Return the holder's own values of a column."""
    if j < 0:
        return np.empty(0)
    if is_sparse(block):
        found: F64 = block[:, j : j + 1].toarray().ravel()
        return found
    return np.asarray(block[:, j] if owned is None else block[owned[:, j], j])


def all_values(part: Cells, names: Names) -> F64:
    """Return the holder's own cells of these columns, NaN elsewhere."""
    at = [part.features.index(name) for name in names]
    own = part.X if part.owned is None else np.where(part.owned, part.X, np.nan)
    return np.ascontiguousarray(own[:, at])


def count_present(ready: Ready) -> I64:
    """Return for every column how many values are present, and how many are missing."""
    found = np.zeros((ready.at.size, 2), dtype=np.int64)
    for values in ready.read(np.arange(ready.at.size)):
        gaps = np.array([np.isnan(x).sum() for x in values], dtype=np.int64)
        found += np.column_stack([np.array([x.size for x in values]) - gaps, gaps])
    return found


def count_repeats(ready: Ready, columns: I64) -> I64:
    """Return for each of these columns how many values are repeated at this holder, or not whole: those of no id."""
    found = np.zeros(columns.size, dtype=np.int64)
    for i, j in enumerate(columns.tolist()):
        x = np.concatenate([np.empty(0), *(values[0] for values in ready.read(np.array([j])))])
        x = x[~np.isnan(x)]
        _, place, times = np.unique(x, return_inverse=True, return_counts=True)
        found[i] = ((times[place.ravel()] > 1) | (x != np.round(x))).sum()
    return found


def count_values(ready: Ready, which: Sequence[tuple[int, str, Values]]) -> I64:
    """Return how many values are which of the known ones of a column, one column after the other.

    which: the place of each column among those asked for, its name and its known values.
    """
    found = [_count_known(ready, *each) for each in which]
    return np.concatenate([np.empty(0, np.int64), *found])


def _count_known(ready: Ready, place: int, name: str, known: Values) -> I64:
    codes = codes_in(ready, name, known)
    total = np.zeros(len(known), dtype=np.int64)
    for (x,) in ready.read(np.array([place])):
        total += np.array([(x == code).sum() if code >= 0 or name not in ready.texts else 0 for code in codes])
    return total


def codes_in(ready: Ready, name: str, known: Values) -> list[float]:
    """Return which numbers stand for the known values of a column here; -1 for a text that the holder has not."""
    if name in ready.texts:
        own = {text: float(k) for k, text in enumerate(ready.texts[name])}
        return [own.get(str(text), -1.0) for text in known]
    if any(isinstance(value, str) for value in known):
        return [float(k) for k in range(len(known))]
    return [float(value) for value in known]


# The messages in which preparing and describing a table reveals its facts: nothing else of columns is told


class ColumnShare(Opening, tells=COLUMNS):
    """A holder's share of what is revealed of columns."""


class ColumnWords(Message, tells=COLUMNS):
    """What is revealed of columns: bits of comparisons."""

    values: I64


class Dictionary(Message, tells=COLUMNS, ragged=True, of_records=False):
    """The texts that the sender declares for columns of texts."""

    texts: dict[str, tuple[str, ...]]


class DescriptionShare(Opening, tells=DESCRIPTION):
    """A holder's share of a rounded count."""


class DescriptionWords(Message, tells=DESCRIPTION):
    """Which public numbers counts reach: bits of comparisons."""

    values: I64


class Unlike(Message, tells=UNLIKE):
    """What a holder finds of its own columns: a mark for each."""

    marks: I64


# Columns that are nearly constant at a site: a few rows differ from all others, and would stand alone in every step.
#
# A column whose values differ from the most frequent one in fewer than k rows of a site is constant there, from the
# moment its records are made ready. A missing value counts as a value of its own. The most frequent value is the one
# that more than half of the first 2 k rows have: with fewer than k rows unlike it there is no other. Where fewer than k
# rows have it too, as at a site of few rows, it would be a value of few that all have: the column has none there.


def level_rare(X: F64, least: int, owned: Array | None = None) -> F64:
    """Return the cells with every nearly constant column constant; as they are if there is none.

    owned: which cells are the site's own; None if all are.
    """
    rare, value = find_rare(X, least, owned)
    if not rare.any():
        return X
    if is_sparse(X):
        return X * np.where(rare & ((value == 0) | np.isnan(value)), 0.0, 1.0)  # type: ignore[return-value]  # it stands for an array

    def level(block: F64) -> F64:
        return np.where(rare, value, block)

    if is_on_disk(X):
        return map_blocks(X, ROWS, level, X.shape[1])
    return level(X) if owned is None else np.where(owned, level(X), X)


def find_rare(X: F64, least: int, owned: Array | None = None) -> tuple[Flags, F64]:
    """Return which columns are nearly constant, and the most frequent value of each column."""
    width = X.shape[1]
    value, unlike = np.full(width, np.nan), np.zeros(width, dtype=np.int64)
    if least <= 1 or not len(X):
        return np.zeros(width, dtype=np.bool_), value
    for j in range(width) if owned is not None or is_sparse(X) else ():
        own = _column(X, j) if owned is None else X[owned[:, j], j]
        value[j] = _most_frequent(own[: 2 * least])
        unlike[j] = _count_unlike(own[:, None], value[[j]])[0]
    if owned is None and not is_sparse(X):
        value = np.array([_most_frequent(x) for x in np.array(X[: 2 * least]).T])
        unlike = sum((_count_unlike(block, value) for _, block in blocks(X, ROWS)), unlike)
    rare = np.asarray((unlike > 0) & (unlike < least))
    rows = np.full(width, len(X)) if owned is None else owned.sum(axis=0)
    return rare | ((rows > 0) & (rows < least)), np.where(rows - unlike < least, np.nan, value)


def _column(X: Sparse | F64, j: int) -> F64:
    return X[:, j : j + 1].toarray().ravel()  # type: ignore[union-attr,no-any-return]  # sparse rows


def _most_frequent(x: F64) -> float:
    if not len(x):
        return np.nan
    values, counts = np.unique(x, return_counts=True)  # all gaps are one value
    return float(values[counts.argmax()])


def _count_unlike(block: F64, value: F64) -> Array:
    found: Array = ((block != value) & ~(np.isnan(block) & np.isnan(value))).sum(axis=0)
    return found
