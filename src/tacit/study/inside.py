"""A backend inside a run: what an estimator asks for is played at once, between the parties of that run.

Every party plays the same text, so every estimator of a study exists at every site, is given the same public values,
and asks for the same next step. Records stay in an `At`: no estimator can look at them, and a step that works on them
runs at their holder.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tacit.choreo import At, Holder, Ledger, Result, Role, Run
from tacit.choreo.declaration import plain
from tacit.choreo.ledger import Opened
from tacit.choreo.progress import AtStep
from tacit.choreo.result import SOLE
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.backend import Backend, Described
from tacit.federation.part import Part
from tacit.progress import find_step
from tacit.registry import Outcome, declared, find_fault, is_declared
from tacit.request import Beside, Computed, Ids, Input, Left, Records, Request, Rules


@dataclass(frozen=True, repr=False)
class Played:
    """A request, what everybody knows of its result, and what its parties hold of it.

    rows, notes: how long ledger and history were at its end. step: which step asked for it.
    """

    request: Request
    public: Any
    left: Mapping[str, At[Any]]
    rows: int
    notes: int
    step: AtStep


Prepare = Callable[[Request], Request]


def play_as_asked(request: Request) -> Request:
    """Return a request as it is."""
    return request


@dataclass(frozen=True, repr=False)
class InRun(Backend):
    """The parties of a run that goes on.

    live: the run. data: the records, as prepared so far. played: what was asked for so far, by all copies of this
    backend. prepare: what becomes of a request before it is played. earlier: what each role has of a study that this
    run asks. rules: what each holder's policy lets a model give away; None: what is usual. most: about how many new
    records a model may be asked, as the job declares; None: about any number.
    """

    live: Run
    data: At[Part]
    played: list[Played] = field(default_factory=list)
    prepare: Prepare = play_as_asked
    earlier: Mapping[Role, At[Any]] = field(default_factory=dict)
    rules: At[Any] | None = None
    most: int | None = None
    name: str = "run"
    prepares: ClassVar[bool] = True

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Play the request; the outcome has what is public, and `job` numbers what the parties hold of it."""
        del federation
        check_choices(request)
        began, rows, notes = time.perf_counter(), len(self.live.ledger.rows), len(self.live.history)
        step = find_step()
        self.live.meter.begin_step(step)
        if self.live.roster.absent:  # said of every step, since each has a report of its own
            self.live.note(missing=", ".join(self.live.roster.absent))
        public, left, opens = self._play(self.prepare(request))
        ledger, history = self.live.ledger.rows, self.live.history
        self.played.append(Played(request, public, left, len(ledger), len(history), step))
        own = Ledger(ledger[rows:], opens)
        return Outcome(public, own, history[notes:], time.perf_counter() - began, {}, job=str(len(self.played) - 1))

    def _play(self, request: Request) -> tuple[Any, dict[str, At[Any]], list[Opened]]:
        """Return what is public of a result, what parties hold of it, and what the protocol declares to open."""
        known, ledger = declared(request.name), self.live.ledger
        brought = {name: self._bring(each) for name, each in request.inputs.items()}
        if self.most is not None and "records" in known.takes:
            request = request.with_params(records=self.most)
        before, ledger.opens = ledger.opens, []  # each step tells what it opens, also what one before it opened too
        try:
            result = known.play(self.live, **brought, **known.arguments(request.params))
            return *divide(result), ledger.opens
        finally:
            ledger.opens = [*before, *(each for each in ledger.opens if each not in before)]

    def resolve(self, left: Left, outcome: Outcome) -> Input:
        """Return what an earlier request of the same plan left, by the number of that request."""
        return dataclasses.replace(left, of=outcome.job)

    def remake(self, step: Callable[..., Part], *held: Input) -> InRun:
        """Return the same parties with other records, each holder's made of its own and of what it holds."""
        brought = (self.live.who(Holder), self.data, *map(self._bring, held))
        return dataclasses.replace(self, data=self.live.local(Holder, step, *brought))

    def without_records(self) -> Backend:
        """Return a backend that is connected to nobody: what a model keeps of its federation may travel with a step."""
        return Described()

    def check_targets(self, *, numbers: bool) -> None:
        """Let whoever has labels check that they are of the right kind."""
        self.live.local(Holder, check_labels, self.live.who(Holder), self.data, numbers)

    def check_records(self, check: Callable[[str, Part], None]) -> None:
        """Let each holder check its own records."""
        self.live.local(Holder, check, self.live.who(Holder), self.data)

    def collect(self, brought: Input) -> At[Any]:
        """Return what an input stands for at each party that brings it."""
        return self._bring(brought)

    def _bring(self, brought: Input) -> At[Any]:
        match brought:
            case Records():
                return self.data
            case Beside(federation=other):
                return other.backend.collect(Records())  # type: ignore[no-any-return]  # another one of this run
            case Rules():
                return self.live.local(Holder, have_usual_rules) if self.rules is None else self.rules
            case Computed(role=role, step=step, of=of):
                return self.live.local(role, step, self.live.who(role), *map(self._bring, of))
            case Left(of=str(where), name=name) if "." in where:
                return self.live.local(brought.role, take_share, self._recall(brought.role), _share(where, name))
            case Left(of=str(number), name=name):
                return self.played[int(number)].left[name or SOLE]
            case Left() | Ids():
                raise LocalError(f"a step of a study cannot bring {type(brought).__name__} along: run it by itself")
        raise LocalError("a step of a study needs values of one process, which the parties of the study do not have")

    def _recall(self, role: Role) -> At[Any]:
        """Return what the parties of a role have of the study that is asked."""
        if role not in self.earlier:
            raise LocalError("a step of a study cannot bring what another study left: ask that study by itself")
        return self.earlier[role]


