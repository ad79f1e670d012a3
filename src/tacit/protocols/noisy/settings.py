"""Parameters of a training with differential privacy: the budget, whom it trusts, and what is declared of the data."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.declaration import Either, Items, Nothing, Number, Parameter, Settings, Span, Text
from tacit.errors import LocalError
from tacit.protocols.classes import check_class_weight
from tacit.protocols.part import ClassWeight, Names

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
    Parameter("privacy_epsilon", EPSILON, "how far one record may move the logarithm of the odds of any outcome",
              opens=True),
    Parameter("privacy_delta", DELTA, "the probability of the events that epsilon does not bound", opens=True),
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

    privacy_epsilon: float = 1.0
    privacy_delta: float = 1e-5
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
