"""Questions about a study that has ended: new records of the same sites go through its fitted pipeline.

    1. the coordinator recalls what everybody knows of the study, and each holder compares it with what it kept
    2. every party makes the fitted pipeline of it; each holder brings its own new records, which the steps prepare
    3. answers: who holds a record computes by a public model alone; a model in shares is asked by its own protocol
       scores: the labelled records are counted, as an evaluation within a study counts them

Roles. Holder: new records, and its share of the study. Coordinator: of all steps, and its share. Asker: unless the
split is by rows, who is told the answers; by rows each holder is told those about its own records.
Threat. As the protocols that are played. By a public model nothing of the new records leaves their holder.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tacit.arrays import F64
from tacit.base.shared import write_concerns_only
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography, encode
from tacit.choreo.result import Result
from tacit.errors import LocalError, PeerError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.federation.plan import Partition
from tacit.metrics import evaluate as judge_model
from tacit.pipeline import Pipeline
from tacit.protocols.facts import ANSWERS
from tacit.study.inside import InRun, Played, Prepare, play_as_asked
from tacit.study.replay import Known, refit_steps
from tacit.study.steps import Step
from tacit.study.study import (
    EMPTY,
    NUMBER,
    STEPS,
    Ended,
    Told,
    check_asker,
    describe_columns,
    federate,
    order_columns,
    to_wire,
)

RECALLED = Fact("study.recalled", "nobody", "model", "all", "what everybody knows of an earlier study, once more")
EARLIER = "earlier"  # what the study is called in a run that asks it

Label = bool | int | float | str


class EarlierStudy(State):
    """What a party knows of a study that has ended: what everybody knows of it, and its own shares by name."""

    told: Told
    ended: tuple[Ended, ...]
    held: dict[str, Any]


class Recalled(Message, tells=RECALLED):
    """What everybody knows of a study, in the coordinator's words."""

    told: Told
    ended: tuple[Ended, ...]


class Answered(Result):
    """Decision values of new records, a column per problem, and what makes classes and probabilities of them."""

    values: At[F64]
    classes: tuple[Label, ...]
    sigmoids: F64 | None


@dataclass(frozen=True, repr=False)
class Question:
    """The fitted pipeline of a study, and the new records of its sites."""

    pipeline: Pipeline
    records: Federation
    told: Told
    live: InRun


@choreography(opens={Everyone: (RECALLED, STEPS), Holder: ANSWERS})
def study_answers(
    run: Run,
    data: At[Part],
    own: At[EarlierStudy],
    site: At[EarlierStudy],
    *,
    steps: Sequence[Step] | None,
    seed: int,
    partition: Partition,
    records: int | None = None,
) -> Answered:
    """Return the answers of the study's model about so many new records at most, each with who is told it."""
    return answer(recall(run, data, own, site, steps=steps, seed=seed, partition=partition, records=records))


@choreography(opens={Everyone: (RECALLED, STEPS)})
def study_scores(
    run: Run,
    data: At[Part],
    own: At[EarlierStudy],
    site: At[EarlierStudy],
    *,
    steps: Sequence[Step] | None,
    seed: int,
    partition: Partition,
    evaluate: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Judge the study's model on labelled records; return what is public of every request."""
    return judge(recall(run, data, own, site, steps=steps, seed=seed, partition=partition), evaluate or {})


def recall(
    run: Run,
    data: At[Part],
    own: At[EarlierStudy],
    site: At[EarlierStudy],
    *,
    steps: Sequence[Step] | None,
    seed: int,
    partition: Partition,
    records: int | None = None,
    prepare: Prepare = play_as_asked,
    played: list[Played] | None = None,
) -> Question:
    """Return the pipeline as it was fitted, and the new records as it knows them; `prepare` and `played` as a study."""
    known = run.publish(Recalled, run.local(Coordinator, tell, site))
    own = run.local(Holder, confirm, own, known)
    data = run.local(Holder, match_columns, run.who(Holder), data, known.told)
    asked = {"steps": steps or (), "seed": seed, "partition": partition}
    with write_concerns_only():
        pipeline = refit_steps(asked, run.roster, Known(known.told, known.ended, (), (), (), job=EARLIER))
    shares = {Holder: own, Coordinator: site}
    live = InRun(run, data, [] if played is None else played, prepare, earlier=shares, most=records)
    return Question(pipeline, federate(run.roster, known.told, partition, live), known.told, live)


def answer(question: Question) -> Answered:
    """Return what the last step says of the prepared records."""
    model, prepared = model_of(question.pipeline), question.pipeline.prepare(question.records)
    if not hasattr(model, "ask_apart"):
        raise LocalError(
            f"the study ends in a {type(model).__name__}, which answers nothing: ask one that ends in a classifier or"
            " a regressor"
        )
    told, _ = model.ask_apart(prepared)
    values = live_of(prepared).collect(told)
    classes = tuple(model.classes_.tolist()) if hasattr(model, "classes_") else ()
    return Answered(values=values, classes=classes, sigmoids=getattr(model.model_, "sigmoids", None))


def judge(question: Question, evaluate: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is public of an evaluation, in the form of a study."""
    check_asker(question.live.live.roster, question.records.partition)
    with write_concerns_only():
        judge_model(question.pipeline, question.records, **evaluate)
    ended = tuple(Ended(p.request.name, to_wire(p.public), p.rows, p.notes) for p in question.live.played)
    return {"told": question.told, "ended": ended}


def model_of(pipeline: Pipeline) -> Any:
    """Return the model of a pipeline: its last step, or the best estimator of a search."""
    last = pipeline.steps[-1][1]
    return getattr(last, "best_estimator_", last)


def live_of(federation: Federation) -> InRun:
    """Return the run between the parties of a federation."""
    return cast("InRun", federation.backend)


# Steps


def tell(mine: EarlierStudy) -> Recalled:
    """Return what everybody knows of the study."""
    return Recalled(mine.told, mine.ended)


def confirm(mine: EarlierStudy, told: Recalled) -> EarlierStudy:
    """Return what the holder kept; refuse another study, whose model would be another."""
    if encode((mine.told, mine.ended)).digest != encode((told.told, told.ended)).digest:
        raise PeerError("the coordinator sent another result of the study than this site has kept: ask its people")
    return mine


def match_columns(party: str, part: Part, told: Told) -> Part:
    """Return the holder's new records with their columns in the order of the study; refuse columns of another kind."""
    found = describe_columns(part)
    for name, kind in zip(found.names, found.kinds, strict=True):
        was = told.kinds.get(name, NUMBER)
        if kind not in (EMPTY, was):
            raise LocalError(f"column {name!r} of {party} holds {kind}s, and {was}s in the study: write it as there")
    return order_columns(part, told.columns[party])
