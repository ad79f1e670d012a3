"""What every SVM over rows begins with: classes and their sizes, gamma as a number, problems, sides and weights.

One problem for two classes; for more, one per class against the rest, or one per pair of classes. A record counts if it
has weight, and takes part if its holder has a group for it (`atoms`). What is opened here is how many records each
class has over all parties, how many of them take part, and with gamma='scale' the variance of all cells.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from tacit.arrays import F64, I8, I64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.choreo.declaration import Settings
from tacit.errors import LocalError
from tacit.numeric.devices import device_of
from tacit.numeric.groups.least_count import CAP, FLOOR, advise_size
from tacit.numeric.groups.row_words import ROWS_AT_ONCE
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.svm.kernels import Kernel, gamma_of
from tacit.numeric.svm.problems import MULTI_CLASS, OVO, Pairs, problems, signs_of
from tacit.protocols.class_names import check_class_names
from tacit.protocols.labels import check_class_weight, weigh_classes
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.planes.cutting_plane import Paths, Solution, cutting_plane
from tacit.protocols.planes.feature_map import FeatureMap, Recipe, check_source, has_room, map_records
from tacit.protocols.planes.landmarks import refuse_share
from tacit.protocols.planes.rows import Rows, Tables
from tacit.protocols.sums.atoms import Atoms, HoldBack, in_large_classes
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.table_facts import CLASS_SIZES, CLASSES_OF_PARTY
from tacit.protocols.witness import Voice
from tacit.scratch import blocks, distinct, fill, make_column, side_by_side
from tacit.sparse import each, sum_squares

CELL_MOMENTS = Fact(
    "rows.cell_moments", "holders", "aggregate", "all", "with gamma='scale' the sum and the sum of squares of all cells"
)
COLUMN_COUNTS = Fact("rows.column_counts", "holder", "size", "party", "how many columns")

MANY = 50_000  # records from which "auto" takes single precision: what it loses is far below `tol`
NEVER = -1e9  # the decision value of a class that took no part


class Held(
    Message,
    tells=(
        Fact("rows.own_classes", "holder", "label", "party", "which classes the sender has records of"),
        COLUMN_COUNTS,
    ),
    ragged=True,
):
    """Which classes a holder has records of, and how many columns; public before anything else."""

    classes: Names
    columns: int


class Known(
    Message,
    tells=(
        CLASS_SIZES,
        Fact("rows.cell_variance", "holders", "aggregate", "all", "with gamma='scale' the variance of all cells"),
    ),
):
    """How many records each class has, and gamma as a number: what the rest of a training depends on."""

    sizes: F64
    gamma: float


@dataclass(kw_only=True, eq=False, repr=False)
class PanParameters:
    """What a person chooses of a PAN-SVM; `PanSVC` takes the same parameters."""

    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    landmark_source: str = "local"
    landmarks: float | str = "auto"
    min_cluster: int = 5
    min_count: int | str = "auto"
    multi_class: str = OVO  # over the same groups as "ovr", and better: docs/defaults.md
    class_weight: ClassWeight = None
    probability: bool = False  # of the last model only
    tol: float = 1e-3
    max_rounds: int = 500
    dtype: str = "auto"
    device: str = "cpu"
    witness: bool = False


@dataclass(kw_only=True)
class Svm(PanParameters, Settings):
    """The parameters of a PAN-SVM in a protocol; every SVM over rows has some of them."""

    C: float = field()  # a job leaves none of these five out
    kernel: str = field()
    gamma: float | str = field()
    degree: int = field()
    coef0: float = field()
    multi_class: str = MULTI_CLASS
    seed: int = 0
    method: str = "pairwise"
    segments: int = 1
    fraction_bits: int = 32
    accept_risk: bool = False

    @property
    def hold_back(self) -> HoldBack:
        """The rule for how many rows a group needs."""
        return HoldBack(self.min_count, accept_risk=self.accept_risk)


@dataclass(frozen=True)
class Common:
    """What holds for a whole run.

    The parameters with gamma as a number, how the parties speak, classes, problems and columns. `sizes` are of the
    records that count, `taking` of those that take part: until groups are made, the same.
    """

    svm: Svm
    voice: Voice
    classes: Names
    pairs: Pairs
    sizes: F64
    taking: F64
    gamma: float
    columns: int

    @property
    def rows(self) -> int:
        """The number of records of all parties that count."""
        return round(float(self.sizes.sum()))

    @property
    def weights(self) -> F64:
        """The weight of each class; 0 where none of its records takes part."""
        given = weigh_classes(self.classes, self.taking, self.svm.class_weight)
        return np.where(self.taking > 0, given, 0.0)

    @property
    def labelling(self) -> tuple[Names, Pairs, F64, str, str]:
        """What gives rows their signs: classes, problems and weights; and precision and device of their features."""
        return self.classes, self.pairs, self.weights, self.precision, self.svm.device

    @property
    def precision(self) -> str:
        """The precision of mapped records."""
        if self.svm.dtype != "auto":
            return self.svm.dtype
        return "float32" if self.rows >= MANY else "float64"

    @property
    def playing(self) -> F64:
        """How many records of each class take part and have weight."""
        return np.where(self.weights > 0, self.taking, 0.0)

    @property
    def exact(self) -> bool:
        """Whether every row is a group of its own."""
        return self.svm.min_count == 1

    @property
    def sides(self) -> F64:
        """How many records are on the positive and on the negative side of every problem."""
        n = self.playing
        return np.array([[n[i], n.sum() - n[i] if j < 0 else n[j]] for i, j in self.pairs])

    def never(self, found: Solution) -> Solution:
        """Return the models with a bias by which a class of which no record takes part is never chosen.

        `found` has all problems once, or once per fold.
        """
        few = np.array([self.weights[k] <= 0 and rest < 0 for k, rest in self.pairs])
        return dataclasses.replace(found, b=np.where(np.tile(few, len(found.b) // len(few)), NEVER, found.b))


def agree_on_common(run: Run, data: At[Records], *, svm: Svm) -> Common:
    """Agree on what every training begins with: keys, classes and their sizes, gamma as a number."""
    kernel = Kernel(svm.kernel, degree=svm.degree, coef0=svm.coef0)
    fixed = FixedPoint(svm.fraction_bits, terms=len(run.roster[Holder]))
    run.local(Holder, check_range, data, fixed, run.who(Holder), svm.device)
    voice = Voice(run, protect(run, to=Coordinator, method=svm.method, segments=svm.segments), fixed, svm.witness)
    classes, columns = labelled(run, data)
    check_class_weight(classes, svm.class_weight)
    sums = voice.add_up(sizes_and_moments, data, classes, svm.gamma == "scale" and kernel.name != "linear")
    told = voice.announce(Known, sizes_and_gamma, sums, columns, svm.gamma)
    pairs = problems(len(classes), svm.multi_class)
    return Common(svm, voice, classes, pairs, told.sizes, told.sizes, told.gamma, columns)


@choreography(opens={Everyone: (CLASSES_OF_PARTY, COLUMN_COUNTS)})
def labelled(run: Run, data: At[Records]) -> tuple[Names, int]:
    """Return all classes, sorted, and the common number of columns."""
    told = run.publish_all(Held, run.local(Holder, describe_held, data))
    check_class_names({party: m.classes for party, m in told.items()})
    names = tuple(np.unique(np.array([name for m in told.values() for name in m.classes])).tolist())
    widths = {party: m.columns for party, m in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(
            f"the parties hold different numbers of columns ({widths}): a horizontal split needs the same features"
            " everywhere"
        )
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(
            f"the labels of all parties hold one class only ({names}): a classifier needs at least 2 classes"
        )
    return names, next(iter(widths.values()))


def choose_size(svm: Svm, rows: int, columns: int) -> int:
    """Return how many landmarks or Fourier features a map has.

    As given, as a share of the rows, or as suits the table (`numeric.groups.least_count`).
    """
    if isinstance(svm.landmarks, str):
        among = svm.landmark_source != "fourier"
        size = advise_size(rows, columns, landmarks=among, exact=svm.min_count == 1)
        return max(1, min(size, rows // svm.min_cluster)) if among else size
    if svm.landmarks >= 1:
        return int(svm.landmarks)
    return max(1, min(CAP, int(svm.landmarks * rows + 1e-9)))


def solve_problems(
    run: Run,
    tables: At[Tables],
    atoms: At[Atoms],
    *,
    ground: Common,
    prices: tuple[tuple[float, ...], ...],
    widths: tuple[int, ...],
    columns: int,
    trainings: int = 1,
) -> tuple[Paths, At[Atoms]]:
    """Solve all problems by `cutting_plane`, with the parameters that the run agreed on."""
    return cutting_plane(
        run,
        tables,
        atoms,
        voice=ground.voice,
        prices=prices,
        widths=widths,
        columns=columns,
        exact=ground.exact,
        tol=ground.svm.tol,
        max_rounds=ground.svm.max_rounds,
        trainings=trainings,
    )


def check_taking(ground: Common) -> None:
    """Raise if fewer than two classes take part."""
    gone = [str(name) for name, n in zip(ground.classes, ground.taking, strict=True) if n <= 0]
    if len(ground.classes) - len(gone) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(
            f"no party has enough rows of class {', '.join(gone)} for a group of min_count={ground.svm.min_count!r},"
            " and a classifier needs two classes that take part: bring more rows, ask for fewer landmarks, or lower"
            " min_count with accept_risk=True"
        )


def check_landmarks(svm: Svm) -> None:
    """Raise if the kernel has no map from this source, or the share of landmarks is too large."""
    check_source(svm.landmark_source, svm.kernel)
    share = not isinstance(svm.landmarks, str) and svm.landmarks < 1
    if share and svm.landmark_source != "fourier" and svm.kernel != "linear":
        refuse_share(float(svm.landmarks), svm.min_cluster)


# Steps at the holders


def check_range(part: Records, fixed: FixedPoint, me: str, device: str) -> None:
    """Raise before anything is sent, if records cannot be summed in fixed point, lack labels or lack their device."""
    device_of(device)
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")
    sums = np.zeros(2)
    for _, block in blocks(part.X, ROWS_AT_ONCE):
        sums += sum_squares(block), each(block, np.abs).sum()
    fixed.encode(sums, f"records of {me}")


def describe_held(part: Records) -> Held:
    """Return the distinct labels of the records that count, and the number of columns."""
    if part.y is None:
        labels = np.empty(0)
    else:
        labels = distinct(part.y) if part.weight is None else np.unique(part.y[mark_counting(part)])
    return Held(tuple(labels.tolist()), part.X.shape[1])


def mark_counting(part: Records) -> Array:
    """Return which records count: those with weight."""
    return make_column(part.X, len(part.X), 1, np.bool_) if part.weight is None else part.weight > 0


def count_classes(part: Records, classes: Names) -> I64:
    """Return how many records of each class count."""
    found = np.zeros(len(classes), dtype=np.int64)
    for _, (code, use) in side_by_side(codes_of(part, classes), mark_counting(part)):
        found += np.bincount(code[use], minlength=len(classes))
    return found


def sizes_and_moments(part: Records, classes: Names, cells: bool) -> F64:  # noqa: FBT001 - a step
    """Return how many records of each class the holder has, and the moments of its cells if asked for."""
    sizes = count_classes(part, classes)
    moments = [0.0, 0.0, 0.0]
    if cells:
        use = in_large_classes(part, FLOOR)
        some = (block if use[at].all() else block[use[at]] for at, block in blocks(part.X, ROWS_AT_ONCE))
        moments = sum((np.array([len(X), X.sum(), sum_squares(X)]) for X in some), np.zeros(3)).tolist()
    return np.concatenate([sizes, moments]).astype(np.float64)


def codes_of(part: Records, classes: Names) -> I64:
    """Return the labels as indices into the classes."""
    if part.y is None or not len(part.y) or not classes:
        return np.empty(0, dtype=np.int64)
    # a class that only records without weight are of has no number; they take no part
    names, last = np.array(classes), len(classes) - 1
    return fill(lambda y: np.minimum(np.searchsorted(names, y), last), part.y, dtype=np.int64)


def classes_at(part: Records, classes: Names, weights: F64) -> I64:
    """Return the number of every record's class; -1 where the record or its class has no weight."""
    codes = codes_of(part, classes)
    if part.weight is None:
        return fill(lambda code: np.where(weights[code] > 0, code, -1), codes, dtype=np.int64)
    return np.where(weights[codes] * part.weight > 0, codes, -1)