def check_choices(request: Request) -> None:
    """Raise if a step asks a protocol for what no job may choose; every party reads the same steps."""
    for name, value in request.params.items():
        if is_declared(request.name, name) and (fault := find_fault(request.name, name, plain(name, value))):
            raise LocalError(f"{request.name} is a step of the study, whose {fault}: correct the step")


def have_usual_rules() -> dict[str, Any]:
    """Return no rules of one's own."""
    return {}


def take_share(earlier: Any, name: str) -> Any:
    """Return a party's own share of an earlier study, by the number of the request that left it and its name there."""
    if name not in earlier.held:
        raise LocalError("the study that this job builds on left no such share here: run the study again")
    return earlier.held[name]


def _share(where: str, name: str | None) -> str:
    """Return under which name a study keeps what one of its requests left; `where` is the job and the number."""
    return f"{where.partition('.')[2]}.{name or SOLE}"


def check_labels(party: str, part: Part, numbers: bool) -> None:  # noqa: FBT001 - a step has no names
    """Raise if a holder's labels are of the wrong kind."""
    if part.y is None or not len(part.y):
        return
    if numbers and part.y.dtype.kind not in "iufb":
        raise LocalError(f"{party} has texts as targets, and a regression needs numbers: use a classifier")
    if not numbers and part.y.dtype.kind == "f" and bool((part.y != np.floor(part.y)).any()):
        raise LocalError(f"{party} has fractions as classes: Unknown label type: continuous; use a regressor")


def divide(result: Any) -> tuple[Any, dict[str, At[Any]]]:
    """Return a result as whoever holds no share has it, and what parties hold of it, by name."""
    if isinstance(result, At):
        return None, {SOLE: result}
    if not isinstance(result, Result | dict):
        return result, {}
    fields = result.as_dict() if isinstance(result, Result) else result
    divided = {name: divide(value) for name, value in fields.items()}
    held = {
        name if inner == SOLE else f"{name}.{inner}": at
        for name, (_, left) in divided.items()
        for inner, at in left.items()
    }
    public = {name: value for name, (value, _) in divided.items()}
    if isinstance(result, Result):
        return type(result)(**public), held
    return {name: value for name, value in public.items() if name not in held}, held
