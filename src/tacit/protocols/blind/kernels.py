"""Which kernel is made in shares, over which split, and what is public of it.

By columns, rows and cells: RBF from `blind.kernels` and `blind.cells`, polynomial ones from `blind.kernels`. The linear
kernel is made in fewer dimensions (`blind.linear`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import K_BITS, RBF, ROW_BITS, Spectrum, check_answers, describe_powers
from tacit.numeric.shares.powers import Powers, choose_exponent, plan_powers
from tacit.protocols.blind.cells import Scaled, cell_dots, cell_kernel, cross_dots, cross_kernel, scale_cells
from tacit.protocols.blind.owners import agreed_range
from tacit.protocols.facts import MAGNITUDES, UNIFORM
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import Table
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, share_anew, triangle_size, truncate
from tacit.protocols.sums.secure_sum import protect

KERNELS = RADIAL, LINEAR, POLYNOMIAL = "rbf", "linear", "poly"
Between = tuple[Owners, Owners]


@dataclass(frozen=True)
class Asked:
    """A kernel over a split of the table.

    gamma: a number. declared: the range of the cells, or None. C: the price of an error.
    """

    partition: str
    kernel: AnyKernel
    gamma: float
    declared: float | None
    C: float


@dataclass(frozen=True)
class Made:
    """Shares of a kernel matrix as a triangle, divided by `divisor`, and what is public of it."""

    K: At[U64]
    divisor: float
    spectrum: Spectrum


def check_kernel(kernel: AnyKernel) -> None:
    """Refuse kernels that are not positive: their dual has no one solution."""
    if kernel.name not in KERNELS:
        raise LocalError(
            f"features='exact' is for kernel={', '.join(map(repr, KERNELS[:-1]))} or {KERNELS[-1]!r}, not"
            f" {kernel.name!r}: use one of them"
        )


def choose_gamma(run: Run, dealing: Dealing, data: At[Table], kernel: AnyKernel, n: int, columns: int) -> float:
    """Return gamma as a number; 'scale' opens the variance of all cells."""
    if kernel.is_scaled:
        return scale_gamma(run, dealing, data, n * columns, columns)
    return 1.0 / columns if isinstance(kernel.gamma, str) else kernel.gamma


def known_gamma(kernel: AnyKernel) -> float:
    """Return gamma of a trained model; refuse one that depends on records."""
    check_kernel(kernel)
    if isinstance(kernel.gamma, str):
        raise LocalError(f"gamma={kernel.gamma!r} depends on records: give the number that the training published")
    return kernel.gamma


def make_kernel(run: Run, dealing: Dealing, data: At[Table], owners: Owners, asked: Asked) -> Made:
    """Return shares of the kernel matrix."""
    if asked.kernel.name != RADIAL:
        return make_powers(run, dealing, data, owners, asked)
    if asked.partition == "vertical":
        factor = run.local(Holder, triangle_factor, data, asked.gamma)
        return Made(multiply_factors(run, dealing, factor, size=triangle_size(owners.shape[0])), 1.0, RBF)
    exponent = agreed_range(run, [data], asked.declared, protect(run))
    return Made(cell_kernel(run, dealing, data, owners, scale_cells(asked.gamma, owners.shape[1], exponent)), 1.0, RBF)


def make_powers(run: Run, dealing: Dealing, data: At[Table], owners: Owners, asked: Asked) -> Made:
    """Return shares of a polynomial kernel matrix, divided by a power of two."""
    n, columns = owners.shape
    powers = bound_powers(run, [data], asked, columns)
    if asked.partition == "vertical":
        dots = run.local(Holder, triangle_dots, data, powers, run.who(Holder))
    else:
        dots = cell_dots(run, dealing, data, owners, scale_dots(powers), powers.bits)
    K = raise_dots(run, dealing, dots, powers, size=triangle_size(n))
    exponent = choose_exponent(mean_diagonal(run, dealing, K, n, powers.bits), powers.bits)
    spectrum = describe_powers(n, powers.largest / 2.0**exponent)
    down = powers.bits + exponent - K_BITS
    return Made(move_point(run, dealing, K, down, size=triangle_size(n)), 2.0**exponent, spectrum)


def cross(
    run: Run, dealing: Dealing, new: At[Table], old: At[Table], between: Between, asked: Asked, divisor: float
) -> At[U64]:
    """Return shares of the kernel between new records and those of the training, with `ROW_BITS` after the point."""
    size = between[0].shape[0] * between[1].shape[0]
    if asked.kernel.name != RADIAL:
        return cross_powers(run, dealing, new, old, between, asked, divisor)
    if asked.partition == "vertical":
        factor = run.local(Holder, new_factor, new, old, asked.gamma)
        return multiply_factors(run, dealing, factor, size=size, bits=ROW_BITS)
    exponent = agreed_range(run, [new, old], asked.declared, protect(run))
    K = cross_kernel(run, dealing, new, old, between, scale_cells(asked.gamma, between[0].shape[1], exponent))
    return truncate(run, dealing, K, K_BITS - ROW_BITS, size=size)


def cross_powers(
    run: Run, dealing: Dealing, new: At[Table], old: At[Table], between: Between, asked: Asked, divisor: float
) -> At[U64]:
    """Return shares of a polynomial kernel between new records and those of the training."""
    size = between[0].shape[0] * between[1].shape[0]
    powers = bound_powers(run, [new, old], asked, between[0].shape[1])
    check_answers(between[1].shape[0], powers.largest / divisor, asked.C * divisor)
    if asked.partition == "vertical":
        dots = run.local(Holder, new_dots, new, old, powers, run.who(Holder))
    else:
        dots = cross_dots(run, dealing, new, old, between, scale_dots(powers), powers.bits)
    K = raise_dots(run, dealing, dots, powers, size=size)
    return move_point(run, dealing, K, powers.bits + round(math.log2(divisor)) - ROW_BITS, size=size)


def bound_powers(run: Run, held: list[At[Table]], asked: Asked, columns: int) -> Powers:
    """Return the bits of a polynomial kernel, from the range that no cell leaves."""
    exponent = agreed_range(run, held, asked.declared, protect(run))
    return plan_powers(asked.gamma, asked.kernel.coef0, asked.kernel.degree, columns, exponent)


def scale_dots(powers: Powers) -> Scaled:
    """Return how cells become words whose products are gamma times those of the cells."""
    return Scaled(math.sqrt(powers.gamma), powers.cell_bits)


# Kernel matrices in shares.
#
# By columns the RBF kernel is a product of what each holder knows by itself, and no exponential is taken in shares:
#
#     K_ij = exp(-gamma |x_i - x_j|^2) = prod_p F^p_ij,        F^p_ij = exp(-gamma |x_ip - x_jp|^2)                  (1)
#
# The factors are multiplied two by two, ceil(log2 M) times a product and a truncation.
#
# gamma='scale' needs the variance of all cells. It is computed in shares from the holders' sums and squares, and only
# this one number is opened:
#
#     var = sum_p s_p / N - (sum_p c_p / N)^2,        c_p, s_p: sums of a holder's cells and of their squares        (2)


MEAN_BITS = 20  # after the point, of a mean of cells; twice as many of its square


class VarianceShare(Message, tells=MAGNITUDES):
    """A holder's share of (2), which all of them together open."""

    word: U64


