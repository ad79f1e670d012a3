"""A preview: what training a model would open and cost, from its rehearsal alone; nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sklearn.base import clone

from tacit.cards import fold_away, list_warnings, make_card, make_table
from tacit.choreo.declaration import plain
from tacit.choreo.fact import prose_of
from tacit.choreo.ledger import Opened, read_opened, read_template
from tacit.choreo.protocol import Cost
from tacit.choreo.role import Coordinator, Holder, Roster
from tacit.consortium.jobs.job import restore
from tacit.consortium.jobs.rehearsal import USUALLY, check_params, cost_of, disclosure_of, plan_of, steps_of
from tacit.federation import Federation
from tacit.inspect.describe import Describe
from tacit.pipeline import Pipeline
from tacit.preprocessing.transformer import FederatedTransformer
from tacit.report.card import outermost
from tacit.report.words import count, human_bytes, listing
from tacit.request import Records, Request
from tacit.study.names import SEED, STUDY
from tacit.study.steps import write_steps

T = TypeVar("T")
UNSAID = "nobody has said how many there are"


@dataclass(frozen=True, repr=False)
class Preview:
    """What a training would open and cost.

    title: of which model, between whom. protocols: that would be played, and that every policy has to list. disclosure:
    the ledger template, which is the text that sites rehearse and agree to. cost: an estimate for so many `records`;
    `declared` if that is how many there are. steps: the same of each step of a study. warnings: what should be known.
    """

    title: str
    protocols: tuple[str, ...]
    disclosure: str
    cost: Cost
    steps: dict[str, Cost]
    records: int
    declared: bool
    warnings: tuple[str, ...] = ()

    @property
    def opens(self) -> Sequence[Opened]:
        """What each role would know, by the protocols that are asked for; those inside say no more of it."""
        return outermost(read_opened(self.disclosure))

    def __repr__(self) -> str:
        lines = [f"{self.title}: a rehearsal, nothing is proposed"]
        lines += [f"  {each.protocol} opens to {each.role}: {each.what}" for each in self.opens]
        lines += [f"  costs {self._describe_cost()}"]
        lines += [f"    {name}: {_describe(cost)}" for name, cost in self.steps.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        messages = [(row.where, row.roles, prose_of(row.facts)) for row in read_template(self.disclosure)]
        return make_card(
            self.title,
            f"a rehearsal, nothing is proposed; {self._describe_cost()}",
            make_table(("by", "who", "would know"), [(each.protocol, each.role, each.what) for each in self.opens]),
            list_warnings(self.warnings),
            make_table(("step", "cost"), [(name, _describe(cost)) for name, cost in self.steps.items()]),
            fold_away("every kind of message", make_table(("where", "from > to", "tells"), messages)),
        )

    def _describe_cost(self) -> str:
        why = "" if self.declared else f", since {UNSAID}"
        return f"{_describe(self.cost)}, estimated for {count(self.records, 'record')}{why}"


def _describe(cost: Cost) -> str:
    return f"{count(cost.rounds, 'round')}, {human_bytes(max(cost.bytes.values()))} at the busiest site"


def study_of(federation: Federation, model: Any) -> Request:
    """Return what `fit` asks organisations for: a study of the model's steps; raise whatever is refused before."""
    asked: dict[str, Any] = {SEED: 0, "partition": federation.partition}
    if isinstance(model, Describe):
        return Request(STUDY, {"data": Records()}, {**asked, "describe": model.chosen})
    copy = clone(model)  # the model itself stays as it is
    if not isinstance(model, Pipeline | FederatedTransformer):
        copy.request(federation)
    return Request(STUDY, {"data": Records()}, {**asked, "steps": write_steps(copy)})


def take_fitted(model: T, fitted: Pipeline) -> T:
    """Return a model that takes what the sites fitted as its study."""
    taker: Any = model
    found: Any = fitted if isinstance(model, Pipeline | Describe) else fitted.steps[0][1]
    made: T = taker.take(found)
    return made


def preview(federation: Federation, model: Any, records: int | None = None) -> Preview:
    """Return what `model.fit(federation)` would open and cost, if its parties were organisations."""
    request = study_of(federation, model)
    params = {name: restore(plain(name, value)) for name, value in request.params.items()}
    if records is None and federation.holds_records:
        records = federation.n_rows
    return make_preview(model, request.name, params, federation.roster, records, federation.warnings)


def make_preview(
    model: Any,
    protocol: str,
    params: dict[str, Any],
    roster: Roster,
    records: int | None,
    warnings: Sequence[str],
) -> Preview:
    """Return the preview of a protocol with these parameters between these parties."""
    check_params(protocol, params)
    plan, number = plan_of(protocol, params, roster), records or USUALLY
    played = (protocol,) if plan is None else tuple(dict.fromkeys(each.name for each in plan.requests))
    parties, site, cost = listing(roster[Holder]), roster[Coordinator][0], cost_of(protocol, params, roster, number)
    return Preview(
        f"{type(model).__name__} between {parties}, coordinated by {site}",
        played,
        disclosure_of(protocol, params, roster),
        cost,
        steps_of(protocol, params, roster, number),
        number,
        records is not None,
        tuple(warnings),
    )
