"""Consensus SVM over columns: every party holds some columns of the same records; the result is the pooled SVM.

The problem. Party m holds X_m, its columns of n records; one party also holds the labels. For every class against the rest (of two
classes: the second)

    min_{w,b}  1/2 sum_m |w_m|^2 + sum_i C_i max(0, 1 - y_i (z_i + b)),     z = sum_m X_m w_m                        (1)

or, with a kernel, the same in the feature spaces of all parties: the SVM of the SUM of the parties' kernels.

rho="auto": the coordinator asks for products with the kernel matrix and works in their span (`consensus_span`).
rho=number: ADMM as in the paper, corrected (`consensus_sharing`).

A new record is classified from the sum of its parts, sum_m x_m.w_m + b.

Probabilities are fitted to decision values of models that did not see the record: every problem is solved once more without each of five
folds, C_i = 0 for the fold's records (2), in the same rounds. The coordinator has all decision values and labels, and publishes
the sigmoids.

Roles. Holder: columns. Labeller: the holder that has the labels. Coordinator: holds no data; learns the sums. Asker: is told the values.

Threat. Semi-honest; coalitions as `secure_sum`. The sums of many rounds together say much more than each: as many of them as there are
columns span the column space of X, and as many known records as columns then give all others (`attacks.vertical_span`). Under ADMM
twice as many rounds give even the gram matrix X_m X_m' of every single party. Both need accept_risk; `consensus_span` opens products with
the one matrix sum_m X_m X_m', and so never more than that. With probabilities there are six times as many sums.
Holders see labels, and multipliers: which records are within the margin, on it or beyond.
Not protected: what decision values reveal.

Source: 000 section IV.C, eqs 26 to 29, corrected in four places (docs/methods/consensus.md).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, Asker, At, Coordinator, Everyone, Holder, Labeller, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.consensus_columns import factor, kernel_values, own_kernel, spans
from tacit.numeric.dual_svm import FOLDS
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.folds import dealt
from tacit.numeric.kernels import Kernel
from tacit.protocols.consensus_sharing import OwnMatrix, sharing
from tacit.protocols.consensus_span import Sides, consensus_span
from tacit.protocols.gram_vertical import (
    BAND,
    Classes,
    Columns,
    Decision,
    Labels,
    append_values,
    class_names,
    labels_of,
    sizes,
    stack,
)
from tacit.protocols.platt import Scores, own_platt
from tacit.protocols.row_problems import counting, problems, signs_of
from tacit.protocols.secure_sum import protect, secure_sum


class ColumnShare(State):
    """A holder's share of the model: weights of its columns; with a kernel, coefficients of its own columns of the training records."""

    weights: F64
    X: F64
    kernel: str
    gamma: float
    degree: int
    coef0: float


class ColumnHead(State):
    """The coordinator's share."""

    bias: F64


