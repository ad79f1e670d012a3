"""Consensus SVM over columns: every party holds some columns of the same records; the result is the pooled SVM.

The problem. Party m holds X_m, its columns of n records; one party also holds the labels. For every class against the
rest (of two classes: the second)

    min_{w,b}  1/2 sum_m |w_m|^2 + sum_i C_i max(0, 1 - y_i (z_i + b)),     z = sum_m X_m w_m                        (1)

or, with a kernel, the same in the feature spaces of all parties: the SVM of the SUM of the parties' kernels.

rho="auto": the coordinator asks for products with the kernel matrix and works in their span (`consensus_span`).
rho=number: ADMM as in the paper, corrected (`consensus.sharing`).

A new record is classified from the sum of its parts, sum_m x_m.w_m + b.

Probabilities are fitted to decision values of models that did not see the record: every problem is solved once more
without each of five folds, C_i = 0 for the fold's records (2), in the same rounds. The coordinator has all decision
values and labels, and publishes the sigmoids.

Roles. Holder: columns. Labeller: the holder that has the labels. Coordinator: holds no data; learns the sums. Asker: is
told the values.

Threat. Semi-honest; coalitions as `secure_sum`. The sums of many rounds together say much more than each: as many of
them as there are columns span the column space of X, and as many known records as columns then give all others
(`attacks.vertical_span`). Under ADMM twice as many rounds give even the gram matrix X_m X_m' of every single party.
Both need accept_risk; `consensus_span` opens products with the one matrix sum_m X_m X_m', and so never more than that.
With probabilities there are six times as many sums. Holders see labels, and multipliers: which records are within the
margin, on it or beyond. Not protected: what decision values reveal.

Source: 000 section IV.C, eqs 26 to 29, corrected in four places (docs/methods/consensus.md).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import Asker, At, Coordinator, Everyone, Fact, Holder, Labeller, Result, Run, State, choreography
from tacit.choreo.protocol import LARGE, SMALL, TABLE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.consensus.columns import factor, kernel_values, own_kernel, spans
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.scores.folds import deal_folds
from tacit.numeric.svm.dual_svm import FOLDS
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import OVR, Pairs, count_problems, problems, signs_of, value_classes
from tacit.protocols.consensus.settings import ColumnSvm
from tacit.protocols.consensus.sharing import sharing
from tacit.protocols.consensus.span import OWN_WEIGHTS, OwnMatrix, Sides, consensus_span
from tacit.protocols.gram.vertical import BAND, append_values, sizes, stack_answers
from tacit.protocols.invented import by_columns
from tacit.protocols.labels import Classes, Decision, Labels, labels_of, name_classes
from tacit.protocols.part import Names, Records
from tacit.protocols.planes.problems import mark_counting
from tacit.protocols.scores.platt import SIGMOIDS, Scores, own_platt
from tacit.protocols.settings import Sums
from tacit.protocols.sums.secure_sum import OF_SOME
from tacit.protocols.table_facts import ASKED_VALUES, CLASS_NAMES, DECISION_VALUES, EVERY_LABEL, TABLE_SIZES
from tacit.protocols.witness import Voice

FEW, USUAL = 3, 35  # rounds of a rehearsal, and in an estimate


class ColumnShare(State):
    """A holder's share of the model: weights of its columns.

    With a kernel, coefficients of its own columns of the training records.
    """

    weights: F64
    X: F64
    kernel: str
    gamma: float
    degree: int
    coef0: float


class ColumnHead(State):
    """The coordinator's share of the model: the biases, and which problems several classes are."""

    bias: F64
    multi_class: str = OVR


class Trained(Result):
    """What a training leaves: the shares of the model, and how far it is from the optimum."""

    weights: At[F64]
    bias: At[F64]
    objective: F64
    bound: F64 | None
    rounds: int
    converged: bool
    classes: Names
    columns: int
    shares: At[ColumnShare]
    head: At[ColumnHead]
    sigmoids: F64 | None


