"""A study: preparing, searching, training and judging between the same parties, as one run.

Every party plays the text of a pipeline (`study.inside`), whose steps stand in the job. What a step opens is opened by
the protocols that it plays, and by nothing else; the table that a step prepares stays in the memory of its holder, and
is the input of the next step.

    1. each holder tells the names and kinds of its columns; by rows these must be the same ones, in whatever order, and
       where classes are learnt and the job declares none, each tells those of its classes that are not rare, so that
       names which are written in different ways are found before anything else is opened (`protocols.class_names`)
    2. a look at the table (`protocols.prepare.describe`), if it is asked for; a study may be nothing else
       the steps, one after the other, on the records to learn from
    3. the evaluation, on the records that each site dealt to judge by, once for all jobs, if it is asked for
       the release gate, if it is asked for: sites attack the model, and tell what their policies allow
    4. what everybody knows of each request, which is all that an analyst needs to have the fitted pipeline

Roles. Holder: records. Labeller: labels, where the split is not by rows. Coordinator: of all steps.
Threat. As each step's protocol; results of several steps on the same rows are counted together (`sums.atoms`).
Source: ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.base.shared import write_concerns_only
from tacit.choreo import (
    Asker,
    At,
    Coordinator,
    Everyone,
    Fact,
    Holder,
    Labeller,
    Message,
    Roster,
    Run,
    State,
    choreography,
)
from tacit.choreo.result import Result
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import check_numbers
from tacit.federation.part import Part, with_columns
from tacit.federation.plan import Partition
from tacit.inspect.describe import describe as look_at_table
from tacit.metrics import evaluate as judge_model
from tacit.pipeline import Pipeline
from tacit.progress import begin_step, watching
from tacit.protocols.classes import check_class_names, frequent_classes
from tacit.protocols.facts import CLASSES, COLUMN_NAMES
from tacit.protocols.part import Label, Names, hidden_of
from tacit.study.gate import GATE, Gate, check_gate
from tacit.study.inside import InRun, Played, Prepare, play_as_asked
from tacit.study.steps import Step, learns_classes, read_pipeline

STEPS = Fact("study.steps", "nobody", "nothing", "none", "what the steps of the study open, each by lines of its own")
HELD_OUT = "held-out records"  # how an evaluation calls them
LOOKING = "description"  # how the first step is called, by which the table is described
JUDGING = "evaluation"  # how the step is called by which the model is judged
CHECKING = "release"  # how the last step is called, by which the model is attacked
NUMBER, EMPTY = "number", "empty"  # kinds of columns beside "text" and "date"

Schema = dict[str, tuple[str, ...]]  # names, or kinds, of the columns of each holder


class Columns(Message, tells=COLUMN_NAMES, ragged=True, of_records=False):
    """The names of a holder's columns, and what each of them holds."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]


class OwnClasses(Message, tells=CLASSES, ragged=True):
    """The names of a holder's classes that are not rare."""

    names: Names


class Told(State):
    """What everybody knows of the columns of a study."""

    columns: Schema
    kinds: dict[str, str]


class Ended(State):
    """What everybody knows of a request of a study, once it was played.

    values: the public values of its result. rows, notes: how long ledger and history are at its end.
    """

    protocol: str
    values: Any
    rows: int
    notes: int


@choreography(opens={Everyone: (COLUMN_NAMES, STEPS)})
def study(
    run: Run,
    data: At[Part],
    judge: At[Part],
    rules: At[Any] | None = None,
    *,
    seed: int,
    partition: Partition,
    steps: Sequence[Step] | None = None,
    evaluate: Mapping[str, Any] | None = None,
    describe: Mapping[str, Any] | None = None,
    release: Mapping[str, Any] | None = None,
    class_names: tuple[Label, ...] | None = None,
) -> dict[str, Any]:
    """Play the steps; return what is public of each, and what each party holds of it."""
    asked: Any = {"steps": steps, "seed": seed, "evaluate": evaluate, "describe": describe, "release": release}
    return conduct(run, data, judge, rules, partition=partition, class_names=class_names, **asked)


