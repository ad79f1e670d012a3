"""One party's share of a consensus over rows: its dual, its figures, and the penalty that holds the parties together.

With U = [features, 1], theta = (w, b), p = z - gamma_m, R = diag(1, .., 1, 0) / M and a diagonal penalty H,
party m solves

    min_theta  1/2 theta'R theta + 1/2 (theta - p)'H (theta - p) + sum_i cap_i max(0, 1 - y_i (U_i.theta + own_i))  (1)

through its dual (`box_dual`) with Q = (R + H)^-1 and c = H p. Problems are rows of the arrays; a record whose y_i is 0
is in none of (1), as if cap_i were 0.

The penalty is H = a diag(shape) + ridge. In the metric of the data (`consensus.space`) shape is the variance
along each axis, and the ideal a is the curvature of a party's loss around the optimum. A hinge has none but at its
corner, so

    a = 8 sum_m min(L_m, 4 E_m) / mean_m F_m,    E_m = sum_i lambda_i (1 - lambda_i / cap_i)                        (2)

where F_m is the mean square of the decision values of theta_m, L_m what (1) is without the penalty, which is all there
is to lose over a distance of F^1/2, and E_m counts the rows that are at their corner: those beyond it, at cap_i, pull
with the same force wherever they are. Without the metric a = rho, and what is known is how far the parties are apart
and how far z moves, whose ratio would be 1 in balance (Boyd et al., 2011, section 3.4.1, without units):

    a <- a mean_m |theta_m - z| / |z - z before|,    by a factor of 4 at most                                       (3)

Either is looked at in a few rounds, and followed where it asks for a change by half or more; after them the penalty
stays, so that the theory of fixed penalties holds.

How far z is from the optimum. The parties' lambda are feasible for the dual of the pooled problem but for its equality,
and sum_m U_m'Y_m lambda_m = G follows from the averages, since theta_m = Q (H p + U_m'Y_m lambda_m) and the gamma_m add
up to 0:

    G = M (R mean theta + H (mean theta - z))
    optimum >= sum_m [sum_i lambda_i - 1/2 lambda'Y E Y lambda] - 1/2 |G_w|^2 - |G_b| (|b| + 1)                     (4)

if the optimal bias is at most 1 larger than that of z. It holds however exactly (1) is solved.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.numeric.svm.box_dual import BLOCK, descend
from tacit.scratch import along_lines, blocks, empty_like, release

CURVATURE, CORNER = 8.0, 4.0  # of (2)
RIDGE = 4.0  # times 1/M, the regulariser's own curvature
FIRST = 0.01  # of C n / M: the penalty before anything is known
FOLLOWED = (1, 2, 3, 5, 7, 10, 14, 19, 25, 32, 40, 55, 75, 100)  # rounds at whose end (2) is looked at
BALANCED = (5, 10, 15, 20, 30, 40, 55, 75, 100, 130, 170, 220, 280, 350)  # and (3)
WORTH, BOLD = 1.5, 4.0
TINY = 1e-300


def penalty(scale: F64, shape: F64, ridge: float) -> F64:
    """Return the diagonal of H, a row per problem."""
    return scale[:, None] * shape + ridge


def local_solution(
    U: F64, E: F64, signs: F64, cap: F64, lam: F64, H: F64, R: F64, p: F64, *, tol: float, seed: int
) -> tuple[F64, F64, F64]:
    """Solve (1) from a warm start, and return lambda, theta and own."""
    Q, new = 1.0 / (R + H), empty_like(lam, lam.shape, lam.dtype)
    for at, (before,) in along_lines(lam):
        new[:, at] = before
        release(new[:, at])
    theta = Q * (H * p + pull(U, signs, lam))
    own = values_outside(E, signs * lam if E.size else lam)
    for k in range(len(lam)):
        descend(U, E, signs[k], cap, Q[k], theta[k], own[k], new[k], tol=tol, seed=seed)
    return new, theta, own


def values_outside(E: F64, coef: F64) -> F64:
    """Return what decision values have from the part of the kernel that the features leave out."""
    return coef @ E if E.size else np.zeros((len(coef), 0))


def pull(U: F64, signs: F64, lam: F64) -> F64:
    """Return the sums of the rows weighted by signs and lambda, block by block."""
    found = np.zeros((len(lam), U.shape[1]))
    for at, rows in blocks(U, BLOCK):
        found += (signs[:, at] * lam[:, at]) @ rows
        release((signs[:, at], lam[:, at]))
    return found


def total_price(lam: F64) -> F64:
    """Return sum_i lambda_i of every problem."""
    return sum((some.sum(axis=1) for _, (some,) in along_lines(lam)), np.zeros(len(lam)))


def losses(U: F64, signs: F64, cap: F64, theta: F64, own: F64) -> F64:
    """Return the sum of the hinges of each problem, block by block."""
    found = np.zeros(len(signs))
    for at, rows in blocks(U, BLOCK):
        values = theta @ rows.T
        if own.size:
            values += own[:, at]
        found += np.where(signs[:, at] == 0, 0.0, np.maximum(0.0, 1.0 - signs[:, at] * values)) @ cap[at]
        release((signs[:, at], cap[at]))
    return found


def norm(vectors: F64, H: F64) -> F64:
    """Return the lengths of vectors in the metric of the penalty."""
    found: F64 = np.sqrt((H * vectors**2).sum(axis=1))
    return found


def elasticity(lam: F64, cap: F64) -> F64:
    """Return E_m of (2); a row without a price has none."""
    found = np.zeros(len(lam))
    for _, (own, price) in along_lines(lam, cap):
        found += (own * (1.0 - own / np.maximum(price, TINY))).sum(axis=1)
    return found


def bound(dual: F64, moved: F64, z: F64, H: F64, R: F64, holders: int) -> F64:
    """Return the bound (4), from the parties' sums `dual`, where mean theta - z is `moved`."""
    G = holders * (R * (z + moved) + H * moved)
    found: F64 = dual - 0.5 * (G[:, :-1] ** 2).sum(axis=1) - np.abs(G[:, -1]) * (np.abs(z[:, -1]) + 1.0)
    return found


def follow_loss(scale: F64, stiffness: F64, spread: F64) -> F64:
    """Return the scale a of the penalty by (2), where it asks for a large enough change."""
    return _worth(scale, CURVATURE * stiffness / np.maximum(spread, TINY))


def balance_residuals(scale: F64, apart: F64, moved: F64) -> F64:
    """Return the scale a of the penalty by (3), where it asks for a large enough change."""
    return _worth(scale, scale * np.clip(apart / np.maximum(moved, TINY), 1.0 / BOLD, BOLD))


def _worth(scale: F64, wanted: F64) -> F64:
    """Return the wanted scale, or the old one where the change is small, or to nothing."""
    return np.where((wanted > 0.0) & ((wanted > scale * WORTH) | (wanted < scale / WORTH)), wanted, scale)
