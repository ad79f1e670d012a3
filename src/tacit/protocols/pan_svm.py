"""PAN-SVM: a non-linear SVM over rows that many hold, for two classes or more.

The problem. Holder h has records x_i with labels. Bottom, medium and top layer of the paper, in this order:

    landmarks L or a public seed     ->  a common map x -> f (`feature_map`)                                       (1)
    F = K(X, L) U Lambda^-1/2        at every holder, its own rows only                                            (2)
    min_{w,b} 1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (f_i.w + b))       (`cutting_plane`)                          (3)

One problem for two classes. For more, one per class against the rest, or one per pair of classes; all share (1) and (2)
and advance together in (3), so that they cost the rounds of one. s_i is the record's weight times its class's; of three
classes or more, one of which no party has a group of rows takes no part and is never chosen.

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. See `landmarks`, `atoms` and `cutting_plane` for what is opened on the way.
Not protected: what the model itself reveals.
Source: 004 chapters 3 and 4, corrected (docs/methods/pan_svm.md).
"""

from __future__ import annotations

from typing import Any

from tacit.choreo import At, Coordinator, Everyone, Holder, Run, choreography
from tacit.numeric.kernels import Kernel
from tacit.protocols.cutting_plane import cutting_plane
from tacit.protocols.fold_scores import fold_scores
from tacit.protocols.plane_rows import alone
from tacit.protocols.platt import platt
from tacit.protocols.row_maps import prepare
from tacit.protocols.row_problems import Svm, agreed, check_landmarks, rows_of, takes_svm


@choreography(
    opens={
        Coordinator: "the sum of the mapped rows of each side of each problem; in every round the sum over a union of groups of mapped"
        " rows, and bounds on the loss along a line that are functions of the groups' sums: every group is of at least min_count rows of"
        " one class at one holder; with gamma='scale' the sum and the sum of squares of all cells",
        Everyone: "which classes each party has; how many records each class has over all parties, and how many of them take part; of how"
        " many rows each party's groups are at least; the landmarks, each the mean of at least min_cluster records over whole groups"
        " (none with landmark_source='fourier' or a linear kernel); every iterate and the model; with witness=True all that the"
        " coordinator learns",
    }
)
@takes_svm
def pan_svm(run: Run, /, data: At[Any], **given: Any) -> dict[str, Any]:
    """Train, with the parameters of `Svm`; everyone ends with the model."""
    svm = Svm(**given)
    check_landmarks(svm)
    ground = agreed(run, data, svm=svm)
    ready = prepare(run, data, [Kernel(svm.kernel, ground.gamma, svm.degree, svm.coef0)], ground=ground)
    ground, the_map = ready.ground, ready.maps[0]
    rows = run.local(Holder, rows_of, data, the_map, ready.atoms, ground.classes, ground.pairs, ground.weights, svm.dtype)
    AB = None
    if svm.probability:
        found, scores, _ = fold_scores(run, rows, ready.atoms, width=the_map.size, ground=ground)
        AB = platt(run, scores, sizes=ground.playing, by=ground.by, fixed=ground.fixed, witness=svm.witness)
    else:
        paths, _ = cutting_plane(
            run, run.local(Holder, alone, rows), ready.atoms, prices=((svm.C,),), widths=(the_map.size,), columns=len(ground.pairs),
            by=ground.by, fixed=ground.fixed, exact=ground.exact, tol=svm.tol, max_rounds=svm.max_rounds, witness=svm.witness,
        )  # fmt: skip
        found = paths.solution(range(len(ground.pairs)))
    return {
        "classes": ground.classes,
        "pairs": ground.pairs,
        "map": the_map,
        "solution": ground.never(found),
        "columns": ground.columns,
        "sizes": ground.sizes,
        "taking": ground.taking,
        "least": ready.least,
        "sigmoids": AB,
    }
