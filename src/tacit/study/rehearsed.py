"""How a study is rehearsed: its own steps on an invented table, each with the small parameters of its protocol.

From it follow what the study opens, which requests it makes, so that a policy can judge each of them, and what it
costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Everyone, Holder, Labeller, Ledger, Roster, Run, choreography
from tacit.choreo.declaration import Either, Items, Nothing, Parameter
from tacit.choreo.protocol import COLUMNS, TABLE, Brought, Cost, Declaration, Inputs, Planned, Rehearsal, Stage
from tacit.federation.part import Part, part_of
from tacit.models.prepared import is_text
from tacit.preprocessing.transformer import FederatedTransformer
from tacit.progress import watching
from tacit.protocols.facts import COLUMN_NAMES
from tacit.protocols.parameters import CLASSES, LABEL
from tacit.registry import PROTOCOLS, Outcome, execute_together
from tacit.report.evaluation import SITE
from tacit.request import Left, Request
from tacit.study.inside import Played
from tacit.study.steps import PlainTable, Step, StepsKind, read_pipeline
from tacit.study.study import STEPS, conduct, study

ROWS = 40  # invented records of a holder
Span = tuple[float, float]
UNKNOWN = {"a text": "text", "a date": "date", "a number": "number"}  # columns of every kind


@dataclass(frozen=True)
class Plan:
    """What a study will ask for, in order, as far as it does not depend on records; and the ledger of its rehearsal."""

    played: tuple[Played, ...]
    ledger: Ledger

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests that the steps of the study make."""
        return tuple(each.request for each in self.played)


def plan_study(roster: Roster, params: Mapping[str, Any], kinds: Mapping[str, str] = UNKNOWN) -> Plan:
    """Rehearse a study between these parties, and return what it asks for.

    kinds: the columns that hold texts or dates; some of every kind by default.
    """
    played, outcome = rehearse_study(roster, params, kinds)
    return Plan(played, outcome.ledger)


def rehearse_study(
    roster: Roster, params: Mapping[str, Any], kinds: Mapping[str, str] = UNKNOWN
) -> tuple[tuple[Played, ...], Outcome]:
    """Play a study between these parties on invented tables; return what it asked for, and what it left."""
    played: list[Played] = []

    @choreography(opens={Everyone: (COLUMN_NAMES, STEPS)})
    def study(run: Run, /, data: At[Part], judge: At[Part], rules: At[Any], **asked: Any) -> Any:  # as the real one
        return conduct(run, data, judge, rules, prepare=shrink, played=played, **asked)

    inputs = invent_tables(Stage(roster, ROWS, params, part_of), kinds)
    with watching("rehearsal", verbose=False):  # who waits for the real one is not told of this one's steps
        outcome = execute_together(roster, study, inputs, params)
    return tuple(played), outcome


def shrink(request: Request) -> Request:
    """Return a request with small parameters, none of which changes the words of what is opened.

    A question about a model keeps those that fit the model.
    """
    known, asks = PROTOCOLS[request.name].rehearsal, any(isinstance(each, Left) for each in request.inputs.values())
    return request if known is None or asks else request.with_params(**known.small(request.params))


def invent_tables(stage: Stage, kinds: Mapping[str, str] = UNKNOWN) -> Inputs:
    """Return records of every column that the steps name, and of some more of every kind they take, at each holder."""
    partition, columns = stage.params["partition"], invent_columns(stage.params, kinds)
    holders, rows = stage.roster[Holder], np.arange(ROWS)
    labeller = stage.roster[Labeller][0] if Labeller in stage.roster.roles else None
    y = np.random.default_rng(1).normal(size=ROWS) if _learns_numbers(stage.params.get("steps") or ()) else rows % 2
    held = {}
    for i, party in enumerate(holders):
        names = tuple(columns)[i :: len(holders)] if partition == "vertical" else tuple(columns)
        X = np.column_stack([np.empty((ROWS, 0)), *(columns[name].cells for name in names)])
        owned = np.add.outer(rows, np.arange(len(names))) % len(holders) == i if partition == "arbitrary" else None
        texts = {name: columns[name].texts for name in names if columns[name].texts}
        raw: Any = {
            "texts": texts,
            "dictionary": texts,
            "dates": tuple(name for name in names if columns[name].date),
        }
        held[party] = part_of(X, y if labeller in (None, party) else None, None, names, owned, **raw)
    return {"data": (Holder, held), "judge": (Holder, held), "rules": (Holder, {party: {} for party in holders})}


