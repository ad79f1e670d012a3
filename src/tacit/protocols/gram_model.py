"""From a gram matrix to a model in shares: what all gram SVMs do once the coordinator has it.

The coordinator makes the kernel matrix of G and solves the dual problem of `numeric.dual_svm`: classes, one against the rest, or numbers
with an insensitive zone. It keeps the coefficients and publishes which records are support vectors; every holder keeps what it
owns of these. Where fixed point has rounded the entries of G, with standard deviation e, the kernel matrix of m records is indefinite by
up to the norm of a random matrix of such entries, and its diagonal is raised by as much:

    K_ii + 2 sqrt(m) e s_i,        |dK_ij / dG_ij| <= sqrt(s_i s_j)                                            (1)

A G of integer products is the gram matrix of rounded records, and needs none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, Array, At, Coordinator, Holder, Labeller, Message, Run, State
from tacit.errors import LocalError
from tacit.numeric.dual_svm import out_of_fold, solve, solve_numbers
from tacit.numeric.kernels import Kernel, gamma_of
from tacit.numeric.triangle import unpack
from tacit.protocols.platt import Scores, own_platt


class Targeted(Protocol):
    """A party's records with their targets."""

    X: F64
    y: Array | None
    weight: F64 | None


class Codes(Protocol):
    """What the coordinator knows of classes: an index and a weight for every record."""

    @property
    def codes(self) -> I64:
        """Indices into the names of the classes."""
        ...

    @property
    def weight(self) -> F64 | None:
        """Of every record."""
        ...


class Support(Message, tells="which records are support vectors"):
    """Row numbers."""

    rows: I64


class Numbers(Message, tells="the target and the weight of each of the sender's records, in clear", ragged=True):
    """What a regression learns."""

    values: F64
    weight: F64 | None


class KnownNumbers(State):
    """Targets and weights of all records, in the order of their holders."""

    values: F64
    weight: F64 | None


class DualModel(State):
    """The coordinator's share: coefficients, biases, kernel, x_i . x_i of the support vectors, and where it is linear `lengths` of w."""

    coef: F64
    bias: F64
    norms: F64
    objective: F64
    iterations: int
    kernel: str
    gamma: float
    degree: int
    coef0: float
    length: F64 | None = None


class SupportColumns(State):
    """A holder's share: what it owns of the support vectors; `owned` where it has a part of the cells only, and zeros elsewhere."""

    X: F64
    owned: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Extent:
    """Records and columns of the whole table, and by how much an entry of its gram matrix is off: a standard deviation.

    Or, where it is that of rounded cells, their bits and the range that was declared for them.
    """

    records: int
    columns: int
    error: float = 0.0
    bits: int | None = None
    declared: float = 0.0


@dataclass(frozen=True)
class Learner:
    """What is learnt from a kernel matrix: classes, or with `epsilon` numbers."""

    C: float
    tol: float
    max_iter: int
    epsilon: float | None = None


@dataclass(frozen=True)
class Gram:
    """Names of the classes, the size of the table; at the coordinator labels, the sum of all cells, and G in packed bands."""

    classes: tuple[Any, ...]
    extent: Extent
    labels: At[Any]
    cells: At[Any]
    bands: At[tuple[F64, ...]]


def learnt(run: Run, gram: Gram, *, shape: Kernel, gamma: float | str, learner: Learner, probability: bool, keep: Keep) -> dict[str, Any]:
    """Everyone's share of the model of a gram matrix; with `probability` what turns decision values into probabilities, for everyone."""
    table, AB = (gram.bands, gram.extent, gram.labels, gram.cells, shape, gamma), None
    shares = shared_out(run, run.local(Coordinator, fit, *table, learner), keep)
    if probability:
        AB = own_platt(run, run.local(Coordinator, left_out, *table, learner), at=Coordinator)
    return {"classes": gram.classes, **shares, "sigmoids": AB}


Keep = Callable[[I64], At[SupportColumns]]


def shared_out(run: Run, model: At[DualModel], keep: Keep) -> dict[str, Any]:
    """Everyone's share of a model that the coordinator solved for; `keep`: what holders have of the support vectors."""
    support = run.publish(Support, run.local(Coordinator, support_of, model))
    run.note(support_vectors=len(support.rows))
    return {
        "support": support.rows,
        "dual": run.local(Coordinator, compact, model, support.rows),
        "columns": keep(support.rows),
    }


def numbers_to_coordinator(run: Run, data: At[Any], *, by_rows: bool) -> At[KnownNumbers]:
    """The targets of a regression, from the labeller or from every holder of rows."""
    if not by_rows:
        told = run.send(Numbers, Labeller >> Coordinator, run.local(Labeller, numbers_of, data, run.who(Labeller)))
        return run.local(Coordinator, known, told)
    told = run.send(Numbers, Holder >> Coordinator, run.local(Holder, numbers_of, data, run.who(Holder)))
    return run.local(Coordinator, all_known, told)