def conduct(
    run: Run,
    data: At[Part],
    judge: At[Part],
    rules: At[Any] | None = None,
    *,
    seed: int,
    partition: Partition,
    steps: Sequence[Step] | None = None,
    evaluate: Mapping[str, Any] | None = None,
    describe: Mapping[str, Any] | None = None,
    release: Mapping[str, Any] | None = None,
    class_names: tuple[Label, ...] | None = None,
    prepare: Prepare = play_as_asked,
    played: list[Played] | None = None,
) -> dict[str, Any]:
    """Play the steps; `prepare` is given every request, and returns the one to play; `played` gets them as asked."""
    check_asker(run.roster, partition)
    told, data, judge = agree_on_columns(run, data, judge, partition)
    pipeline = read_pipeline(steps or (), seed)
    if class_names is None and partition == "horizontal" and learns_classes(pipeline):
        agree_on_classes(run, data)
    declare_classes(pipeline, class_names)
    live = InRun(run, data, [] if played is None else played, prepare, rules=rules)
    learning = federate(run.roster, told, partition, live)
    judging = federate(run.roster, told, partition, dataclasses.replace(live, data=judge))
    with write_concerns_only():
        fit_and_judge(pipeline, learning, judging, evaluate, describe, release)
    ended = tuple(Ended(p.request.name, to_wire(p.public), p.rows, p.notes) for p in live.played)
    held = {f"{k}.{name}": at for k, p in enumerate(live.played) for name, at in p.left.items()}
    gate = {} if release is None else {GATE: Gate.of(pipeline.report_.release)}
    return {"told": told, "ended": ended, **gate, **held}


def check_asker(roster: Roster, partition: Partition) -> None:
    """Refuse another asker than the labeller, who over columns and cells compares a model's answers with labels."""
    if partition != "horizontal" and roster[Asker] != roster[Labeller]:
        raise LocalError(
            "in a study over columns or cells only the labeller gets the answers of a model: leave asker out"
        )


def fit_and_judge(
    pipeline: Pipeline,
    learning: Federation,
    judging: Federation,
    evaluate: Mapping[str, Any] | None,
    describe: Mapping[str, Any] | None = None,
    release: Mapping[str, Any] | None = None,
) -> Pipeline:
    """Return a pipeline, fitted, judged and checked: at every site, and once more where the result is read.

    A look at the table comes before all of it; where there are no steps, it is all there is.
    """
    if describe is None and not pipeline.steps:
        raise LocalError("the study has no steps and describes nothing: add [[step]], or [describe]")
    for name, asked in (("evaluate", evaluate), ("release", release)):
        if asked is not None and not pipeline.steps:
            raise LocalError(f"the study has no steps, so there is no model to {name}: add [[step]], or drop [{name}]")
    _check_kinds(pipeline, learning)
    looking = [] if describe is None else [LOOKING]
    after = [name for name, asked in ((JUDGING, evaluate), (CHECKING, release)) if asked is not None]
    names = [*looking, *(name for name, _ in pipeline.steps), *after]
    with watching("study") as watch, watch.in_steps(names):
        overview = None
        if describe is not None:
            begin_step(LOOKING)
            overview = look_at_table(learning, **describe)
        if pipeline.steps:
            pipeline.fit(learning)
        if overview is not None:
            pipeline.overview_ = overview
            pipeline.combine_reports()
        if evaluate is not None:
            begin_step(JUDGING)
            learnt: dict[str, Any] = {"learnt_on": learning} if evaluate.get("against") else {}
            judge_model(pipeline, judging, **{"name": HELD_OUT, **evaluate}, **learnt)
        if release is not None:
            begin_step(CHECKING)
            check_gate(pipeline, learning, judging, release)
    return pipeline


def _check_kinds(pipeline: Pipeline, learning: Federation) -> None:
    """Raise, before anything is told of columns, if there are some that no step can use."""
    if not any(getattr(step, "RAW", False) or getattr(step, "categories", None) for _, step in pipeline.steps):
        for _, step in pipeline.steps[:1]:
            check_numbers(learning, type(step).__name__)


