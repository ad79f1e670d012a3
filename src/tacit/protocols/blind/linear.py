"""The linear kernel in shares, in as many dimensions as there are columns: (1) and (2) of `numeric.shares.dual_plan`.

    X less its means, and X'X             from one opening of X - A (`blind.cells`)                                  (1)
    R = rho (X'X + rho I)^-1              from squares of columns x columns (`blind.iterate`) and a Newton step    (2)
    N = R X', Z = I - X N / rho           two products of matrices (`shares.matrices`)                               (3)
    w = N q, b = rho mean(q) - means . w  with the q at the end of (2) of `numeric.shares.dual_plan`                 (4)

The whole table is in shares from the start, however it is split. A holder's share of the model is a share of w and b,
and no record is needed to ask it. One number is opened, the mean of the diagonal of PKP, as with polynomial kernels.

Roles, threat: as `shares.dealing`. Source: ours; (3) is Woodbury's identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.shares.dual_plan import (
    CELL_BITS,
    DELTA,
    K_BITS,
    MEAN,
    Q_BITS,
    W_BITS,
    DualPlan,
    Narrow,
    Spectrum,
    check_answers,
    choose_cell_bits,
    describe_linear,
    plan_narrow,
)
from tacit.numeric.shares.powers import choose_exponent
from tacit.protocols.blind.cells import Grams, Scaled, fold, own_dots, own_table
from tacit.protocols.blind.goals import SideShare
from tacit.protocols.blind.iterate import add_squares, iterate, repeat, subtract_means, take_from_one
from tacit.protocols.blind.kernels import Asked, mean_diagonal, move_point
from tacit.protocols.blind.owners import agreed_range
from tacit.protocols.facts import UNIFORM
from tacit.protocols.part import Table
from tacit.protocols.shares.dealing import Dealing, deal
from tacit.protocols.shares.gates import multiply, open_masked, subtract_mask, triangle_size, truncate
from tacit.protocols.shares.matrices import Crossed, multiply_matrices, open_once
from tacit.protocols.sums.secure_sum import protect


@dataclass(frozen=True)
class Centred:
    """Shares of (1): X, its means and X'X.

    exponent: no cell is above 2^exponent. cells: how many bits a cell has after the point. halvings: columns are
    divided by 2^halvings. spectrum: what is public of the kernel.
    """

    X: At[U64]
    means: At[U64]
    S: At[U64]
    columns: int
    exponent: int
    cells: int
    halvings: int
    spectrum: Spectrum

    @property
    def divisor(self) -> float:
        """By what the kernel is divided."""
        return 4.0**self.halvings


@choreography(opens={Holder: UNIFORM})
def centre_table(run: Run, dealing: Dealing, data: At[Table], owners: Owners, asked: Asked) -> Centred:
    """Return shares of (1)."""
    n, columns = owners.shape
    exponent = agreed_range(run, [data], asked.declared, protect(run))
    bits = choose_cell_bits(n, exponent)
    own = run.local(Holder, own_table, data, owners, Scaled(1.0, bits), run.who(Holder))
    means = truncate(run, dealing, run.local(Holder, add_rows, own, n), MEAN, size=columns)
    X = run.local(Holder, subtract_columns, own, means)
    dealt, _ = deal(run, dealing, Grams(columns, n))
    masked = run.local(Holder, subtract_mask, run.local(Holder, transpose, X, n), dealt, dealing.ring)
    opened = open_masked(run, masked, ring=dealing.ring)
    S = run.local(Holder, fold, run.local(Holder, own_dots, opened, dealt, columns, dealing.first))
    mean = mean_diagonal(run, dealing, S, columns, 2 * bits) * columns / n
    halvings = -(-choose_exponent(mean, 2 * bits) // 2)
    return Centred(X, means, S, columns, exponent, bits, halvings, describe_linear(n, mean / 4.0**halvings))


@choreography(opens={Holder: UNIFORM})
def solve_narrow(
    run: Run, dealing: Dealing, made: Centred, sides: At[SideShare], plan: DualPlan
) -> tuple[At[U64], At[U64]]:
    """Return shares of w and b / C, (4); refuse what would not fit."""
    check_answers(plan.n, made.columns * 4.0**made.exponent / made.divisor, plan.C)
    narrow = plan_narrow(plan, made.columns, made.exponent, made.cells, made.halvings)
    Z, N = resolve_narrow(run, dealing, made, plan, narrow)
    q = iterate(run, dealing, open_once(run, dealing, Z, plan.n), sides, plan)
    return find_weights(run, dealing, N, q, sides, made, plan, narrow)


@choreography(opens={Holder: UNIFORM})
def new_cells(
    run: Run, data: At[Table], owners: Owners, declared: float | None, trained_on: int, price: float, divisor: float
) -> At[U64]:
    """Return shares of new records, in the unit of w, with `CELL_BITS` after the point.

    price: C times the divisor.
    """
    exponent = agreed_range(run, [data], declared, protect(run))
    check_answers(trained_on, owners.shape[1] * 4.0**exponent / divisor, price)
    return run.local(Holder, own_table, data, owners, Scaled(divisor**-0.5, CELL_BITS), run.who(Holder))


@choreography(opens={Holder: UNIFORM})
def resolve_narrow(
    run: Run, dealing: Dealing, made: Centred, plan: DualPlan, narrow: Narrow
) -> tuple[At[U64], At[U64]]:
    """Return shares of Z as a triangle, with `plan.z_bits` after the point, and of N, a row for each column, (3)."""
    n, d = plan.n, made.columns
    R = invert(run, dealing, made.S, plan, narrow, d)
    product = multiply_matrices(run, dealing, R, made.X, Crossed(d, n, d))
    N = move_point(run, dealing, product, narrow.R + narrow.centred - narrow.N, size=d * n)
    of = Crossed(n, n, d, lower=True)
    XN = multiply_matrices(run, dealing, made.X, run.local(Holder, transpose, N, d), of)
    down = narrow.centred + narrow.N + narrow.k - plan.z_bits
    cut = truncate(run, dealing, run.local(Holder, times, XN, narrow.over_rho), down, size=triangle_size(n))
    return run.local(Holder, take_from_one, cut, n, plan.z_bits, dealing.first), N


@choreography(opens={Holder: UNIFORM})
def invert(run: Run, dealing: Dealing, S: At[U64], plan: DualPlan, narrow: Narrow, d: int) -> At[U64]:
    """Return shares of R row by row, with `narrow.R` bits after the point, (2)."""
    size, square = triangle_size(d), Crossed(d, d, d)
    moved = move_point(run, dealing, S, 2 * narrow.centred + narrow.shift - K_BITS, size=size)
    start = run.local(Holder, take_from_one, moved, d, K_BITS, dealing.first)
    half = add_squares(run, dealing, start, plan.squares.weights, n=d, bits=K_BITS)
    R = run.local(Holder, unfold, half, d)
    cut = move_point(run, dealing, S, 2 * narrow.centred - narrow.S, size=size)
    SR = multiply_matrices(run, dealing, run.local(Holder, unfold, cut, d), R, square)
    over = run.local(Holder, times, SR, narrow.over_rho)
    error = truncate(run, dealing, over, narrow.S + narrow.k, size=d * d)
    step = run.local(Holder, newton_step, error, R, d, dealing.first)
    return truncate(run, dealing, multiply_matrices(run, dealing, R, step, square), 2 * K_BITS - narrow.R, size=d * d)


@choreography(opens={Holder: UNIFORM})
def find_weights(
    run: Run,
    dealing: Dealing,
    N: At[U64],
    q: At[U64],
    sides: At[SideShare],
    made: Centred,
    plan: DualPlan,
    narrow: Narrow,
) -> tuple[At[U64], At[U64]]:
    """Return shares of w with `W_BITS` after the point, and of b / C with `ROW_BITS` + `Q_BITS`, (4)."""
    n, m, d = plan.n, plan.problems, made.columns
    product = multiply_matrices(run, dealing, N, run.local(Holder, transpose, q, n), Crossed(d, m, n))
    w = truncate(run, dealing, product, narrow.N + Q_BITS - W_BITS, size=d * m)
    means = move_point(run, dealing, made.means, narrow.centred - CELL_BITS, size=d)
    along = multiply(run, dealing, run.local(Holder, repeat, means, m), w, size=d * m)
    return w, run.local(Holder, subtract_means, along, q, sides, plan)


# Steps at the holders


def add_rows(table: U64, n: int) -> U64:
    """Return the share of the means of all columns, with `MEAN` more bits after the point."""
    sums: U64 = table.reshape(n, -1).sum(axis=0)
    return sums * np.uint64(round(2**MEAN / n))


def subtract_columns(table: U64, means: U64) -> U64:
    """Return the share of the table with centred columns."""
    return (table.reshape(-1, means.size) - means).ravel()


def transpose(words: U64, rows: int) -> U64:
    """Return a matrix of so many rows column by column."""
    return words.reshape(rows, -1).T.ravel()


def unfold(triangle: U64, n: int) -> U64:
    """Return a symmetric matrix row by row."""
    found: U64 = unpack([triangle], n).ravel()
    return found


def newton_step(SR: U64, R: U64, d: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of the factor of R in (3) of the plan, column by column."""
    found = np.uint64(0) - (SR + R).reshape(d, d).T
    if first:
        np.einsum("ii->i", found)[:] += np.uint64((2 << K_BITS) - (1 << (K_BITS - DELTA)))
    return found.ravel()


def times(words: U64, factor: int) -> U64:
    """Return the share of a whole multiple."""
    return words * np.uint64(factor)
