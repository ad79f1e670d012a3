"""PAN-SVM: a non-linear SVM over rows that many hold, for two classes or more.

The problem. Holder h has records x_i with labels. Bottom, medium and top layer of the paper, in this order:

    landmarks L or a public seed     ->  a common map x -> f (`feature_map`)                                       (1)
    F = K(X, L) U Lambda^-1/2        at every holder, its own rows only                                            (2)
    min_{w,b} 1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (f_i.w + b))       (`cutting_plane`)                          (3)

One problem for two classes. For more, one per class against the rest, or one per pair of classes; all share (1) and (2)
and advance together in (3), so that they cost the rounds of one. s_i is the record's weight times its class's; of three
classes or more, those with fewer than `min_count` records take no part and are never chosen, since sums of the others
would leave theirs.

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. See `landmarks` and `cutting_plane` for what is opened on the way.
Not protected: what the model itself reveals.
Source: 004 chapters 3 and 4, corrected (docs/methods/pan_svm.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, Array, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel, gamma_of
from tacit.protocols.cutting_plane import Rows, Voice, cutting_plane
from tacit.protocols.feature_map import FeatureMap, Records, check_source, feature_map, map_records
from tacit.protocols.landmarks import refuse_share
from tacit.protocols.platt import platt
from tacit.protocols.secure_sum import Protection, protect

CAP = 1000  # landmarks, if their number is given as a share of the rows: the map costs their square per row
NEVER = -1e9  # the decision value of a class that took no part
Pairs = tuple[tuple[int, int], ...]


class Held(Message, tells="which classes the sender has records of, and how many columns", ragged=True):
    """Public before anything else."""

    classes: tuple[bool | int | float | str, ...]
    columns: int


class Facts(Message, tells="how many records each class has over all parties; with gamma='scale' the variance of all cells"):
    """What the rest depends on."""

    sizes: F64
    gamma: float


class Points(State):
    """Records that count, without their labels."""

    X: F64


@dataclass(frozen=True)
class Agreed:
    """What holds for the whole run: protection of the sums, classes, the number of columns, `Facts`."""

    by: Protection
    fixed: FixedPoint
    classes: tuple[Any, ...]
    columns: int
    facts: Facts


@choreography(
    opens={
        Coordinator: "along every line of the search, how many mapped rows are within the margin, by how many these sets differ, and"
        " their summed loss; at every cut the sum of these rows: never of fewer than min_count, and no two sums that differ by fewer; the"
        " sum of each class; with gamma='scale' the sum and the sum of squares of all cells",
        Everyone: "which classes each party has; how many records each class has over all parties; the landmarks, each the mean of at"
        " least min_cluster records (none with landmark_source='fourier' or a linear kernel); every iterate and the model;"
        " with witness=True all that the coordinator learns",
    }
)
def pan_svm(
    run: Run,
    data: At[Any],
    *,
    kernel: str,
    gamma: float | str,
    degree: int,
    coef0: float,
    C: float,
    landmark_source: str = "local",
    landmarks: float = 0.15,
    min_cluster: int = 5,
    min_count: int = 5,
    multi_class: str = "ovr",
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_rounds: int = 500,
    dtype: str = "float64",
    seed: int = 0,
    witness: bool = False,
    probability: bool = False,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
) -> dict[str, Any]:
    """Train; everyone ends with the model."""
    check_source(landmark_source, kernel)
    if landmarks < 1 and landmark_source != "fourier" and kernel != "linear":
        refuse_share(landmarks, min_cluster)
    first = prepare(
        run, data, kernel=Kernel(kernel, degree=degree, coef0=coef0), gamma=gamma, method=method, segments=segments,
        fraction_bits=fraction_bits, witness=witness,
    )  # fmt: skip
    by, fixed, classes, columns, facts = first.by, first.fixed, first.classes, first.columns, first.facts
    rows = round(float(facts.sizes.sum()))
    share, count = wanted(landmarks, rows)
    the_map = feature_map(
        run, run.local(Holder, points, data), source=landmark_source, kernel=Kernel(kernel, facts.gamma, degree, coef0),
        share=share, count=count, rows=rows, columns=columns, min_cluster=min_cluster, seed=seed, by=by, fixed=fixed, witness=witness,
    )  # fmt: skip
    pairs = problems(len(classes), multi_class)
    few = left_out(facts.sizes, min_count)
    weights = np.where(few, 0.0, class_weights(classes, facts.sizes, class_weight))
    held = run.local(Holder, rows_of, data, the_map, classes, pairs, weights, dtype)
    AB = None
    if probability:
        from tacit.protocols.fold_scores import fold_scores  # noqa: PLC0415 - it is built on this file

        found, scores = fold_scores(
            run, data, held, names=classes, weights=weights, pairs=pairs, width=the_map.size, by=by, fixed=fixed, C=C, tol=tol,
            max_rounds=max_rounds, min_count=min_count, witness=witness, seed=seed,
        )  # fmt: skip
        AB = platt(run, scores, sizes=np.where(weights > 0, facts.sizes, 0.0), by=by, fixed=fixed, witness=witness)
    else:
        found = cutting_plane(
            run, held, by=by, fixed=fixed, C=C, tol=tol, max_rounds=max_rounds, min_count=min_count, witness=witness,
            classes=against_the_rest(pairs),
        )  # fmt: skip
    found = dataclasses.replace(found, b=np.where([few[k] and rest < 0 for k, rest in pairs], NEVER, found.b))
    return {
        "classes": classes,
        "pairs": pairs,
        "map": the_map,
        "solution": found,
        "columns": columns,
        "sizes": facts.sizes,
        "sigmoids": AB,
    }


def prepare(
    run: Run, data: At[Any], *, kernel: Kernel, gamma: float | str, method: str, segments: int, fraction_bits: int, witness: bool
) -> Agreed:
    """What every training of a PAN-SVM begins with: keys, classes and their sizes, gamma as a number."""
    fixed = FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    run.local(Holder, check_range, data, fixed, run.who(Holder))
    by = protect(run, to=Coordinator, method=method, segments=segments)
    classes, columns = labelled(run, data)
    voice = Voice(run, by, fixed, witness)
    told = voice.added(facts_of, data, classes, gamma == "scale" and kernel.name != "linear")
    return Agreed(by, fixed, classes, columns, voice.told(Facts, facts_from, told, columns, gamma))


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


def wanted(landmarks: float, rows: int) -> tuple[float | None, int | None]:
    """Landmarks as a share of the rows, or as a number where it is given so or the share exceeds the cap."""
    if landmarks >= 1:
        return None, int(landmarks)
    return (landmarks, None) if landmarks * rows <= CAP else (None, CAP)


def problems(classes: int, multi_class: str) -> Pairs:
    """Which class stands against which; -1 is the rest."""
    if classes == 2:  # noqa: PLR2004 - one problem, in which the second class is positive, as in scikit-learn
        return ((1, 0),)
    if multi_class == "ovo":
        return tuple((i, j) for i, j in combinations(range(classes), 2))
    return tuple((k, -1) for k in range(classes))


def against_the_rest(pairs: Pairs) -> int:
    """How many classes stand each against the rest."""
    return sum(rest < 0 for _, rest in pairs)


def class_weights(classes: tuple[Any, ...], sizes: F64, class_weight: Mapping[Any, float] | str | None) -> F64:
    """scikit-learn's: given by class, or 'balanced' by the number of records."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        balanced: F64 = sizes.sum() / (len(classes) * np.maximum(sizes, 1.0))
        return balanced
    return np.array([float(class_weight.get(name, 1.0)) for name in classes])  # type: ignore[union-attr]


