"""Jobs that are over at a site, and jobs that build on them."""

import os
from datetime import UTC, datetime, timedelta

import msgspec

from tacit.consortium.jobs.answers import Finished, Proposal, Start
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.public_result import PublicResult

NOW = datetime.now(UTC)
SITES = {"parties": ("north", "south", "east"), "coordinator": "clearing", "dataset": "cohort"}
KERNEL = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0}
PUBLIC = {"classes": (0, 1), "gamma": 1.0, "divisor": 1.0, "target_range": None, "records": 60, "iterations": 9}
ASKS = {**KERNEL, "problems": 1, "trained_on": 60}


def job(protocol="gram_blind", params=(), *, builds_on=(), **changes):
    given = {**(KERNEL if protocol == "gram_blind" else {}), **dict(params)}
    made = propose(
        protocol,
        given,
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
    return msgspec.structs.replace(job("blind_predict", ASKS, builds_on=(trained.id,)), **changes)