@dataclass(frozen=True)
class Column:
    """An invented column: its cells, the texts that they are numbers of, and whether they are dates."""

    cells: F64
    texts: tuple[str, ...] = ()
    date: bool = False


def invent_columns(params: Mapping[str, Any], kinds: Mapping[str, str] = UNKNOWN) -> dict[str, Column]:
    """Return a column of each kind that may be met in earnest, so that all that can be opened is opened here."""
    steps, looked = params.get("steps") or (), params.get("describe") or {}
    listed = {name: tuple(values) for name, values in (looked.get("categories") or {}).items()}
    declared = {**_declared_columns(steps), **listed}
    rng = np.random.default_rng(0)
    made = {name: _of_values(values) if values else Column(rng.random(ROWS)) for name, values in declared.items()}
    raw = any(getattr(step, "RAW", False) for _, step in read_pipeline(steps, 0).steps)
    made |= {name: column for name, column in _judged_by(params, raw=raw).items() if name not in made}
    if not steps or raw:
        made = {name: _of_kind(kind) for name, kind in kinds.items()} | made
    declared_by = [step for _, step in read_pipeline(steps, 0).steps if getattr(step, "ranges", None) is not None]
    ranges, usual = _declared_ranges(declared_by)
    made |= {name: Column(_draw(rng, span)) for name, span in ranges.items()}
    if any(map(_needs_every_range, declared_by)):
        return made
    return {f"x{j}": Column(_draw(rng, usual)) for j in range(max(3, COLUMNS - len(made)))} | made


def _judged_by(params: Mapping[str, Any], *, raw: bool) -> dict[str, Column]:
    """Return the column by whose categories records are judged apart, if there is one."""
    by = (params.get("evaluate") or {}).get("by")
    if by is None or by == SITE:
        return {}
    ((name, values),) = by.items() if isinstance(by, Mapping) else ((by, ("no", "yes")),)
    return {name: _of_values(tuple(values) if raw or not is_text(values) else range(len(values)))}


def _draw(rng: np.random.Generator, span: Span) -> F64:
    low, high = span
    return low + (high - low) * rng.random(ROWS)


def _of_kind(kind: str) -> Column:
    """Return a column of texts, of dates, or of whole numbers, which are perhaps an id."""
    if kind == "text":
        return Column(_repeat((0, 1)), ("no", "yes"))
    return Column(_repeat(range(19_000, 19_000 + ROWS)), date=True) if kind == "date" else Column(_repeat(range(ROWS)))


def _of_values(values: Sequence[Any]) -> Column:
    """Return a column of the declared values, each of them as often."""
    if is_text(values):
        return Column(_repeat(range(len(values))), tuple(map(str, values)))
    return Column(_repeat(values))


def _repeat(values: Iterable[float]) -> F64:
    return np.resize(np.array(list(values), dtype=np.float64), ROWS)


def estimate(planned: Planned) -> Cost:
    """Return what a study costs."""
    return sum_costs(planned, estimate_steps(planned).values())


def estimate_steps(planned: Planned) -> dict[str, Cost]:
    """Return what each step costs."""
    return cost_steps(planned, planned.plan())


def add_costs(planned: Planned, plan: Plan) -> Cost:
    """Add up what the requests of a plan cost."""
    return sum_costs(planned, cost_steps(planned, plan).values())


