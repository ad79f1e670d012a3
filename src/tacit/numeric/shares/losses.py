"""Losses of SVMs whose duals are solved in shares: the step that follows from each, and a bound on its values.

With beta = c / C, c the coefficients, K a kernel matrix whose diagonal has a mean of at most 1, and labels or targets y
of size 1 at most,

    classes, hinge loss:       beta_i between l_i and l_i + 1,         l_i = [y_i = 1] - 1                           (1)
    class weights:             beta_i between l_i and l_i + w_i,       l_i = -[y_i = -1] w_i,  0 < w_i <= 1          (2)
    numbers, insensitive loss: beta_i between -1 and 1, and |beta_i| costs tube / C,        tube < 1           (3)

Each step takes t to the nearest z that is allowed; in (3) the price moves it by k = tube / (rho C). All steps are
sums of clips:

    (1) z = l + clip(t - l, 0, 1)                                                                                    (4)
    (2) z = l + max(t - l, 0) - max(t - l - w, 0)                                                                    (5)
    (3) z = -1 + clip(t - k, 0, 1) + clip(t + 1 + k, 0, 1)            a soft threshold, then a clip to -1 .. 1       (6)

In general z = l + sum_j s_j clip(t - e_j), and all clips of a record share the same openings. max(v, 0) is a clip in
units that no v reaches.

The size of t depends on g_i = (y_i - f_i) / C, the slopes at the solution f (`dual_plan`). beta'K beta <= y'beta / C
<= n / C, and no eigenvalue of K is above its trace, which is at most n. So

    |Pg| <= |PK beta| + |Py| / C <= n / sqrt(C) + sqrt(n) / C                                                        (7)

The mean of g, for classes: let n_- be the number of records of one class. Then beta'K beta <= 2 n_- / C, and so
|w|^2 <= 2 C n_-. A constant costs 2 C n_-, so the mean of f over this class is at most 1. It differs from the mean of f
over all records by at most sqrt(2 C n), since the squared distances of the records from their centre add up to at most
n:

    |mean(g)| <= 2 / C + sqrt(2 n / C),          |g| <= sqrt(3) n / sqrt(C) + sqrt(5 n) / C                          (8)

The same holds for (2), where n_- is the sum of the weights. For numbers: the constant 0 costs C sum_i max(0, |y_i| -
tube), and the solution costs no more. So

    sum_i |y_i - f_i| <= n,          |g| <= n / C;          |g| <= (7) + sqrt(n) / C too                             (9)
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Loss:
    """A loss, as far as it is public.

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
        """Return rho for a kernel with this ridge."""
        return self.ridge * kernel * math.pow(C, -self.falls)

    def bound_slopes(self, n: int, C: float) -> float:
        """Return the bound of |g|, (8) or (9)."""
        if self.numbers:
            return min(n / C, n / math.sqrt(C) + 2.0 * math.sqrt(n) / C)
        return math.sqrt(3.0) * n / math.sqrt(C) + math.sqrt(5.0 * n) / C

    def bound_edges(self, rho: float, C: float) -> float:
        """Return the bound of every |e_j|."""
        return 1.0 + 1.0 / (rho * C) if self.numbers else 1.0


HINGE = Loss((1,))
WEIGHTED = Loss((1, -1), unbounded=True)
INSENSITIVE = Loss((1, 1), numbers=True, ridge=1.0 / 15, falls=0.7)
