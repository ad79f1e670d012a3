"""What follows from an earlier job for one that builds on it: between whom it is, and how its model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.consortium.jobs.folder import Folder, folder_of, folders
from tacit.consortium.jobs.grounds import params_from, sites_of
from tacit.consortium.jobs.job import Job, find_id
from tacit.consortium.jobs.rehearsal import takes
from tacit.errors import LocalError
from tacit.registry import PROTOCOLS, kind_of, makers_of


def known_job(state: Path, name: str) -> Folder:
    """Return the folder of a job of this site, by its id or the beginning of it."""
    return folder_of(state, find_id([folder.id for folder in folders(state)], name, "here"))


def terms_between(job: Job) -> dict[str, Any]:
    """Return the sites and the split of an earlier job, which are those of all that builds on it."""
    return {**sites_of(job), "allow_two_parties": job.allow_two_parties, "aligned": job.aligned}


def terms_after(earlier: Folder, protocol: str | None = None) -> dict[str, Any]:
    """Return all terms that follow from an earlier job.

    For a model, also the protocol that asks it, unless one is given, who has labels, who is told, about which columns,
    and parameters.
    """
    job = earlier.job
    if kind_of(job.protocol) == "ids":
        return terms_between(job)
    protocol = protocol or asking_protocol(earlier)
    known = {**job.arguments, **params_from(earlier)}
    params = {name: value for name, value in known.items() if name in takes(protocol)}
    roles = {"labeller": job.roles.labeller, "asker": job.roles.asker}
    return {**terms_between(job), **roles, "protocol": protocol, "columns": job.columns, "params": params}


def asking_protocol(earlier: Folder) -> str:
    """Return the protocol that asks the model of a job."""
    job = earlier.job
    for protocol, known in PROTOCOLS.items():
        fits = job.partition == "vertical" or not known.columns_only
        if fits and known.kind == "answers" and job.protocol in makers_of(protocol):
            return protocol
    raise LocalError(f"job {job.id} is a {job.protocol}, which left no model to ask: name a protocol, or another job")


def judging_protocol(earlier: Folder) -> str:
    """Return the protocol that judges the model of a job on labelled records."""
    job = earlier.job
    for protocol, known in PROTOCOLS.items():
        if any(each.source == "judged" for each in known.brings.values()) and job.protocol in makers_of(protocol):
            return protocol
    raise LocalError(f"job {job.id} is a {job.protocol}, whose model is judged within a study: leave [evaluate] out")


def readers_of(job: Job) -> tuple[str, ...]:
    """Return who gets the answers of a question: by rows every holder its own, else the asker alone."""
    return job.parties if job.partition == "horizontal" else (job.roles.asker,)