@choreography(
    opens={
        Coordinator: "every label; for every round and problem one sum over the parties, of a number for each record. Over the rounds these"
        " sums span the column space of X: from as many as there are columns, that many known records give all others. With rho='auto' no"
        " more than the one matrix of all dot products (of all kernel values) follows from them; with a number, from twice as many"
        " rounds, the dot products of every single party's columns",
        Holder: "the names of the classes; how many records and columns each party has; the label of every record; at every round its"
        " multiplier, from which with a number as rho the decision values of the records within the margin follow; its own weights",
    }
)
def consensus_vertical(
    run: Run,
    data: At[Any],
    *,
    C: float,
    kernel: str = "linear",
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    rho: float | str = "auto",
    over_relaxation: float = 1.8,
    class_weight: dict[Any, float] | str | None = None,
    probability: bool = False,
    tol: float = 1e-3,
    max_rounds: int = 1000,
    accept_risk: bool = False,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
) -> dict[str, Any]:
    """Train; every holder ends with its `ColumnShare`, the coordinator with its `ColumnHead`. gamma='scale' is of each party's columns."""
    check_way(kernel, rho, method)
    shape, fixed = Kernel(kernel, degree=degree, coef0=coef0), FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    found = run.local(Labeller, class_names, data)
    if probability:
        run.local(Labeller, check_classes, data)
    run.local(Holder, check_range, data, shape, gamma, fixed, run.who(Holder))
    by = protect(run, to=Coordinator, method=method, segments=segments)
    names = run.publish(Classes, found).names
    records, columns = sizes(run, data)
    pairs, each = problems(len(names), "ovr"), problem_count(len(names), probability=probability)
    if not accept_risk:
        refuse_span(max_rounds, columns, each)
    labels = run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, names, class_weight))
    fold = run.local(Coordinator, dealt_to, labels, FOLDS if probability else 0)
    sides = run.local(Coordinator, sides_of, labels, pairs, records, C, fold)
    own = run.local(Holder, own_matrix, data, shape, gamma, rho)
    how = partial(dict[str, Any], by=by, fixed=fixed, linear=kernel == "linear", tol=tol, max_rounds=max_rounds, models=len(pairs))
    if isinstance(rho, str):
        result = consensus_span(run, own, sides, **how())
    else:
        result = sharing(run, own, sides, **how(rho=float(rho), over_relaxation=over_relaxation, shape=(records, each)))
    values = result.pop("values")
    return {
        **result,
        "classes": names,
        "columns": columns,
        "shares": run.local(Holder, share_of, data, result["weights"], shape, gamma),
        "head": run.local(Coordinator, ColumnHead, result["bias"]),
        "sigmoids": column_sigmoids(run, values, labels, fold) if probability else None,
    }


@choreography(opens={Coordinator: "the decision values of the records asked about", Asker: "the decision values"})
def consensus_vertical_predict(
    run: Run,
    data: At[Any],
    head: At[ColumnHead],
    shares: At[ColumnShare],
    *,
    problems: int,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    band: int = BAND,
) -> At[Any]:
    """Decision values of new records, whose parts stay where they are, at the asker."""
    records, _ = sizes(run, data)
    by = protect(run, to=Coordinator, method=method, segments=segments)
    fixed, step = FixedPoint(fraction_bits, terms=len(run.roster[Holder])), max(1, band // problems)
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, part_of_new, data, shares, t * step, (t + 1) * step)
        total = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="parts of the decision values")
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, head, total))
        s.answers = run.local(Asker, append_values, s.answers, answer)
    return run.local(Asker, stack, s.answers)


@choreography(
    opens={
        Coordinator: "as for every problem, so for the same without each of five folds of the records: one more sum in every round",
        Holder: "as for every problem, so for the same without each of five folds: the multiplier of every record in every round",
        Everyone: "the slope and the offset of each class's probability",
    }
)
def column_sigmoids(run: Run, values: At[F64], labels: At[Labels], fold: At[I64]) -> F64:
    """What turns decision values into probabilities."""
    return own_platt(run, run.local(Coordinator, unseen, values, labels, fold), at=Coordinator)


def check_way(kernel: str, rho: float | str, method: str) -> None:
    """Refused before anything is sent."""
    if method == "threshold":
        raise LocalError("secure_sum='threshold' lets holders stay away, and a sum without their columns is wrong: use 'pairwise'")
    if kernel == "sigmoid":
        raise LocalError("kernel='sigmoid' is no inner product, which consensus over columns needs: use 'linear', 'rbf' or 'poly'")
    if isinstance(rho, str) and rho != "auto":
        raise LocalError(f"unknown rho {rho!r}: use 'auto' or a number")


def problem_count(classes: int, *, probability: bool) -> int:
    """How many problems advance together: with probabilities each once more per fold."""
    return len(problems(classes, "ovr")) * (1 + FOLDS * probability)


def refuse_span(rounds: int, columns: int, problems: int = 1) -> None:
    """What needs accept_risk."""
    if spans(rounds, columns, problems):
        raise LocalError(
            f"max_rounds={rounds} sums for each of {problems} problems can span all {columns} columns, and then {columns} known records"
            f" give the coordinator all others: set max_rounds below {-(-columns // problems)}, or say accept_risk=True"
        )


# Steps at the holders


