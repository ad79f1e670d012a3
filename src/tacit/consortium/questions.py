"""What follows from an earlier job for one that builds on it: between whom it is, and how its model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.consortium.folder import Folder, folders
from tacit.consortium.grounds import ALIGN, kernel_of, told_by
from tacit.consortium.job import Job
from tacit.consortium.rehearsal import takes
from tacit.errors import LocalError
from tacit.registry import BUILDS_ON, BY_COLUMNS, kind_of


def known_job(state: Path, name: str) -> Folder:
    """The folder of an earlier job of this submitter, by its id or the beginning of it."""
    known = list(folders(state))
    found = [folder for folder in known if name and folder.id.startswith(name)]
    if len(found) != 1:
        listed = ", ".join(folder.id for folder in found or known) or "none"
        raise LocalError(f"{len(found)} jobs here begin with {name!r}: give the id of one of those that were submitted here ({listed})")
    return found[0]


def between(job: Job) -> dict[str, Any]:
    """The sites and the split, which are those of the earlier job."""
    return {
        "parties": job.parties,
        "coordinator": job.roles.coordinator,
        "partition": job.partition,
        "allow_two_parties": job.allow_two_parties,
    }


def following(earlier: Folder, protocol: str | None = None) -> dict[str, Any]:
    """The same; and for a model the protocol that asks it, unless one is given, who is told, about which columns, and its parameters."""
    job = earlier.job
    if job.protocol == ALIGN:
        return between(job)
    protocol = protocol or asking(earlier)
    if "support" in takes(protocol) and earlier.public is None:
        raise LocalError(f"how many support vectors job {job.id} found is not known here: follow it to its end (tacit resume {job.id[:8]})")
    told = {name: value for name, value in {**job.arguments, **told_by(earlier)}.items() if name in takes(protocol)}
    return {**between(job), "protocol": protocol, "asker": job.roles.asker, "columns": job.columns, "params": told}


def asking(earlier: Folder) -> str:
    """The protocol that asks the model of a job about new records; of a linear one its weights are asked, where nobody sees more."""
    job = earlier.job
    if "gram_weights" in (p for p, makers in BUILDS_ON.items() if job.protocol in makers) and kernel_of(earlier) == "linear":
        raise LocalError(
            f"the model of job {job.id} is linear: build protocol = 'gram_weights' on it, then ask that job; or name protocol ="
            " 'gram_predict', which shows the coordinator dot products"
        )
    for protocol, makers in BUILDS_ON.items():
        if job.protocol in makers and kind_of(protocol) == "answers" and (job.partition == "vertical" or protocol not in BY_COLUMNS):
            return protocol
    raise LocalError(f"job {job.id} is a {job.protocol}, which left no model that could be asked: name a protocol, or another job")


def told(job: Job) -> tuple[str, ...]:
    """Who gets the answers of a question: by rows every holder those of its own records, else the asker alone."""
    return job.parties if job.partition == "horizontal" else (job.roles.asker,)
