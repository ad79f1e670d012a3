"""PAN-SVM on subsets of the features: what the parties agree on once, and one training after another on fewer columns.

The problem. To select features, models are trained on ever smaller sets S of the d columns. Landmarks L are agreed once;
their columns S are the landmarks of S, so no training sends anything new about where the records are:

    F_S = K_S(X_S, L_S) B_S,   B_S = U Lambda^-1/2 of A_S = K_S(L_S, L_S)         linear kernel: F_S = X_S        (1)
    gamma_S = gamma d / |S| if gamma is "scale" or "auto", else gamma                                              (2)

(2) is "auto" itself, and "scale" with the variance of all cells in place of that of the cells left. The linear SVM on
F_S is solved by `cutting_plane`; as a sum over landmarks, which the criteria of `numeric.relevance` need, it is

    f(x) = sum_i v_i k_S(x, l_i) + b,   v = B_S w                                                                   (3)

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. See `landmarks`, `atoms` and `cutting_plane` for what is opened on the way. All trainings
of a selection sum over the same groups. Each map is counted (`numeric.least_count`): with a kernel that is bent every subset has a map of
its own, so min_count="auto" asks for large groups; subsets of a linear kernel have one map, the columns.
Source: 004 sections 5.2.1 and 6.2.2, corrected (docs/methods/feature_selection.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.kernels import Kernel
from tacit.numeric.relevance import Expansion
from tacit.protocols.atoms import IDENTITY, SUBSET, Atoms, Told, begin
from tacit.protocols.cutting_plane import Solution, cutting_plane
from tacit.protocols.feature_map import FeatureMap, Records, nystroem_maps, open_map
from tacit.protocols.landmarks import landmarks
from tacit.protocols.plane_rows import Rows, alone
from tacit.protocols.row_maps import counted
from tacit.protocols.row_problems import Common, Pairs, Svm, agreed, check_landmarks, classes_at, rows_of, signs_of, wanted


class Columns(State):
    """Some columns of a holder's records."""

    X: F64


@dataclass(frozen=True)
class Ground(Common):
    """What is agreed once: `columns` is d of (2); `centres` are the landmarks, of the columns `has`, none for a linear kernel.

    `trainings`: how many there are at most.
    """

    has: I64
    centres: F64
    trainings: int = 1

    def landmarks(self, features: I64) -> F64:
        """L_S."""
        return np.ascontiguousarray(self.centres[:, np.searchsorted(self.has, features)])

    def kernel(self, features: int) -> Kernel:
        """(2)."""
        rescaled = self.columns / features if isinstance(self.svm.gamma, str) else 1.0
        return Kernel(self.svm.kernel, self.gamma * rescaled, self.svm.degree, self.svm.coef0)


@choreography(
    opens={
        Coordinator: "with gamma='scale' the sum and the sum of squares of all cells",
        Everyone: "which classes each party has; how many records each class has over all parties",
    }
)
def agree(run: Run, data: At[Any], *, svm: Svm) -> Ground:
    """Keys, classes, gamma; no landmarks yet."""
    check_svm(svm)
    first = agreed(run, data, svm=svm)
    return Ground(**vars(first), has=np.arange(first.columns), centres=np.empty((0, first.columns)))


@choreography(
    opens={
        Everyone: "how many records of each class take part; of how many rows each party's groups are at least; the landmarks, of the"
        " features still in question; none with a linear kernel"
    }
)
def settle(run: Run, data: At[Any], features: I64, *, ground: Ground, extra: Told) -> tuple[Ground, At[Atoms], dict[str, int]]:
    """Groups for all that the selection opens (`extra`), and landmarks, of these columns."""
    kind = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    atoms = run.local(Holder, begin, data, kind, Told(((IDENTITY, ground.columns), *extra.maps)), ground.svm.hold_back)
    least, counts = counted(run, atoms, ground=ground)
    ground, atoms = settled(run, data, atoms, features, ground=dataclasses.replace(ground, taking=counts.taking))
    return ground, atoms, least


@choreography(opens={Everyone: "the landmarks, of the features still in question; none with a linear kernel"})
def settled(run: Run, data: At[Any], atoms: At[Atoms], features: I64, *, ground: Ground) -> tuple[Ground, At[Atoms]]:
    """Landmarks, of these columns."""
    svm = ground.svm
    if svm.kernel == "linear":
        return ground, atoms
    held = run.local(Holder, columns_of, data, features)
    centres, atoms = landmarks(
        run, held, atoms, source=svm.landmark_source, count=wanted(svm, ground.rows, ground.columns), rows=ground.rows,
        min_cluster=svm.min_cluster, by=ground.by, fixed=ground.fixed, witness=svm.witness,
    )  # fmt: skip
    return dataclasses.replace(ground, has=features, centres=centres), atoms


