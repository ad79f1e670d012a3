"""What a protocol declares beside its text: who brings what, what it leaves, how it is rehearsed, what it costs.

A run of a protocol needs its choreography only. Jobs, policies, rehearsals, estimates and questions about models follow
from a `Declaration`, which stands in the module of the protocol, or in one beside it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol, get_origin, get_type_hints

import msgspec

from tacit.choreo.at import At
from tacit.choreo.declaration import Kind, Parameter, Settings, declared_fields
from tacit.choreo.ledger import Ledger
from tacit.choreo.result import result_type
from tacit.choreo.role import Holder, Role, Roster
from tacit.errors import ChoreographyError

MOST = 10**18  # rounds or bytes of an estimate
SMALL, LARGE = 8, 64  # records of rehearsals
COLUMNS = 20  # of all parties, in an estimate: how many there are is known only when a run has begun

Params = Mapping[str, Any]
Inputs = Mapping[str, tuple[Role, Mapping[str, Any]]]
ResultKind = Literal["records", "ids", "answers"]
Figure = Annotated[int, msgspec.Meta(ge=0, le=MOST)]


@dataclass(frozen=True)
class Brought:
    """Who brings an input of a job, and from where.

    Its table, the same to judge a model by, the records of it that the job holds out, the table's ids, what its policy
    says of models, or what an earlier job left there.
    """

    role: Role
    source: Literal["table", "judged", "held out", "ids", "policy", "earlier"] = "table"


TABLE: Mapping[str, Brought] = {"data": Brought(Holder)}


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An estimate: communication rounds, and the bytes each party sends and receives."""

    rounds: Figure
    bytes: dict[str, Figure]

    def between(self, sites: Iterable[str]) -> Cost:
        """Return what of it is that of these sites."""
        kept = set(sites)
        return Cost(rounds=self.rounds, bytes={p: n for p, n in self.bytes.items() if p in kept})


class Part(Protocol):
    """Make what a holder brings of its table: cells, labels, weights, names of columns, and which cells are its own."""

    def __call__(self, X: Any, y: Any, weight: Any, features: tuple[str, ...], owned: Any = None) -> Any:
        """Return the part."""
        ...


@dataclass(frozen=True)
class Stage:
    """What invented inputs are made for.

    Who takes part, how many records there are, the parameters, and how a part is made.
    """

    roster: Roster
    records: int
    params: Params
    part: Part


@dataclass(frozen=True)
class Planned:
    """What an estimate is made for.

    params: the parameters as given; `complete` has the defaults too. roster: who takes part. records: how many.
    play: plays the protocol on so many invented records, with its small parameters and those that are changed.
    other: estimates another protocol, with these parameters, between the same parties. plan: what it asks for, of a
    protocol that plays others.
    """

    params: Params
    complete: Params
    roster: Roster
    records: int
    play: Callable[[Params, int, Params], Ledger]
    other: Callable[[str, Params], Cost]
    plan: Callable[[], Any]

    def rehearse(self, records: int, **changed: Any) -> Ledger:
        """Return the ledger of a run on so many invented records; `changed` parameters stand in for the small ones."""
        return self.play(self.params, records, changed)

    def traffic(self, ledger: Ledger) -> list[int]:
        """Return the bytes that each party sends and receives, in the order of the roster."""
        moved: Counter[str] = Counter()
        for row in ledger:
            moved[row.sender] += row.bytes or 0
            moved[row.receiver] += row.bytes or 0
        return [moved[p] for p in self.roster.parties]


class Asked(Protocol):
    """A request that a protocol makes."""

    @property
    def name(self) -> str:
        """The protocol that it is for."""
        ...

    @property
    def params(self) -> Params:
        """The parameters of that protocol, by name."""
        ...


class Plan(Protocol):
    """What a protocol that plays others asks for, and the ledger of the rehearsal that showed it."""

    @property
    def requests(self) -> tuple[Asked, ...]:
        """The requests, in order."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The ledger of the rehearsal in which they were made."""
        ...


@dataclass(frozen=True)
class Rehearsal:
    """How to play a protocol before anything real takes part.

    inputs: invented records, and what an earlier job would have left.
    small: parameters that the rehearsal sets itself; none of them changes the words of what is opened.
    cost: an estimate for real records.
    plan: where a protocol plays others that its parameters name: rehearses it by them, and returns what it asks for.
    steps: of such a protocol: estimates for its steps, by their names, in order.
    """

    inputs: Callable[[Stage], Inputs]
    small: Callable[[Params], Params]
    cost: Callable[[Planned], Cost]
    plan: Callable[[Roster, Params], Plan] | None = None
    steps: Callable[[Planned], Mapping[str, Cost]] | None = None


def _say_nothing(records: int, holders: int, params: Params) -> None:
    """Warn of nothing: the protocol takes any number of records."""