def cost_steps(planned: Planned, plan: Plan) -> dict[str, Cost]:
    """Return what each step costs: by the estimates of its requests, or as much as they moved in the rehearsal."""
    before = 0
    found: dict[str, list[Cost]] = {}
    for each in plan.played:
        if PROTOCOLS[each.request.name].rehearsal is None:
            ledger = Ledger(plan.ledger.rows[before : each.rows])
            sizes = dict(zip(planned.roster.parties, planned.traffic(ledger), strict=True))
            cost = Cost(rounds=ledger.rounds, bytes=sizes)
        else:
            cost = planned.other(each.request.name, each.request.params)
        found.setdefault(each.step.name, []).append(cost)
        before = each.rows
    return {name: sum_costs(planned, costs) for name, costs in found.items()}


def sum_costs(planned: Planned, costs: Iterable[Cost]) -> Cost:
    """Return the cost of all of them."""
    rounds, moved = 0, Counter[str]()
    for cost in costs:
        rounds += cost.rounds
        moved.update(cost.bytes)
    return Cost(rounds=rounds, bytes={party: moved[party] for party in planned.roster.parties})


def _declared_columns(steps: Sequence[Step]) -> dict[str, tuple[Any, ...]]:
    """Return the columns that parameters of transformers name, with the values declared for them."""
    found: dict[str, tuple[Any, ...]] = {}
    for _, step in read_pipeline(steps, 0).steps:
        if isinstance(step, FederatedTransformer):
            for name, value in step.get_params(deep=False).items():
                for column, each in value.items() if isinstance(value, Mapping) else ():
                    found[column] = tuple(each) if name == "categories" else found.get(column, ())
    return found


def _declared_ranges(steps: Sequence[Any]) -> tuple[dict[str, Span], Span]:
    """Return the ranges that steps declare by column, and the one that they declare for all."""
    by_column = {name: span for step in steps if isinstance(step.ranges, Mapping) for name, span in step.ranges.items()}
    for_all = [tuple(step.ranges) for step in steps if not isinstance(step.ranges, Mapping)]
    return by_column, for_all[-1] if for_all else (0.0, 1.0)


def _needs_every_range(step: Any) -> bool:
    """Whether a step refuses a column without a range; an imputer does of those that it fills with medians."""
    return isinstance(step.ranges, Mapping) and getattr(step, "strategy", "median") == "median"


def _learns_numbers(steps: Sequence[Step]) -> bool:
    last = read_pipeline(steps, 0).steps[-1][1] if steps else None
    return bool(getattr(getattr(last, "estimator", last), "NUMBERS", False))


EVALUATE = Parameter("evaluate", Either((Nothing(), PlainTable())), "how the model is judged on them", opens=True)
DESCRIBE = Parameter("describe", Either((Nothing(), PlainTable())), "how the table is described first", opens=True)
RELEASE = Parameter(
    "release", Either((Nothing(), PlainTable())), "how sites attack the model before the analyst gets it", opens=True
)
CLASS_NAMES = Parameter(
    "class_names",
    Either((Nothing(), Items(LABEL, 1, CLASSES))),
    "how the job says that classes are called",
    follows=True,
)
OF_STEPS = Parameter("steps", Either((Nothing(), StepsKind())), "the steps of the study, in order", opens=True)
FITTED = "fitted pipeline"  # what a study leaves at its sites, to be asked about new records
STUDY = Declaration(
    study,
    {**TABLE, "judge": Brought(Holder, "held out"), "rules": Brought(Holder, "policy")},
    Rehearsal(invent_tables, lambda _: {}, estimate, plan=plan_study, steps=estimate_steps),
    leaves=(FITTED,),
    takes_gaps=True,
    orders_columns=True,
    parameters=(
        OF_STEPS,
        EVALUATE,
        DESCRIBE,
        RELEASE,
        CLASS_NAMES,
    ),
)