@choreography(opens={Everyone: "the models on these features"})
def train(run: Run, data: At[Any], atoms: At[Atoms], features: I64, *, ground: Ground) -> tuple[Expansion, At[Atoms]]:
    """One model per problem, as (3), on the columns `features`."""
    the_map = subset_map(run, features, ground=ground)
    rows = run.local(Holder, mapped, data, atoms, features, the_map, ground.classes, ground.pairs, ground.weights, ground.svm.dtype)
    found, atoms = solve(run, rows, atoms, width=the_map.size, columns=len(ground.pairs), ground=ground)
    return expansion(ground, features, the_map, found), atoms


@choreography(opens={Everyone: "nothing new: a function of the landmarks"})
def subset_map(run: Run, features: I64, *, ground: Ground) -> FeatureMap:
    """(1): the map of these columns."""
    kernel, svm = ground.kernel(len(features)), ground.svm
    if kernel.name == "linear":
        return open_map(kernel, columns=len(features), size=0, seed=svm.seed)
    centres = ground.landmarks(features)
    return nystroem_maps(run, centres, (kernel,), source=svm.landmark_source, seed=svm.seed, witness=svm.witness)[0]


def solve(run: Run, rows: At[Rows], atoms: At[Atoms], *, width: int, columns: int, ground: Ground) -> tuple[Solution, At[Atoms]]:
    """`cutting_plane` with the parameters agreed on."""
    svm = ground.svm
    paths, atoms = cutting_plane(
        run, run.local(Holder, alone, rows), atoms, prices=((svm.C,),), widths=(width,), columns=columns, by=ground.by, fixed=ground.fixed,
        exact=ground.exact, tol=svm.tol, max_rounds=svm.max_rounds, witness=svm.witness, trainings=ground.trainings,
    )  # fmt: skip
    found = paths.solution(range(columns))
    run.note(held=len(found.held))
    return ground.never(found), atoms


def subset_maps(svm: Svm, rows: int, columns: int, trainings: int) -> tuple[tuple[str, int], ...]:
    """What so many trainings on subsets open beside the columns themselves: a map each, if the kernel is bent."""
    if svm.kernel == "linear":
        return ()
    size = wanted(svm, rows, columns)
    return tuple((f"{SUBSET} {i}", size) for i in range(trainings))


def check_svm(svm: Svm) -> None:
    """Refuse what has no criteria."""
    if svm.landmark_source == "fourier" and svm.kernel != "linear":
        raise LocalError(
            "landmark_source='fourier' cannot select features: its random features are no sum over landmarks, from which one input"
            " feature could be left out; use 'local' or 'joint'"
        )
    check_landmarks(svm)
    if svm.multi_class != "ovr":
        raise LocalError(f"features are selected for one class against the rest, not for multi_class={svm.multi_class!r}: use 'ovr'")


# Steps at the holders


def columns_of(part: Records, features: I64) -> Columns:
    """What landmarks are made of."""
    return Columns(np.ascontiguousarray(part.X[:, features]))


def mapped(
    part: Records, atoms: Atoms, features: I64, the_map: FeatureMap, classes: tuple[Any, ...], pairs: Pairs, weights: F64, dtype: str
) -> Rows:
    """F_S of (1), with the signs of every problem."""
    narrow = dataclasses.replace(part, X=np.ascontiguousarray(part.X[:, features]))  # type: ignore[type-var]  # a Part is a dataclass
    return rows_of(narrow, the_map, atoms, classes, pairs, weights, dtype)


def signs_at(atoms: Atoms, pairs: Pairs) -> NDArray[np.int8]:
    """Side of every record in every problem; 0 where it takes no part."""
    return np.where(atoms.group[:, None] < 0, 0, signs_of(atoms.kind, pairs)).astype(np.int8)


# Public bookkeeping


def expansion(ground: Ground, features: I64, the_map: FeatureMap, found: Solution) -> Expansion:
    """(3)."""
    if the_map.source == "identity":
        return Expansion(Kernel("linear"), found.w, np.eye(len(found.w)), found.b)
    return Expansion(ground.kernel(len(features)), the_map.centres, found.w @ the_map.basis.T, found.b)
