"""Which kernel is made in shares, over which split, and what is public of it.

By columns, rows and cells: RBF from `blind.kernel` and `blind.cells`, polynomial ones from `blind.powers`. The linear
kernel is made in fewer dimensions (`blind.linear`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.shares.dual_plan import K_BITS, RBF, ROW_BITS, Spectrum, check_answers, describe_powers
from tacit.numeric.shares.powers import Powers, choose_exponent, plan_powers
from tacit.protocols.blind.cells import Scaled, cell_dots, cell_kernel, cross_dots, cross_kernel, scale_cells
from tacit.protocols.blind.kernel import multiply_factors, new_factor, scale_gamma, triangle_factor
from tacit.protocols.blind.owners import agreed_range
from tacit.protocols.blind.powers import mean_diagonal, move_point, new_dots, raise_dots, triangle_dots
from tacit.protocols.part import Table
from tacit.protocols.settings import AnyKernel
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import triangle_size, truncate
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
