"""Statistics of columns over rows that many hold, with differential privacy for every record.

The problem. Holder h has records, some of whose values may be missing. All shall know about how large each column is,
how its values lie, and which of the declared values are frequent, and no outcome of the run shall hardly depend on one
record:

    bounds       histograms of magnitudes, unless ranges are declared                           (`privacy.scaling`)  (1)
    moments      sums of 1, u and u^2                                                           (`privacy.columns`)  (2)
    histograms   within the declared ranges, else around the means of (2)                       (`privacy.columns`)  (3)
    values       how many records have which declared value                                     (`privacy.columns`)  (4)

Each is one `noisy_sum`, and is left out where nobody asks for it. A fifth of the budget goes into (1), and the rest
into the others by how many columns each is about.

Unit of privacy: one record, blanked. How many records each holder has is public. Nothing is refused because of what a
record holds: values outside of their bounds count as the bounds, values that were not declared count in nothing.

Roles. Holder: rows. Coordinator: opens the noisy sums, publishes what follows from them.
Threat. As `noisy_sum`: a coalition of the coordinator and M - honest holders; the others are told the same. Not
protected: how many records each holder has; the names of columns and all that is declared.
Source: ours; noise by Kairouz, Liu and Steinke, ICML 2021, accounting by Dong, Roth and Su, JRSS B 84, 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Holder, Message, Result, Run, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.numeric.privacy import columns as maths
from tacit.numeric.privacy.columns import Moments
from tacit.numeric.privacy.scaling import Bounds, bounds_of
from tacit.protocols.column_parameters import BINS, OF_COLUMNS
from tacit.protocols.facts import NOISY_STATISTICS, SIZES
from tacit.protocols.noisy.ground import (
    HISTOGRAMS,
    SPENDING,
    Ground,
    Spending,
    agree_on_ground,
    check_bounds,
    find_bounds,
    measure,
)
from tacit.protocols.noisy.noisy_sum import Noise, noisy_sum
from tacit.protocols.prepare.cells import Cells, Names, all_values
from tacit.protocols.sums.secure_sum import protect

BOUNDS = 0.2  # of the budget, where ranges are not declared


class NoisyMoments(
    Message,
    tells=NOISY_STATISTICS,
):
    """What follows from (2)."""

    present: F64
    mean: F64
    var: F64


class NoisyHistograms(
    Message,
    tells=NOISY_STATISTICS,
):
    """The counts (3), a row per column."""

    counts: F64


class NoisyValues(
    Message,
    tells=NOISY_STATISTICS,
):
    """The counts (4), a row per column."""

    counts: F64


@dataclass(frozen=True, kw_only=True)
class Asked(Settings):
    """What is asked for: moments of `names`, `histograms` of some, counts of the values of `categories`."""

    names: Names = ()
    histograms: Names = ()
    categories: Mapping[str, Sequence[float]] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    bins: int = 32

    @property
    def numbers(self) -> Names:
        """The columns whose values have bounds."""
        return tuple(dict.fromkeys((*self.names, *self.histograms)))

    @property
    def measured(self) -> Names:
        """The columns whose moments are found: where no range is declared, a histogram follows from them."""
        return self.names if self.ranges is not None else self.numbers

    @property
    def listed(self) -> dict[str, tuple[float, ...]]:
        """The declared values of columns, in order."""
        return {name: tuple(sorted(map(float, values))) for name, values in (self.categories or {}).items()}

    def check(self) -> None:
        """Raise if a column has no range where others have one."""
        lacking = [name for name in self.numbers if self.ranges is not None and name not in self.ranges]
        if lacking:
            raise LocalError(
                f"ranges name some columns and not '{lacking[0]}': declare one for each, or leave all of them out"
            )


class Extent(Result):
    """Between which numbers the values of each column were taken to lie."""

    low: F64
    high: F64


class Measured(Result):
    """What (2) gives of each of the columns `measured`."""

    present: F64
    mean: F64
    var: F64


class Binned(Result):
    """The histogram (3) of each of the columns `histograms`, and where it begins and ends."""

    low: F64
    high: F64
    counts: F64


class NoisyColumns(Result):
    """What was found, each in the order in which its columns were named, and what it cost."""

    records: int
    honest: int
    spent: dict[str, float]
    extent: Extent
    moments: Measured | None = None
    histograms: Binned | None = None
    values: F64 | None = None


@dataclass(frozen=True)
class Purse:
    """What sums may cost, a share of the budget for each column, and what they did."""

    ground: Ground
    share: float
    spent: dict[str, float]

    def take(self, what: str, sensitivity: int, columns: int) -> Noise:
        """Return the noise of a sum about so many columns, and write down what it costs."""
        noise = self.ground.budget.noise(sensitivity, self.share * columns)
        self.spent[what] = noise.cost
        return noise


@choreography(
    opens={
        Everyone: (
            SIZES,
            NOISY_STATISTICS,
        )
    }
)
def noisy_columns(run: Run, data: At[Cells], *, asked: Asked, spending: Spending) -> NoisyColumns:
    """Publish statistics of columns from noisy sums."""
    asked.check()
    by = protect(run)
    ground = agree_on_ground(run, run.local(Holder, measure, data), spending, by)
    bounds, paid = agree_on_bounds(run, data, asked, ground)
    every = len(asked.measured) + len(asked.histograms) + len(asked.listed)
    share = (1.0 - (BOUNDS if paid else 0.0)) / max(1, every)
    purse = Purse(ground, share, {"bounds": paid} if paid else {})
    moments = find_moments(run, data, asked, bounds, purse)
    return NoisyColumns(
        records=ground.rows,
        honest=ground.budget.honest,
        extent=Extent(low=bounds.middle - bounds.half, high=bounds.middle + bounds.half),
        moments=moments,
        histograms=find_histograms(run, data, asked, bounds, moments, purse),
        values=find_values(run, data, asked, purse),
        spent=purse.spent,
    )


def agree_on_bounds(run: Run, data: At[Cells], asked: Asked, ground: Ground) -> tuple[Bounds, float]:
    """Return the bounds of the columns that need some, (1), and what they cost."""
    names = asked.numbers
    if asked.ranges is not None or not names:
        return bounds_of(np.array([(asked.ranges or {})[name] for name in names], dtype=np.float64).reshape(-1, 2)), 0.0
    counts = run.local(Holder, count_magnitudes, data, names)
    return find_bounds(run, counts, ground, BOUNDS, len(names))


def find_moments(run: Run, data: At[Cells], asked: Asked, bounds: Bounds, purse: Purse) -> Measured | None:
    """Return what (2) gives of the columns `measured`."""
    names = asked.measured
    if not names:
        return None
    of = pick(bounds, asked.numbers, names)
    noise = purse.take("means", maths.present_sensitivity(len(names)), len(names))
    sums = run.local(Holder, sum_present, data, names, of.middle, of.half)
    total = noisy_sum(run, sums, to=Coordinator, by=purse.ground.by, noise=noise, what="sums of columns")
    made = run.local(Coordinator, make_moments, total, purse.ground.rows, noise.deviation, of.middle, of.half)
    told = run.publish(NoisyMoments, made)
    return Measured(present=told.present, mean=told.mean, var=told.var)


def find_histograms(
    run: Run, data: At[Cells], asked: Asked, bounds: Bounds, moments: Measured | None, purse: Purse
) -> Binned | None:
    """Return the histograms (3)."""
    names = asked.histograms
    if not names:
        return None
    low, high = choose_edges(asked, pick(bounds, asked.numbers, names), moments)
    noise = purse.take("histograms", maths.count_sensitivity(len(names)), len(names))
    held = run.local(Holder, count_bins, data, names, low, high, asked.bins)
    total = noisy_sum(run, held, to=Coordinator, by=purse.ground.by, noise=noise, what="histograms")
    return Binned(
        low=low, high=high, counts=run.publish(NoisyHistograms, run.local(Coordinator, make_bins, total)).counts
    )


def find_values(run: Run, data: At[Cells], asked: Asked, purse: Purse) -> F64 | None:
    """Return the counts (4)."""
    names, declared = tuple(asked.listed), tuple(asked.listed.values())
    if not names:
        return None
    noise = purse.take("declared values", maths.count_sensitivity(len(names)), len(names))
    held = run.local(Holder, count_values, data, names, declared)
    total = noisy_sum(run, held, to=Coordinator, by=purse.ground.by, noise=noise, what="declared values")
    return run.publish(NoisyValues, run.local(Coordinator, make_values, total)).counts


def choose_edges(asked: Asked, bounds: Bounds, moments: Measured | None) -> tuple[F64, F64]:
    """Return where each histogram begins and ends: as declared, else around the mean."""
    if asked.ranges is not None or moments is None:
        return bounds.middle - bounds.half, bounds.middle + bounds.half
    at = [asked.measured.index(name) for name in asked.histograms]
    return maths.range_of(Moments(moments.present[at], moments.mean[at], moments.var[at]), bounds)


def pick(bounds: Bounds, names: Names, some: Names) -> Bounds:
    """Return the bounds of some of the columns."""
    at = [names.index(name) for name in some]
    return Bounds(bounds.middle[at], bounds.half[at])


# Steps at the holders


def count_magnitudes(part: Cells, names: Names) -> I64:
    """Return the histogram (1) of a holder's values."""
    return maths.count_sizes(all_values(part, names))


