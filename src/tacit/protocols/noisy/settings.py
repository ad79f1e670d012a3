"""Parameters of a training with differential privacy: the budget, whom it trusts, and what is declared of the data."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.declaration import Either, Items, Nothing, Number, Parameter, Settings, Span, Text
from tacit.errors import LocalError
from tacit.protocols.labels import check_class_weight
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


@dataclass(frozen=True, kw_only=True)
class NoisySvm(Spending):
    """The parameters of a classifier with differential privacy."""

    privacy_ranges: tuple[float, float] | Ranges | None = None
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    landmarks: float | str = "auto"
    classes: Names | None = None
    class_weight: ClassWeight = None
    probability: bool = False
    seed: int = 0
    method: str = "pairwise"
    segments: int = 1

    @property
    def names(self) -> Names:
        """The classes in the order in which they are declared."""
        return tuple(self.classes or ())


@dataclass(frozen=True, kw_only=True)
class NoisyElm(Spending):
    """The parameters of an extreme learning machine with differential privacy."""

    classify: bool = True
    activation: str = "sigmoid"
    n_hidden: int | None = None
    scale: float = 1.0
    ridge: float | str = "gcv"
    classes: Names | None = None
    class_weight: ClassWeight = None
    privacy_targets: tuple[float, float] | None = None
    seed: int = 0

    @property
    def names(self) -> Names:
        """The classes in the order in which they are declared; none of a regression."""
        return tuple(self.classes or ()) if self.classify else ()


def count_features(landmarks: float | str, rows: int) -> int:
    """Return how many Fourier features there are: as given, as a share of the rows, or as suits the table."""
    if isinstance(landmarks, str):
        return max(FEWEST, min(FEATURES, int(PER_ROW * rows)))
    return min(LARGEST, int(landmarks) if landmarks >= 1 else max(2, int(landmarks * rows)))


def check_noisy(svm: NoisySvm) -> None:
    """Raise if the parameters ask for what noise cannot protect, or name too few classes."""
    if svm.kernel not in KERNELS:
        raise LocalError(
            f"kernel={svm.kernel!r} has no feature map that is independent of the data: with epsilon use 'linear'"
            " or 'rbf'"
        )
    check_classes(svm.names, svm.class_weight)


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


def ranges_of(svm: NoisySvm, columns: int) -> Ranges | None:
    """Return the declared range of every column; None if there are none."""
    given = svm.privacy_ranges
    if given is None:
        return None
    each: Ranges = (given,) * columns if not isinstance(given[0], (tuple, list)) else tuple(map(tuple, given))  # type: ignore[arg-type]
    if len(each) != columns:
        raise LocalError(f"ranges name {len(each)} columns, and the records have {columns}: give one for each, or one")
    return each
