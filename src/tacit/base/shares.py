"""One budget of differential privacy for several steps: each has a declared share, and together they spend it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacit.base.private import Private
from tacit.choreo.declaration import wrong_value
from tacit.errors import LocalError
from tacit.numeric.privacy.accountant import epsilon_of, mu_of
from tacit.protocols.noisy.noisy_sum import spell_out
from tacit.protocols.noisy.settings import DELTA, EPSILON, HONEST

Steps = Sequence[tuple[str, Any]]
LAST = 0.5  # the share of the last step, where none is declared; those before it have the rest, each the same
ROUNDING = 1e-9  # of sums of shares


def divide_budget(
    steps: Steps, epsilon: float, delta: float, honest: int | None, shares: Mapping[str, float] | None
) -> None:
    """Set epsilon, delta and honest of every step, so that all together cost what epsilon and delta allow.

    Squares of mu add up over the steps, so each has its share of mu^2. Raises if a step would open sums without noise.
    """
    for name, kind, value in (("epsilon", EPSILON, epsilon), ("delta", DELTA, delta), ("honest", HONEST, honest)):
        if not kind.allows(value):
            raise wrong_value(name, "Pipeline", kind.words, value)
    bare = [name for name, step in steps if not isinstance(step, Private)]
    if bare:
        made = type(dict(steps)[bare[0]]).__name__
        raise LocalError(
            f"epsilon of a Pipeline covers all its steps, and step '{bare[0]}' is a {made}, which adds no noise: leave"
            " that step out, or give epsilon to single steps"
        )
    mu = mu_of(epsilon, delta)
    for name, share in _shares(steps, shares).items():
        dict(steps)[name].set_params(epsilon=epsilon_of(math.sqrt(share) * mu, delta), delta=delta, honest=honest)


def _shares(steps: Steps, given: Mapping[str, float] | None) -> dict[str, float]:
    """Return the share of every step."""
    names = [name for name, _ in steps]
    if given is None:
        before = (1 - LAST) / max(1, len(names) - 1)
        return {name: before if name != names[-1] else LAST if len(names) > 1 else 1.0 for name in names}
    if set(given) != set(names) or not all(share > 0 for share in given.values()) or sum(given.values()) > 1 + ROUNDING:
        raise LocalError(
            f"shares must name every step once, each above 0 and at most 1 together; got {dict(given)}: give them for"
            f" {', '.join(names)}"
        )
    return dict(given)


def write_total(steps: Iterable[tuple[str, Any]]) -> dict[str, float | str]:
    """Return what all steps cost together, in numbers and in words; nothing if fewer than two have noise."""
    noisy = {name: step for name, step in steps if isinstance(step, Private) and step.epsilon is not None}
    if len(noisy) <= 1:
        return {}
    costs = {name: mu_of(float(step.epsilon or 0), step.delta) ** 2 for name, step in noisy.items()}
    delta = max(step.delta for step in noisy.values())
    epsilon = epsilon_of(math.sqrt(sum(costs.values())), delta)
    parts = ", ".join(f"{name} {cost / sum(costs.values()):.0%}" for name, cost in costs.items())
    return {
        "epsilon of all steps": round(epsilon, 4),
        "what the epsilon of all steps means": spell_out(epsilon, delta),
        "what the epsilon of all steps was spent on": parts,
    }
