"""Noisy sum: one party learns x_1 + ... + x_M + noise, and how likely any outcome is hardly depends on one record.

The problem. Every holder k has whole numbers x_k, each a sum over its records; one record changes the squared length of
their sum by D^2 at most. The party `to` shall learn the sum, with so much noise that this record cannot be seen in it:

    y_k = x_k + e_k,   e_k discrete Gaussian of variance V per entry       (`crypto.noise.discrete_gaussian`)      (1)
    sum_k y_k          by `secure_sum`, as words of the ring                                                       (2)

Of the noise in (2) what t honest holders added stays unknown to all others: it costs mu^2 = D^2 / (t V - 16), exactly
(`numeric.privacy.accountant`). Entries that are `doubled` get noise of variance 2V.

Roles. Holder: has x_k. `to`: a role of one party.
Threat. Semi-honest; any coalition of `to` and M - t holders. It can subtract its own noise and its own records, and the
rest is as (1) of t holders. A run that is taken up again sends the same noise: e_k follows from the holder's root key,
the place and all that was published before. Not protected: a holder that adds no noise, if fewer than t others do.
Source: Kairouz, Liu and Steinke, ICML 2021 (noise of many under a masked sum).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64, Array
from tacit.choreo import At, Holder, Pads, Role, Run, choreography
from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.errors import LocalError
from tacit.numeric.privacy.accountant import cost_of, mu_of, variance_for
from tacit.protocols.facts import NOISY_SUM
from tacit.protocols.sums.secure_sum import Protection, name_own_seed, secure_sum


@dataclass(frozen=True)
class Noise:
    """How much noise a sum has: the variance of each holder's, and what the sum then costs."""

    variance: int
    cost: float
    holders: int

    @property
    def deviation(self) -> float:
        """The standard deviation of all holders' noise together."""
        return math.sqrt(self.holders * self.variance)


@dataclass(frozen=True)
class Budget:
    """What a whole run may cost, and how many of how many holders are taken to be honest."""

    mu: float
    honest: int
    holders: int

    def noise(self, sensitivity: int, share: float) -> Noise:
        """Return the noise of a sum that may cost this share of the budget; `sensitivity` is D^2."""
        variance = variance_for(sensitivity, share * self.mu**2, self.honest)
        return Noise(variance, cost_of(sensitivity, variance, self.honest), self.holders)


def agree_on_budget(epsilon: float, delta: float, honest: int | None, *, holders: int, rows: int) -> Budget:
    """Return the budget of a run between so many holders; raise if delta or `honest` protects nobody."""
    if honest is not None and not 1 <= honest <= holders:
        raise LocalError(
            f"honest={honest} of {holders} data holders: say how many of them keep their noise to themselves, from 1 to"
            f" {holders}"
        )
    if delta * rows > 1:
        raise LocalError(
            f"delta={delta:g} is more than one in {rows} records: a run could publish a whole record and still satisfy"
            f" it; use {10.0 ** -math.ceil(math.log10(rows)):g}"
        )
    return Budget(mu_of(epsilon, delta), honest or (holders + 1) // 2, holders)


@choreography(opens={"to": NOISY_SUM})
def noisy_sum(
    run: Run, x: At[Array], *, to: Role, by: Protection, noise: Noise, what: str, doubled: I64 | None = None
) -> At[F64]:
    """Give role `to` the noisy sum (2) of all x_k, as reals."""
    own = run.pads(run.local(Holder, name_own_seed, run.random(Holder)), run.tag())
    noisy = run.local(Holder, add_noise, x, own, noise.variance, doubled)
    return run.local(to, read_total, secure_sum(run, noisy, to=to, by=by, what=what))


def add_noise(x: Array, pads: Pads, variance: int, doubled: I64 | None) -> U64:
    """Return y_k of (1) as words of the ring."""
    key = b"".join(chunk.tobytes() for chunk in pads.put_on("own", 4))
    extra = 0 if doubled is None else doubled.size
    drawn = draw_noise(key, x.size + extra, variance)
    noisy = x.reshape(-1).astype(np.int64) + drawn[: x.size]
    if doubled is not None:
        noisy[doubled] += drawn[x.size :]
    return noisy.view(np.uint64).reshape(x.shape)


def read_total(words: U64) -> F64:
    """Return the sum as reals, by centred residues."""
    return words.view(np.int64).astype(np.float64)


def spell_out(epsilon: float, delta: float) -> str:
    """Return in words what a budget promises to a person."""
    odds = math.exp(epsilon)
    return (
        f"a person's presence changes the odds of any outcome by a factor of at most {odds:.3g}, but for events of"
        f" probability {delta:.1g}"
    )
