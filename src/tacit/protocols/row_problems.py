"""What SVMs over rows that many hold begin with: classes and their sizes, gamma as a number, the problems, every row's side and weight.

One problem for two classes; for more, one per class against the rest, or one per pair of classes. A record counts if it has weight, and
takes part if its holder has a group for it (`atoms`). What is opened here is how many records each class has over all parties, how many
of them take part, and with gamma='scale' the variance of all cells.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from tacit.choreo import F64, I64, Array, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel, gamma_of
from tacit.numeric.least_count import CAP, FLOOR, advised
from tacit.protocols.atoms import Atoms, HoldBack, in_large_classes
from tacit.protocols.cutting_plane import Solution
from tacit.protocols.feature_map import FeatureMap, Records, check_source, map_records
from tacit.protocols.landmarks import refuse_share
from tacit.protocols.plane_rows import Rows
from tacit.protocols.secure_sum import Protection, protect
from tacit.protocols.witness import Voice

NEVER = -1e9  # the decision value of a class that took no part
Pairs = tuple[tuple[int, int], ...]
Play = TypeVar("Play", bound=Callable[..., Any])


class Held(Message, tells="which classes the sender has records of, and how many columns", ragged=True):
    """Public before anything else."""

    classes: tuple[bool | int | float | str, ...]
    columns: int


class Facts(Message, tells="how many records each class has over all parties; with gamma='scale' the variance of all cells"):
    """What the rest depends on."""

    sizes: F64
    gamma: float


@dataclass(frozen=True)
class Svm:
    """The parameters of a PAN-SVM, as `pan_svm` is given them; every SVM over rows has some of them."""

    kernel: str
    gamma: float | str
    degree: int
    coef0: float
    C: float
    landmark_source: str = "local"
    landmarks: float | str = "auto"
    min_cluster: int = 5
    min_count: int | str = "auto"
    multi_class: str = "ovr"
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-3
    max_rounds: int = 500
    dtype: str = "float64"
    seed: int = 0
    witness: bool = False
    probability: bool = False  # of the last model only
    method: str = "pairwise"
    segments: int = 1
    fraction_bits: int = 32
    accept_risk: bool = False

    @property
    def hold_back(self) -> HoldBack:
        """Of how many rows groups are."""
        return HoldBack(self.min_count, accept_risk=self.accept_risk)


def takes_svm(play: Play) -> Play:
    """A protocol whose `**` parameters are those of `Svm`: its signature names them, as a job and a party's policy read them."""
    own = inspect.signature(play)
    named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    fields = [p.replace(kind=p.KEYWORD_ONLY) for p in inspect.signature(Svm).parameters.values()]
    play.__signature__ = own.replace(parameters=[*named, *fields])  # type: ignore[attr-defined]  # what `inspect` looks for
    return play


