"""Who could work out whose cells from the gram matrix of a job, as far as the job declares what everybody brings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.consortium.job import Job
from tacit.data.exposure import Exposure, exposed_if, exposures
from tacit.errors import LocalError
from tacit.registry import ATTACKED

GRAMS = ("gram_vertical", "gram_arbitrary", "gram_search")  # protocols that show the coordinator a gram matrix
Widths = Mapping[str, int]


def exposures_of(job: Job, own: Widths | None = None) -> list[Exposure]:
    """Return what the job exposes; `own` says how many columns parties bring that are known and not named in the job."""
    if job.protocol not in GRAMS:
        return []
    site, wide = job.roles.coordinator, {p: len(names) for p, names in job.columns.items() if names != "all"} | dict(own or {})
    if job.partition == "vertical":
        unsaid = [p for p in job.parties if p not in wide]
        return [*_by_columns(job, wide), *exposed_if("vertical", unsaid, site)]
    if job.partition == "arbitrary" or not wide or None in job.rows.values():
        return [*_one_column(job, wide), *exposed_if(job.partition, job.parties, site)]
    width = min(wide.values())  # all bring the same columns
    return exposures({p: np.full(width, n) for p, n in job.rows.items()}, sum(n or 0 for n in job.rows.values()), site)


def refuse_risky(job: Job, own: Widths | None = None) -> None:
    """Refuse a job by which one site, with nobody's help, could work out records, unless the job accepts that."""
    if job.protocol in ATTACKED and not job.accept_risk:
        raise LocalError(
            f"{ATTACKED[job.protocol]} (docs/threat-model.md): use another protocol, or say accept_risk = true, which every party's policy"
            " must allow"
        )
    alone = [found for found in exposures_of(job, own) if found.who == "alone"]
    if alone and not job.accept_risk:
        raise LocalError(f"{alone[0].text}; or say accept_risk = true, which every party's policy must allow")


def _by_columns(job: Job, wide: Widths) -> list[Exposure]:
    """Of parties that name their columns; the others count as if they brought two."""
    records, ends = job.records or 2, np.cumsum([wide.get(p, 2) for p in job.parties])
    owners = np.searchsorted(ends, np.arange(ends[-1]), side="right")
    return exposures({p: np.where(owners == i, records, 0) for i, p in enumerate(job.parties)}, records, job.roles.coordinator)


def _one_column(job: Job, wide: Widths) -> list[Exposure]:
    """A single column in all is exposed however many records each party has."""
    if min(wide.values(), default=2) > 1:
        return []
    return exposures({p: np.ones(1, np.int64) for p in job.parties}, len(job.parties), job.roles.coordinator)