# Steps at the holders


def numbers_of(part: Targeted, me: str) -> Numbers:
    """In clear."""
    if part.y is None and len(part.X):
        raise LocalError(f"{me} holds no targets of its records: name the party that does (labeller=...), by rows give y at every party")
    return Numbers(np.empty(0) if part.y is None else part.y.astype(np.float64), part.weight)


# Steps at the coordinator


def known(told: Numbers) -> KnownNumbers:
    """Of one party that has them all."""
    return KnownNumbers(told.values, told.weight)


def all_known(told: Mapping[str, Numbers]) -> KnownNumbers:
    """Of all holders, in their order."""
    values = np.concatenate([message.values for message in told.values()])
    if all(message.weight is None for message in told.values()):
        return KnownNumbers(values, None)
    each = [np.ones(len(message.values)) if message.weight is None else message.weight for message in told.values()]
    return KnownNumbers(values, np.concatenate(each))


def fit(packed: tuple[F64, ...], extent: Extent, labels: Any, cells: Any, shape: Kernel, gamma: float | str, learner: Learner) -> DualModel:
    """Solve the dual problem on the kernel matrix of G; `coef` over all records still."""
    K, kernel, norms = kernel_matrix(packed, extent, cells, shape, gamma)
    how: dict[str, Any] = {"C": learner.C, "tol": learner.tol, "max_iter": learner.max_iter}
    if learner.epsilon is None:
        check_count(len(labels.codes), extent)
        found = solve(K, labels.codes, labels.weight, **how)
    else:
        check_count(len(labels.values), extent)
        found = solve_numbers(K, labels.values, labels.weight, epsilon=learner.epsilon, **how)
    numbers = (kernel.name, kernel.gamma, kernel.degree, kernel.coef0)
    length = lengths(found.coef, K, norms, extent) if kernel.name == "linear" else None
    return DualModel(found.coef, found.bias, norms, found.objective, found.iterations, *numbers, length)


def lengths(coef: F64, K: F64, norms: F64, extent: Extent) -> F64:
    """What no |w_f| exceeds: |w|, and what w is off at most where the cells of G are rounded, each by half of 2^(e-b), 2^e < 2 max |x|."""
    largest = max(float(np.sqrt(norms.max(initial=0.0))), extent.declared)
    off = 0.0 if extent.bits is None else largest * 2.0**-extent.bits
    squares = np.einsum("ki,ki->k", coef @ K, coef)  # (1) makes up for what its entries are off
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)) + off * np.abs(coef).sum(axis=1))


def left_out(
    packed: tuple[F64, ...], extent: Extent, labels: Codes, cells: Any, shape: Kernel, gamma: float | str, learner: Learner
) -> Scores:
    """Decision values of every record from a model that did not see it."""
    K, _, _ = kernel_matrix(packed, extent, cells, shape, gamma)
    return Scores(*out_of_fold(K, labels.codes, labels.weight, C=learner.C, tol=learner.tol, max_iter=learner.max_iter))


def check_count(labels: int, extent: Extent) -> None:
    """One label for each record."""
    if labels != extent.records:
        raise LocalError(f"{labels} labels for {extent.records} records: the labeller must hold one label per record")


def kernel_matrix(packed: tuple[F64, ...], extent: Extent, cells: Any, shape: Kernel, gamma: float | str) -> tuple[F64, Kernel, F64]:
    """K, its kernel, and x_i . x_i."""
    records, columns = extent.records, extent.columns
    G = unpack(packed, records)
    norms = G.diagonal().copy()
    number = gamma_of(gamma, columns, records * columns, float(np.sum(cells)), float(norms.sum()))
    kernel = Kernel(shape.name, number, shape.degree, shape.coef0)
    K = kernel.from_dots(G, norms, norms)
    K[np.diag_indices(records)] += 2 * np.sqrt(records) * extent.error * kernel.slopes(norms)  # (1)
    return K, kernel, norms


def support_of(model: DualModel) -> Support:
    """Records with a coefficient in any problem."""
    return Support(np.flatnonzero(np.any(model.coef, axis=0)))


def compact(model: DualModel, rows: I64) -> DualModel:
    """The model on its support vectors only."""
    return dataclasses.replace(model, coef=model.coef[:, rows], norms=model.norms[rows])


def decided(model: DualModel, products: F64, own: F64) -> F64:
    """Decision values from dot products with the support vectors, and z . z where the kernel is rbf; `products` is overwritten."""
    kernel = Kernel(model.kernel, model.gamma, model.degree, model.coef0)
    values: F64 = kernel.from_dots(products, own, model.norms) @ model.coef.T + model.bias
    return values