def check_classes(part: Columns) -> None:
    """Every class needs a record to learn from and one to be judged."""
    labels = np.asarray(part.y)[counting(part)]
    if np.unique(labels, return_counts=True)[1].min(initial=2) < 2:  # noqa: PLR2004 - these two
        raise LocalError("a class has a single record, and probability=True leaves records out in turn: bring more, or leave it off")


def check_range(part: Columns, kernel: Kernel, gamma: float | str, fixed: FixedPoint, me: str) -> None:
    """No entry of K_m p with |p_i| <= 1 is larger than n times the longest record's own kernel value (Cauchy and Schwarz)."""
    longest = np.einsum("ij,ij->i", part.X, part.X).max(initial=0.0, keepdims=True)
    value = own_kernel(kernel, gamma, part.X).from_dots(longest[None].copy(), longest, longest)
    fixed.encode(len(part.X) * value, f"kernel of {me}")


def own_matrix(part: Columns, kernel: Kernel, gamma: float | str, rho: float | str) -> OwnMatrix:
    """Once for all rounds."""
    linear = kernel.name == "linear"
    A = part.X if linear else kernel_values(own_kernel(kernel, gamma, part.X), part.X, part.X)
    return OwnMatrix(A, np.empty((0, 0)) if isinstance(rho, str) else factor(A, rho, linear=linear))


def share_of(part: Columns, weights: F64, kernel: Kernel, gamma: float | str) -> ColumnShare:
    """The holder's share of the model."""
    own, X = own_kernel(kernel, gamma, part.X), part.X[:0] if kernel.name == "linear" else part.X
    return ColumnShare(weights, X, own.name, own.gamma, own.degree, own.coef0)


def part_of_new(part: Columns, share: ColumnShare, start: int, stop: int) -> F64:
    """x_m.w_m, or the same with the party's kernel."""
    x, columns = part.X[start:stop], len(share.weights) if share.kernel == "linear" else share.X.shape[1]
    if x.shape[1] != columns:
        raise LocalError(f"a new record has {x.shape[1]} values here, the model was made of {columns}: bring every column of the fit")
    if share.kernel == "linear":
        return x @ share.weights
    return kernel_values(Kernel(share.kernel, share.gamma, share.degree, share.coef0), x, share.X) @ share.weights


# Steps at the coordinator


def dealt_to(labels: Labels, folds: int) -> I64:
    """The fold of every record, class by class; -1 without weight. Nothing if there are none."""
    if not folds:
        return np.empty(0, np.int64)
    use = np.ones(len(labels.codes), bool) if labels.weight is None else labels.weight > 0
    return np.where(use, dealt(np.where(use, labels.codes, -1), folds, 0), -1)


def sides_of(labels: Labels, pairs: tuple[tuple[int, int], ...], records: int, C: float, fold: I64) -> Sides:
    """Signs and C_i of every problem, and of every problem without each fold (2)."""
    if len(labels.codes) != records:
        raise LocalError(f"{len(labels.codes)} labels for {records} records: the labeller must hold one label per record")
    signs = signs_of(labels.codes, pairs).astype(np.float64)
    each = np.full(records, C) if labels.weight is None else C * labels.weight
    if any(not each[signs[:, k] == side].any() for k in range(len(pairs)) for side in (1, -1)):
        raise LocalError("one of the classes has no record of positive weight: give every class some weight")
    prices = [each, *(np.where(fold == q, 0.0, each) for q in range(FOLDS if fold.size else 0))]
    return Sides(np.tile(signs, len(prices)), np.repeat(np.stack(prices, axis=1), len(pairs), axis=1))


def unseen(values: F64, labels: Labels, fold: I64) -> Scores:
    """Decision values of every record that has weight, from the models without its fold."""
    kept = np.flatnonzero(fold >= 0)
    without = values.reshape(len(fold), 1 + FOLDS, -1)[kept, 1 + fold[kept]]
    return Scores(without, labels.codes[kept])


def decide(head: ColumnHead, total: F64) -> Decision:
    """f(x)."""
    return Decision(total + head.bias)
