"""The budget of differential privacy: what noisy jobs on the same records may cost together, as the policy says.

A noisy job costs mu^2 of its epsilon and delta, of all its steps together (`numeric.privacy.accountant`); jobs on the
same records add up, under whichever name of a dataset they were. With k records per person every job costs k^2 times as
much. Jobs without noise cost nothing here, and epsilon says nothing about them: a bill lists them beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tacit.consortium.consent.policy import Allowance
from tacit.consortium.consent.register_file import Entry
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.requests import Asked, requests_of
from tacit.numeric.privacy.accountant import epsilon_of, mu_of
from tacit.protocols.noisy.noisy_sum import spell_out
from tacit.registry import declared

ROUNDING = 1 + 1e-9  # of sums of costs


@dataclass(frozen=True)
class Shortage:
    """A budget that a job would exceed: whose, what is left of it and what the job asks for, as epsilon."""

    dataset: str
    allowed: Allowance
    left: float
    asked: float

    def __str__(self) -> str:
        allowed = f"epsilon = {self.allowed.epsilon:g} at delta = {self.allowed.delta:g}"
        return (
            f"budget.{self.dataset} has {allowed}, of which {self.left:.3g} is left, and the job asks for"
            f" {self.asked:.3g}: ask for less, or that party"
        )


def price(job: Job) -> float:
    """Return mu^2 of a job: of all its noisy steps together; 0 of one without noise."""
    return sum(mu_of(*spent) ** 2 for asked in requests_of(job) if (spent := spends(asked)) is not None)


def spends(asked: Asked) -> tuple[float, float] | None:
    """Return epsilon and delta of a request; None if it is without noise."""
    takes: Mapping[str, Any] = declared(asked.protocol).takes
    if "epsilon" not in takes:
        return None
    epsilon, delta = (float(asked.params.get(name, takes[name].default)) for name in ("epsilon", "delta"))
    return epsilon, delta


def find_shortage(
    job: Job, asked: float, budgets: Mapping[str, Allowance], entries: Sequence[Entry], now: datetime
) -> Shortage | None:
    """Return the first budget that a job of this price would exceed, after earlier ones on the same records.

    The budget of each dataset counts under whose name some of these records were used.
    """
    if not asked:
        return None
    for name in dict.fromkeys([job.dataset, *(entry.dataset for entry in entries)]):
        allowed = budgets.get(name)
        if allowed is None:
            continue
        since = None if allowed.days is None else now - timedelta(days=allowed.days)
        spent = sum(e.cost for e in entries if e.job != job.digest and (since is None or e.at >= since))
        most = mu_of(allowed.epsilon, allowed.delta) ** 2 / allowed.records_per_person**2
        if spent + asked > most * ROUNDING:
            k, delta = allowed.records_per_person, allowed.delta
            left = epsilon_of(k * max(0.0, most - spent) ** 0.5, delta)
            return Shortage(name, allowed, left, epsilon_of(k * asked**0.5, delta))
    return None


def say_price(job: Job) -> list[tuple[str, str]]:
    """Return lines for people about what a job promises to a person; none of a job without noise."""
    found = [(asked.protocol, spent) for asked in requests_of(job) if (spent := spends(asked)) is not None]
    plain = sorted({asked.protocol for asked in requests_of(job) if spends(asked) is None})
    lines = [("differential privacy", f"{name}: {spell_out(*spent)}") for name, spent in found]
    if found and plain:
        lines.append(("without noise", f"{', '.join(plain)}: epsilon does not cover what these open"))
    return lines
