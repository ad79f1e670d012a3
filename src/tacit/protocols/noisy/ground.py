"""What every run with differential privacy begins with: sizes, the budget, and the bounds of columns.

How many records each holder has is public where one record is blanked, and not left out. Where nobody declared between
which numbers the values of a column lie, a noisy histogram of magnitudes says so (`numeric.privacy.scaling`, (2)).

Roles. Holder: records. Coordinator: opens the noisy sums, publishes bounds.
Threat. As `noisy_sum`.
Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Message, PeerError, Run
from tacit.errors import LocalError
from tacit.numeric.privacy import scaling
from tacit.numeric.privacy.scaling import Bounds
from tacit.protocols.facts import NOISY_STATISTICS, SIZES
from tacit.protocols.noisy.noisy_sum import Budget, agree_on_budget, noisy_sum
from tacit.protocols.noisy.settings import Spending
from tacit.protocols.part import ClassWeight, Label, Names, Records, Table
from tacit.protocols.sums.secure_sum import Protection


class Size(
    Message,
    tells=SIZES,
):
    """How many records and columns a holder has: public where one record is blanked, not left out."""

    rows: int
    columns: int


class Magnitudes(
    Message,
    tells=NOISY_STATISTICS,
):
    """The bound of every column's values, a power of two."""

    half: F64


@dataclass(frozen=True)
class Ground:
    """What holds for a whole run: how sums are protected, the budget, and how large the table is."""

    by: Protection
    budget: Budget
    rows: int
    columns: int


def agree_on_ground(run: Run, sizes: At[Size], spending: Spending, by: Protection) -> Ground:
    """Agree on sizes and the budget."""
    told = run.publish_all(Size, sizes)
    widths = {party: m.columns for party, m in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(
            f"the parties hold different numbers of columns ({widths}): a horizontal split needs the same features"
            " everywhere"
        )
    columns, rows = next(iter(widths.values())), max(1, sum(m.rows for m in told.values()))
    given = spending.privacy_epsilon, spending.privacy_delta, spending.honest
    return Ground(by, agree_on_budget(*given, holders=len(told), rows=rows), rows, columns)


def find_bounds(
    run: Run, counts: At[I64], ground: Ground, share: float, columns: int | None = None
) -> tuple[Bounds, float]:
    """Return the bounds of columns by their histograms of magnitudes, and what they cost.

    `columns` is how many there are, if they are not all.
    """
    width = ground.columns if columns is None else columns
    noise = ground.budget.noise(scaling.magnitude_sensitivity(width), share)
    total = noisy_sum(run, counts, to=Coordinator, by=ground.by, noise=noise, what="magnitudes")
    told = run.publish(Magnitudes, run.local(Coordinator, bound, total, noise.deviation))
    return Bounds(np.zeros(width), told.half), noise.cost


# Steps at the holders


def measure(part: Table) -> Size:
    """Return how many records and columns a holder has."""
    return Size(*part.X.shape)


def check_bounds(middle: F64, half: F64) -> Bounds:
    """Return the bounds that were published; raise if they are none."""
    if not (np.isfinite(middle).all() and np.isfinite(half).all() and (half > 0).all()):
        raise PeerError("the coordinator published bounds that are not valid: stop and ask it")
    return Bounds(middle, half)


def codes_of(part: Records, classes: Names) -> I64:
    """Return the class of every record by its number; -1 of one that was not declared, or has no label."""
    if part.y is None:
        return np.full(len(part.X), -1, dtype=np.int64)
    known: dict[Label, int] = {name: code for code, name in enumerate(classes)}
    return np.array([known.get(label, -1) for label in part.y.tolist()], dtype=np.int64)


def weigh(part: Records, codes: I64, classes: Names, class_weight: ClassWeight) -> F64:
    """Return the weight of every record, from 0 to 1: none counts more than once; 0 of one without a known class."""
    given = class_weight if isinstance(class_weight, dict) else {}
    of_class = np.array([max(0.0, float(given.get(name, 1.0))) for name in classes])
    of_class = of_class / max(1.0, float(of_class.max()))
    return np.where(codes >= 0, of_class[codes] * own_weights(part), 0.0)


def own_weights(part: Records) -> F64:
    """Return the weights that records came with, from 0 to 1; 1 of those without."""
    return np.ones(len(part.X)) if part.weight is None else np.nan_to_num(np.clip(part.weight, 0.0, 1.0))


# Steps at the coordinator


def bound(counts: F64, deviation: float) -> Magnitudes:
    """Return the bound of every column."""
    return Magnitudes(scaling.choose_bounds(counts, deviation).half)
