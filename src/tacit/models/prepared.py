"""What fitted transformers are: each new column is made of one old one, value by value.

`sources` says of which; `apply` makes new columns of theirs. The same text serves whole records and every party's own columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, I64, State
from tacit.models.shapes import MisfitError, Shapes, below


def check_learnt(learnt: dict[str, Any], shapes: Shapes) -> None:
    """Raise unless statistics have names that fitted attributes have, and are numbers, or one for each column."""
    for name, value in learnt.items():
        if not (name.isidentifier() and name.endswith("_") and not name.startswith("_")):
            raise MisfitError("a statistic has a name that none has")
        if isinstance(value, np.ndarray):
            shapes.fit(value, *(["columns"] * min(value.ndim, 1)))
        elif not isinstance(value, int | float):
            raise MisfitError("a statistic is no number")


class Scaled(State):
    """(x - center) / scale; `learnt` has the statistics behind them, by scikit-learn's names."""

    center: F64
    scale: F64
    learnt: dict[str, Any]

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
        """Missing values stay missing."""
        return (X - self.center[new]) / self.scale[new]

    def records_of(self) -> dict[str, str]:
        """Statistics are no records."""
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
        """Indicators are 1 where a value is missing."""
        missing, column = np.isnan(X), new < len(self.values)
        return np.where(column, np.where(missing, self.values[self.sources[new]], X), missing)

    def records_of(self) -> dict[str, str]:
        """Statistics are no records."""
        return {}


class Kept(State):
    """Some of the columns."""

    sources: I64

    def apply(self, X: F64, new: I64) -> F64:
        """As they are."""
        del new
        return X


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
        """A missing value has none of the declared ones."""
        codes = self.codes[new]
        return np.where(np.isnan(codes), X, codes == X)

    def records_of(self) -> dict[str, str]:
        """What was declared is no record."""
        return {}
