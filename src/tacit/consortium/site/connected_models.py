"""Models that were fitted over `connect`: how sites answer by a model, and judge it.

Each is one job. What it builds on is known here by the folder of the job that fitted the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tacit.choreo import Coordinator, Holder
from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.grounds import sites_of
from tacit.consortium.jobs.questions import known_job
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.handle import Answers
from tacit.pipeline import Pipeline
from tacit.registry import Outcome
from tacit.request import Left, Records, Request
from tacit.study.rehearsed_questions import OF_STUDY
from tacit.study.replay import Known, Replayed
from tacit.study.study import federate

if TYPE_CHECKING:
    from tacit.consortium.site.analyst import Remote


def ask(remote: Remote, federation: Federation, model: Any) -> Answers:
    """Have the sites answer about their records by a model; return where the answers are."""
    folder = find_job(remote, federation, model)
    done = federation.run(question("study_answers", folder))
    return Answers(done.job, done.told)


def to_judge(remote: Remote, federation: Federation, model: Any, asked: Mapping[str, Any]) -> Federation:
    """Have the sites judge a model on their labelled records; return the federation that tells what they found."""
    folder = find_job(remote, federation, model)
    settings = {name: value for name, value in asked.items() if value is not None}
    done = federation.run(question("study_scores", folder, evaluate=settings))
    known = known_of(done)
    return federate(folder.job.roster, known.told, folder.job.partition, Replayed(known))


def question(protocol: str, folder: Folder, **more: Any) -> Request:
    """Return a question about the study of a job."""
    earlier = {"own": Left(Holder, folder.id), "site": Left(Coordinator, folder.id)}
    asked = {name: value for name, value in folder.job.arguments.items() if name in OF_STUDY}
    return Request(protocol, {"data": Records(), **earlier}, {**asked, **more})


def known_of(done: Outcome) -> Known:
    """Return what everybody knows of a job in the form of a study."""
    ledger, found = done.ledger, done.result
    return Known(found["told"], found["ended"], ledger.rows, ledger.opens, done.history, done.seconds, done.job)


def find_job(remote: Remote, federation: Federation, model: Any) -> Folder:
    """Return the folder of the job that fitted a model; refuse a model of nobody's, of a part, or of other sites."""
    last = best_of(model[-1] if isinstance(model, Pipeline) else model)
    job = str(getattr(last, "job_", "")).partition(".")[0]  # of a study, the number of the request follows
    if not job:
        raise LocalError(
            "the model was not fitted by a job of these sites: fit it over tacit.connect, then ask that model"
        )
    folder = known_job(remote.analyst.settings.state, job)
    if not isinstance(model, Pipeline) and len(folder.job.arguments.get("steps", ())) > 1:
        raise LocalError(
            "the model is one step of a study, and other steps prepare the records: ask the whole pipeline"
        )
    mine = {
        "parties": tuple(federation.parts),
        "coordinator": federation.coordinator,
        "partition": federation.partition,
    }
    if mine != sites_of(folder.job):
        between = f"{', '.join(folder.job.parties)}, coordinated by {folder.job.coordinator}"
        raise LocalError(f"the model was fitted between {between}: ask it between the same sites, in this order")
    return folder


def best_of(model: Any) -> Any:
    """Return the best estimator of a search, or the model itself."""
    return getattr(model, "best_estimator_", model)
