"""PAN-SVM on subsets of the features: what the parties agree on once, and one training after another on fewer columns.

The problem. To select features, models are trained on ever smaller sets S of the d columns. Landmarks L are agreed once;
their columns S are the landmarks of S, so no training sends anything new about where the records are:

    F_S = K_S(X_S, L_S) B_S,   B_S = U Lambda^-1/2 of A_S = K_S(L_S, L_S)         linear kernel: F_S = X_S        (1)
    gamma_S = gamma d / |S| if gamma is "scale" or "auto", else gamma                                              (2)

(2) is "auto" itself, and "scale" with the variance of all cells in place of that of the cells left. The linear SVM on
F_S is solved by `cutting_plane`; as a sum over landmarks, which the criteria of `numeric.relevance` need, it is

    f(x) = sum_i v_i k_S(x, l_i) + b,   v = B_S w                                                                   (3)

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. See `landmarks` and `cutting_plane` for what is opened on the way.
Not protected: every training opens sums over rows; `min_count` compares those of one training with each other, not with
those of another, and trainings on nearly the same columns are nearly the same problem.
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
from tacit.protocols.cutting_plane import Solution, cutting_plane
from tacit.protocols.feature_map import Basis, FeatureMap, Records, basis_at, centres_of, check_basis
from tacit.protocols.landmarks import refuse_share
from tacit.protocols.plane_rows import Rows
from tacit.protocols.row_problems import Common, Pairs, Svm, against_the_rest, agreed, classes_at, counting, rows_of, signs_of, wanted


class Columns(State):
    """Some columns of a holder's records."""

    X: F64


@dataclass(frozen=True)
class Ground(Common):
    """What is agreed once: `columns` is d of (2); `centres` are the landmarks, of the columns `has`, none for a linear kernel."""

    has: I64
    centres: F64

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


@choreography(opens={Everyone: "the landmarks, of the features still in question; none with a linear kernel"})
def settle(run: Run, data: At[Any], features: I64, *, ground: Ground) -> Ground:
    """Landmarks, of these columns."""
    svm, rows = ground.svm, ground.rows
    if svm.kernel == "linear":
        return ground
    share, count = wanted(svm.landmarks, rows)
    _, centres = centres_of(
        run, run.local(Holder, columns_of, data, features), source=svm.landmark_source, share=share, count=count, rows=rows,
        min_cluster=svm.min_cluster, by=ground.by, fixed=ground.fixed,
    )  # fmt: skip
    return dataclasses.replace(ground, has=features, centres=centres)


@choreography(opens={Everyone: "the models on these features"})
def train(run: Run, data: At[Any], features: I64, *, ground: Ground) -> Expansion:
    """One model per problem, as (3), on the columns `features`."""
    the_map = subset_map(run, features, ground=ground)
    found = solve(run, run.local(Holder, mapped, data, features, the_map, ground.classes, ground.pairs, ground.weights, ground.svm.dtype),
                  ground=ground, classes=against_the_rest(ground.pairs))  # fmt: skip
    return expansion(ground, features, the_map, found)


@choreography(opens={Everyone: "nothing new: a function of the landmarks"})
def subset_map(run: Run, features: I64, *, ground: Ground) -> FeatureMap:
    """(1): the map of these columns."""
    kernel, none = ground.kernel(len(features)), np.empty((0, 0))
    numbers = (kernel.name, kernel.gamma, kernel.degree, kernel.coef0)
    if kernel.name == "linear":
        return FeatureMap("identity", *numbers, none, none, ground.svm.seed, len(features))
    centres = ground.landmarks(features)
    basis = run.publish(Basis, run.local(Coordinator, basis_at, centres, kernel)).matrix
    if ground.svm.witness:
        run.local(Holder, check_basis, basis, centres, kernel)
    return FeatureMap(ground.svm.landmark_source, *numbers, centres, basis, ground.svm.seed, basis.shape[1])


def solve(run: Run, rows: At[Rows], *, ground: Ground, classes: int = 0) -> Solution:
    """`cutting_plane` with the parameters agreed on."""
    svm = ground.svm
    found = cutting_plane(
        run, rows, by=ground.by, fixed=ground.fixed, C=svm.C, tol=svm.tol, max_rounds=svm.max_rounds, min_count=svm.min_count,
        witness=svm.witness, classes=classes,
    )  # fmt: skip
    run.note(held=len(found.held))
    return ground.never(found)


def check_svm(svm: Svm) -> None:
    """Refuse what has no criteria."""
    if svm.landmark_source == "fourier" and svm.kernel != "linear":
        raise LocalError(
            "landmark_source='fourier' cannot select features: its random features are no sum over landmarks, from which one input"
            " feature could be left out; use 'local' or 'joint'"
        )
    if svm.landmarks < 1 and svm.kernel != "linear":
        refuse_share(svm.landmarks, svm.min_cluster)
    if svm.multi_class != "ovr":
        raise LocalError(f"features are selected for one class against the rest, not for multi_class={svm.multi_class!r}: use 'ovr'")


# Steps at the holders


def columns_of(part: Records, features: I64) -> Columns:
    """What landmarks are made of: rows that count."""
    return Columns(np.ascontiguousarray(part.X[np.ix_(counting(part), features)]))


def mapped(part: Records, features: I64, the_map: FeatureMap, classes: tuple[Any, ...], pairs: Pairs, weights: F64, dtype: str) -> Rows:
    """F_S of (1), with the signs of every problem."""
    narrow = dataclasses.replace(part, X=np.ascontiguousarray(part.X[:, features]))  # type: ignore[type-var]  # a Part is a dataclass
    return rows_of(narrow, the_map, classes, pairs, weights, dtype)


def signs_at(part: Records, classes: tuple[Any, ...], weights: F64, pairs: Pairs) -> NDArray[np.int8]:
    """Side of every record in every problem; 0 where it does not count."""
    codes = classes_at(part, classes, weights)
    return np.where(codes[:, None] < 0, 0, signs_of(codes, pairs)).astype(np.int8)


# Public bookkeeping


def expansion(ground: Ground, features: I64, the_map: FeatureMap, found: Solution) -> Expansion:
    """(3)."""
    if the_map.source == "identity":
        return Expansion(Kernel("linear"), found.w, np.eye(len(found.w)), found.b)
    return Expansion(ground.kernel(len(features)), the_map.centres, found.w @ the_map.basis.T, found.b)