@choreography(opens={Everyone: MAGNITUDES})
def scale_gamma(run: Run, dealing: Dealing, data: At[Table], cells: int, columns: int) -> float:
    """Return scikit-learn's gamma='scale', by (2)."""
    mean = run.local(Holder, own_mean, data, cells, run.who(Holder))
    squares = run.local(Holder, own_squares, data, cells, run.who(Holder))
    product = multiply(run, dealing, mean, mean, size=1)
    told = run.publish_all(VarianceShare, run.local(Holder, share_variance, squares, product))
    word = Z64.total(message.word for message in told.values())
    variance = float(FixedPoint(2 * MEAN_BITS).decode(word)[0])
    return 1.0 / (columns * variance) if variance > 0 else 1.0


@choreography(opens={Holder: UNIFORM})
def multiply_factors(run: Run, dealing: Dealing, factors: At[U64], *, size: int, bits: int = K_BITS) -> At[U64]:
    """Return shares of (1) with `bits` after the point, from each holder's own factor with `K_BITS`."""
    M = len(run.roster[Holder])
    stack = run.local(Holder, own_row, factors, run.who(Holder), run.roster[Holder])
    while M > 1:
        half, after = M // 2, K_BITS if M > 2 else bits  # noqa: PLR2004 - the last product of two
        x, y = run.local(Holder, take_lines, stack, 0, half), run.local(Holder, take_lines, stack, half, 2 * half)
        product = multiply(run, dealing, x, y, size=half * size)
        cut = truncate(run, dealing, product, 2 * K_BITS - after, size=half * size)
        stack, M = run.local(Holder, replace_pairs, cut, stack, half), M - half
    return run.local(Holder, take_lines, stack, 0, 1)


# Steps at the holders


def own_mean(part: Table, cells: int, me: str) -> U64:
    """Return the holder's part of the mean of all cells."""
    return FixedPoint(MEAN_BITS, terms=1 << (MEAN_BITS - 8)).encode(np.array([part.X.sum() / cells]), f"cells of {me}")


def own_squares(part: Table, cells: int, me: str) -> U64:
    """Return the holder's part of the mean of all squares."""
    found = np.array([np.einsum("ij,ij->", part.X, part.X) / cells])
    return FixedPoint(2 * MEAN_BITS, terms=4).encode(found, f"squares of {me}")


def share_variance(squares: U64, product: U64) -> VarianceShare:
    """Return the holder's share of (2)."""
    return VarianceShare(squares - product)


def triangle_factor(part: Table, gamma: float) -> U64:
    """Return a holder's F^p of (1), as a triangle."""
    own = squared_distances(part.X, part.X)
    return _encode(np.exp(-gamma * own)[np.tril_indices(len(own))])


