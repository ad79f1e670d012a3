"""Iterate differencing: who sees a party's weights round by round reads its records, one by one, from what changes.

In a consensus over rows party m's round ends with (R + H) theta_m = H p_m + U_m'Y lambda, U = [X, 1], where the penalty
H, the regulariser R and p_m = z - gamma_m follow from what it told before and from the averages. So

    g_m = (R + H) theta_m - H p_m = U_m'Y lambda,     g_m(t+1) - g_m(t) = U_m'Y (lambda(t+1) - lambda(t))  (1)

Later rounds move a few multipliers, often one: then (1) is that record times a number, and its last entry, the 1 of U,
says which. Without a secure sum the coordinator has every theta_m. With one it has the average, in which (1) is the sum
over all parties' rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Coordinator, Holder, Roster
from tacit.federation.part import Part
from tacit.papers.consensus.attacks.overheard import overheard
from tacit.papers.consensus.rows import RowSettings, consensus_rows

MOVED = 1e-9  # of the largest change: below is rounding
SAME = 1e-3  # of a record's length: how near is found


@dataclass(frozen=True)
class Weights:
    """A consensus of one problem under H = rho and no over-relaxation: what each party told in every round.

    Their mean is public.
    """

    told: dict[str, F64]
    rho: float

    @property
    def average(self) -> F64:
        """The average z, a line for each round."""
        mean: F64 = np.mean(list(self.told.values()), axis=0)
        return mean


def overhear(parts: Mapping[str, Part], *, C: float, rho: float, rounds: int) -> Weights:
    """Train with honest parties of two classes, as the paper does."""
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    svm = RowSettings(
        C=C,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=0.0,
        rho=rho,
        over_relaxation=1.0,
        tol=1e-9,
        max_rounds=rounds,
    )
    with overheard(roster, "tell") as run:
        consensus_rows(run, run.hold(Holder, parts), svm=svm)
    return Weights({p: np.array([each[p][0, :-2] for each in run.heard["tell"]]) for p in parts}, rho)


def own_weights(told: F64, average: F64) -> tuple[F64, F64]:
    """Return theta_m and p_m of every round, from what a party told and the averages.

    A party tells theta + gamma, and its gamma after it is that less z.
    """
    before = np.vstack([np.zeros_like(told[:1]), told[:-1]])
    z = np.vstack([np.zeros_like(told[:1]), average[:-1]])
    gamma = before - z
    return told - gamma, z - gamma


def iterate_differencing(told: F64, average: F64, rho: float, parties: int) -> F64:
    """Return the candidates for records by (1), a line for each round that moved anything.

    `told` is one party's, or the average itself.
    """
    theta, p = own_weights(told, average)
    R = np.append(np.full(told.shape[1] - 1, 1.0 / parties), 0.0)
    changes = np.diff((R + rho) * theta - rho * p, axis=0)
    moved = changes[np.abs(changes[:, -1]) > MOVED * np.abs(changes[:, -1]).max(initial=0.0)]
    candidates: F64 = moved[:, :-1] / moved[:, -1:]
    return candidates


def recover_share(candidates: F64, truth: F64) -> float:
    """Return the share of the records that are among the candidates."""
    if not len(candidates):
        return 0.0
    far = np.linalg.norm(truth[:, None] - candidates, axis=2).min(axis=1)
    return float(np.mean(far < SAME * np.linalg.norm(truth, axis=1)))
