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

from typing import Any

import numpy as np

from tacit.choreo import F64, At, Coordinator, Everyone, Holder, Run, choreography
from tacit.numeric.kernels import Kernel
from tacit.protocols.cutting_plane import Solution, cutting_plane
from tacit.protocols.feature_map import FeatureMap, feature_map
from tacit.protocols.fold_scores import fold_scores
from tacit.protocols.plane_rows import Rows
from tacit.protocols.platt import platt
from tacit.protocols.row_problems import Common, Svm, against_the_rest, agreed, check_landmarks, points, rows_of, takes_svm, wanted


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
@takes_svm
def pan_svm(run: Run, /, data: At[Any], **given: Any) -> dict[str, Any]:
    """Train, with the parameters of `Svm`; everyone ends with the model."""
    svm = Svm(**given)
    check_landmarks(svm)
    ground = agreed(run, data, svm=svm)
    weights = ground.weights
    the_map = mapping(run, data, ground)
    rows = run.local(Holder, rows_of, data, the_map, ground.classes, ground.pairs, weights, svm.dtype)
    found, AB = trained(run, data, rows, weights, the_map.size, ground)
    return {
        "classes": ground.classes,
        "pairs": ground.pairs,
        "map": the_map,
        "solution": ground.never(found),
        "columns": ground.columns,
        "sizes": ground.sizes,
        "sigmoids": AB,
    }


def mapping(run: Run, data: At[Any], ground: Common) -> FeatureMap:
    """(1)."""
    svm = ground.svm
    share, count = wanted(svm.landmarks, ground.rows)
    return feature_map(
        run, run.local(Holder, points, data), source=svm.landmark_source, kernel=Kernel(svm.kernel, ground.gamma, svm.degree, svm.coef0),
        share=share, count=count, rows=ground.rows, columns=ground.columns, min_cluster=svm.min_cluster, seed=svm.seed, by=ground.by,
        fixed=ground.fixed, witness=svm.witness,
    )  # fmt: skip


def trained(run: Run, data: At[Any], rows: At[Rows], weights: F64, width: int, ground: Common) -> tuple[Solution, F64 | None]:
    """(3), and what turns its decision values into probabilities, if these are asked for."""
    svm, by, fixed = ground.svm, ground.by, ground.fixed
    if svm.probability:
        found, scores = fold_scores(run, data, rows, weights=weights, width=width, ground=ground)
        return found, platt(run, scores, sizes=np.where(weights > 0, ground.sizes, 0.0), by=by, fixed=fixed, witness=svm.witness)
    return cutting_plane(
        run, rows, by=by, fixed=fixed, C=svm.C, tol=svm.tol, max_rounds=svm.max_rounds, min_count=svm.min_count, witness=svm.witness,
        classes=against_the_rest(ground.pairs),
    ), None  # fmt: skip
