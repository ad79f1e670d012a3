"""What errors cost an SVM whose dual is solved in shares: the step that follows from it, and how far it can go.

With beta = c / C, c the coefficients, K a kernel matrix whose diagonal has a mean of at most 1, and labels or targets y
of size 1 at most,

    classes, hinge loss:       beta_i between l_i and l_i + 1,         l_i = [y_i = 1] - 1                           (1)
    class weights:             beta_i between l_i and l_i + w_i,       l_i = -[y_i = -1] w_i,  0 < w_i <= 1          (2)
    numbers, insensitive loss: beta_i between -1 and 1, and |beta_i| costs epsilon / C,        epsilon < 1           (3)

Each makes of t the z that is nearest to it, for the price of (3) with k = epsilon / (rho C). All are sums of clips:

    (1) z = l + clip(t - l, 0, 1)                                                                                    (4)
    (2) z = l + max(t - l, 0) - max(t - l - w, 0)                                                                    (5)
    (3) z = -1 + clip(t - k, 0, 1) + clip(t + 1 + k, 0, 1)            a soft threshold, then a clip to -1 .. 1       (6)

that is z = l + sum_j s_j clip(t - e_j): as many values are clipped for each record, in the same openings. max(v, 0) is
a clip in units that no v reaches.

How far t goes depends on g_i = (y_i - f_i) / C, the slopes at the solution f (`dual_plan`). As beta'K beta <=
y'beta / C <= n / C, and no eigenvalue of K is above its trace, n at most,

    |Pg| <= |PK beta| + |Py| / C <= n / sqrt(C) + sqrt(n) / C                                                        (7)

The mean of g, of classes: with n_- records of one class in the sum, beta'K beta <= 2 n_- / C, so that
|w|^2 <= 2 C n_-. A constant costs 2 C n_-, so the mean of f over this class is at most 1. It is sqrt(2 C n) at most
from the mean of all, since their squared distances from the centre add up to n at most:

    |mean(g)| <= 2 / C + sqrt(2 n / C),          |g| <= sqrt(3) n / sqrt(C) + sqrt(5 n) / C                          (8)

Likewise with (2), n_- being the sum of weights. Of numbers: the constant 0 costs C sum_i max(0, |y_i| - epsilon), and
the solution no more, so that

    sum_i |y_i - f_i| <= n,          |g| <= n / C;          |g| <= (7) + sqrt(n) / C too                             (9)
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Loss:
    """A loss, by what is public of it.

    signs: s_j of (4) to (6). unbounded: its clips are maxima, as in (5). numbers: y are numbers, and the bound is (9).
    ridge, falls: rho is ridge C^-falls, in units of the kernel's own ridge.
    """

    signs: tuple[int, ...]
    unbounded: bool = False
    numbers: bool = False
    ridge: float = 1.0
    falls: float = 0.4

    @property
    def pieces(self) -> int:
        """How many values are clipped for each record."""
        return len(self.signs)

    def choose_ridge(self, C: float, kernel: float) -> float:
        """Return rho, for a kernel that has this ridge of its own."""
        return self.ridge * kernel * math.pow(C, -self.falls)

    def bound_slopes(self, n: int, C: float) -> float:
        """Return what |g| does not exceed, (8) or (9)."""
        if self.numbers:
            return min(n / C, n / math.sqrt(C) + 2.0 * math.sqrt(n) / C)
        return math.sqrt(3.0) * n / math.sqrt(C) + math.sqrt(5.0 * n) / C

    def bound_edges(self, rho: float, C: float) -> float:
        """Return what no |e_j| exceeds."""
        return 1.0 + 1.0 / (rho * C) if self.numbers else 1.0


HINGE = Loss((1,))
WEIGHTED = Loss((1, -1), unbounded=True)
INSENSITIVE = Loss((1, 1), numbers=True, ridge=1.0 / 15, falls=0.7)
