"""The register in words: what was revealed of each edition of a site's records, and what is left of what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from scipy.special import ndtr

from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Question, Register
from tacit.consortium.consent.register_file import Entry
from tacit.numeric.privacy.accountant import epsilon_of
from tacit.protocols.features.landmarks import MU
from tacit.registry import kind_of
from tacit.report.words import count, listing

Lines = list[tuple[str, str]]
NOTHING = 3.0  # mu from which noise hides nobody to speak of: right in 93 % of cases


def bill(register: Register, policy: Policy, now: datetime) -> Iterator[tuple[str, Lines]]:
    """Yield a heading and lines for each edition, the latest first; then how far the register is."""
    entries = register.entries()
    for edition in dict.fromkeys(entry.edition for entry in reversed(entries)):
        own = [entry for entry in entries if entry.edition == edition]
        yield _name(own), list(_lines(own, policy, register, now))
    head = register.head()
    yield "register", [("entries", f"{head.lines}, the last one under {head.chain}")]


def _name(own: list[Entry]) -> str:
    names = listing(dict.fromkeys(entry.dataset for entry in own))
    return f"{names}, {own[0].rows} records since {own[0].at:%Y-%m-%d}"


def _lines(own: list[Entry], policy: Policy, register: Register, now: datetime) -> Iterator[tuple[str, str]]:
    studies = [entry for entry in own if kind_of(entry.protocol) == "records"]
    left = max(0, policy.studies - len(studies))
    yield "studies", f"{len(studies)} of {policy.studies}: {left} left"
    for entry in studies:
        with_whom = f"{entry.at:%Y-%m-%d} job {entry.id[:8]} with {listing(entry.parties)}"
        yield "", f"{with_whom}: {listing(entry.plays) or entry.protocol}"
    weights, known = sum(entry.weights for entry in studies), own[-1].rows * _columns(own)
    if weights:
        more = ": fewer studies, or epsilon, would tell less" if weights > known else ""
        yield "weights revealed", f"about {weights}, beside {count(known, 'cell')} of our records{more}"
    if told := math.sqrt(sum(entry.told for entry in studies)):
        yield "noise on weights", f"mu = {told:.3g} together: {say_mu(told)}"
    if lists := {entry.points for entry in studies} - {""}:
        spent = MU * math.sqrt(len(lists))
        yield "noise on landmarks", f"{count(len(lists), 'list')} of columns of {policy.column_lists}: {say_mu(spent)}"
    for name in dict.fromkeys(entry.dataset for entry in own):
        if (allowed := policy.budget.get(name)) is not None:
            since = None if allowed.days is None else now - timedelta(days=allowed.days)
            spent = sum(entry.cost for entry in own if since is None or entry.at >= since)
            told = epsilon_of(allowed.records_per_person * spent**0.5, allowed.delta) if spent else 0.0
            yield "epsilon spent", f"{told:.3g} of {allowed.epsilon:g} at delta {allowed.delta:g}"
        asked = policy.predictions - register.count_left(Question(name, None, policy.predictions))
        yield "new records asked about", f"{asked} of {policy.predictions}, under all models of {name}"


def say_mu(mu: float) -> str:
    """Return what noise of this mu hides of one person, in words."""
    if mu > NOTHING:
        return "whoever knows all other records can tell one person from another, and only epsilon would hide that"
    return f"whoever knows all other records tells one person from another in {ndtr(mu / 2):.0%} of cases at most"


def _columns(own: list[Entry]) -> int:
    """Return how many columns this site brought at most."""
    return max(len(names) for entry in own for names in entry.columns.values() if names != "all")
