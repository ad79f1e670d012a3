"""PPFSVW, the voted wrapper: features go round by round, those that three criteria of the model hold for the least.

The problem. With S the features left, at first all:

    1. train PAN-SVM on S (`subsets`)                                                                               (1)
    2. score every feature of S by SVM-RFE, RSVM and SVM-t (`relevance`)                                            (2)
    3. every criterion ranks S                                                                                      (3)
    4. the feature goes that two criteria name as the least; if all name different ones, that goes without which
       the accuracy over five folds is the largest                                                                  (4)
    5. again, until `least_left` are left; the subset of the best accuracy on the way is taken                      (5)

Of thousands of features several go in a round (`elimination`): those that two criteria name among their last ones, and
of those that criteria propose to make up the number, again the set without which the accuracy is the largest.

Roles. Holder: records with labels. Coordinator: opens the sums of (2), publishes who goes.

Threat. Semi-honest; coalitions as `secure_sum`. Not protected: what `landmarks` and `cutting_plane` give away, for a
model of every subset and fold; the coordinator also learns sums of (2) over the rows of each side, and for SVM-t over
those within the margin. Many rounds open more numbers than the records have cells.

Source: 004 chapter 5, with (5.1) to (5.3) corrected; several features a round are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.choreo.declaration import Items, OneOf, Settings, parameter
from tacit.choreo.protocol import Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.papers.pan.elimination import Eliminated, Elimination, drop_from, finish
from tacit.papers.pan.ground import OF_PAN, Ground, NumberedRecords, PanSettings, agree_on_ground, signs_at
from tacit.papers.pan.landmarks import LANDMARKS
from tacit.papers.pan.pan_svm import ATTACKED, agree_on_landmarks, shrink
from tacit.papers.pan.relevance import Expansion, order, score_rfe, score_rsvm, score_t, sum_changes, sum_margin, vote
from tacit.papers.pan.subsets import ACCURACY, MIDDLE, MODELS, rate_subset, share_middle, take_columns, train_subset
from tacit.protocols.part import Records, by_rows
from tacit.protocols.sums.secure_sum import secure_sum

CRITERIA = ("rfe", "rsvm", "t")
COLUMNS = 20  # of a table whose size nobody has said

SIDE_SUMS = Fact(
    "pan_select.side_sums", "holders", "aggregate", "class",
    "in every round, for each feature, the sum of what it adds to the decision values over each side of each problem",
)  # fmt: skip
MARGIN_SUMS = Fact(
    "pan_select.margin_sums", "holder", "record", "record",
    "in every round the sums of features and of their squares over the rows within the margin, which may be few",
)  # fmt: skip
VOTED = Fact(
    "pan_select.voted", "holders", "model", "column",
    "which features go in every round, and between which sets the accuracy decides",
)  # fmt: skip


class Voted(Message, tells=VOTED):
    """The features that go, and sets of further ones, a row each, of which one goes as well."""

    gone: I64
    contested: I64


@dataclass(frozen=True, kw_only=True)
class Voters(Settings):
    """Which criteria have a vote."""

    voters: tuple[str, ...] = parameter(
        CRITERIA, Items(OneOf(CRITERIA), 1, 3), "which criteria say what features matter", opens=True
    )


@choreography(
    opens={
        Coordinator: (SIDE_SUMS, MARGIN_SUMS),
        Everyone: (LANDMARKS, MIDDLE, MODELS, VOTED, ACCURACY),
    }
)
def voted_wrapper(
    run: Run, data: At[Records], *, svm: PanSettings, voting: Voters, elimination: Elimination
) -> Eliminated:
    """Drop features round by round; everyone learns which, and which subset is taken."""
    ground, rows = agree_on_ground(run, data, svm=svm)
    check_left(elimination.least_left, ground.columns)
    centres, _ = agree_on_landmarks(run, rows, ground)
    middle = share_middle(run, rows, ground=ground)
    every, drops = np.arange(ground.columns), elimination.drops(ground.columns)
    s = run.carry(left=every, gone=(), accuracies=(), known=np.nan)
    for t in run.rounds(len(drops) + 1, s):
        rate = elimination.by_accuracy and np.isnan(s.known)
        if rate:
            s.known = rate_subset(run, rows, s.left, centres=centres, ground=ground, folds=elimination.folds)
        s.accuracies = (*s.accuracies, s.known)
        run.note(features=len(s.left))
        if t == len(drops):
            break
        e = train_subset(run, rows, s.left, centres=centres, ground=ground)
        voted = hold_vote(run, rows, s.left, e, middle[s.left], ground=ground, by=voting.voters, number=drops[t])
        gone, s.known = decide(run, rows, s.left, voted, ground=ground, centres=centres, folds=elimination.folds)
        s.left, s.gone = drop_from(s.left, gone), (*s.gone, gone)
    return finish(every, s.gone, s.accuracies, elimination)


@choreography(opens={Coordinator: (SIDE_SUMS, MARGIN_SUMS), Everyone: VOTED})
def hold_vote(
    run: Run,
    rows: At[NumberedRecords],
    left: I64,
    e: Expansion,
    middle: F64,
    *,
    ground: Ground,
    by: tuple[str, ...],
    number: int,
) -> Voted:
    """Let the criteria vote which features go, (2) to (4); the sets of `Voted` are numbers of columns."""
    own = run.local(Holder, take_columns, rows, left)
    signs, parts = run.local(Holder, signs_at, rows, ground.pairs), {}
    if "rsvm" in by:
        parts["rsvm"] = run.local(Holder, own_changes, own, signs, e)
    if "t" in by:
        parts["t"] = run.local(Holder, own_margin, own, signs, e, middle)
    sums = {
        name: secure_sum(run, part, to=Coordinator, by=ground.by, fixed=ground.fixed, what=f"sums for {name}")
        for name, part in parts.items()
    }
    counted = run.local(Coordinator, count_votes, e, left, by, number, sums.get("rsvm"), sums.get("t"))
    return run.publish(Voted, counted)


def decide(
    run: Run, rows: At[NumberedRecords], left: I64, voted: Voted, *, ground: Ground, centres: F64, folds: int
) -> tuple[I64, float]:
    """Return who goes, (4), and the accuracy of what is left if that is known."""
    sets = [np.sort(np.append(voted.gone, each)) for each in voted.contested]
    if len(sets) < 2:  # noqa: PLR2004 - nothing to decide between
        return (sets[0] if sets else voted.gone), np.nan
    rate = partial(rate_subset, run, rows, centres=centres, ground=ground, folds=folds)
    found = [rate(drop_from(left, each)) for each in sets]
    best = int(np.argmax(found))
    return sets[best], found[best]


def check_left(least: int, columns: int) -> None:
    """Raise unless there are as many features as are to be left."""
    if least > columns:
        raise LocalError(f"{least} features cannot be selected of {columns}: ask for 1 to {columns}")


# Steps at the holders


def own_changes(rows: NumberedRecords, signs: I8, e: Expansion) -> F64:
    """Return a party's part of (5.2)."""
    return sum_changes(e, rows.X, signs)


