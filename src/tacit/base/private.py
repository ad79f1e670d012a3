"""What `epsilon` means to an estimator: parameters of a budget, what it refuses, and the bill in its report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Either, Nothing, parameter, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.numeric.privacy.accountant import epsilon_of, mu_of
from tacit.protocols.noisy.ground import DELTA, EPSILON, HONEST
from tacit.protocols.noisy.noisy_sum import agree_on_budget, spell_out
from tacit.protocols.part import Names

OF_LABELS = "The classes were read from the labels, which epsilon does not cover: say classes=[...], as sites have to."
SPENT = "epsilon that was spent"
NOT_PROTECTED = (
    "How many records each party has, and the names of columns and classes: they are public.",
    "Someone with several records: epsilon is for one record. With k of them mu is k times as large.",
    "Records against parties that collude, if fewer than `honest` of the data holders keep their noise to themselves.",
    "What other jobs, or steps before this one, told of the same records without noise: epsilon does not cover them.",
)


@parameterized
class Private:
    """An estimator that `epsilon` gives differential privacy."""

    _: KW_ONLY
    epsilon: float | None = parameter(
        None, Either((Nothing(), EPSILON)), "how far one record may move the logarithm of the odds of any outcome"
    )
    delta: float = parameter(1e-5, DELTA, "the probability of the events that epsilon does not bound")
    honest: int | None = parameter(None, HONEST, "how many data holders keep their noise to themselves")

    def refuse_epsilon(self, what: str) -> None:
        """Raise if a budget is set and this would spend what it does not cover."""
        if self.epsilon is not None:
            raise LocalError(f"epsilon={self.epsilon:g} does not cover {what}: leave out one of them")

    @property
    def takes_gaps(self) -> bool:
        """Whether a training takes records that lack values: with epsilon these are blank, and not refused."""
        return self.epsilon is not None

    def spending(self, federation: Federation) -> dict[str, Any]:
        """Return the budget as a protocol takes it; raise what can be refused without a look at records."""
        return spend(federation, self.epsilon, self.delta, self.honest)


def declare_classes(classes: Names | None, federation: Federation) -> Names:
    """Return the classes as declared, in sorted order; in simulation those of the labels."""
    if classes is not None:
        return tuple(np.unique(np.array(classes)).tolist())
    if not federation.holds_records:
        raise LocalError(
            "with epsilon the classes must be given, since looking them up is not covered by it: say classes=[...]"
        )
    labels = [part.y for part in federation.parts.values() if part.y is not None]
    return tuple(np.unique(np.concatenate(labels)).tolist()) if labels else ()


def spend(federation: Federation, epsilon: float | None, delta: float, honest: int | None) -> dict[str, Any]:
    """Return a budget as a protocol takes it; raise what can be refused without a look at records."""
    if federation.partition != "horizontal":
        raise LocalError(
            f"epsilon protects whole records, and with partition={federation.partition!r} no party has any: leave"
            " epsilon out"
        )
    if federation.holds_records:
        sizes = [len(part.X) for part in federation.parts.values()]
        agree_on_budget(float(epsilon or 0), delta, honest, holders=len(sizes), rows=max(1, sum(sizes)))
    return {"epsilon": epsilon, "delta": delta, "honest": honest}


def write_bill(
    federation: Federation, spent: Mapping[str, float], delta: float, honest: int
) -> dict[str, float | int | str]:
    """Return what was spent, in numbers and in words; `spent` has mu^2 of each kind of sums."""
    total = sum(spent.values())
    epsilon = epsilon_of(math.sqrt(total), delta)
    parts = ", ".join(f"{name} {part / total:.0%}" for name, part in spent.items())
    return {
        SPENT: round(epsilon, 4),
        "delta": delta,
        "what that means": spell_out(epsilon, delta),
        "holders that must keep their noise to themselves": f"{honest} of {len(federation.parts)}",
        "what it was spent on": parts or "nothing: all that was needed is declared",
        **charge(federation, total, delta),
    }


def charge(federation: Federation, cost: float, delta: float) -> dict[str, float]:
    """Add mu^2 to what runs on the records of a simulation have cost; return the sum, if there was one before.

    Sites do so themselves, in their registers.
    """
    if not federation.holds_records:
        return {}
    federation.spent.append(cost)
    runs = len(federation.spent)
    if runs == 1:
        return {}
    total = epsilon_of(math.sqrt(sum(federation.spent)), delta)
    return {f"{SPENT} by {runs} runs on these records, at most": round(total, 4)}


# One budget of differential privacy for several steps: each has a declared share, and together they spend it


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
