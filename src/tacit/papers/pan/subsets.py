"""PAN-SVM on some of the columns, and how accurate it is over folds: what both selections do again and again.

The problem. Landmarks L are agreed once; of the features S they are the columns S of L, so that no training sends
anything new about where the records are:

    F_S = k_S(X_S, L_S) U Lambda^-1/2 of k_S(L_S, L_S),     gamma_S = gamma d / |S| if gamma is "scale" or "auto"   (1)
    accuracy(S) = sum_q |{i in fold q: the model trained without fold q gives y_i}| / n                             (2)

Every holder deals its own records of every class to the folds. The models of (2) are problems that differ only in
which rows have a sign; they advance together, so that folds cost no round of their own.

Roles. Holder: records with labels. Coordinator: opens the sums.
Threat. As `cutting_plane`, for a model of every subset and fold; the accuracies are published.
Source: 004 sections 5.2.3 and 6.2.3.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.numeric.scores.folds import choose_class, deal_folds
from tacit.papers.machine import value_classes
from tacit.papers.pan.cutting_plane import CUT_SUMS, SignedRows, cut_planes
from tacit.papers.pan.ground import Ground, NumberedRecords, sign_rows
from tacit.papers.pan.pan_svm import map_by, train_on
from tacit.papers.pan.relevance import Expansion
from tacit.protocols.sums.secure_sum import secure_sum

MIDDLE = Fact(
    "pan_select.middle", "holders", "aggregate", "column", "the mean of every column, about which moments are taken"
)
MODELS = Fact("pan_select.models", "holders", "model", "all", "a model for every subset of features and every fold")
ACCURACY = Fact("pan_select.accuracy", "holders", "aggregate", "all", "the accuracy of every subset tried over folds")


class Middle(Message, tells=MIDDLE):
    """The mean of every column, about which moments are taken."""

    middle: F64


class Accuracy(Message, tells=ACCURACY):
    """The accuracy (2) of a subset."""

    accuracy: float


@choreography(opens={Everyone: MIDDLE})
def share_middle(run: Run, rows: At[NumberedRecords], *, ground: Ground) -> F64:
    """Tell everyone the mean of every column."""
    own = run.local(Holder, sum_columns, rows)
    total = secure_sum(run, own, to=Coordinator, by=ground.by, fixed=ground.fixed, what="column sums")
    return run.publish(Middle, run.local(Coordinator, find_middle, total, ground.rows)).middle


@choreography(opens={Coordinator: CUT_SUMS, Everyone: MODELS})
def train_subset(run: Run, rows: At[NumberedRecords], features: I64, *, centres: F64, ground: Ground) -> Expansion:
    """Train one model for each problem on these features."""
    the_map = map_by(ground.kernel_of(len(features)), centres[:, features])
    found = train_on(run, run.local(Holder, take_columns, rows, features), the_map, ground)
    return Expansion.of(the_map, found.w)


@choreography(opens={Coordinator: CUT_SUMS, Everyone: (MODELS, ACCURACY)})
def rate_subset(
    run: Run, rows: At[NumberedRecords], features: I64, *, centres: F64, ground: Ground, folds: int
) -> float:
    """Return the accuracy (2) of these features, which everyone learns."""
    the_map = map_by(ground.kernel_of(len(features)), centres[:, features])
    narrow = run.local(Holder, take_columns, rows, features)
    signed = run.local(Holder, sign_rows, narrow, the_map, *ground.labelling)
    fold = run.local(Holder, deal_rows, rows, folds)
    found = cut_planes(run, run.local(Holder, leave_out_folds, signed, fold, folds), how=ground.solver)
    right = run.local(Holder, count_right, signed, rows, fold, found.w, ground.svm.multi_class)
    total = secure_sum(run, right, to=Coordinator, by=ground.by, fixed=ground.fixed, what="rows labelled rightly")
    return run.publish(Accuracy, run.local(Coordinator, find_accuracy, total, ground.rows)).accuracy


# Steps at the holders


def sum_columns(rows: NumberedRecords) -> F64:
    """Return the sum of every column."""
    return np.asarray(rows.X.sum(axis=0))


def take_columns(rows: NumberedRecords, features: I64) -> NumberedRecords:
    """Return the records with these columns only."""
    return dataclasses.replace(rows, X=np.ascontiguousarray(rows.X[:, features]))


def deal_rows(rows: NumberedRecords, folds: int) -> I64:
    """Return the fold of each of a party's records, dealt class by class; which is public if their order is."""
    return deal_folds(rows.codes, folds, 0)


def leave_out_folds(rows: SignedRows, fold: I64, folds: int) -> SignedRows:
    """Return the rows with every problem once for each fold, without that fold's rows."""
    signs = [np.where(fold[:, None] == q, 0, rows.signs) for q in range(folds)]
    return dataclasses.replace(rows, signs=np.concatenate(signs, axis=1).astype(np.int8))


def count_right(signed: SignedRows, rows: NumberedRecords, fold: I64, w: F64, multi_class: str) -> F64:
    """Return how many records get their own class from the model that was trained without their fold, (2)."""
    values = (signed.F @ w.T).reshape(len(fold), -1, signed.signs.shape[1])[np.arange(len(fold)), fold]
    return np.array([float(np.sum(choose_class(value_classes(values, multi_class)) == rows.codes))])


# Steps at the coordinator


def find_middle(total: F64, rows: int) -> Middle:
    """Return the mean of every column."""
    return Middle(total / rows)


def find_accuracy(total: F64, rows: int) -> Accuracy:
    """Return the accuracy (2) from how many records are labelled rightly."""
    return Accuracy(float(round(total[0]) / rows))