def agree_on_columns(
    run: Run, data: At[Part], judge: At[Part], partition: Partition
) -> tuple[Told, At[Part], At[Part]]:
    """Return what is known of all columns, and by rows everybody's records in the first holder's order of columns."""
    said = run.publish_all(Columns, run.local(Holder, describe_columns, data))
    columns = {party: each.names for party, each in said.items()}
    kinds = agree_on_kinds({party: dict(zip(each.names, each.kinds, strict=True)) for party, each in said.items()})
    if partition == "vertical":
        refuse_shared(columns)
        return Told(columns, kinds), data, judge
    first, names = next(iter(columns.items()))
    for party, own in columns.items():
        if odd := sorted(set(own) ^ set(names)):
            has, lacks = (party, first) if odd[0] in own else (first, party)
            raise LocalError(f"{has} has a column {odd[0]!r} that {lacks} lacks: offer the same columns at both")
    data, judge = (run.local(Holder, order_columns, each, names) for each in (data, judge))
    return Told(dict.fromkeys(columns, names), kinds), data, judge


def agree_on_classes(run: Run, data: At[Part]) -> None:
    """Let holders tell their classes, and raise if they write them in different ways."""
    said = run.publish_all(OwnClasses, run.local(Holder, name_classes, data))
    check_class_names({party: each.names for party, each in said.items()}, declare=True)


def declare_classes(pipeline: Pipeline, names: tuple[Label, ...] | None) -> None:
    """Tell the steps that learn classes which ones the job declares, so that no party tells its own."""
    if names is not None:
        unsaid = [key for key, value in pipeline.get_params().items() if key.endswith("__classes") and value is None]
        pipeline.set_params(**dict.fromkeys(unsaid, names))


def refuse_shared(columns: Schema) -> None:
    """Refuse a column that two holders have, where each has columns of its own."""
    owner: dict[str, str] = {}
    for party, names in columns.items():
        for name in names:
            if owner.setdefault(name, party) != party:
                raise LocalError(
                    f"feature '{name}' is held by both '{owner[name]}' and '{party}': rename it, or leave it out"
                )


def agree_on_kinds(said: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return which columns hold texts or dates; refuse one that is of different kinds at different holders."""
    found: dict[str, tuple[str, str]] = {}
    for party, kinds in said.items():
        for name, kind in kinds.items():
            other, known = found.setdefault(name, (party, kind))
            if EMPTY in (known, kind):
                found[name] = (party, kind) if known == EMPTY else found[name]
            elif kind != known:
                raise LocalError(
                    f"column {name!r} holds {known}s at {other} and {kind}s at {party}: write it alike at both"
                )
    return {name: kind for name, (_, kind) in found.items() if kind not in (NUMBER, EMPTY)}


def federate(roster: Roster, told: Told, partition: Partition, backend: Any) -> Federation:
    """Return the parties of a study as the federation that its estimators are shown."""
    labeller = roster[Labeller][0] if Labeller in roster.roles else None
    roles: Any = {"coordinator": roster[Coordinator][0], "labeller": labeller}
    named: Any = {"columns": told.columns, "backend": backend}
    made = Federation.described(tuple(told.columns), partition=partition, **named, **roles)
    return dataclasses.replace(made, kinds=told.kinds)


def to_wire(public: Any) -> Any:
    """Return what is public of a result as the codec carries it."""
    return public.to_public() if isinstance(public, Result) else public


# Steps at the holders


def describe_columns(part: Part) -> Columns:
    """Return the names and kinds of the holder's columns."""
    return Columns(part.features, tuple(_kind_of(part, j) for j in range(len(part.features))))


def _kind_of(part: Part, j: int) -> str:
    name = part.features[j]
    if name in part.texts or name in part.dates:
        return "text" if name in part.texts else "date"
    return EMPTY if np.isnan(part.X[:, j]).all() else NUMBER


LEAST = 5  # records of a class below which a site does not say its name


def name_classes(part: Part) -> OwnClasses:
    """Return the names of the holder's classes that are not rare."""
    return OwnClasses(() if part.y is None else frequent_classes(part.y[~hidden_of(part)], LEAST))


def order_columns(part: Part, names: tuple[str, ...]) -> Part:
    """Return the holder's records with their columns in this order."""
    if part.features == names:
        return part
    at = [part.features.index(name) for name in names]
    owned = None if part.owned is None else part.owned[:, at]
    return with_columns(part, part.X[:, at], names, owned)
