"""What fitted transformers are: each new column is made of one old one, value by value.

`sources` says of which; `apply` makes new columns of theirs. The same text serves whole records and every party's own
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.choreo import State
from tacit.models.files import MisfitError, Shapes, among, below


def is_text(values: Sequence[Any]) -> bool:
    """Whether categories are texts, which a federation carries as their numbers."""
    return any(isinstance(value, str) for value in values)


def codes_of(values: Sequence[Any]) -> list[float]:
    """Return what stands for each category in a column of numbers."""
    return [float(k) for k in range(len(values))] if is_text(values) else [float(v) for v in values]


def check_learnt(learnt: dict[str, Any], shapes: Shapes) -> None:
    """Raise unless statistics have names that fitted attributes have, and are numbers, or one for each column."""
    for name, value in learnt.items():
        if not (name.isidentifier() and name.endswith("_") and not name.startswith("_")):
            raise MisfitError("a statistic has an unknown name")
        if isinstance(value, np.ndarray):
            shapes.fit(value, *(["columns"] * min(value.ndim, 1)))
        elif not isinstance(value, int | float):
            raise MisfitError("a statistic is not a number")


class Scaled(State):
    """(x - center) / scale; `learnt` has the statistics behind them, by scikit-learn's names.

    clip: between which two numbers the result is cut, where ranges are declared.
    """

    center: F64
    scale: F64
    learnt: dict[str, Any]
    clip: tuple[float, float] | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        shapes.fit(self.center, "columns")
        shapes.fit(self.scale, "columns")
        check_learnt(self.learnt, shapes)

    @property
    def sources(self) -> I64:
        """Every column, of itself."""
        return np.arange(len(self.center))

    def apply(self, X: F64, new: I64) -> F64:
        """Return scaled columns; missing values stay missing."""
        found: F64 = (X - self.center[new]) / self.scale[new]
        return found if self.clip is None else np.clip(found, *self.clip)

    def records_of(self) -> dict[str, str]:
        """Return nothing: statistics are no records."""
        return {}


class Filled(State):
    """Every column with `values` in place of what is missing, then an indicator of each of the columns `indicated`."""

    values: F64
    indicated: I64
    learnt: dict[str, Any]

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        shapes.fit(self.values, "columns")
        shapes.fit(self.indicated, len(self.indicated))
        below(self.indicated.tolist(), shapes.columns)
        check_learnt(self.learnt, shapes)

    @property
    def sources(self) -> I64:
        """Every column, and those with an indicator once more."""
        return np.concatenate([np.arange(len(self.values)), self.indicated])

    def apply(self, X: F64, new: I64) -> F64:
        """Return filled columns, and indicators that are 1 where a value is missing."""
        missing, column = np.isnan(X), new < len(self.values)
        return np.where(column, np.where(missing, self.values[self.sources[new]], X), missing)

    def records_of(self) -> dict[str, str]:
        """Return nothing: statistics are no records."""
        return {}


class Kept(State):
    """Some of the columns."""

    sources: I64

    def apply(self, X: F64, new: I64) -> F64:
        """Return the columns as they are."""
        del new
        return X


class Vectorized(State):
    """Columns of a raw table as numbers: what each is, and what new columns are made of it.

    kinds: of each old column, one of KINDS, or why it is left out. labels: of each, its categories if it has some:
    texts, which X has as their numbers and -1 for any other, or numbers. sources: of which old column each new one is
    made; made: what of it, one of MADE. codes: the category of a new column. fill, center, scale: what stands for a
    missing value, and the scale.
    """

    kinds: tuple[str, ...]
    labels: tuple[tuple[bool | int | float | str, ...], ...]
    sources: I64
    made: tuple[str, ...]
    codes: F64
    fill: F64
    center: F64
    scale: F64

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        shapes.same("columns", len(self.kinds))
        shapes.same("columns", len(self.labels))
        shapes.same("size", len(self.made))
        shapes.fit(self.sources, "size")
        below(self.sources.tolist(), shapes.columns)
        for array in (self.codes, self.fill, self.center, self.scale):
            shapes.fit(array, "size")
        for kind in self.kinds:
            among(kind, (*KINDS, *ASIDE), "kind of column")
        for made, source, code in zip(self.made, self.sources.tolist(), self.codes.tolist(), strict=True):
            among(made, MADE, "way to make a column")
            if made == "category":
                among(code, codes_of(self.labels[source]), "category")

    def apply(self, X: F64, new: I64) -> F64:
        """Return the new columns; a missing category has none of the declared or discovered ones."""
        made = [MADE[self.made[i]](column, self.codes[i]) for column, i in zip(X.T, new, strict=True)]
        columns = np.array(made, dtype=np.float64).T.reshape(len(X), len(new))
        filled = np.where(np.isnan(columns), self.fill[new], columns)
        return (filled - self.center[new]) / self.scale[new]

    def records_of(self) -> dict[str, str]:
        """Return nothing: statistics, and texts that many records have, are no records."""
        return {}


YEAR, WEEK, MONDAY = 365.2425, 7.0, 4.0  # days; the first Monday after 1970-01-01
KINDS = ("number", "date", "text", "listed")
ASIDE = {
    "drop": "is left out, as it was asked for",
    "ids": "looks like ids, whole numbers that hardly any party has twice: it is left out; if it is no id, name it in"
    " keep= (tacit train --keep)",
    "few": "has too few values over all parties: it is left out, and nothing of it is told",
    "crowded": "has too many different texts for categories, as ids and free text have: it is left out",
    "unnamed": "has no declared category that enough records share, as ids and free text have none: it is left out",
}


# where a day is in a year and in a week: the sine of x f + p, by (f, p)
CYCLES = {
    "year_sin": (2.0 * np.pi / YEAR, 0.0),
    "year_cos": (2.0 * np.pi / YEAR, np.pi / 2.0),
    "week_sin": (2.0 * np.pi / WEEK, -2.0 * np.pi * MONDAY / WEEK),
    "week_cos": (2.0 * np.pi / WEEK, -2.0 * np.pi * MONDAY / WEEK + np.pi / 2.0),
}


def _cycle(f: float, p: float) -> Callable[[F64, float], Array]:
    return lambda x, _: np.sin(x * f + p)


# what a new column is of an old one's values x: a function of them and of a category
MADE: dict[str, Callable[[F64, float], Array]] = {
    "value": lambda x, _: x,
    "gap": lambda x, _: np.isnan(x),
    "category": lambda x, code: x == code,
    **{name: _cycle(f, p) for name, (f, p) in CYCLES.items()},
}


class Selected(State):
    """Some of the columns, as they are. rounds: of every column, in how many rounds of a selection it was left."""

    sources: I64
    rounds: I64

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        shapes.fit(self.sources, len(self.sources))
        below(self.sources.tolist(), shapes.columns)
        shapes.fit(self.rounds, "columns")

    def apply(self, X: F64, new: I64) -> F64:
        """Return the columns as they are."""
        del new
        return X

    def records_of(self) -> dict[str, str]:
        """Return nothing: names of columns are no records."""
        return {}


class Encoded(State):
    """A column for every declared value of an encoded one, 1 where it has that value; others stay.

    codes: the value of each new column, NaN where a column stays as it is.
    encoded: which columns are encoded; `labels`: the values declared for each.
    """

    sources: I64
    codes: F64
    encoded: I64
    labels: tuple[tuple[bool | int | float | str, ...], ...]

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        for indices in (self.sources, self.encoded):
            shapes.fit(indices, len(indices))
            below(indices.tolist(), shapes.columns)
        shapes.fit(self.codes, len(self.sources))
        if len(self.labels) != len(self.encoded):
            raise MisfitError("not every encoded column has its values")

    def apply(self, X: F64, new: I64) -> F64:
        """Return encoded columns; a missing value has none of the declared ones."""
        codes = self.codes[new]
        return np.where(np.isnan(codes), X, codes == X)

    def records_of(self) -> dict[str, str]:
        """Return nothing: what was declared is no record."""
        return {}