def own_margin(rows: NumberedRecords, signs: I8, e: Expansion, middle: F64) -> F64:
    """Return a party's part of (5.3)."""
    return sum_margin(e, rows.X, signs, middle)


# Steps at the coordinator


def count_votes(
    e: Expansion, left: I64, by: tuple[str, ...], number: int, changes: F64 | None, margin: F64 | None
) -> Voted:
    """Return which features go, as numbers of columns, and the contested sets."""
    scores = {
        "rfe": score_rfe(e),
        "rsvm": None if changes is None else score_rsvm(changes),
        "t": None if margin is None else score_t(margin),
    }
    gone, contested = vote([order(each) for name in by if (each := scores[name]) is not None], number)
    sets = np.array(contested, dtype=np.int64).reshape(len(contested), number - len(gone))
    return Voted(np.sort(left[np.array(gone, dtype=np.int64)]), np.sort(left[sets], axis=1))


# What a job may name


def shrink_selection(params: Params) -> Params:
    """Return parameters for a few invented records, on which criteria may agree that disagree elsewhere."""
    rated = params.get("by_accuracy", True) or len(params.get("voters", CRITERIA)) > 1
    return {**shrink(params), "folds": 2, "least_left": 1, "by_accuracy": rated}


def estimate(planned: Planned) -> Cost:
    """Estimate a training, and one over folds, for each of `COLUMNS` columns, as if they went one by one."""
    shared = {each.name for each in fields(PanSettings)}
    inner = {name: value for name, value in planned.params.items() if name in shared}
    one, times = planned.other("pan_svm", inner), 2 * COLUMNS
    return Cost(rounds=times * one.rounds, bytes={party: times * n for party, n in one.bytes.items()})


VOTED_WRAPPER = Declaration(
    voted_wrapper, rehearsal=Rehearsal(by_rows, shrink_selection, estimate), attacked=ATTACKED, parameters=OF_PAN
)
