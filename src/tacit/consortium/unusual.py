"""What people should look at first in a job: risks, few parties, columns or rows, and parameters that open more or less than usual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.consortium.job import Job
from tacit.consortium.risks import exposures_of
from tacit.consortium.values import default_of, is_default, values_of
from tacit.data.checks import FEWEST
from tacit.protocols.parameters import PARAMETERS

FEW_ROWS = 50
Lines = Iterator[tuple[str, str]]


def unusual(job: Job) -> list[tuple[str, str]]:
    """Return what is out of the ordinary, as a word and a line each, the gravest first."""
    return [*_risk(job), *_few(job), *_parameters(job), *(("warning", found.text) for found in exposures_of(job))]


def _risk(job: Job) -> Lines:
    if job.accept_risk:
        yield "risk", "accept_risk = true: the job may open what one site alone can work out records from"
    if len(job.parties) < FEWEST:
        yield "two parties", f"{len(job.parties)} data holders: a sum minus one's own part is the other's"


def _few(job: Job) -> Lines:
    for party, names in job.columns.items():
        if len(names) == 1:
            yield "one column", f"{party} brings {names[0]} only"
    for party, rows in job.rows.items():
        if rows is not None and rows < FEW_ROWS:
            yield "few rows", f"{party} brings {rows} only"


def _parameters(job: Job) -> Lines:
    known = PARAMETERS
    for name, value in values_of(job).items():
        usual = default_of(job.protocol, name)
        if known[name].opens and not known[name].follows and usual is not None and not is_default(job.protocol, name, value):
            yield "parameter", f"{name} = {written(value)}, usually {written(usual)}: {known[name].says}"


def written(value: Any) -> str:
    """A parameter as people read it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{written(k)}: {written(v)}" for k, v in value["pairs"])
    if isinstance(value, (list, tuple)):
        return _candidates(value) if value and isinstance(value[0], dict) else ", ".join(map(written, value))
    return str(value)


def _candidates(candidates: Sequence[Any]) -> str:
    """How many they are, and every value that one of them has."""
    tried: dict[str, dict[str, None]] = {}
    for candidate in candidates:
        for name, value in candidate["pairs"]:
            tried.setdefault(name, {})[written(value)] = None
    return f"{len(candidates)} of " + "; ".join(f"{name} {', '.join(values)}" for name, values in tried.items())
