"""PPFSIFW, filter then wrapper: features that pass three filters, ranked by the accuracy without them.

The problem. The holders sum, of every class c and over all features j,

    n_c,   sum_{x in c} (x_j - o_j),   sum_{x in c} (x_j - o_j)^2         about the middle o of all records         (1)

1. From (1) come Fisher's score (6.1), Welch's t with its p-value (6.2), and the ratio of between and within class
   scatter (6.3), of every feature (`relevance`).
2. Features that pass all three thresholds are the voted set.
3. Ranking: the accuracy over five folds without each feature of the set; that feature goes without which it is the
   largest; again, until `least_left` are left. Only the `attempts` weakest features by the filters are tried.
4. The subset of the best accuracy on the way is taken.

Corrected: in step 3.4 both branches of the paper remove the feature without which the accuracy is the largest, and the
first forgets to keep that accuracy; so there is one branch. `attempts` is ours: the paper tries all features.

Roles. Holder: records with labels. Coordinator: learns (1), publishes the voted set.

Threat. Semi-honest; coalitions as `secure_sum`. Not protected: (1) gives the coordinator mean and variance of every
feature in every class, and of a class of one record the record; beside it, what `landmarks` and `cutting_plane` give
away, for a model of every subset and fold.

Source: 004 chapter 6, with (6.1) to (6.3) corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.choreo.declaration import Either, Nothing, Number, Settings, parameter
from tacit.choreo.protocol import Declaration, Params, Rehearsal
from tacit.papers.pan.elimination import MOST, Eliminated, Elimination, drop_from, finish
from tacit.papers.pan.ground import OF_PAN, Ground, NumberedRecords, PanSettings, agree_on_ground
from tacit.papers.pan.landmarks import LANDMARKS
from tacit.papers.pan.pan_svm import ATTACKED, agree_on_landmarks
from tacit.papers.pan.relevance import Thresholds, sum_classes, vote_features
from tacit.papers.pan.select_wrapper import check_left, estimate, shrink_selection
from tacit.papers.pan.subsets import ACCURACY, MIDDLE, MODELS, rate_subset, share_middle
from tacit.protocols.part import Records, by_rows
from tacit.protocols.sums.secure_sum import secure_sum

SCORE = Either((Nothing(), Number(0, job_most=1e12)))

CLASS_MOMENTS = Fact(
    "pan_select.class_moments", "holders", "aggregate", "class",
    "count, sum and sum of squares of every feature in every class, over all parties",
)  # fmt: skip
PASSING = Fact(
    "pan_select.passing", "holders", "model", "column", "which features pass all three filters, from the weakest on"
)


class VotedSet(Message, tells=PASSING):
    """The features that pass all filters, weakest first."""

    features: I64


@dataclass(frozen=True, kw_only=True)
class Filters(Settings):
    """The thresholds of the filters; a filter without one passes the `quota` best features."""

    fisher_least: float | None = parameter(None, SCORE, "from which Fisher score on a feature passes", opens=True)
    welch_most: float | None = parameter(
        0.01, Either((Nothing(), Number(0, 1))), "up to which p-value of Welch's t a feature passes", opens=True
    )
    scatter_least: float | None = parameter(None, SCORE, "from which scatter ratio on a feature passes", opens=True)
    quota: int = parameter(50, Number(1, MOST, whole=True), "how many pass a filter without threshold", opens=True)
    attempts: int = parameter(5, Number(1, MOST, whole=True), "without how many features a round is tried", opens=True)

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds in the order of the paper."""
        return Thresholds(self.fisher_least, self.welch_most, self.scatter_least, self.quota)


@choreography(
    opens={
        Coordinator: CLASS_MOMENTS,
        Everyone: (PASSING, LANDMARKS, MIDDLE, MODELS, ACCURACY),
    }
)
def filter_wrapper(
    run: Run, data: At[Records], *, svm: PanSettings, filters: Filters, elimination: Elimination
) -> Eliminated:
    """Filter the features, then drop them one by one; everyone learns which, and which subset is taken."""
    ground, rows = agree_on_ground(run, data, svm=svm)
    check_left(elimination.least_left, ground.columns)
    passing = filter_features(run, rows, ground=ground, by=filters)
    centres, _ = agree_on_landmarks(run, rows, ground)
    rate = partial(rate_subset, run, rows, centres=centres, ground=ground, folds=elimination.folds)
    drops = elimination.drops(len(passing))
    first = rate(np.sort(passing))
    s = run.carry(left=np.sort(passing), gone=(), accuracies=(first,))
    for t in run.rounds(len(drops), s):
        run.note(features=len(s.left))
        sets = list_candidates(passing[np.isin(passing, s.left)], drops[t], filters.attempts)
        found = [rate(drop_from(s.left, each)) for each in sets]
        gone = np.sort(sets[int(np.argmax(found))])
        s.left, s.gone, s.accuracies = drop_from(s.left, gone), (*s.gone, gone), (*s.accuracies, max(found))
    return finish(np.sort(passing), s.gone, s.accuracies, elimination)


@choreography(opens={Coordinator: CLASS_MOMENTS, Everyone: (MIDDLE, PASSING)})
def filter_features(run: Run, rows: At[NumberedRecords], *, ground: Ground, by: Filters) -> I64:
    """Return the voted set, weakest first."""
    middle = share_middle(run, rows, ground=ground)
    own = run.local(Holder, own_moments, rows, len(ground.classes), middle)
    total = secure_sum(run, own, to=Coordinator, by=ground.by, fixed=ground.fixed, what="moments of classes")
    return run.publish(VotedSet, run.local(Coordinator, pass_features, total, by)).features


def list_candidates(weakest_first: I64, number: int, attempts: int) -> list[I64]:
    """Return the weakest features, `number` by `number`, as at most so many sets."""
    sets = min(attempts, len(weakest_first) // number)
    return list(weakest_first[: sets * number].reshape(sets, number))


def own_moments(rows: NumberedRecords, classes: int, middle: F64) -> F64:
    """Return a party's part of (1)."""
    return sum_classes(rows.X, rows.codes, classes, middle)


def pass_features(total: F64, by: Filters) -> VotedSet:
    """Return the features that pass all filters."""
    return VotedSet(vote_features(total, by.thresholds))


def shrink_filters(params: Params) -> Params:
    """Return parameters for a few invented records, of which all columns pass."""
    open_to_all = dict.fromkeys(("fisher_least", "welch_most", "scatter_least"))
    return {**shrink_selection(params), **open_to_all, "quota": MOST, "by_accuracy": True}


FILTER_WRAPPER = Declaration(
    filter_wrapper, rehearsal=Rehearsal(by_rows, shrink_filters, estimate), attacked=ATTACKED, parameters=OF_PAN
)
