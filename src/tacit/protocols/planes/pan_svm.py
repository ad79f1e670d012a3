"""PAN-SVM: a non-linear SVM over rows that many hold, for two classes or more.

The problem. Holder h has records x_i with labels. Bottom, medium and top layer of the paper, in this order:

    landmarks L or a public seed     ->  a common map x -> f (`feature_map`)                                       (1)
    F = K(X, L) U Lambda^-1/2        at every holder, its own rows only                                            (2)
    min_{w,b} 1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (f_i.w + b))       (`cutting_plane`)                          (3)

One problem for two classes. For more, one per class against the rest, or one per pair of classes; all share (1) and (2)
and advance together in (3), so that they cost the rounds of one. s_i is the record's weight times its class's; of three
classes or more, one of which no party has a group of rows takes no part and is never chosen.

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. See `landmarks`, `atoms` and `cutting_plane` for what is opened on the
way. Not protected: what the model itself reveals.
Source: 004 chapters 3 and 4, corrected (docs/methods/pan_svm.md).
"""

from __future__ import annotations

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Result, Run, choreography
from tacit.choreo.protocol import TABLE, Declaration, Params, Rehearsal
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import Pairs
from tacit.protocols.invented import by_rows
from tacit.protocols.part import Names, Records
from tacit.protocols.planes.cost import PLAIN, plan_training, shrink_groups, training_cost
from tacit.protocols.planes.cutting_plane import Solution
from tacit.protocols.planes.feature_map import FeatureMap
from tacit.protocols.planes.maps import GROUP_SIZES, TAKING_PART, prepare
from tacit.protocols.planes.problems import CELL_MOMENTS, Svm, agree_on_common, check_landmarks, rows_of, solve_problems
from tacit.protocols.planes.rows import make_single_table
from tacit.protocols.scores.fold_scores import MOST as FOLDS
from tacit.protocols.scores.fold_scores import fold_scores
from tacit.protocols.scores.platt import platt
from tacit.protocols.table_facts import CLASS_SIZES, CLASSES_OF_PARTY
from tacit.protocols.witness import WITNESSED


class Trained(Result):
    """What a training leaves: the model and what is known of the classes; `least` is the size of groups by party."""

    classes: Names
    pairs: Pairs
    map: FeatureMap
    solution: Solution
    columns: int
    sizes: F64
    taking: F64
    least: dict[str, int]
    sigmoids: F64 | None


@choreography(
    opens={
        Coordinator: (
            Fact(
                "pan.side_sums",
                "holders",
                "aggregate",
                "class",
                "the sum of the mapped rows on each side of each two-class problem",
            ),
            Fact(
                "pan.cut_sum",
                "holder",
                "aggregate",
                "group",
                "in every round the sum over a union of groups of mapped rows, and bounds on the loss along a line that"
                " are functions of the groups' sums: every group is of at least min_count rows of one class at one"
                " holder",
            ),
            CELL_MOMENTS,
        ),
        Everyone: (
            CLASSES_OF_PARTY,
            CLASS_SIZES,
            TAKING_PART,
            GROUP_SIZES,
            Fact(
                "pan.landmarks",
                "holder",
                "aggregate",
                "group",
                "the landmarks, each the mean of at least min_cluster records over whole groups (none with "
                "landmark_source='fourier' or a linear kernel)",
            ),
            Fact("pan.iterates", "holders", "model", "all", "the model after every round, and the final model"),
            WITNESSED,
        ),
    }
)
def pan_svm(run: Run, data: At[Records], *, svm: Svm) -> Trained:
    """Train a PAN-SVM; everyone ends with the model."""
    check_landmarks(svm)
    ground = agree_on_common(run, data, svm=svm)
    run.expect(*plan_training(run, ground, FOLDS + 1 if svm.probability else 1))
    ready = prepare(run, data, [Kernel(svm.kernel, ground.gamma, svm.degree, svm.coef0)], ground=ground)
    ground, the_map = ready.ground, ready.maps[0]
    rows = run.local(Holder, rows_of, data, the_map, ready.atoms, *ground.labelling)
    AB = None
    if svm.probability:
        found, scores, _ = fold_scores(run, rows, ready.atoms, width=the_map.size, ground=ground)
        AB = platt(run, scores, voice=ground.voice, sizes=ground.playing)
    else:
        tables, prices, columns = run.local(Holder, make_single_table, rows), ((svm.C,),), len(ground.pairs)
        paths, _ = solve_problems(
            run, tables, ready.atoms, ground=ground, prices=prices, widths=(the_map.size,), columns=columns
        )
        found = paths.solution(range(columns))
    return Trained(
        classes=ground.classes,
        pairs=ground.pairs,
        map=the_map,
        solution=ground.never(found),
        columns=ground.columns,
        sizes=ground.sizes,
        taking=ground.taking,
        least=ready.least,
        sigmoids=AB,
    )


def small(params: Params) -> Params:
    """Return parameters for a few invented rows."""
    return {**shrink_groups(params), **PLAIN, "C": 1.0}


PAN_SVM = Declaration(
    pan_svm,
    TABLE,
    Rehearsal(by_rows, small, training_cost),
    streams={"probability": False, "device": "cpu"},
    sparse={"device": "cpu"},
)