@choreography(
    opens={
        Coordinator: (
            EVERY_LABEL,
            Fact(
                "consensus.column_space",
                "holders",
                "record",
                "record",
                "for every round and problem one sum over the parties, of a number for each record. Over the rounds"
                " these sums span the column space of X: from as many as there are columns, that many known records"
                " give all others. With rho='auto' no more than the one matrix of all dot products (of all kernel"
                " values) follows from them",
            ),
            Fact(
                "consensus.party_gram",
                "holder",
                "record",
                "record",
                "if rho is a number, after twice as many rounds as columns, the dot products of every single"
                " party's columns",
            ),
        ),
        Holder: (
            CLASS_NAMES,
            TABLE_SIZES,
            Fact("consensus.labels", "labeller", "label", "record", "the label of every record"),
            Fact(
                "consensus.multiplier_of_record",
                "holders",
                "membership",
                "record",
                "the multiplier of every record in every round; if rho is a number, this gives the decision"
                " values of the records within the margin",
            ),
            OWN_WEIGHTS,
        ),
    }
)
def consensus_vertical(run: Run, data: At[Records], *, svm: ColumnSvm, sums: Sums) -> Trained:
    """Train an SVM by consensus over columns.

    Every holder ends with its `ColumnShare`, the coordinator with its `ColumnHead`. gamma='scale' is of each party's
    own columns.
    """
    check_way(svm, sums)
    shape, fixed = svm.shape, sums.fixed_point(run)
    names_held = run.local(Labeller, name_classes, data, svm.class_weight)
    if svm.probability:
        run.local(Labeller, check_classes, data)
    run.local(Holder, check_range, data, shape, svm.gamma, fixed, run.who(Holder))
    voice = Voice(run, sums.protect(run, to=Coordinator), fixed)
    names = run.publish(Classes, names_held).names
    records, columns = sizes(run, data)
    pairs = problems(len(names), svm.multi_class)
    each = problem_count(len(names), svm.multi_class, probability=svm.probability)
    if not svm.accept_risk:
        refuse_span(svm.max_rounds, columns, each)
    labels = run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, names, svm.class_weight))
    fold = run.local(Coordinator, deal_to_folds, labels, FOLDS if svm.probability else 0)
    sides = run.local(Coordinator, sides_of, labels, pairs, records, svm.C, fold)
    own = run.local(Holder, own_matrix, data, shape, svm.gamma, svm.rho)
    if isinstance(svm.rho, str):
        found = consensus_span(run, own, sides, voice=voice, svm=svm, models=len(pairs))
    else:
        found = sharing(run, own, sides, voice=voice, svm=svm, shape=(records, each), models=len(pairs))
    return Trained(
        weights=found.weights,
        bias=found.bias,
        objective=found.objective,
        bound=found.bound,
        rounds=found.rounds,
        converged=found.converged,
        classes=names,
        columns=columns,
        shares=run.local(Holder, share_of, data, found.weights, shape, svm.gamma),
        head=run.local(Coordinator, ColumnHead, found.bias, svm.multi_class),
        sigmoids=column_sigmoids(run, found.values, labels, fold, svm.multi_class) if svm.probability else None,
    )


@choreography(opens={Coordinator: ASKED_VALUES, Asker: DECISION_VALUES})
def consensus_vertical_predict(
    run: Run,
    data: At[Records],
    head: At[ColumnHead],
    shares: At[ColumnShare],
    *,
    problems: int,
    sums: Sums,
    band: int = BAND,
) -> At[F64]:
    """Give the asker the decision values of new records, whose parts stay where they are."""
    records, _ = sizes(run, data)
    voice = Voice(run, sums.protect(run, to=Coordinator), sums.fixed_point(run))
    step = max(1, band // problems)
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, part_of_new, data, shares, t * step, (t + 1) * step)
        total = voice.sum_to_coordinator(part, "parts of the decision values")
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, head, total))
        s.answers = run.local(Asker, append_values, s.answers, answer)
    return run.local(Asker, stack_answers, s.answers)


