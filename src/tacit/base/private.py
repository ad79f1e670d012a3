"""What `epsilon` means to an estimator: parameters of a budget, what it refuses, and the bill in its report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Either, Nothing, parameter
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.numeric.privacy.accountant import epsilon_of
from tacit.protocols.noisy.noisy_sum import agree_on_budget, spell_out
from tacit.protocols.noisy.settings import DELTA, EPSILON, HONEST
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
    return {"privacy_epsilon": epsilon, "privacy_delta": delta, "honest": honest}


def write_bill(spent: Mapping[str, float], delta: float, honest: int, holders: int) -> dict[str, float | int | str]:
    """Return what was spent, in numbers and in words; `spent` has mu^2 of each kind of sums."""
    total = sum(spent.values())
    epsilon = epsilon_of(math.sqrt(total), delta)
    parts = ", ".join(f"{name} {part / total:.0%}" for name, part in spent.items())
    return {
        SPENT: round(epsilon, 4),
        "delta": delta,
        "what that means": spell_out(epsilon, delta),
        "holders that must keep their noise to themselves": f"{honest} of {holders}",
        "what it was spent on": parts or "nothing: all that was needed is declared",
    }