def rows_of(
    part: Records,
    the_map: FeatureMap,
    atoms: Atoms,
    classes: Names,
    pairs: Pairs,
    weights: F64,
    dtype: str,
    device: str,
) -> Rows:
    """Return the mapped records with the signs of every problem; a record that takes no part has none."""
    codes = codes_of(part, classes)
    weight = fill(lambda code, own: weights[code] * own, codes, atoms.weight, dtype=np.float64)

    def sides(code: I64, group: I64, own: F64) -> I8:
        found = signs_of(code, pairs)
        found[(group < 0) | (own <= 0)] = 0
        return found

    signs = fill(sides, codes, atoms.group, weight, dtype=np.int8, width=len(pairs))
    if device == "cpu" and has_room(part.X, the_map, dtype):
        return Rows(map_records(the_map, part.X, dtype), signs, weight)
    return Rows(np.empty((len(signs), 0), dtype), signs, weight, Recipe(part.X, the_map, dtype, device))


# Steps at the coordinator


def sizes_and_gamma(told: F64, columns: int, gamma: float | str) -> Known:
    """Return the class sizes, and gamma as a number."""
    sizes, (records, cells, squares) = told[:-3].copy(), told[-3:]
    number = gamma_of(gamma, columns, round(float(records)) * columns, float(cells), float(squares))
    return Known(np.rint(sizes), number)
