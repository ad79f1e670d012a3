"""A backend that plays nothing: it answers requests with what a study that has ended told of them, in order.

Whoever has the steps of a study and its public result fits the same pipeline with it, and has the same fitted one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tacit.choreo import Ledger, Roster
from tacit.choreo.ledger import Opened, Row
from tacit.errors import PeerError
from tacit.federation import Federation
from tacit.federation.backend import Backend, Described
from tacit.pipeline import Pipeline
from tacit.registry import Outcome, read_result
from tacit.report.disclosures import unite
from tacit.request import Records, Request
from tacit.study.gate import check_released
from tacit.study.names import SEED, STUDY
from tacit.study.steps import draw_seed, read_pipeline, write_steps
from tacit.study.study import Ended, Told, federate, fit_and_judge

OWN = 2  # slashes in the place of a message that a study sends itself, such as /study/Columns
UNFIT = "the result of the study does not fit its steps: do all sites run the same version of tacit?"


@dataclass(frozen=True, repr=False)
class Known:
    """What everybody knows of a study that has ended.

    told: its columns. ended: its requests, in order. rows, opens: the ledger. history: all notes. seconds: how long it
    took. job: its id, under which sites keep what they hold of it. until: the day until which they do at least.
    runtime: what carried it.
    """

    told: Told
    ended: Sequence[Ended]
    rows: Sequence[Row]
    opens: Sequence[Opened]
    history: Sequence[dict[str, Any]]
    seconds: float = 0.0
    job: str = ""
    until: str = ""
    runtime: str = Described.name


@dataclass(frozen=True, repr=False)
class Replayed(Described):
    """The parties of a study that has ended."""

    known: Known
    name: str = Described.name
    asked: list[Request] = field(default_factory=list)
    prepares: ClassVar[bool] = True

    def check(self, request: Request) -> None:
        """Raise nothing: what was played could be."""

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Return what the study told of this request."""
        del federation
        told, k = self.known, len(self.asked)
        self.asked.append(request)
        if k >= len(told.ended) or told.ended[k].protocol != request.name:
            raise PeerError(UNFIT)
        before = told.ended[k - 1] if k else Ended("", {}, count_own(told.rows), 0)
        found = told.ended[k]
        rows, history = told.rows[before.rows : found.rows], told.history[before.notes : found.notes]
        share = found.rows - before.rows
        seconds = told.seconds * share / max(1, len(told.rows))
        values = read_result(request.name, found.values) if isinstance(found.values, dict) else found.values
        sent = told.rows[: found.rows] if k == 0 else rows  # what the study itself tells stands with its first request
        opens = [each for each in told.opens if each.protocol in {request.name, *choreographies_of(sent)}]
        ledger, job = Ledger(list(rows), opens), f"{told.job}.{k}"
        return Outcome(values, ledger, list(history), seconds, {}, job=job, until=told.until)

    def without_records(self) -> Backend:
        """Return a backend that is connected to nobody."""
        return Described()

    def remake(self, step: Any, *held: Any) -> Replayed:
        """Return the same study: its later requests were about the prepared records."""
        del step, held
        return self


def choreographies_of(rows: Iterable[Row]) -> set[str]:
    """Return the choreographies in which these messages were sent; the study itself only for those that are its own."""
    around = (row.place.split("/")[1:-1] for row in rows)
    return {re.split(r"[#\[]", label)[0] for labels in around for label in labels[1:] or labels}


def count_own(rows: Sequence[Row]) -> int:
    """Return how many messages a study sent itself, before the first of its requests: their places are its own."""
    return next((i for i, row in enumerate(rows) if row.place.count("/") > OWN), len(rows))


def add_own(pipeline: Pipeline, rows: Sequence[Row]) -> None:
    """Let the first report of a study tell what its own messages told, beside those of the request."""
    first = next((step.report_ for _, step in pipeline.steps if hasattr(step, "report_")), None)
    if first is not None:
        first.learnt = unite([*Ledger(list(rows[: count_own(rows)])).learnt(), *first.learnt])
        pipeline.combine_reports()


def refit(asked: Mapping[str, Any], roster: Roster, known: Known) -> Pipeline:
    """Return the fitted and judged pipeline of a study that has ended; `asked` are the parameters of its job."""
    backend, partition = Replayed(known, known.runtime), asked["partition"]
    federation = federate(roster, known.told, partition, backend)
    made = read_pipeline(asked.get("steps") or (), asked[SEED])
    fit_and_judge(made, federation, federation, asked.get("evaluate"), asked.get("describe"), asked.get("release"))
    add_own(made, known.rows)
    if len(backend.asked) != len(known.ended):
        raise PeerError(UNFIT)
    return made


def pipeline_of(asked: Mapping[str, Any], roster: Roster, done: Outcome, *, runtime: str = Described.name) -> Pipeline:
    """Return the fitted pipeline of a study by its outcome; `asked` are the parameters of its request."""
    check_released(done.result)
    told, ended = done.result["told"], done.result["ended"]
    took: Any = {"seconds": done.seconds, "job": done.job, "until": done.until, "runtime": runtime}
    return refit(asked, roster, Known(told, ended, done.ledger.rows, done.ledger.opens, done.history, **took))


def refit_steps(asked: Mapping[str, Any], roster: Roster, known: Known) -> Pipeline:
    """Return the fitted pipeline of a study that has ended, without the evaluation that may have followed."""
    federation = federate(roster, known.told, asked["partition"], Replayed(known))
    made: Pipeline = read_pipeline(asked["steps"], asked[SEED]).fit(federation)
    return made


def fit_on_spark(federation: Federation, pipeline: Pipeline) -> Pipeline:
    """Fit a pipeline on a Spark cluster, where its steps are one run."""
    asked = {"steps": write_steps(pipeline), SEED: draw_seed(), "partition": federation.partition}
    done = federation.run(STUDY, {"data": Records(), "judge": Records()}, **asked)
    return pipeline.take(pipeline_of(asked, federation.roster, done, runtime=federation.runtime))
