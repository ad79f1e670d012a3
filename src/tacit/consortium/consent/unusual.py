"""What people should look at first in a job.

Risks, few parties, columns or rows, and parameters that open more or less than usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.requests import default_of, is_default, requests_of, tells_of_all, values_of
from tacit.federation.checks import FEWEST
from tacit.registry import parameter_of

FEW_ROWS = 50
Lines = Iterator[tuple[str, str]]


def unusual(job: Job) -> list[tuple[str, str]]:
    """Return what is out of the ordinary, as a word and a line each, the gravest first."""
    return [*_risk(job), *_few(job), *_parameters(job), *(("warning", found.text) for found in exposures_of(job))]


def _risk(job: Job) -> Lines:
    if job.accept_risk:
        yield "risk", "accept_risk = true: the job may open what one site alone can work out records from"
    if job.aligned and job.partition != "horizontal":
        yield (
            "not compared",
            "aligned = true: the author says that row k is the same record everywhere, and nobody checks it",
        )
    if job.on_absence == "leave":
        leaves = "a site that stays away is left out, and the result is made from the records of the others"
        yield "absence", f"on_absence = leave: {leaves}"
    if len(job.parties) < FEWEST and tells_of_all(job):
        yield "two parties", f"{len(job.parties)} data holders: a sum or a model, less one's own part, is the other's"


def _few(job: Job) -> Lines:
    for party, names in job.columns.items():
        if len(names) == 1:
            yield "one column", f"{party} brings {names[0]} only"
    for party, rows in job.rows.items():
        if rows is not None and rows < FEW_ROWS:
            yield "few rows", f"{party} brings {rows} only"


def _parameters(job: Job) -> Lines:
    for asked in requests_of(job):
        for name, value in values_of(asked).items():
            usual, known = default_of(asked.protocol, name), parameter_of(asked.protocol, name)
            chosen = known.opens and not (known.follows or known.drawn) and usual is not None
            if chosen and not is_default(asked.protocol, name, value):
                where = "" if asked.protocol == job.protocol else f" of {asked.protocol}"
                yield "parameter", f"{name}{where} = {show_value(value)}, usually {show_value(usual)}: {known.says}"


def show_value(value: Any) -> str:
    """Return a parameter as people read it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{show_value(k)}: {show_value(v)}" for k, v in value["pairs"])
    if isinstance(value, (list, tuple)):
        return _candidates(value) if value and isinstance(value[0], dict) else ", ".join(map(show_value, value))
    return str(value)


def _candidates(candidates: Sequence[Any]) -> str:
    """Return how many candidates there are, and every value that one of them has."""
    tried: dict[str, dict[str, None]] = {}
    for candidate in candidates:
        for name, value in candidate["pairs"]:
            tried.setdefault(name, {})[show_value(value)] = None
    return f"{len(candidates)} of " + "; ".join(f"{name} {', '.join(values)}" for name, values in tried.items())
