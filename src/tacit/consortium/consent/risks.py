"""Who could work out whose cells in a job, as far as the job declares what everybody brings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.requests import committees_of, is_dealt, protocols_of, shows_gram
from tacit.errors import LocalError
from tacit.federation.exposure import Exposure, exposed_by_dealer, exposed_by_members, exposed_if, exposures
from tacit.registry import PROTOCOLS

Widths = Mapping[str, int]


def exposures_of(job: Job, own: Widths | None = None) -> list[Exposure]:
    """Return what the job exposes.

    `own` says how many columns parties bring that are known and not named in the job.
    """
    dealt = [exposed_by_dealer(job.parties, job.coordinator)] if is_dealt(job) else []
    computing = [exposed_by_members(members) for members in committees_of(job)]
    return [*dealt, *computing, *(_by_gram(job, own or {}) if shows_gram(job) else ())]


def _by_gram(job: Job, own: Widths) -> list[Exposure]:
    """Return what the gram matrix of a job exposes."""
    wide = {p: len(names) for p, names in job.columns.items() if names != "all"} | dict(own)
    site = job.coordinator
    if job.partition == "vertical":
        unsaid = [p for p in job.parties if p not in wide]
        return [*_by_columns(job, wide), *exposed_if("vertical", unsaid, site)]
    if job.partition == "arbitrary" or not wide or None in job.rows.values():
        return [*_one_column(job, wide), *exposed_if(job.partition, job.parties, site)]
    width = min(wide.values())  # all bring the same columns
    return exposures({p: np.full(width, n) for p, n in job.rows.items()}, sum(n or 0 for n in job.rows.values()), site)


def refuse_risky(job: Job, own: Widths | None = None) -> None:
    """Refuse a job by which one site, with nobody's help, could work out records, unless the job accepts that."""
    if job.accept_risk:
        return
    accept = "say accept_risk = true, which every party's policy must allow"
    for attacked in (PROTOCOLS[name].attacked for name in protocols_of(job)):
        if attacked:
            raise LocalError(f"{attacked} (docs/threat-model.md): use another protocol, or {accept}")
    for found in exposures_of(job, own):
        if found.who == "alone":
            raise LocalError(f"{found.text}; or {accept}")


def _by_columns(job: Job, wide: Widths) -> list[Exposure]:
    """Return what is exposed of parties that name their columns; the others count as if they brought two."""
    records, ends = job.records or 2, np.cumsum([wide.get(p, 2) for p in job.parties])
    owners = np.searchsorted(ends, np.arange(ends[-1]), side="right")
    return exposures(
        {p: np.where(owners == i, records, 0) for i, p in enumerate(job.parties)}, records, job.coordinator
    )


def _one_column(job: Job, wide: Widths) -> list[Exposure]:
    """Return what a single column in all exposes, however many records each party has."""
    if min(wide.values(), default=2) > 1:
        return []
    return exposures({p: np.ones(1, np.int64) for p in job.parties}, len(job.parties), job.coordinator)
