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
from tacit.choreo.declaration import Either, Items, Nothing, Number, Parameter, Settings, Span, Text
from tacit.errors import LocalError
from tacit.numeric.privacy import scaling
from tacit.numeric.privacy.scaling import Bounds
from tacit.protocols.classes import check_class_weight
from tacit.protocols.facts import NOISY_STATISTICS, SIZES
from tacit.protocols.noisy.noisy_sum import Budget, agree_on_budget, noisy_sum
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
    given = spending.epsilon, spending.delta, spending.honest
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


# Parameters of a training with differential privacy: the budget, whom it trusts, and what is declared of the data


EPSILON = Number(0, 100, above=True)  # above, odds change by more than 10^43: that protects nobody
DELTA = Number(0, 0.1, above=True)
CELL = Number(-1e12, 1e12)
RANGES = Either((Nothing(), Span(CELL), Items(Span(CELL), 1, 10_000)))
HONEST = Either((Nothing(), Number(1, whole=True, job_most=1000)))
KERNELS = ("linear", "rbf")
FEATURES, FEWEST, PER_ROW = 400, 40, 0.1  # of a map by Fourier features: at most, at least, and for each row
LARGEST = 10_000  # features that may be asked for

Ranges = tuple[tuple[float, float], ...]


SPENDING = (
    Parameter("epsilon", EPSILON, "how far one record may move the logarithm of the odds of any outcome",
              opens=True),
    Parameter("delta", DELTA, "the probability of the events that epsilon does not bound", opens=True),
    Parameter("honest", HONEST, "how many data holders keep their noise to themselves", opens=True),
)  # fmt: skip
NOISE = (
    *SPENDING,
    Parameter("privacy_ranges", RANGES,
              "between which numbers values lie, for all columns or each; what lies outside is clipped", opens=True),
)  # fmt: skip


TARGETS = Parameter(
    "privacy_targets",
    Either((Nothing(), Span(CELL))),
    "between which numbers targets lie; others are clipped",
    opens=True,
)
HISTOGRAMS = Parameter(
    "histograms", Items(Text(200), 0, LARGEST), "of which columns histograms are made", opens=True, follows=True
)


@dataclass(frozen=True, kw_only=True)
class Spending(Settings):
    """What a run may spend, and whom it trusts."""

    epsilon: float = 1.0
    delta: float = 1e-5
    honest: int | None = None


def check_classes(names: Names, class_weight: ClassWeight) -> None:
    """Raise if there are too few classes, or weights of them that exact counts would have to give."""
    if len(names) < 2 or len(set(names)) < len(names):  # noqa: PLR2004 - a classifier separates two
        raise LocalError(
            f"with epsilon the classes are declared, two or more, each once; got {names!r}: say classes=[...]"
        )
    if isinstance(class_weight, str):
        raise LocalError(
            f"class_weight={class_weight!r} needs exact counts of classes, which epsilon does not cover: give a"
            " weight for each class"
        )
    check_class_weight(names, class_weight)
