"""PAN-SVM on subsets of the features: what the parties agree on once, and one training after another on fewer columns.

The problem. To select features, models are trained on ever smaller sets S of the d columns. Landmarks L are agreed
once; their columns S are the landmarks of S, so no training sends anything new about where the records are:

    F_S = K_S(X_S, L_S) B_S,   B_S = U Lambda^-1/2 of A_S = K_S(L_S, L_S)         linear kernel: F_S = X_S        (1)
    gamma_S = gamma d / |S| if gamma is "scale" or "auto", else gamma                                              (2)

(2) is "auto" itself, and "scale" with the variance of all cells in place of that of the cells left. The linear SVM
on F_S is solved by `cutting_plane`; as a sum over landmarks, which the criteria of `numeric.features.relevance` need,
it is

    f(x) = sum_i v_i k_S(x, l_i) + b,   v = B_S w                                                                   (3)

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. See `landmarks`, `atoms` and `cutting_plane` for what is opened on the
way. All trainings of a selection sum over the same groups. Each map is counted (`numeric.groups.least_count`): with a
kernel that is bent every subset has a map of its own, so min_count="auto" asks for large groups; subsets of a linear
kernel have one map, the columns.
Source: 004 sections 5.2.1 and 6.2.2, corrected (docs/methods/feature_selection.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.features.relevance import Expansion
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import Pairs, signs_of
from tacit.protocols.part import Names, Records
from tacit.protocols.planes.cutting_plane import Solution
from tacit.protocols.planes.feature_map import Columns, FeatureMap, nystroem_maps, open_map
from tacit.protocols.planes.landmarks import landmarks
from tacit.protocols.planes.maps import CLASS_COUNTS, GROUP_SIZES, counted
from tacit.protocols.planes.problems import (
    CELL_MOMENTS,
    Common,
    Svm,
    agree_on_common,
    check_landmarks,
    choose_size,
    classes_at,
    rows_of,
    solve_problems,
)
from tacit.protocols.planes.rows import Rows, make_single_table
from tacit.protocols.sums.atoms import IDENTITY, SUBSET, Atoms, Told, begin
from tacit.protocols.table_facts import CLASS_SIZES, CLASSES_OF_PARTY

MODELS_OF_SUBSETS = Fact("select.models", "holders", "model", "all", "a model for every subset and fold")
LANDMARKS_IN_QUESTION = Fact(
    "rows.landmarks_in_question",
    "holder",
    "aggregate",
    "group",
    "the landmarks, of the features still in question; none with a linear kernel",
)


@dataclass(frozen=True)
class Ground(Common):
    """What is agreed once for all subsets.

    `columns` is d of (2); `centres` are the landmarks, of the columns `has`, none for a linear kernel; `trainings` is
    how many trainings there are at most.
    """

    has: I64
    centres: F64
    trainings: int = 1

    def landmarks(self, features: I64) -> F64:
        """Return L_S: the landmarks in these columns."""
        return np.ascontiguousarray(self.centres[:, np.searchsorted(self.has, features)])

    def kernel(self, features: int) -> Kernel:
        """Return the kernel of so many features, with gamma by (2)."""
        rescaled = self.columns / features if isinstance(self.svm.gamma, str) else 1.0
        return Kernel(self.svm.kernel, self.gamma * rescaled, self.svm.degree, self.svm.coef0)


@choreography(
    opens={
        Coordinator: CELL_MOMENTS,
        Everyone: (CLASSES_OF_PARTY, CLASS_SIZES),
    }
)
def agree(run: Run, data: At[Records], *, svm: Svm) -> Ground:
    """Agree on keys, classes and gamma; there are no landmarks yet."""
    check_svm(svm)
    first = agree_on_common(run, data, svm=svm)
    return Ground(**vars(first), has=np.arange(first.columns), centres=np.empty((0, first.columns)))


@choreography(opens={Everyone: (CLASS_COUNTS, GROUP_SIZES, LANDMARKS_IN_QUESTION)})
def settle(
    run: Run, data: At[Records], features: I64, *, ground: Ground, extra: Told
) -> tuple[Ground, At[Atoms], dict[str, int]]:
    """Make groups for all that the selection opens (`extra`), and landmarks, of these columns."""
    kind = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    atoms = run.local(Holder, begin, data, kind, Told(((IDENTITY, ground.columns), *extra.maps)), ground.svm.hold_back)
    least, counts = counted(run, atoms, ground=ground)
    ground, atoms = settled(run, data, atoms, features, ground=dataclasses.replace(ground, taking=counts.taking))
    return ground, atoms, least


@choreography(opens={Everyone: LANDMARKS_IN_QUESTION})
def settled(
    run: Run, data: At[Records], atoms: At[Atoms], features: I64, *, ground: Ground
) -> tuple[Ground, At[Atoms]]:
    """Agree on landmarks of these columns, if the kernel needs them."""
    svm = ground.svm
    if svm.kernel == "linear":
        return ground, atoms
    held = run.local(Holder, columns_of, data, features)
    centres, atoms = landmarks(
        run,
        held,
        atoms,
        voice=ground.voice,
        source=svm.landmark_source,
        count=choose_size(svm, ground.rows, ground.columns),
        rows=ground.rows,
        min_cluster=svm.min_cluster,
    )
    return dataclasses.replace(ground, has=features, centres=centres), atoms


@choreography(opens={Everyone: Fact("rows.subset_models", "holders", "model", "all", "the models on these features")})
def train(
    run: Run, data: At[Records], atoms: At[Atoms], features: I64, *, ground: Ground
) -> tuple[Expansion, At[Atoms]]:
    """Train one model per problem, as (3), on the columns `features`."""
    the_map = subset_map(run, features, ground=ground)
    rows = run.local(Holder, map_columns, data, atoms, features, the_map, *ground.labelling)
    found, atoms = solve(run, rows, atoms, width=the_map.size, columns=len(ground.pairs), ground=ground)
    return expansion(ground, features, the_map, found), atoms


@choreography(
    opens={Everyone: Fact("maps.of_subset", "nobody", "nothing", "none", "nothing new: a function of the landmarks")}
)
def subset_map(run: Run, features: I64, *, ground: Ground) -> FeatureMap:
    """Return the map (1) of these columns."""
    kernel, svm = ground.kernel(len(features)), ground.svm
    if kernel.name == "linear":
        return open_map(kernel, columns=len(features), size=0, seed=svm.seed)
    centres = ground.landmarks(features)
    return nystroem_maps(run, centres, (kernel,), source=svm.landmark_source, seed=svm.seed, witness=svm.witness)[0]


def solve(
    run: Run, rows: At[Rows], atoms: At[Atoms], *, width: int, columns: int, ground: Ground
) -> tuple[Solution, At[Atoms]]:
    """Solve one linear SVM for each column of signs, on one table of features."""
    tables, prices = run.local(Holder, make_single_table, rows), ((ground.svm.C,),)
    paths, atoms = solve_problems(
        run, tables, atoms, ground=ground, prices=prices, widths=(width,), columns=columns, trainings=ground.trainings
    )
    found = paths.solution(range(columns))
    run.note(held=len(found.held))
    return ground.never(found), atoms


def subset_maps(svm: Svm, rows: int, columns: int, trainings: int) -> tuple[tuple[str, int], ...]:
    """Return what so many trainings on subsets open beside the columns themselves.

    That is a map each, unless the kernel is linear.
    """
    if svm.kernel == "linear":
        return ()
    size = choose_size(svm, rows, columns)
    return tuple((f"{SUBSET} {i}", size) for i in range(trainings))


def check_svm(svm: Svm) -> None:
    """Raise if features cannot be selected with this SVM."""
    if svm.landmark_source == "fourier" and svm.kernel != "linear":
        raise LocalError(
            "landmark_source='fourier' cannot select features: its random features are no sum over landmarks, from"
            " which one input feature could be left out; use 'local' or 'joint'"
        )
    check_landmarks(svm)
    if svm.multi_class != "ovr":
        raise LocalError(
            f"features are selected for one class against the rest, not for multi_class={svm.multi_class!r}: use 'ovr'"
        )


# Steps at the holders


def columns_of(part: Records, features: I64) -> Columns:
    """Return the columns that landmarks are made of."""
    return Columns(np.ascontiguousarray(part.X[:, features]))


def map_columns(
    part: Records,
    atoms: Atoms,
    features: I64,
    the_map: FeatureMap,
    classes: Names,
    pairs: Pairs,
    weights: F64,
    dtype: str,
    device: str,
) -> Rows:
    """Return F_S of (1), with the signs of every problem."""
    # a Part is a dataclass
    narrow = dataclasses.replace(part, X=np.ascontiguousarray(part.X[:, features]))  # type: ignore[type-var]
    return rows_of(narrow, the_map, atoms, classes, pairs, weights, dtype, device)


def signs_at(atoms: Atoms, pairs: Pairs) -> I8:
    """Return the side of every record in every problem; 0 where it takes no part."""
    return np.where(atoms.group[:, None] < 0, 0, signs_of(atoms.kind, pairs)).astype(np.int8)


# Public bookkeeping


def expansion(ground: Ground, features: I64, the_map: FeatureMap, found: Solution) -> Expansion:
    """Return the models as sums over landmarks, (3)."""
    if the_map.source == "identity":
        return Expansion(Kernel("linear"), found.w, np.eye(len(found.w)), found.b)
    return Expansion(ground.kernel(len(features)), the_map.centres, found.w @ the_map.basis.T, found.b)
