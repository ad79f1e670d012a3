"""What a job builds on: results that earlier jobs left at this site, checked before anything of them is used.

model        shares that the sites bring along again, to ask the model or to derive another one from it; of a study also
             what everybody knows of it
alignment    rows of a table that all parties have, in the order that all share

Texts of an error are sent to the submitter: they say what jobs say, and never a figure of the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.arrays import I64
from tacit.choreo import encode
from tacit.choreo.result import SOLE
from tacit.consortium.jobs.folder import Folder, folder_of, state_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.rehearsal import defaults_of, takes
from tacit.errors import LocalError
from tacit.registry import PROTOCOLS, kind_of, makers_of
from tacit.study.asking import EarlierStudy
from tacit.study.names import STUDY
from tacit.study.rehearsed_questions import OF_STUDY


class GroundsError(LocalError):
    """A job cannot build on what it names; the text may leave the site."""


@dataclass(frozen=True, repr=False)
class Grounds:
    """What a job builds on at this site."""

    model: Folder | None = None
    alignment: Folder | None = None

    @property
    def features(self) -> tuple[str, ...] | None:
        """The columns that this site trained the model on, in order."""
        return None if self.model is None else self.model.used.features

    @property
    def rows(self) -> I64 | None:
        """Which records of its table count, in which order."""
        return None if self.alignment is None else self.alignment.result["rows"]

    @property
    def public(self) -> dict[str, Any]:
        """What everybody knows of the trained model."""
        return {} if self.model is None else public_values(self.model)

    def share(self, name: str) -> Any:
        """Return what the earlier job left here under this name; of a study all that this site knows of it."""
        if self.model is not None and self.model.job.protocol == STUDY:
            public = public_values(self.model)
            return EarlierStudy(public["told"], public["ended"], dict(self.model.result))
        kept = {} if self.model is None else self.model.result
        if name not in kept and SOLE not in kept:
            raise GroundsError("the job that this one builds on left no share of a model here: train again")
        return kept[name] if name in kept else kept[SOLE]

    def digests(self) -> Iterator[bytes]:
        """Yield digests of all that is used, so that a run does not go on with something else."""
        for folder in (self.model, self.alignment):
            if folder is not None:
                yield hashlib.sha256((folder.path / "result.bin").read_bytes()).digest()
        if self.model is not None and self.model.job.protocol == STUDY:
            yield encode(public_values(self.model)["ended"]).digest


def grounds_of(state: Path, job: Job, now: datetime | None = None) -> Grounds:
    """Find and check what a job builds on; with `now`, raise also if the earlier results may no longer be kept."""
    found = [_find_usable(state, name, job, now) for name in job.builds_on]
    alignments = [folder for folder in found if kind_of(folder.job.protocol) == "ids"]
    models = [folder for folder in found if folder not in alignments]
    needed = makers_of(job.protocol)
    if len(models) != bool(needed) or len(alignments) > 1:
        wanted = f"one finished {' or '.join(needed)}" if needed else "no model"
        raise GroundsError(f"{job.protocol} builds on {wanted} and at most one alignment: correct builds_on")
    alignment = alignments[0] if alignments else None
    if not models:
        return Grounds(alignment=alignment)
    _check_params(job, models[0])
    return Grounds(models[0], alignment)


def _find_usable(state: Path, name: str, job: Job, now: datetime | None) -> Folder:
    folder = folder_of(state, name)
    if folder.proposal is None:
        raise GroundsError(
            f"job {name} is not here: it was purged, or never was here; build on one that every site has"
        )
    earlier, standing = folder.job, state_of(folder)
    if standing not in {"through", "finished"}:
        raise GroundsError(f"job {name} is {standing} at this site: build on one that has finished")
    if now is not None and not folder.may_keep(now):
        days = f"the retention of job {name}, {earlier.retention_days} days, is over"
        raise GroundsError(f"{days}: what it left may not be used; run it again")
    _check_alike(earlier, job)
    return folder


def _check_alike(earlier: Job, job: Job) -> None:
    """Refuse other sites, another order of them, which is that of the support vectors, or an unfit protocol."""
    if sites_of(earlier) != sites_of(job):
        split = f"{earlier.partition}, between {', '.join(earlier.parties)}, coordinated by {earlier.coordinator}"
        raise GroundsError(f"job {earlier.id} was {split}: build on it between the same sites, in this order")
    alignable = job.partition == "vertical" and PROTOCOLS[job.protocol].reads_table
    alignments = [name for name in PROTOCOLS if kind_of(name) == "ids"] if alignable else []
    fitting = [*makers_of(job.protocol), *alignments]
    if earlier.protocol not in fitting:
        needs = f"{job.protocol} builds on {' or '.join(fitting) or 'no other job'}"
        raise GroundsError(f"job {earlier.id} is a {earlier.protocol}, and {needs}: correct builds_on")
    if earlier.params.get("count_only"):
        raise GroundsError(f"job {earlier.id} only counted records: run it again without count_only, then build on it")


def sites_of(job: Job) -> dict[str, Any]:
    """Return the sites of a job and how its data is split, which are the same for all that builds on it."""
    return {"parties": job.parties, "coordinator": job.coordinator, "partition": job.partition}


def public_values(model: Folder) -> dict[str, Any]:
    """Return what everybody knows of a model, by name; raise if that is not here."""
    if model.public is None:
        missing = f"what is public of job {model.id} is not here"
        raise GroundsError(f"{missing}: follow it to its end (tacit resume {model.id[:8]}), or run it again")
    return model.public.values


def params_from(model: Folder) -> dict[str, Any]:
    """Return the parameters of a question that follow from the model, which all its sites know."""
    if model.job.protocol != STUDY:
        return {}
    return {name: value for name, value in model.job.arguments.items() if name in OF_STUDY}


def _check_params(job: Job, model: Folder) -> None:
    for name, value in params_from(model).items():
        given = job.arguments.get(name, defaults_of(job.protocol).get(name))
        if name in takes(job.protocol) and given != value:
            needs = f"the model of job {model.id} needs {value}"
            raise GroundsError(f"the job has {name} = {given}, and {needs}: correct [params]")
