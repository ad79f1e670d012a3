"""From a gram matrix to a model in shares: what all gram SVMs do once the coordinator has it.

The coordinator makes the kernel matrix of G and solves the dual problems of `dual_svm`. It keeps the coefficients and
publishes which records are support vectors; every holder keeps what it owns of these. Where fixed point has rounded the
entries of G, with standard deviation e, the kernel matrix of m records is indefinite by up to the norm of a random
matrix of such entries, and its diagonal is raised by as much:

    K_ii + 2 sqrt(m) e s_i,        |dK_ij / dG_ij| <= sqrt(s_i s_j)                                            (1)

A G of integer products is the gram matrix of rounded records, and needs none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Fact, Message, Result, Run, State
from tacit.errors import LocalError
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.svm.kernels import OVR, Kernel
from tacit.papers.dual_svm import Solver, solve
from tacit.papers.labels import LabelledRows, Labels
from tacit.papers.machine import gamma_of, value_classes
from tacit.protocols.part import Names

GRAM_MATRIX = Fact(
    "gram.matrix", "holders", "record", "record", "the gram matrix, which is every record up to one unknown rotation"
)
CELL_SUM = Fact("gram.cell_sum", "holders", "aggregate", "all", "with gamma='scale' the sum of all cells")
SUPPORT = Fact("gram.support", "holders", "membership", "record", "which records are support vectors")
NEW_PRODUCTS = Fact(
    "gram.new_products",
    "holders",
    "record",
    "record",
    "dot products of each new record with every support vector, and with rbf its length, which is the record up to the"
    " same rotation",
)


class Support(Message, tells=SUPPORT):
    """The row numbers of the support vectors."""

    rows: I64


class DualModel(State):
    """The coordinator's share of a model.

    Coefficients and biases by problem, the kernel, x_i . x_i of the support vectors, for the linear kernel bounds of w
    (`bound_weights`), and which problems several classes are.
    """

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
    multi_class: str = OVR


class SupportColumns(State):
    """A holder's share of a model: what it owns of the support vectors.

    `owned` says which cells these are, where it owns a part of them only; the others are zero.
    """

    X: F64
    owned: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Extent:
    """The size of the whole table, and how exact its gram matrix is.

    error: the standard deviation by which an entry is off. bits, declared: of a gram matrix of rounded cells, how many
    bits a cell has and the range that was declared for it.
    """

    records: int
    columns: int
    error: float = 0.0
    bits: int | None = None
    declared: float = 0.0


@dataclass(frozen=True)
class Gram:
    """A gram matrix at the coordinator, with all that a training needs beside it.

    classes, extent: the names of the classes and the size of the table, which are public. labels, cells, bands: at the
    coordinator, the labels, the sum of all cells, and G in packed bands.
    """

    classes: Names
    extent: Extent
    labels: At[LabelledRows] | At[Labels]
    cells: At[F64 | float]
    bands: At[tuple[F64, ...]]


Keep = Callable[[I64], At[SupportColumns]]


class Shares(Result):
    """A model in shares, and which records are its support vectors."""

    support: I64
    dual: At[DualModel]
    columns: At[SupportColumns]


class Trained(Shares):
    """What a training leaves."""

    classes: Names


def train_model(run: Run, gram: Gram, *, shape: Kernel, gamma: float | str, solver: Solver, keep: Keep) -> Trained:
    """Train on a gram matrix, and give everyone its share of the model."""
    model = run.local(Coordinator, fit, gram.bands, gram.extent, gram.labels, gram.cells, shape, gamma, solver)
    return Trained(classes=gram.classes, **share_out(run, model, keep).as_dict())


def share_out(run: Run, model: At[DualModel], keep: Keep) -> Shares:
    """Give everyone its share of a model that the coordinator solved for.

    `keep` makes what holders have of the support vectors.
    """
    support = run.publish(Support, run.local(Coordinator, find_support, model))
    run.note(support_vectors=len(support.rows))
    return Shares(
        support=support.rows,
        dual=run.local(Coordinator, drop_others, model, support.rows),
        columns=keep(support.rows),
    )


# Steps at the coordinator


def fit(
    packed: tuple[F64, ...],
    extent: Extent,
    labels: LabelledRows | Labels,
    cells: F64 | float,
    shape: Kernel,
    gamma: float | str,
    solver: Solver,
) -> DualModel:
    """Solve the dual problems on the kernel matrix of G; the coefficients are still over all records."""
    if len(labels.codes) != extent.records:
        raise LocalError(
            f"{len(labels.codes)} labels for {extent.records} records: the labeller must hold one label per record"
        )
    K, kernel, norms = kernel_matrix(packed, extent, cells, shape, gamma)
    found = solve(K, labels.codes, labels.weight, **solver.way)
    numbers = (kernel.name, kernel.gamma, kernel.degree, kernel.coef0)
    length = bound_weights(found.coef, K, norms, extent) if kernel.name == "linear" else None
    return DualModel(
        found.coef, found.bias, norms, found.objective, found.iterations, *numbers, length, solver.multi_class
    )


def bound_weights(coef: F64, K: F64, norms: F64, extent: Extent) -> F64:
    """Return what no entry of w exceeds, for each problem.

    That is |w|, and what w is off at most where the cells of G are rounded, each by half of 2^(e-b), 2^e < 2 max |x|.
    """
    largest = max(float(np.sqrt(norms.max(initial=0.0))), extent.declared)
    off = 0.0 if extent.bits is None else largest * 2.0**-extent.bits
    squares = np.einsum("ki,ki->k", coef @ K, coef)  # (1) makes up for what its entries are off
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)) + off * np.abs(coef).sum(axis=1))


def kernel_matrix(
    packed: tuple[F64, ...], extent: Extent, cells: F64 | float, shape: Kernel, gamma: float | str
) -> tuple[F64, Kernel, F64]:
    """Return the kernel matrix of G, the kernel with gamma as a number, and x_i . x_i."""
    records, columns = extent.records, extent.columns
    G = unpack(packed, records)
    norms = G.diagonal().copy()
    number = gamma_of(gamma, columns, records * columns, float(np.sum(cells)), float(norms.sum()))
    kernel = Kernel(shape.name, number, shape.degree, shape.coef0)
    K = kernel.from_dots(G, norms, norms)
    K[np.diag_indices(records)] += 2 * np.sqrt(records) * extent.error * kernel.slopes(norms)  # (1)
    return K, kernel, norms


def find_support(model: DualModel) -> Support:
    """Return the records that have a coefficient in any problem."""
    return Support(np.flatnonzero(np.any(model.coef, axis=0)))


def drop_others(model: DualModel, rows: I64) -> DualModel:
    """Return the model on its support vectors only."""
    return dataclasses.replace(model, coef=model.coef[:, rows], norms=model.norms[rows])


def decide(model: DualModel, products: F64, own: F64) -> F64:
    """Return the decision values of all classes from dot products with the support vectors; `products` is overwritten.

    own: z . z of every new record, which the rbf kernel needs.
    """
    kernel = Kernel(model.kernel, model.gamma, model.degree, model.coef0)
    return value_classes(kernel.from_dots(products, own, model.norms) @ model.coef.T + model.bias, model.multi_class)