@choreography(
    opens={
        Coordinator: Fact(
            "consensus.fold_sums",
            "holders",
            "record",
            "record",
            "one more sum in every round, for each problem without each of five folds of the records",
        ),
        Holder: Fact(
            "consensus.fold_multipliers",
            "holders",
            "label",
            "record",
            "the multiplier of every record in every round, also for each problem without each of five folds",
        ),
        Everyone: SIGMOIDS,
    }
)
def column_sigmoids(run: Run, values: At[F64], labels: At[Labels], fold: At[I64], multi_class: str) -> F64:
    """Return what turns decision values into probabilities."""
    return own_platt(run, run.local(Coordinator, pick_unseen, values, labels, fold, multi_class), at=Coordinator)


def check_way(svm: ColumnSvm, sums: Sums) -> None:
    """Raise before anything is sent if this SVM cannot be trained by consensus over columns."""
    if sums.method in OF_SOME:
        raise LocalError(
            f"secure_sum={sums.method!r} lets holders stay away, and a sum without their columns is wrong: use"
            " 'pairwise'"
        )
    if svm.kernel == "sigmoid":
        raise LocalError(
            "kernel='sigmoid' is no inner product, which consensus over columns needs: use 'linear', 'rbf' or 'poly'"
        )
    if isinstance(svm.rho, str) and svm.rho != "auto":
        raise LocalError(f"unknown rho {svm.rho!r}: use 'auto' or a number")


def problem_count(classes: int, multi_class: str, *, probability: bool) -> int:
    """Return how many problems advance together: with probabilities each once more per fold."""
    return count_problems(classes, multi_class) * (1 + FOLDS * probability)


def refuse_span(rounds: int, columns: int, problems: int = 1) -> None:
    """Raise if the sums of so many rounds could span all columns, which needs accept_risk."""
    if spans(rounds, columns, problems):
        raise LocalError(
            f"max_rounds={rounds} sums for each of {problems} problems can span all {columns} columns, and then"
            f" {columns} known records give the coordinator all others: set max_rounds below {-(-columns // problems)},"
            " or say accept_risk=True"
        )


# Steps at the holders


def check_classes(part: Records) -> None:
    """Raise unless every class has a record to learn from and one to be judged."""
    labels = np.asarray(part.y)[mark_counting(part)]
    if np.unique(labels, return_counts=True)[1].min(initial=2) < 2:  # noqa: PLR2004 - these two
        raise LocalError(
            "a class has a single record, and probability=True leaves records out in turn: bring more, or say"
            " probability=False"
        )


def check_range(part: Records, kernel: Kernel, gamma: float | str, fixed: FixedPoint, me: str) -> None:
    """Raise if a product of the party's kernel matrix might not fit into fixed point.

    No entry of K_m p with |p_i| <= 1 is larger than n times the longest record's own kernel value (Cauchy and Schwarz).
    """
    longest = np.einsum("ij,ij->i", part.X, part.X).max(initial=0.0, keepdims=True)
    value = own_kernel(kernel, gamma, part.X).from_dots(longest[None].copy(), longest, longest)
    fixed.encode(len(part.X) * value, f"kernel of {me}")


def own_matrix(part: Records, kernel: Kernel, gamma: float | str, rho: float | str) -> OwnMatrix:
    """Return what a holder's steps multiply with, made once for all rounds."""
    linear = kernel.name == "linear"
    A = part.X if linear else kernel_values(own_kernel(kernel, gamma, part.X), part.X, part.X)
    return OwnMatrix(A, np.empty((0, 0)) if isinstance(rho, str) else factor(A, rho, linear=linear))


def share_of(part: Records, weights: F64, kernel: Kernel, gamma: float | str) -> ColumnShare:
    """Return the holder's share of the model."""
    own, X = own_kernel(kernel, gamma, part.X), part.X[:0] if kernel.name == "linear" else part.X
    return ColumnShare(weights, X, own.name, own.gamma, own.degree, own.coef0)


