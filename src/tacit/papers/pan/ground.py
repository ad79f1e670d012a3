"""What every protocol of PAN-SVM begins with: classes and their sizes, gamma as a number, the records that count.

Roles. Holder: records with labels. Coordinator: adds up.
Threat. Semi-honest; coalitions as `secure_sum`. Told to everyone: which classes each party has, how many columns, how
many records each class has over all parties, and with gamma='scale' the variance of all cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.svm.kernels import Kernel, Pairs, problems, signs_of
from tacit.papers.facts import CLASS_SIZES
from tacit.papers.labels import check_labels
from tacit.papers.machine import gamma_of
from tacit.papers.pan.cutting_plane import SignedRows, Solver
from tacit.papers.parameters import LANDMARKS, MAX_ROUNDS, MULTI_CLASS, TOL, fixed_point
from tacit.protocols.classes import check_class_names, weigh_classes
from tacit.protocols.facts import CLASSES
from tacit.protocols.features.maps import PublicMap, features_of
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.sums.secure_sum import Protection, protect, secure_sum

KERNELS = ("linear", "rbf", "poly")  # of the paper
TWO = 2  # classes that an SVM separates

COLUMNS = Fact("pan_svm.columns", "holder", "size", "party", "how many columns the records of each party have")
CELL_MOMENTS = Fact(
    "pan_svm.cell_moments", "holders", "aggregate", "all", "with gamma='scale' sum and sum of squares of all cells"
)
CELL_VARIANCE = Fact(
    "pan_svm.cell_variance", "holders", "aggregate", "all", "the variance of all cells, for gamma='scale'"
)


class OwnClasses(Message, tells=(CLASSES, COLUMNS), ragged=True):
    """The classes that a party has records of, and how many columns these have."""

    classes: Names
    columns: int


class Sizes(Message, tells=(CLASS_SIZES, CELL_VARIANCE)):
    """How many records each class has over all parties, and gamma as a number."""

    sizes: F64
    gamma: float


class NumberedRecords(State):
    """A party's records that count, which are those with weight, with labels as indices into the classes."""

    X: F64
    codes: I64
    weight: F64


OF_PAN = (LANDMARKS, MAX_ROUNDS, MULTI_CLASS, TOL)


@dataclass(frozen=True, kw_only=True)
class PanSettings(AnyKernel):
    """The parameters of a PAN-SVM; `PanSVC` says what they mean."""

    C: float
    landmarks: float | str = "auto"
    multi_class: str = "ovo"
    class_weight: ClassWeight = None
    tol: float = 1e-3
    max_rounds: int = 500


@dataclass(frozen=True)
class Ground:
    """What all parties know before anything is trained."""

    svm: PanSettings
    by: Protection
    fixed: FixedPoint
    classes: Names
    sizes: F64
    gamma: float
    columns: int

    @property
    def pairs(self) -> Pairs:
        """Which class stands against which in every problem of PPM2C; -1 is the rest."""
        return problems(len(self.classes), self.svm.multi_class)

    @property
    def rows(self) -> int:
        """How many records count, of all parties."""
        return round(float(self.sizes.sum()))

    @property
    def solver(self) -> Solver:
        """How problems are solved."""
        return Solver(self.svm.C, self.svm.tol, self.svm.max_rounds, self.by, self.fixed)

    @property
    def labelling(self) -> tuple[Pairs, F64]:
        """What gives rows their signs and weights."""
        return self.pairs, weigh_classes(self.classes, self.sizes, self.svm.class_weight)

    def kernel_of(self, features: int) -> Kernel:
        """Return the kernel of so many of the columns; 'scale' and 'auto' are 1 / columns times something."""
        wider = self.columns / features if isinstance(self.svm.gamma, str) else 1.0
        return Kernel(self.svm.name, self.gamma * wider, self.svm.degree, self.svm.coef0)


