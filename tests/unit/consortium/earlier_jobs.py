"""Jobs that are over at a site, and jobs that build on them."""

import os
from datetime import UTC, datetime, timedelta

import msgspec

from job_files import one_step
from tacit.consortium.jobs.answers import Finished, Proposal, Start
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.public_result import PublicResult
from tacit.study.study import Told

NOW = datetime.now(UTC)
SITES = {"parties": ("north", "south", "east"), "coordinator": "clearing", "dataset": "cohort"}
TRAINS = one_step(kernel="rbf", gamma=1.0, C=1.0, features="exact", loss="hinge")  # a model that sites keep in shares
PUBLIC = {"told": Told({"north": ("age", "bmi")}, {}), "ended": ()}


def job(protocol="study", params=(), *, builds_on=(), **changes):
    made = propose(
        protocol,
        {**(TRAINS if protocol.startswith("study") else {}), **dict(params)},
        partition="vertical",
        submitter="analyst",
        purpose="a test",
        legal_basis="consent",
        labeller="north",
        builds_on=builds_on,
        aligned=True,
        **SITES,
    )
    return msgspec.structs.replace(made, **changes)


def put(state, made, *, own=None, public=PUBLIC, used=None, ok=True, started=True, days=0):
    """A job as a site has it when it is over."""
    folder = folder_of(state, made.id)
    folder.propose(Proposal(job=made.canonical().decode(), submitter="analyst", signature=""))
    if started:
        folder.start = Start(job=made.id, attempt=1, answers=())
        folder.keep_result(own or {}, PublicResult.of(public), used)
        folder.finished = Finished(job=made.id, site="north", attempt=1, ok=ok)
        then = (NOW - timedelta(days=days)).timestamp()
        os.utime(folder.path / "finished.json", (then, then))
    return folder


def question(trained, **changes):
    return msgspec.structs.replace(job("study_answers", builds_on=(trained.id,)), **changes)