@dataclass(frozen=True)
class Common:
    """What holds for the whole run: the parameters with gamma as a number, protection of the sums, classes, problems, columns.

    `sizes` are of the records that count, `taking` of those that take part: until groups are made, the same.
    """

    svm: Svm
    by: Protection
    fixed: FixedPoint
    classes: tuple[Any, ...]
    pairs: Pairs
    sizes: F64
    taking: F64
    gamma: float
    columns: int

    @property
    def rows(self) -> int:
        """Of all parties."""
        return round(float(self.sizes.sum()))

    @property
    def weights(self) -> F64:
        """Of the classes; 0 where none of their records takes part."""
        given = class_weights(self.classes, self.taking, self.svm.class_weight)
        return np.where(self.taking > 0, given, 0.0)

    @property
    def playing(self) -> F64:
        """Records of each class that take part and have weight."""
        return np.where(self.weights > 0, self.taking, 0.0)

    @property
    def exact(self) -> bool:
        """Whether every row is a group of its own."""
        return self.svm.min_count == 1

    @property
    def sides(self) -> F64:
        """Records on the positive and on the negative side of every problem."""
        n = self.playing
        return np.array([[n[i], n.sum() - n[i] if j < 0 else n[j]] for i, j in self.pairs])

    def never(self, found: Solution) -> Solution:
        """A class of which no record takes part is never chosen; `found` has all problems once, or once per fold."""
        few = np.array([self.weights[k] <= 0 and rest < 0 for k, rest in self.pairs])
        return dataclasses.replace(found, b=np.where(np.tile(few, len(found.b) // len(few)), NEVER, found.b))


def agreed(run: Run, data: At[Any], *, svm: Svm) -> Common:
    """What every training begins with: keys, classes and their sizes, gamma as a number."""
    kernel = Kernel(svm.kernel, degree=svm.degree, coef0=svm.coef0)
    fixed = FixedPoint(svm.fraction_bits, terms=len(run.roster[Holder]))
    run.local(Holder, check_range, data, fixed, run.who(Holder))
    by = protect(run, to=Coordinator, method=svm.method, segments=svm.segments)
    classes, columns = labelled(run, data)
    voice = Voice(run, by, fixed, svm.witness)
    told = voice.added(facts_of, data, classes, svm.gamma == "scale" and kernel.name != "linear")
    facts = voice.told(Facts, facts_from, told, columns, svm.gamma)
    pairs = problems(len(classes), svm.multi_class)
    return Common(svm, by, fixed, classes, pairs, facts.sizes, facts.sizes, facts.gamma, columns)


@choreography(opens={Everyone: "which classes each party has, and how many columns"})
def labelled(run: Run, data: At[Any]) -> tuple[tuple[Any, ...], int]:
    """All classes, sorted, and the common number of columns."""
    told = run.publish_all(Held, run.local(Holder, held_by, data))
    names = tuple(np.unique(np.array([name for m in told.values() for name in m.classes])).tolist())
    widths = {party: m.columns for party, m in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(f"the parties hold different numbers of columns ({widths}): a horizontal split needs the same features everywhere")
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"the labels of all parties hold one class only ({names}): a classifier needs at least 2 classes")
    return names, next(iter(widths.values()))


def wanted(svm: Svm, rows: int, columns: int) -> int:
    """How many landmarks or Fourier features: as given, as a share of the rows, or as suits the table (`numeric.least_count`)."""
    if isinstance(svm.landmarks, str):
        among = svm.landmark_source != "fourier"
        size = advised(rows, columns, landmarks=among, exact=svm.min_count == 1)
        return max(1, min(size, rows // svm.min_cluster)) if among else size
    if svm.landmarks >= 1:
        return int(svm.landmarks)
    return max(1, min(CAP, int(svm.landmarks * rows + 1e-9)))


def problems(classes: int, multi_class: str) -> Pairs:
    """Which class stands against which; -1 is the rest."""
    if classes == 2:  # noqa: PLR2004 - one problem, in which the second class is positive, as in scikit-learn
        return ((1, 0),)
    if multi_class == "ovo":
        return tuple((i, j) for i, j in combinations(range(classes), 2))
    return tuple((k, -1) for k in range(classes))


def class_weights(classes: tuple[Any, ...], sizes: F64, class_weight: Mapping[Any, float] | str | None) -> F64:
    """scikit-learn's: given by class, or 'balanced' by the number of records."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        balanced: F64 = sizes.sum() / (len(classes) * np.maximum(sizes, 1.0))
        return balanced
    return np.array([float(class_weight.get(name, 1.0)) for name in classes])  # type: ignore[union-attr]


def check_taking(ground: Common) -> None:
    """Refuse where fewer than two classes are left."""
    gone = [str(name) for name, n in zip(ground.classes, ground.taking, strict=True) if n <= 0]
    if len(ground.classes) - len(gone) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(
            f"no party has enough rows of class {', '.join(gone)} for a group of min_count={ground.svm.min_count!r}, and a classifier needs"
            " two classes that take part: bring more rows, ask for fewer landmarks, or lower min_count with accept_risk=True"
        )


def check_landmarks(svm: Svm) -> None:
    """Refuse what has no map."""
    check_source(svm.landmark_source, svm.kernel)
    share = not isinstance(svm.landmarks, str) and svm.landmarks < 1
    if share and svm.landmark_source != "fourier" and svm.kernel != "linear":
        refuse_share(float(svm.landmarks), svm.min_cluster)


# Steps at the holders


def check_range(part: Records, fixed: FixedPoint, me: str) -> None:
    """Refuse what cannot be summed, before anything is sent."""
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")
    fixed.encode(np.array([np.einsum("ij,ij->", part.X, part.X), np.abs(part.X).sum()]), f"records of {me}")


def held_by(part: Records) -> Held:
    """Distinct labels of the records that count."""
    labels = np.empty(0) if part.y is None else part.y[counting(part)]
    return Held(tuple(np.unique(labels).tolist()), part.X.shape[1])


def counting(part: Records) -> Array:
    """Which records count."""
    return np.ones(len(part.X), bool) if part.weight is None else part.weight > 0


def facts_of(part: Records, classes: tuple[Any, ...], cells: bool) -> F64:  # noqa: FBT001 - a step
    """Records of each class, and the cells' moments."""
    sizes = np.bincount(codes_of(part, classes)[counting(part)], minlength=len(classes))
    X = part.X[in_large_classes(part, FLOOR)]
    moments = [len(X), X.sum(), np.einsum("ij,ij->", X, X)] if cells else [0.0, 0.0, 0.0]
    return np.concatenate([sizes, moments]).astype(np.float64)


def codes_of(part: Records, classes: tuple[Any, ...]) -> I64:
    """Labels as indices into the classes."""
    if part.y is None or not len(part.y) or not classes:
        return np.empty(0, dtype=np.int64)
    # a class that only records without weight are of has no number; they take no part
    return np.minimum(np.searchsorted(np.array(classes), part.y), len(classes) - 1)


def classes_at(part: Records, classes: tuple[Any, ...], weights: F64) -> I64:
    """Number of every record's class; -1 where it, or its class, has no weight, and so does not count."""
    codes = codes_of(part, classes)
    return np.where(weights[codes] * (1.0 if part.weight is None else part.weight) > 0, codes, -1)


def rows_of(part: Records, the_map: FeatureMap, atoms: Atoms, classes: tuple[Any, ...], pairs: Pairs, weights: F64, dtype: str) -> Rows:
    """Mapped records, with the signs of every problem; a record that takes no part has none."""
    codes = codes_of(part, classes)
    weight = weights[codes] * atoms.weight
    signs = signs_of(codes, pairs)
    signs[(atoms.group < 0) | (weight <= 0)] = 0
    return Rows(map_records(the_map, part.X, dtype), signs, weight)


def signs_of(codes: Array, pairs: Pairs) -> Array:
    """+1, -1, or 0 where a record is in neither class."""
    signs = np.zeros((len(codes), len(pairs)), dtype=np.int8)
    for k, (positive, negative) in enumerate(pairs):
        signs[:, k] -= (codes == negative) if negative >= 0 else (codes != positive)
        signs[:, k] += codes == positive
    return signs


# Steps at the coordinator


def facts_from(told: F64, columns: int, gamma: float | str) -> Facts:
    """Class sizes, and gamma as a number."""
    sizes, (records, cells, squares) = told[:-3].copy(), told[-3:]
    return Facts(np.rint(sizes), gamma_of(gamma, columns, round(float(records)) * columns, float(cells), float(squares)))
