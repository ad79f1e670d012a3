"""How an SVM with the hinge is trained in shares in D dimensions: every number that is public before a run begins.

    min_w  1/2 |w|^2 + C sum_i max(0, 1 - y_i z_i.w),            y_i = +-1,  |z_i| <= r

Over-relaxed ADMM with rho = 2^j, kappa = C / rho, in units of kappa: w~ = w / kappa. alpha_i is the dual of row i, and
s_i, the signed y_i alpha_i, lies in [-1, 1]. S = Z'Z, and G is about (I + rho S)^-1:

    X   = y/kappa + [y<0] - (Z W - Sigma)                                                          n values          (1)
    s   = clip(X, 0, 1) - [y<0]                                                                    n values          (2)
    h   = Z's                                                                                      D values          (3)
    r   = rho (S (W - w~) - H + 2 h) - w~                                                          D values          (4)
    w~ += G r;    W = 3/2 w~ - 1/2 W;    H = 3/2 h - 1/2 H;    Sigma = 3/2 s - 1/2 Sigma           w~ is the new one (5)

Labels enter in (1) and (2) only, as numbers that the owner of a row adds to its own share. w~ is moved by a residual
(4), so that the fixed point is w = C Z's whatever G is: G only has to be near. Sigma is a sum of the last J shares of s
with whole weights,

    Sigma = sum_(j<J) c_j s_(t-j),      c_j = 3 (-1)^j 2^-(j+1),      the last one (-1)^(J-1) 2^-(J-1)               (6)

and these add up to 1. The first iteration is free: w = 0, so that the owner of a row knows s = y min(1, 1/kappa).

Prices. A row of price p in [0, 1] has p C in place of C. That is a row p z_i with p y/kappa in (1), by its own owner.
Numbers. A row whose errors of t cost nothing up to e stands twice: with y = 1 and t - e in place of the 1 of the hinge,
and with y = -1 and -t - e; both multiply 1/kappa. At w = 0 one of them costs C |t| at most, so (7) holds for n rows.
Rows that take no part. Their owner adds -2^(I-2) to X, so that X < 0 and s = 0.
Columns with a C of their own. All share Z, S, G and rho, and differ in y/kappa of (1).

No value leaves its window. The iteration is a relaxed Douglas-Rachford iteration, never further from its fixed point V*
than at its start 0, and |w*|^2 <= 2 C n. Only |Z| <= r sqrt(n) is used, so that r may be the root mean square of the
lengths of all rows; but for rows that take no part, of which each is as long as `reach` at most:

    V*   = sqrt(2) r n rho / sqrt(C) + sqrt(n)                     |Z w* / kappa| + |sigma*|                         (7)
    |X| <= 2.2 V* + 1 + 1/kappa                                    10 % are for an inexact G                         (8)
    |w~| <= 1.1 sqrt(rho) (V* + sqrt(n)),    |W| <= 3 |w~|                                                           (9)
    |S (W - w~)| <= 2 r sqrt(n) (2.2 V* + 3 sqrt(n))                                                                (10)

Not proved: that 10 % are enough. G is made 0.8 % smaller than it comes out, so that the step is a proximal one in spite
of G's errors; rounding adds less. Values that were seen are some 2^-10 of these bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.errors import LocalError
from tacit.numeric.shares.lean import Lean
from tacit.numeric.shares.squares import Squares, choose_squares

Z_BITS, Z_LARGEST = 13, 2  # of a cell of a row: after the point, and the size that a row in int16 may have
MIDDLE = 1.7  # of bounds on lengths that are powers of two with room for noise, and the lengths themselves
MOST_LENGTH = 2.0**9  # of rows in shares, as a root mean square
S_BITS = 14  # of s: rows share what they say, so that finer ones make w finer; beside 0 and 1 twelve are right
LIFT = 2  # bits that X has more than a product of Z with W, at least
WORD, ROOM = 64, 62  # bits of a word, and those that a value before a truncation may take
ROW_BYTES = (6, 7)  # of X on the wire: the first that suffices
MOST_BITS = 8 * ROW_BYTES[-1]  # of X
FINE_X = 32  # bits of X after the point, at most: Sigma has a term for each bit that s has less
LEAST_W, MOST_W = 12, 20  # bits of w~ after the point
MOST_G, SPARE_G = 30, 2.5  # of G: its rounding errors have eigenvalues of 0.8 sqrt(D), here 15 % of its smallest one
LEAST_GRAM, MOST_GRAM = 8, 12  # of S; of rho S, where rho is larger than 1
G_ERROR, G_FACTOR = 3e-2, 0.992  # squares that pass the first come out less than 0.8 % too large
MOST_SQUARES = 22  # levels beyond which the weights of squares have too few bits
LEAST_SQUARES = 7
SLACK = 2.2
BATCH = 16  # lines of one batch of products
RATE, ITERATIONS = 0.175, 20  # T = 20 C^0.175


@dataclass(frozen=True)
class HingePlan:
    """The public plan of a training.

    rows: of how many rows each holder knows the labels. exponent: j. iterations: T, with the first, free one. window:
    of X. w_bits: after the point, of w~, W, r, h and H. short_bits: of the W that is multiplied by Z. gram_bits,
    g_bits: of S and G. squares: how G is made, p_0 = I - rho S / 2^shift. partial: rows may take no part. costs: the C
    of each column, where they differ; then `C` is the least of them, for which all windows are widest.
    """

    rows: tuple[int, ...]
    columns: int
    problems: int
    C: float
    exponent: int
    iterations: int
    window: Lean
    w_bits: int
    short_bits: int
    gram_bits: int
    g_bits: int
    squares: Squares
    shift: int
    longest: float = 1.0
    partial: bool = False
    costs: tuple[float, ...] = ()

    @property
    def n(self) -> int:
        """The number of all rows."""
        return sum(self.rows)

    @property
    def kappa(self) -> float:
        """C / rho, the unit of w~."""
        return self.C / 2.0**self.exponent

    @property
    def kappas(self) -> F64:
        """C / rho of each column."""
        return np.array(self.costs or (self.C,) * self.problems) / 2.0**self.exponent

    @property
    def unit(self) -> float:
        """What one unit of the words of the result is worth, of w."""
        return self.kappa * 2.0**-self.w_bits

    @property
    def below(self) -> int:
        """How many bits r has more, where rho < 1 is no whole number."""
        return max(0, -self.exponent)

    @property
    def lift(self) -> int:
        """How many bits X has more after the point than a product of Z with the short W."""
        return self.window.F - Z_BITS - self.short_bits

    @property
    def batches(self) -> tuple[int, ...]:
        """How many iterations each batch of products is made for; the first iteration takes none."""
        most, left = max(1, BATCH // self.problems), self.iterations - 1
        return (*(most for _ in range(left // most)), *((left % most,) if left % most else ()))

    @property
    def weights(self) -> tuple[int, ...]:
        """The weights c_j of (6), times 2^(F - q)."""
        J = self.window.s
        return (*((-1) ** j * 3 * 2 ** (J - 1 - j) for j in range(J - 1)), (-1) ** (J - 1) * 2)

    def decode(self, shares: Sequence[U64]) -> F64:
        """Return w, D x m, from the shares of all holders."""
        words = np.sum(shares, axis=0, dtype=np.uint64).view(np.int64)
        found: F64 = words.reshape(self.columns, self.problems).astype(np.float64) * self.unit
        return found


def plan_hinge(
    rows: Sequence[int],
    columns: int,
    problems: int,
    C: float,
    *,
    iterations: int | None = None,
    longest: float = 1.0,
    reach: float | None = None,
    partial: bool = False,
    costs: tuple[float, ...] = (),
    exponent: int | None = None,
    measured: bool = False,
    margin: float = 1.0,
) -> HingePlan:
    """Return the plan for so many rows of each holder; refuse what would not fit.

    problems: the number of columns of w, one for two classes. longest: r. reach: how long any row is, where r is a root
    mean square. partial: rows may take no part in a problem. exponent: j, if it does not follow from C.
    measured: r was, so that words of X are as wide as they can be whatever it is. margin: the most in place of the 1 of
    the hinge.
    """
    n, told = sum(rows), f"C={C:g} with {sum(rows)} rows"
    most = Z_LARGEST if reach is None else MOST_LENGTH
    if not (n and columns and problems and 0 < C < math.inf and 0 < longest <= most):
        raise LocalError(f"{told} of {columns} columns, at most {longest:g} long, is nothing to train on: check them")
    exponent = choose_exponent(C, problems) if exponent is None else exponent
    rho, T = 2.0**exponent, choose_iterations(C) if iterations is None else iterations
    if T < 1:
        raise LocalError(f"{T} iterations are too few: take at least 1")
    start = math.sqrt(2.0 / C) * longest * n * rho + math.sqrt(n)  # (7)
    largest = 1.1 * math.sqrt(rho) * (start + math.sqrt(n))  # (9)
    outside = 3.0 * (reach or longest) * largest if partial else 0.0
    window = choose_window(SLACK * start + 1.0 + margin * rho / C, outside, n * longest, told, measured=measured)
    spread = math.log2(1.0 + rho * n * longest**2)  # bits between the eigenvalues of G
    room = math.floor(ROOM - max(0, -exponent) - math.log2(6.0 * largest))  # of w~ and G, in 3 G r + (3 w~ - W)
    wanted = min(MOST_G, math.ceil(spread + math.log2(columns) / 2 + SPARE_G))
    g_bits = min(MOST_G, max(wanted, room - MOST_W))
    w_bits = min(MOST_W, room - g_bits)
    moved = 2.0 * longest * math.sqrt(n) * (SLACK * start + 3.0 * math.sqrt(n))  # (10)
    gram_bits = min(MOST_GRAM + max(0, exponent), 2 * Z_BITS, ROOM - w_bits - math.ceil(math.log2(moved)))
    shift = max(LEAST_SQUARES, math.ceil(spread))
    if w_bits < LEAST_W or gram_bits < LEAST_GRAM or shift > MOST_SQUARES:
        raise LocalError(f"{told} leaves no room in 64 bits: take fewer rows, or a C nearer to 1")
    squares = choose_squares(2.0**shift, G_ERROR / math.sqrt(1.0 + 2.0**shift))
    return HingePlan(
        rows=tuple(rows),
        columns=columns,
        problems=problems,
        C=C,
        exponent=exponent,
        iterations=T,
        window=window,
        w_bits=w_bits,
        short_bits=min(w_bits, window.F - Z_BITS - LIFT),
        gram_bits=gram_bits,
        g_bits=g_bits,
        squares=Squares(squares.kappa, tuple(round(G_FACTOR * c) for c in squares.weights), squares.error),
        shift=shift,
        longest=longest,
        partial=partial,
        costs=costs,
    )


def choose_exponent(C: float, problems: int) -> int:
    """Return j. Of one-versus-rest, where each class is rare, rho is a quarter."""
    return round(0.6 * math.log2(C) - 1.0) - (2 if problems > 1 else 0)


def suit_exponent(C: float, problems: int, length: float) -> int:
    """Return j for rows of another length than 1 beside the constant, so that rho S stays as large as it would be.

    C is that of a row of weight 1. `length` is a bound to the next power of two; lengths are taken to be in the middle
    of what it may bound. All sizes of what is opened are then as with any other length.
    """
    return choose_exponent(C, problems) - round(2.0 * math.log2(length / MIDDLE / math.sqrt(2.0)))


def choose_iterations(C: float) -> int:
    """Return T for accuracy; the weights of a large C take longer."""
    return round(ITERATIONS * math.pow(max(1.0, C), RATE))


def choose_window(bound: float, outside: float, total: float, told: str, *, measured: bool = False) -> Lean:
    """Return the window of X, |X| <= bound, whose ring has room for h, |h| <= total.

    outside: of rows that take no part, |Z W| is at most that. measured: the window is the widest, whatever the bounds.
    """
    before = max(2, math.ceil(math.log2(bound + 1.0)) + 1, math.ceil(math.log2(outside + 1.0)) + 2)
    sums = math.ceil(Z_BITS + S_BITS + math.log2(total)) + 2
    for size in ROW_BYTES[-1:] if measured else ROW_BYTES:
        before = max(before, 8 * size - FINE_X if measured else 0)
        for I in range(before, 8 * size):  # noqa: E741 - the letter of the equations
            F = min(FINE_X, 8 * size - I)
            if F >= Z_BITS + LEAST_W + LIFT and sums <= F + I:
                return Lean(F, I, S_BITS)
    raise LocalError(f"{told} may reach {max(bound, outside):.3g}, too large for shares: take fewer rows, or another C")
