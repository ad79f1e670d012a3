"""What follows from an earlier job for one that builds on it: between whom it is, and how its model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.consortium.jobs.folder import Folder, folder_of, folders
from tacit.consortium.jobs.grounds import params_from, sites_of
from tacit.consortium.jobs.job import Job, find_id
from tacit.consortium.jobs.rehearsal import takes
from tacit.errors import LocalError
from tacit.registry import job_protocols, kind_of, makers_of


def known_job(state: Path, name: str) -> Folder:
    """Return the folder of a job of this site, by its id or the beginning of it."""
    return folder_of(state, find_id([folder.id for folder in folders(state)], name, "here"))


def terms_between(job: Job) -> dict[str, Any]:
    """Return the sites and the split of an earlier job, which are those of all that builds on it."""
    return {**sites_of(job), "allow_two_parties": job.allow_two_parties, "aligned": job.aligned}


def terms_after(earlier: Folder, *, judged: bool = False) -> dict[str, Any]:
    """Return all terms that follow from an earlier job.

    For a model, also the protocol that asks or judges it, who has labels, who is told, about which columns, and
    parameters.
    """
    job = earlier.job
    if kind_of(job.protocol) == "ids":
        return terms_between(job)
    protocol = find_question(job, judged=judged)
    known = {**job.arguments, **params_from(earlier)}
    params = {name: value for name, value in known.items() if name in takes(protocol)}
    roles = {"labeller": job.labeller, "asker": job.asker}
    return {**terms_between(job), **roles, "protocol": protocol, "columns": job.columns, "params": params}


def find_question(job: Job, *, judged: bool) -> str:
    """Return the protocol that asks the model of a job about new records, or judges it by labelled ones."""
    for protocol, known in job_protocols().items():
        if job.protocol in makers_of(protocol) and known.asks is not judged:
            return protocol
    raise LocalError(f"job {job.id} is a {job.protocol}, which left no model to ask: name a protocol, or another job")


def readers_of(job: Job) -> tuple[str, ...]:
    """Return who gets the answers of a question: by rows every holder its own, else the asker alone."""
    return job.parties if job.partition == "horizontal" else (job.asker,)