def part_of_new(part: Records, share: ColumnShare, start: int, stop: int) -> F64:
    """Return x_m.w_m of new records, or the same with the party's kernel."""
    x, columns = part.X[start:stop], len(share.weights) if share.kernel == "linear" else share.X.shape[1]
    if x.shape[1] != columns:
        raise LocalError(
            f"a new record has {x.shape[1]} values here, the model was made of {columns}: bring every column of the fit"
        )
    if share.kernel == "linear":
        return x @ share.weights
    return kernel_values(Kernel(share.kernel, share.gamma, share.degree, share.coef0), x, share.X) @ share.weights


# Steps at the coordinator


def deal_to_folds(labels: Labels, folds: int) -> I64:
    """Return the fold of every record, class by class; -1 without weight. Empty if there are no folds."""
    if not folds:
        return np.empty(0, np.int64)
    use = np.ones(len(labels.codes), bool) if labels.weight is None else labels.weight > 0
    return np.where(use, deal_folds(np.where(use, labels.codes, -1), folds, 0), -1)


def sides_of(labels: Labels, pairs: Pairs, records: int, C: float, fold: I64) -> Sides:
    """Return signs and C_i of every problem, and of every problem without each fold (2); 0 outside of a pair."""
    if len(labels.codes) != records:
        raise LocalError(
            f"{len(labels.codes)} labels for {records} records: the labeller must hold one label per record"
        )
    signs = signs_of(labels.codes, pairs).astype(np.float64)
    each = np.full(records, C) if labels.weight is None else C * labels.weight
    if any(not each[signs[:, k] == side].any() for k in range(len(pairs)) for side in (1, -1)):
        raise LocalError("one of the classes has no record of positive weight: give every class some weight")
    prices = [each, *(np.where(fold == q, 0.0, each) for q in range(FOLDS if fold.size else 0))]
    sides = np.tile(signs, len(prices))
    return Sides(sides, np.repeat(np.stack(prices, axis=1), len(pairs), axis=1) * np.abs(sides))


def pick_unseen(values: F64, labels: Labels, fold: I64, multi_class: str) -> Scores:
    """Return the decision values of every record that has weight and of every class, from models without its fold."""
    kept = np.flatnonzero(fold >= 0)
    without = values.reshape(len(fold), 1 + FOLDS, -1)[kept, 1 + fold[kept]]
    return Scores(value_classes(without, multi_class), labels.codes[kept])


def decide(head: ColumnHead, total: F64) -> Decision:
    """Return the decision values f(x) of new records, of all classes."""
    return Decision(value_classes(total + head.bias, head.multi_class))


# As a job

# for a few invented columns, whose sums may span them, and for a few rounds
SMALL_SVM: Params = {"C": 1.0, "tol": 1e-12, "max_rounds": FEW, "class_weight": None, "accept_risk": True}


def estimate(planned: Planned) -> Cost:
    """Estimate the cost of `USUAL` rounds of one problem: sums are as long as there are records."""
    few, many = planned.rehearse(SMALL), planned.rehearse(LARGE)
    rounds = min(planned.complete["max_rounds"], USUAL) / FEW
    growth = (planned.records - SMALL) / (LARGE - SMALL)
    sent = zip(planned.roster.parties, planned.traffic(few), planned.traffic(many), strict=True)
    sizes = {party: round(rounds * (a + growth * (b - a))) for party, a, b in sent}
    return Cost(rounds=round(rounds * few.rounds), bytes=sizes)


CONSENSUS_VERTICAL = Declaration(
    consensus_vertical,
    TABLE,
    Rehearsal(by_columns, lambda _: SMALL_SVM, estimate),
    leaves=("a consensus model over columns",),
    columns_only=True,
)
CONSENSUS_VERTICAL_PREDICT = Declaration(consensus_vertical_predict, asks=True)