@choreography(opens={Coordinator: CELL_MOMENTS, Everyone: (CLASSES, COLUMNS, CLASS_SIZES, CELL_VARIANCE)})
def agree_on_ground(run: Run, data: At[Records], *, svm: PanSettings) -> tuple[Ground, At[NumberedRecords]]:
    """Agree on keys, classes, their sizes and gamma; return these, and each party's records that count."""
    check_kernel(svm)
    run.local(Holder, check_labels, data, run.who(Holder))
    by, fixed = protect(run), fixed_point(run)
    told = run.publish_all(OwnClasses, run.local(Holder, describe_classes, data))
    classes, columns = join_classes(told)
    rows = run.local(Holder, number_records, data, classes)
    own = run.local(Holder, count_records, rows, len(classes), svm.is_scaled)
    total = secure_sum(run, own, to=Coordinator, by=by, fixed=fixed, what="counts, and moments of all cells")
    known = run.publish(Sizes, run.local(Coordinator, read_sizes, total, svm.gamma, columns))
    return Ground(svm, by, fixed, classes, known.sizes, known.gamma, columns), rows


def check_kernel(svm: PanSettings) -> None:
    """Raise unless PAN-SVM has a map for the kernel."""
    if svm.name not in KERNELS:
        raise LocalError(f"PAN-SVM has no map for kernel={svm.name!r}: use one of {', '.join(KERNELS)}")


def join_classes(told: dict[str, OwnClasses]) -> tuple[Names, int]:
    """Return the names of all classes, sorted, and the number of columns that all parties have."""
    check_class_names({party: message.classes for party, message in told.items()})
    names = tuple(np.unique(np.array([name for message in told.values() for name in message.classes])).tolist())
    widths = {party: message.columns for party, message in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(f"the parties hold different numbers of columns ({widths}): give all of them the same ones")
    if len(names) < TWO:
        raise LocalError(
            f"the labels of all parties hold one class only ({names}): a classifier needs at least 2 classes"
        )
    return names, next(iter(widths.values()))


# Steps at the holders


def describe_classes(part: Records) -> OwnClasses:
    """Return the classes of the records that count, and the number of columns."""
    y = np.empty(0) if part.y is None else part.y if part.weight is None else part.y[part.weight > 0]
    return OwnClasses(tuple(np.unique(y).tolist()), part.X.shape[1])


def number_records(part: Records, classes: Names) -> NumberedRecords:
    """Return the records that count, with numbers for their classes."""
    weight = np.ones(len(part.X)) if part.weight is None else part.weight
    use = weight > 0
    y = np.empty(0) if part.y is None else part.y[use]
    codes = np.searchsorted(np.array(classes), y) if len(y) else np.empty(0)
    return NumberedRecords(np.ascontiguousarray(part.X[use]), codes.astype(np.int64), weight[use])


def count_records(rows: NumberedRecords, classes: int, cells: bool) -> F64:  # noqa: FBT001 - a step
    """Return how many records each class has, and the moments of all cells if they are asked for."""
    moments = [float(rows.X.sum()), float(np.square(rows.X).sum())] if cells else [0.0, 0.0]
    return np.append(np.bincount(rows.codes, minlength=classes).astype(np.float64), moments)


def sign_rows(rows: NumberedRecords, the_map: PublicMap, pairs: Pairs, weights: F64) -> SignedRows:
    """Return the mapped records, with a sign in every problem, and their weights times those of their classes."""
    F = features_of(the_map, rows.X, shorten=False)
    return SignedRows(F, signs_of(rows.codes, pairs), rows.weight * weights[rows.codes])


def signs_at(rows: NumberedRecords, pairs: Pairs) -> I8:
    """Return the sign of every record in every problem; 0 where it is in none of its classes."""
    return signs_of(rows.codes, pairs)


# Steps at the coordinator


def read_sizes(total: F64, gamma: float | str, columns: int) -> Sizes:
    """Return the sizes of the classes, and gamma as a number."""
    sizes = np.rint(total[:-2])
    return Sizes(sizes, gamma_of(gamma, columns, int(sizes.sum()) * columns, *total[-2:].tolist()))
