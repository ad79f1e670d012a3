"""How the dual of an SVM is solved in shares: every number that is public before a run begins.

With beta = c / C, of classes c = y a, the equality constraint is public, and so is how wide the box is:

    min  1/2 beta'K beta - (y / C)'beta + h(beta),     1'beta = 0                                                    (1)

h is 0 in the box of beta and infinite outside; for numbers it also has (tube / C) |beta|_1 (`losses`). y is 1 or -1,
or a number of size 1 at most (targets and C are divided by one number). K has a diagonal whose mean is at most 1 (a
kernel is divided by a number, and C is multiplied by it). Douglas and Rachford's iteration takes P = I - 11'/n and Z =
rho (PKP + rho I)^-1, and begins with t = z = 0:

    q = 2 z - t + y / (rho C),     a = Z q - mean(q),     t += 15/8 (a - z),     z of t (`losses`)                   (2)

beta is the last a, and the bias is C (rho mean(q) - mean(K beta)). With the linear kernel q circles around its end, so
there beta is the a of the mean of the last q.

No value leaves its window. The iteration is never further from its end t* than at its beginning, so |t| <= 2 |t*|. At
the end rho (t* - beta) = y / C - K beta - b / C, which are the slopes g of `losses`. So

    |t| <= 2 (sqrt(n) + |g| / rho),          |mean(q)| <= 2 + |t| / sqrt(n) + 1 / (rho C)                       (3), (4)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tacit.errors import LocalError
from tacit.numeric.shares.lean import Lean
from tacit.numeric.shares.losses import HINGE, Loss
from tacit.numeric.shares.squares import ERROR, LEAST, Squares, choose_squares

K_BITS = 30  # after the point, of a kernel and of its powers
Q_BITS = 21  # of q, z and beta
WORD = 64
RELAX = 15  # eighths
Z_BITS = 20  # at least, of the resolvent
ROW_BITS = 24  # of the mean of a row of K, and of K in an answer
ABOVE = 4  # bits before the point, at least, and of maxima
DIGIT = 6  # bits of a digit of a clip: few digits can be joined by one opening
LOOKED, FINE = 3, 4  # digits after the point that are compared, and of maxima
MOST_ROUNDS = 2000
RIDGE = 1.0  # at most, of the linear kernel
STEEP, STEEPEST = 2.0**14, 2.0**19  # kappa at most; of the linear kernel, where squares are improved
RELATIVE = 3e-2  # error of R of the linear kernel, before Newton's step
OFF = 0.02  # of half the range of targets: the most that rounded squares may move the answers of a regression
BIAS = 2.0 ** (62 - ROW_BITS - Q_BITS - 2)  # the size that a bias over C, or rho q, does not reach


@dataclass(frozen=True)
class Spectrum:
    """What is public of a kernel matrix whose diagonal has a mean of at most 1.

    peak: no entry of PKP is larger. ridge: rho is ridge C^-0.4. rounds: of (2), for up to `records` records and a C of
    up to `price`. averaged: beta comes from the mean of the last 2^averaged q. narrow: the resolvent is made in as
    many dimensions as there are columns (`linear_plan`).
    """

    peak: float
    ridge: float = 1.5
    rounds: int = 57
    records: int = 455
    price: float = 10.0
    averaged: int = 0
    narrow: bool = False


RBF = Spectrum(2.0)  # entries between 0 and 1, so that no PKP_ii = K_ii - 2 mean_j K_ij + mean K is above 2


def describe_powers(n: int, largest: float) -> Spectrum:
    """Return what is public of a polynomial kernel with no entry above `largest`."""
    return Spectrum(min(float(n), 4.0 * largest), rounds=100)  # the trace, and the distance of two records


def describe_linear(n: int, mean: float) -> Spectrum:
    """Return what is public of the linear kernel, with the mean of its diagonal, at most 1.

    The ridge falls with the records, which say more of each column: a large one takes fewer rounds, and a small one is
    exact for more records. It was chosen on thirteen tables of 200 to 2000.
    """
    few = min(1.0, 455 / n)
    ridge = RIDGE * max(few**3, few / 5) * mean**0.6
    return Spectrum(float(n), ridge, rounds=120, records=640, price=500.0, averaged=5, narrow=True)


@dataclass(frozen=True)
class DualPlan:
    """The public plan of a training: sizes, prices, bits and the number of iterations.

    rho: the ridge of (2). squares: how Z is made. scale, shift: of p_0 (`choose_whole`, `choose_narrow`). window: of
    t - e_j. rounds: the number of iterations of (2). averaged: beta comes from the mean of the last 2^averaged q. loss:
    what errors cost.
    """

    n: int
    problems: int
    C: float
    rho: float
    squares: Squares
    scale: int
    shift: int
    window: Lean
    rounds: int
    averaged: int
    loss: Loss = HINGE

    @property
    def clipping(self) -> Lean:
        """The window of what is clipped; for maxima the point is so far up that no value reaches 1."""
        window = self.window
        if not self.loss.unbounded:
            return window
        return Lean(WORD - ABOVE, ABOVE, Q_BITS + window.I - ABOVE, DIGIT, FINE, joined=True)

    @property
    def z_bits(self) -> int:
        """How many bits after the point Z has."""
        return count_z_bits(self.window)


def plan_dual(n: int, problems: int, C: float, kernel: Spectrum = RBF, loss: Loss = HINGE) -> DualPlan:
    """Return the plan; refuse what would not fit."""
    wanted = loss.choose_ridge(C, kernel.ridge)
    least = 2.0 ** next_exponent(kernel.peak) / STEEPEST if kernel.narrow else n / STEEP
    unit = n / 2**ROW_BITS  # of rho, so that what the bias takes of it is exact
    rho = unit * max(1, round(max(wanted, least) / unit))
    reach = 2.0 * (math.sqrt(n) + loss.bound_slopes(n, C) / rho)  # (3)
    window = choose_window(reach + loss.bound_edges(rho, C) + 1.0, loss)
    if count_z_bits(window) < Z_BITS and kernel.narrow and kernel.ridge < RIDGE:
        return plan_dual(n, problems, C, replace(kernel, ridge=2 * kernel.ridge), loss)
    if count_z_bits(window) < Z_BITS or rho * (2.0 + reach / math.sqrt(n)) + 1.0 / C >= BIAS:  # (4)
        raise LocalError(
            f"C={C:g} with {n} records can reach {reach:.3g}, which leaves no room in 64 bits: use a larger C, or fewer"
            " records"
        )
    check_exact(n, C, kernel, loss)
    rounds = choose_rounds(n, C, kernel, math.sqrt(max(1.0, least / wanted)))
    if rounds > MOST_ROUNDS:
        raise LocalError(
            f"C={C:g} with {n} records would take {rounds} iterations in shares: lower C, or take fewer records"
        )
    squares, scale, shift = (choose_narrow if kernel.narrow else choose_whole)(n, rho, kernel.peak)
    return DualPlan(n, problems, C, rho, squares, scale, shift, window, rounds, kernel.averaged, loss)


def choose_window(reach: float, loss: Loss) -> Lean:
    """Return a window that no value of this size leaves: it is below 2^(I-2), so that it can be rounded too."""
    before = max(ABOVE, math.ceil(math.log2(reach)) + 2) + (ABOVE - 2) * loss.unbounded
    if before > WORD - Q_BITS:
        raise LocalError(f"values of {reach:.3g} leave no room in 64 bits: use a larger C, or fewer records")
    return Lean(WORD - before, before, Q_BITS, DIGIT, LOOKED, joined=True)


def count_z_bits(window: Lean) -> int:
    """Return how many bits after the point Z has: t has three more than a product of Z with q."""
    return window.F - 3 - Q_BITS


def check_exact(n: int, C: float, kernel: Spectrum, loss: Loss) -> None:
    """Refuse a regression whose answers would be off by more than `OFF`: entries of p_0 have `K_BITS`."""
    if loss.numbers and not kernel.narrow and C * n**2 * 2.0**-K_BITS > OFF:
        raise LocalError(
            f"C={C:g}, over half the range of the targets, is too large with {n} records: shares would be off by more"
            f" than {OFF:.0%} of it; lower C, or take fewer records"
        )


def choose_whole(n: int, rho: float, peak: float) -> tuple[Squares, int, int]:
    """Return how Z is made of PKP, n x n, and the scale and shift of p_0; refuse too many records."""
    shift = math.floor(math.log2(n / peak)) + K_BITS + 2
    scale = (1 << max(0, shift)) // n**3
    if scale < 1:
        raise LocalError(f"{n} records are too many to train in shares with this kernel: take a sample")
    largest = (1 << shift) / (scale * n**2)  # eigenvalue of PKP
    kappa = max(largest / rho, LEAST)
    if kappa > largest / rho:
        scale = max(1, int(scale * largest / rho / LEAST))
        kappa = (1 << shift) / (scale * n**2) / rho
    return choose_squares(kappa), scale, shift


def choose_narrow(n: int, rho: float, peak: float) -> tuple[Squares, int, int]:
    """Return how R of `linear_plan` is made of X'X, and the shift of p_0 = I - X'X / 2^shift."""
    del n
    shift = next_exponent(max(peak, LEAST * rho))
    kappa = 2.0**shift / rho
    return choose_squares(kappa, min(ERROR, RELATIVE / math.sqrt(1.0 + kappa))), 1, shift


def next_exponent(largest: float) -> int:
    """Return the exponent of the next power of two."""
    return math.ceil(math.log2(largest))


def check_answers(n: int, largest: float, C: float) -> None:
    """Refuse records whose decision values could leave their window: K(z, .) beta <= sqrt(K(z, z) beta'K beta)."""
    reach = math.sqrt(largest * n / C)
    if reach >= BIAS:
        raise LocalError(f"decision values could reach {reach * C:.3g}, too large for shares: scale the records")


def choose_rounds(n: int, C: float, kernel: Spectrum = RBF, slower: float = 1.0) -> int:
    """Return how often (2) is done: more for more records, for dearer errors, and where rho is larger than wanted."""
    more = math.sqrt(max(1.0, n / kernel.records)) * math.sqrt(math.sqrt(max(1.0, C / kernel.price)))
    return round(kernel.rounds * more * slower)


# The linear kernel in as many dimensions as there are columns: how many bits everything has.
#
# X has centred columns, divided by 2^h, so that PKP = X X' has a diagonal whose mean is at most 1. Then
#
#     Z = rho (PKP + rho I)^-1 = I - X N / rho,     N = R X',     R = rho (X'X + rho I)^-1, columns x columns        (1)
#     f(x) = C (x . w + rho mean(q)),               w = N q                                                          (2)
#
# (2) is exact for the Z that (1) makes of whatever R: an error of R is another regularisation of directions in which
# records differ so much that there is hardly any. R comes from squares (`squares`), is off by some hundredths at most,
# and is then improved by one step of Newton's, which squares its error:
#
#     R (2 - delta - R - X'X R / rho)        delta so that rounding leaves no eigenvalue of Z below 0                (3)
#
# No value leaves its window. With cells of at most 2^e, centred ones of 2^(e+1), and b bits after their point:
#
#     2 b + 2 (e + 1) + log2 n <= 61                                                                      of X'X     (4)
#     |R X'| <= sqrt(columns) 2^(e+1),        |X N| <= rho,        |N q| <= |q| sqrt(rho) / 2             of N and w (5)


ROOM = 61  # bits that a product may have
MOST, LEAST_LINEAR = 26, 10  # bits after the point of a cell
MEAN = 30  # bits of 1 / n
CELL_BITS = 20  # of a cell of a new record
W_BITS = ROW_BITS + Q_BITS - CELL_BITS  # of w
EXACT = 14  # bits of 1 / rho
DELTA = 13  # bits of delta of (3)
LEAST_N = 12  # bits after the point of N


def choose_cell_bits(n: int, exponent: int) -> int:
    """Return b of (4) for cells of at most 2^exponent; refuse too few."""
    bits = min(MOST, (ROOM - math.ceil(math.log2(n)) - 2 * (exponent + 1)) // 2)
    if bits < LEAST_LINEAR:
        raise LocalError(f"cells of up to {2.0**exponent:g} in {n} records leave no room in 64 bits: scale the columns")
    return bits


@dataclass(frozen=True)
class Narrow:
    """Bits after the point: of cells of the table, of those of X, of X'X in (3), of R and of N.

    shift: of p_0 = I - X'X / 2^shift. over_rho: 1 / rho with k bits after the point.
    """

    cells: int
    centred: int
    S: int
    R: int
    N: int
    shift: int
    k: int
    over_rho: int


def plan_narrow(plan: DualPlan, columns: int, exponent: int, cells: int, halvings: int) -> Narrow:
    """Return the bits of (1) and (2); refuse what would not fit."""
    centred, rho = cells + halvings, plan.rho
    k = EXACT + math.frexp(rho)[1] - 1
    largest = plan.window.I - 2 + math.frexp(rho)[1] // 2 + 1  # bits of |N q|
    R = min(K_BITS, ROOM - 1 - (cells + exponent + 1) - math.ceil(math.log2(columns) / 2))
    N = min(K_BITS, ROOM - k - centred, ROOM - Q_BITS - largest, R + centred)
    if N < LEAST_N:
        raise LocalError(
            f"C={plan.C:g} with {plan.n} records of {columns} columns leaves no room in 64 bits: scale the columns, or"
            " use another C"
        )
    S = min(2 * centred, ROOM - K_BITS - k)
    return Narrow(cells, centred, S, R, N, plan.shift, k, round(2**k / rho))