def new_factor(part: Table, train: Table, gamma: float) -> U64:
    """Return a holder's factors between new records and those of the training, row by row."""
    return _encode(np.exp(-gamma * squared_distances(part.X, train.X)).ravel())


def _encode(values: F64) -> U64:
    if not np.isfinite(values).all():
        raise LocalError("a cell is not a finite number: impute or remove it")
    return np.rint(np.ldexp(values, K_BITS)).astype(np.int64).view(np.uint64)


def own_row(factor: U64, me: str, holders: tuple[str, ...]) -> U64:
    """Return shares of all factors, a line each: its own, and zeros."""
    stack = np.zeros((len(holders), factor.size), dtype=np.uint64)
    stack[holders.index(me)] = factor
    return stack


def take_lines(stack: U64, start: int, stop: int) -> U64:
    """Return some of the lines, one after the other."""
    return stack[start:stop].ravel()


def replace_pairs(product: U64, stack: U64, half: int) -> U64:
    """Return the lines that are left: the products of `half` pairs, and a last line that had no partner."""
    return np.concatenate([product.reshape(half, -1), stack[2 * half :]])


def squared_distances(A: F64, B: F64) -> F64:
    """Return |a_i - b_j|^2."""
    lengths = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)[None, :]
    found: F64 = np.maximum(lengths - 2.0 * (A @ B.T), 0.0)
    return found


# Polynomial kernels in shares.
#
#     G_ij = x_i . x_j                        by columns the sum of what each holder knows by itself; by rows and cells
#                                             from one opening (`blind.cells`)                                       (1)
#     K_ij = (gamma G_ij + coef0)^degree      a product and a truncation for every degree but the first              (2)
#     k = sum_i K_ii / n                      opened, one number, as gamma='scale' opens one                         (3)
#
# 2^E is the smallest power of two that is at least k. Then K / 2^E has a diagonal whose mean is at most 1, and so
# eigenvalues of at most n, like the RBF kernel: `numeric.shares.dual_plan` holds. The range of the cells bounds the
# eigenvalues too, but some hundred times too high where a few cells are large, and as many bits would be lost.


class DiagonalShare(Message, tells=MAGNITUDES):
    """A holder's share of the sum of (3), which all of them together open."""

    word: U64


@choreography(opens={Holder: UNIFORM})
def raise_dots(run: Run, dealing: Dealing, dots: At[U64], powers: Powers, *, size: int) -> At[U64]:
    """Return shares of (2) from shares of gamma G, both with `powers.bits` after the point."""
    g = run.local(Holder, add_constant, dots, powers, dealing.first)
    power = g
    for _ in range(powers.degree - 1):
        product = multiply(run, dealing, power, g, size=size)
        power = truncate(run, dealing, product, powers.bits, size=size)
    return power


@choreography(opens={Everyone: MAGNITUDES})
def mean_diagonal(run: Run, dealing: Dealing, K: At[U64], n: int, bits: int) -> float:
    """Open the mean of the diagonal of K, (3), and return it."""
    own = share_anew(run, dealing, run.local(Holder, add_diagonal, K, n), size=1)
    told = run.publish_all(DiagonalShare, run.local(Holder, DiagonalShare, own))
    return float(FixedPoint(bits).decode(Z64.total(message.word for message in told.values()))[0]) / n


@choreography(opens={Holder: UNIFORM})
def move_point(run: Run, dealing: Dealing, K: At[U64], down: int, *, size: int) -> At[U64]:
    """Return shares of K / 2^down, by a truncation, or at each holder by itself where nothing is cut."""
    return truncate(run, dealing, K, down, size=size) if down > 0 else run.local(Holder, shift_up, K, -down)


# Steps at the holders


def triangle_dots(part: Table, powers: Powers, me: str) -> U64:
    """Return the holder's share of gamma G over columns, as a triangle: its own dot products."""
    return _encode_dots((part.X @ part.X.T)[np.tril_indices(len(part.X))], powers, me)


def new_dots(part: Table, train: Table, powers: Powers, me: str) -> U64:
    """Return the holder's share of gamma times the dot products of new and old records over columns, row by row."""
    return _encode_dots((part.X @ train.X.T).ravel(), powers, me)


def _encode_dots(dots: F64, powers: Powers, me: str) -> U64:
    return FixedPoint(powers.bits).encode(powers.gamma * dots, f"dot products of {me}")


def add_constant(dots: U64, powers: Powers, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of gamma G + coef0."""
    return dots + np.uint64(first) * np.uint64(round(np.ldexp(powers.coef0, powers.bits)))


def add_diagonal(K: U64, n: int) -> U64:
    """Return the share of the sum of K's diagonal."""
    i = np.arange(n)
    found: U64 = K[i * (i + 3) // 2].sum(keepdims=True)
    return found


def shift_up(K: U64, by: int) -> U64:
    """Return the share with more bits after the point."""
    found: U64 = np.left_shift(K, np.uint64(by))
    return found