@dataclass(frozen=True)
class Declaration:
    """A protocol with all that jobs, policies and people need to know of it beside its text.

    play: the choreography; its name is the protocol's. brings: the inputs of a job that names it; empty for what only
    the steps of a study play. rehearsal: how a job, or a step, is rehearsed and what it costs. leaves: what models a
    job leaves at the sites, by names that others build on. builds_on: what an earlier job must have left; one of these.
    shows_gram: whether the coordinator sees a gram matrix of the records. dealt: whether the coordinator deals the
    random numbers under which everything is opened, so that it has all records together with any one holder. attacked:
    why it opens what a known attack turns into records whatever its parameters are; empty if no attack is known.
    takes_gaps: whether records may lack values. orders_columns: whether by rows it puts everybody's columns in one
    order itself. parameters: its own, beside those that protocols share. asks: whether it asks a model about new
    records. streams: the values that parameters must have so that records may lie on disk, of which it then reads
    blocks; None if it needs all of them in memory. sparse: the values that parameters must have so that records may be
    sparse rows; None if it needs all cells. menu: of which values a job may choose, for parameters of which others may
    choose more. warns: what people should know before it runs on so many records between so many holders with these
    parameters, in one line; None if there is nothing.
    """

    play: Callable[..., Any]
    brings: Mapping[str, Brought] = field(default_factory=dict)
    rehearsal: Rehearsal | None = None
    leaves: tuple[str, ...] = ()
    builds_on: tuple[str, ...] = ()
    shows_gram: bool = False
    dealt: bool = False
    attacked: str = ""
    takes_gaps: bool = False
    orders_columns: bool = False
    parameters: tuple[Parameter, ...] = ()
    asks: bool = False
    streams: Params | None = None
    sparse: Params | None = None
    menu: Mapping[str, Kind] = field(default_factory=dict)
    warns: Callable[[int, int, Params], str | None] = _say_nothing

    def __post_init__(self) -> None:
        unknown = [name for name in self.brings if name not in inspect.signature(self.play).parameters]
        earlier = any(brought.source == "earlier" for brought in self.brings.values())
        if unknown or (self.brings and self.rehearsal is None) or earlier != bool(self.builds_on):
            raise ChoreographyError(
                f"declaration of {self.name}: a protocol that a job may name says what its own inputs are, how it is"
                f" rehearsed, and what it builds on if an input is of an earlier job; unknown inputs: {unknown}"
            )

    @property
    def name(self) -> str:
        """The name by which a job, a policy and a run know the protocol."""
        return self.play.__name__

    @property
    def kind(self) -> ResultKind:
        """Of what a job's results are made.

        "records" of a table, its "ids", or "answers" about new records.
        """
        if self.asks:
            return "answers"
        return "ids" if any(brought.source == "ids" for brought in self.brings.values()) else "records"

    @cached_property
    def keeps_shares(self) -> bool:
        """Whether its result is in shares, of which each site keeps its own and nobody has all."""
        result = result_type(self.play)
        return result is not None and At in (get_origin(kind) for kind in get_type_hints(result).values())

    @property
    def reads_table(self) -> bool:
        """Whether a job brings records of a table, which an alignment may put in order."""
        return any(brought.source in ("table", "judged") for brought in self.brings.values())

    @cached_property
    def takes(self) -> dict[str, inspect.Parameter]:
        """The parameters of the protocol, one by one: those of a record of settings stand in its place."""
        flat: dict[str, inspect.Parameter] = {}
        for name, parameter in self._keywords.items():
            fields = self._records.get(name)
            inner = {name: parameter} if fields is None else dict(inspect.signature(fields).parameters)
            twice = [each for each in inner if each in flat]
            if twice:
                raise ChoreographyError(f"protocol {self.name} takes {', '.join(twice)} twice: rename one of them")
            flat |= inner
        return flat

    @cached_property
    def own(self) -> tuple[Parameter, ...]:
        """The parameters that it declares itself, beside its text or in a record of settings."""
        return (*self.parameters, *(each for record in self._records.values() for each in declared_fields(record)))

    def arguments(self, params: Params) -> dict[str, Any]:
        """Return what the choreography is called with, from parameters that are given one by one."""
        given = dict(params)
        for name, record in self._records.items():
            names = [each for each in inspect.signature(record).parameters if each in given]
            given[name] = record(**{each: given.pop(each) for each in names})
        return given

    @cached_property
    def _keywords(self) -> dict[str, inspect.Parameter]:
        return {n: p for n, p in inspect.signature(self.play).parameters.items() if p.kind is p.KEYWORD_ONLY}

    @cached_property
    def _records(self) -> dict[str, type[Settings]]:
        hints = get_type_hints(self.play)
        found = {name: hints.get(name) for name in self._keywords}
        return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, Settings)}
