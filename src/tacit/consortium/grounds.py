"""What a job builds on: results that earlier jobs left at this site, checked before anything of them is used.

model        shares that the sites bring along again, to ask the model or to derive another one from it
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

from tacit.choreo import I64
from tacit.consortium.folder import Folder, folder_of, state_of
from tacit.consortium.job import Job
from tacit.consortium.rehearsal import takes
from tacit.errors import LocalError
from tacit.registry import BUILDS_ON, INPUTS

ALIGN = "align"
SOLE = "result"  # what a protocol gives that gives one thing only
NOTHING_LEFT = {"refit": False, "count_only": True}  # parameters by which a job leaves nothing at the sites


class GroundsError(LocalError):
    """A job cannot build on what it names; the text may leave the site."""


@dataclass(frozen=True, repr=False)
class Grounds:
    """What a job builds on at this site; `training` is the job that the model goes back to."""

    model: Folder | None = None
    alignment: Folder | None = None
    training: Folder | None = None

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
        return (None if self.training is None else self.training.public) or {}

    def share(self, name: str) -> Any:
        """What the earlier job left here under this name."""
        kept = {} if self.model is None else self.model.result
        if name not in kept and SOLE not in kept:
            raise GroundsError("the job that this one builds on left no share of a model here: train anew")
        return kept[name] if name in kept else kept[SOLE]

    def digests(self) -> Iterator[bytes]:
        """Of all that is used, so that a run does not go on with something else."""
        for folder in (self.model, self.alignment):
            if folder is not None:
                yield hashlib.sha256((folder.path / "result.bin").read_bytes()).digest()


def grounds_of(state: Path, job: Job, now: datetime | None = None) -> Grounds:
    """Found and checked, or an error; with `now` also whether the earlier results may still be kept."""
    found = [_usable(state, name, job, now) for name in job.builds_on]
    models, alignments = ([f for f in found if (f.job.protocol == ALIGN) is aligned] for aligned in (False, True))
    needed = BUILDS_ON.get(job.protocol, ())
    if len(models) != bool(needed) or len(alignments) > 1:
        wanted = f"one finished {' or '.join(needed)}" if needed else "no model"
        raise GroundsError(f"{job.protocol} builds on {wanted} and at most one alignment: correct builds_on")
    alignment = alignments[0] if alignments else None
    if not models:
        return Grounds(alignment=alignment)
    _check_told(job, models[0])
    first = models[0]
    return Grounds(first, alignment, grounds_of(state, first.job, now).training if first.job.protocol in BUILDS_ON else first)


def _usable(state: Path, name: str, job: Job, now: datetime | None) -> Folder:
    folder = folder_of(state, name)
    if folder.proposal is None:
        raise GroundsError(f"job {name} is not here: it was purged, or never was at this site; build on one that every site has")
    earlier, standing = folder.job, state_of(folder)
    if standing not in {"through", "finished"}:
        raise GroundsError(f"job {name} is {standing} at this site: build on one that has finished")
    if now is not None and not folder.retained(now):
        raise GroundsError(
            f"the retention of job {name}, {earlier.retention_days} days, is over: what it left may not be used; run it anew"
        )
    _check_alike(earlier, job)
    return folder


def _check_alike(earlier: Job, job: Job) -> None:
    """Between the same sites, in the same order, which is that of the support vectors; and of a protocol that fits."""
    if (earlier.parties, earlier.roles.coordinator, earlier.partition) != (job.parties, job.roles.coordinator, job.partition):
        raise GroundsError(
            f"job {earlier.id} was {earlier.partition}, between {', '.join(earlier.parties)}, coordinated by {earlier.roles.coordinator}:"
            " build on it between the same sites, in this order"
        )
    fitting = (*BUILDS_ON.get(job.protocol, ()), *([ALIGN] if _alignable(job) else []))
    if earlier.protocol not in fitting:
        what = " or ".join(fitting) or "no other job"
        raise GroundsError(f"job {earlier.id} is a {earlier.protocol}, and {job.protocol} builds on {what}: correct builds_on")
    for name, value in NOTHING_LEFT.items():
        if earlier.params.get(name) is value:
            raise GroundsError(f"job {earlier.id} left nothing to build on, since it has {name} = {str(value).lower()}: run it without")


def _alignable(job: Job) -> bool:
    return job.partition == "vertical" and any(brought.source == "table" for brought in INPUTS[job.protocol].values())


def told_by(model: Folder) -> dict[str, Any]:
    """Parameters of a question that follow from the model, which all its sites know."""
    public, asked = model.public or {}, model.job.arguments
    if "problems" in asked:  # it was derived from another one, which told it
        return {"problems": asked["problems"]}
    classes = len(public.get("classes", ()))
    told = {"squares": kernel_of(model) == "rbf", "problems": classes if classes > 2 else 1}  # noqa: PLR2004 - one against the rest
    return {**told, **({"support": len(public["support"])} if "support" in public else {})}


def kernel_of(model: Folder) -> str:
    """Of the model that a job trained, or found best."""
    public, asked = model.public or {}, model.job.arguments
    best = asked["candidates"][public["best"]] if "best" in public else {}
    return str({**asked, **best}["kernel"])


def _check_told(job: Job, model: Folder) -> None:
    for name, value in told_by(model).items():
        if name in takes(job.protocol) and job.params.get(name) != value:
            raise GroundsError(
                f"the job has {name} = {job.params.get(name)}, and the model of job {model.id} needs {value}: correct [params]"
            )
