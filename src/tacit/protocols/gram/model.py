"""From a gram matrix to a model in shares: what all gram SVMs do once the coordinator has it.

The coordinator makes the kernel matrix of G and solves the dual problems of `numeric.svm.dual_svm`: of classes, each
against the rest or each against each, or of numbers with an insensitive zone. It keeps the coefficients and publishes
which records are support vectors; every holder keeps what it owns of these. Where fixed point has rounded the entries
of G, with standard deviation e, the kernel matrix of m records is indefinite by up to the norm of a random matrix of
such entries, and its diagonal is raised by as much:

    K_ii + 2 sqrt(m) e s_i,        |dK_ij / dG_ij| <= sqrt(s_i s_j)                                            (1)

A G of integer products is the gram matrix of rounded records, and needs none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Fact, Holder, Labeller, Message, Result, Run, State
from tacit.errors import LocalError
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.svm.dual_svm import out_of_fold, solve, solve_numbers
from tacit.numeric.svm.kernels import Kernel, gamma_of
from tacit.numeric.svm.problems import OVR, value_classes
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.scores.platt import Scores, own_platt
from tacit.protocols.settings import Solver
from tacit.protocols.work import SOLVER

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


class Codes(Protocol):
    """What the coordinator knows of classes: an index and a weight for every record."""

    @property
    def codes(self) -> I64:
        """Indices into the names of the classes."""
        ...

    @property
    def weight(self) -> F64 | None:
        """The weight of every record."""
        ...


class Support(Message, tells=SUPPORT):
    """The row numbers of the support vectors."""

    rows: I64


class Numbers(
    Message,
    tells=Fact(
        "gram.numbers_in_clear",
        "holder",
        "label",
        "record",
        "the target and the weight of each of the sender's records, in clear",
    ),
    ragged=True,
):
    """The targets of a regression."""

    values: F64
    weight: F64 | None


class KnownNumbers(State):
    """Targets and weights of all records, in the order of their holders."""

    values: F64
    weight: F64 | None


Targets = Codes | KnownNumbers


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
class Asked:
    """What a training asks for beside the gram matrix itself.

    cells: the sum of all cells too. numbers: targets are numbers. class_weight: how labels are weighted. band: how many
    entries are summed at once. scored: how many trainings on all records the scores of a search are worth.
    """

    cells: bool
    class_weight: ClassWeight
    band: int
    numbers: bool = False
    scored: float = 0.0


@dataclass(frozen=True)
class Gram:
    """A gram matrix at the coordinator, with all that a training needs beside it.

    classes, extent: the names of the classes and the size of the table, which are public. labels, cells, bands: at the
    coordinator, the labels, the sum of all cells, and G in packed bands.
    """

    classes: Names
    extent: Extent
    labels: At[Targets]
    cells: At[F64 | float]
    bands: At[tuple[F64, ...]]


Keep = Callable[[I64], At[SupportColumns]]


class Shares(Result):
    """A model in shares, and which records are its support vectors."""

    support: I64
    dual: At[DualModel]
    columns: At[SupportColumns]


class Trained(Shares):
    """What a training leaves: with `probability` also what turns decision values into probabilities."""

    classes: Names
    sigmoids: F64 | None


def train_model(
    run: Run, gram: Gram, *, shape: Kernel, gamma: float | str, solver: Solver, keep: Keep, epsilon: float | None = None
) -> Trained:
    """Train on a gram matrix, and give everyone its share of the model.

    With `epsilon` targets are numbers. With `probability` everyone learns what turns decision values into
    probabilities.
    """
    table, AB = (gram.bands, gram.extent, gram.labels, gram.cells, shape, gamma), None
    run.phase(SOLVER)
    shares = share_out(run, run.local(Coordinator, fit, *table, solver, epsilon or 0.0), keep)
    if solver.probability:
        AB = own_platt(run, run.local(Coordinator, score_left_out, *table, solver), at=Coordinator)
    return Trained(classes=gram.classes, **shares.as_dict(), sigmoids=AB)


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


def send_numbers(run: Run, data: At[Records], *, by_rows: bool) -> At[KnownNumbers]:
    """Send the targets of a regression to the coordinator, from the labeller or from every holder of rows."""
    if not by_rows:
        told = run.send(Numbers, Labeller >> Coordinator, run.local(Labeller, numbers_of, data, run.who(Labeller)))
        return run.local(Coordinator, know_numbers, told)
    told = run.send(Numbers, Holder >> Coordinator, run.local(Holder, numbers_of, data, run.who(Holder)))
    return run.local(Coordinator, join_numbers, told)


# Steps at the holders


def numbers_of(part: Records, me: str) -> Numbers:
    """Return a holder's targets and weights in clear; refuse records without targets."""
    if part.y is None and len(part.X):
        raise LocalError(
            f"{me} holds no targets of its records: name the party that does (labeller=...), by rows give y at every"
            " party"
        )
    return Numbers(np.empty(0) if part.y is None else part.y.astype(np.float64), part.weight)


# Steps at the coordinator


def know_numbers(told: Numbers) -> KnownNumbers:
    """Return the targets of the one party that has them all."""
    return KnownNumbers(told.values, told.weight)


def join_numbers(told: Mapping[str, Numbers]) -> KnownNumbers:
    """Return the targets of all holders, in their order."""
    values = np.concatenate([message.values for message in told.values()])
    if all(message.weight is None for message in told.values()):
        return KnownNumbers(values, None)
    each = [np.ones(len(message.values)) if message.weight is None else message.weight for message in told.values()]
    return KnownNumbers(values, np.concatenate(each))


def fit(
    packed: tuple[F64, ...],
    extent: Extent,
    labels: Targets,
    cells: F64 | float,
    shape: Kernel,
    gamma: float | str,
    solver: Solver,
    epsilon: float,
) -> DualModel:
    """Solve the dual problem on the kernel matrix of G; the coefficients are still over all records."""
    K, kernel, norms = kernel_matrix(packed, extent, cells, shape, gamma)
    if isinstance(labels, KnownNumbers):
        check_count(len(labels.values), extent)
        C, tol, max_iter = solver.C, solver.tol, solver.max_iter
        found = solve_numbers(K, labels.values, labels.weight, C=C, epsilon=epsilon, tol=tol, max_iter=max_iter)
    else:
        check_count(len(labels.codes), extent)
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


def score_left_out(
    packed: tuple[F64, ...],
    extent: Extent,
    labels: Codes,
    cells: F64 | float,
    shape: Kernel,
    gamma: float | str,
    solver: Solver,
) -> Scores:
    """Return decision values of every record from a model that did not see it."""
    K, _, _ = kernel_matrix(packed, extent, cells, shape, gamma)
    return Scores(*out_of_fold(K, labels.codes, labels.weight, **solver.way))


def check_count(labels: int, extent: Extent) -> None:
    """Refuse a table that does not have one label for each record."""
    if labels != extent.records:
        raise LocalError(f"{labels} labels for {extent.records} records: the labeller must hold one label per record")


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