def sum_present(part: Cells, names: Names, middle: F64, half: F64) -> I64:
    """Return the holder's part of (2)."""
    return maths.sum_present(all_values(part, names), check_bounds(middle, half))


def count_bins(part: Cells, names: Names, low: F64, high: F64, bins: int) -> I64:
    """Return the holder's part of (3)."""
    check_bounds(low, high - low)
    return maths.count_bins(all_values(part, names), low, high, bins)


def count_values(part: Cells, names: Names, declared: tuple[tuple[float, ...], ...]) -> I64:
    """Return the holder's part of (4)."""
    return maths.count_values(all_values(part, names), declared)


# Steps at the coordinator


def make_moments(total: F64, rows: int, deviation: float, middle: F64, half: F64) -> NoisyMoments:
    """Return what (2) gives."""
    found = maths.estimate_moments(total, rows, deviation, Bounds(middle, half))
    return NoisyMoments(found.present, found.mean, found.var)


def make_bins(total: F64) -> NoisyHistograms:
    """Return the counts (3)."""
    return NoisyHistograms(maths.read_counts(total))


def make_values(total: F64) -> NoisyValues:
    """Return the counts (4)."""
    return NoisyValues(maths.read_counts(total))


NOISY_COLUMNS = Declaration(noisy_columns, parameters=(*OF_COLUMNS, BINS, *SPENDING, HISTOGRAMS))