def left_out(sizes: F64, min_count: int) -> NDArray[np.bool_]:
    """Which of three classes or more are too small: each is what is left of the rest in another's problem when the others' sums go."""
    few = (sizes < min_count) & (len(sizes) > 2)  # noqa: PLR2004 - the sums of two classes are held back in `cutting_plane`
    if len(sizes) - few.sum() < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(
            f"of {len(sizes)} classes {few.sum()} have fewer than min_count={min_count} records over all parties, and a classifier"
            " needs 2 that have more: bring more records, or lower min_count"
        )
    return few


# Steps at the holders


def check_range(part: Records, fixed: FixedPoint, me: str) -> None:
    """Refuse what cannot be summed, before anything is sent."""
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")
    fixed.encode(np.array([np.einsum("ij,ij->", part.X, part.X), np.abs(part.X).sum()]), f"records of {me}")


def held_by(part: Records) -> Held:
    """Distinct labels of the records that count."""
    labels = np.empty(0) if part.y is None else part.y[_counting(part)]
    return Held(tuple(np.unique(labels).tolist()), part.X.shape[1])


def _counting(part: Records) -> Array:
    return np.ones(len(part.X), bool) if part.weight is None else part.weight > 0


def points(part: Records) -> Points:
    """What landmarks are taken from."""
    return Points(part.X[_counting(part)])


def facts_of(part: Records, classes: tuple[Any, ...], cells: bool) -> F64:  # noqa: FBT001 - a step
    """Records of each class, and the cells' moments."""
    sizes = np.bincount(_codes(part, classes)[_counting(part)], minlength=len(classes))
    moments = [len(part.X), part.X.sum(), np.einsum("ij,ij->", part.X, part.X)] if cells else [0.0, 0.0, 0.0]
    return np.concatenate([sizes, moments]).astype(np.float64)


def _codes(part: Records, classes: tuple[Any, ...]) -> Array:
    if part.y is None or not len(part.y):
        return np.empty(0, dtype=np.int64)
    # a class that only records without weight are of has no number; they take no part
    return np.minimum(np.searchsorted(np.array(classes), part.y), len(classes) - 1)


def rows_of(part: Records, the_map: FeatureMap, classes: tuple[Any, ...], pairs: Pairs, weights: F64, dtype: str) -> Rows:
    """(2), with the signs of every problem."""
    codes, use = _codes(part, classes), _counting(part)
    signs = signs_of(codes, pairs)
    signs[~use] = 0  # without weight it must not count towards min_count either
    weight = weights[codes] * (1.0 if part.weight is None else part.weight)
    signs[weight <= 0] = 0
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
