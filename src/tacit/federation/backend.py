"""Where requests are run and models are fitted: in this process, on a cluster, or at organisations.

A backend runs a request, and fits a model. What is asked of a fitted model is given to it with what this process would
do (`here`), so that nobody asks what a backend is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from tacit.arrays import I64
from tacit.choreo.protocol import Declaration, Params
from tacit.errors import LocalError
from tacit.federation.checks import check_choice
from tacit.federation.part import Part
from tacit.registry import PROTOCOLS, RUNTIMES, Inputs, Outcome
from tacit.request import Beside, Computed, Ids, Input, Left, Records, Request, Rules, Values

if TYPE_CHECKING:
    from tacit.federation.federation import Federation


T = TypeVar("T")


class Backend(ABC):
    """Runs the requests of a federation.

    name: what a report calls it.
    holds_records: whether the records of all parties, and all that they end with, are in this process.
    prepares: whether records can be given other columns, so that later requests are about these.
    imagined: whether an estimator split plain records between parties, which then need no protection from each other.
    """

    name: str
    holds_records: ClassVar[bool] = False
    prepares: ClassVar[bool] = False
    imagined: bool = False

    @abstractmethod
    def run(self, federation: Federation, request: Request) -> Outcome:
        """Run a request whose inputs are all there."""

    @abstractmethod
    def resolve(self, left: Left, outcome: Outcome) -> Input:
        """Return the input that stands for what an earlier request of the same plan left, now that it has run."""

    def settle(self, brought: Input, done: Mapping[Request | str, Outcome]) -> Input:
        """Return an input in which everything that requests of the same plan left is resolved; `done` have run."""
        match brought:
            case Left(of=of) if of in done:
                return self.resolve(brought, done[of])
            case Computed(of=of):
                return replace(brought, of=tuple(self.settle(each, done) for each in of))
        return brought

    def check(self, request: Request) -> None:
        """Raise if the request cannot be run here, whatever its parameters are."""
        del request

    def check_targets(self, *, numbers: bool) -> None:
        """Raise if labels are of the wrong kind, as far as parties that are elsewhere have told.

        They check their own themselves.
        """
        del numbers

    def check_new_records(self) -> None:  # noqa: B027 - most backends allow it
        """Raise if a model cannot be asked about new records that are here."""

    def check_records(self, check: Callable[[str, Part], None]) -> None:
        """Let each party that is elsewhere check its own records, given its name and its part."""
        del check

    def remake(self, step: Callable[..., Part], *held: Input) -> Backend:
        """Return the backend for records that each party makes of its own, given its name, its part and what it holds.

        held: what else each party brings to the step.
        """
        del step, held
        return self.without_records()

    def without_records(self) -> Backend:
        """Return the backend for a copy of the federation that has other records, other names or none."""
        return self

    def fit(self, federation: Federation, model: T, here: Callable[[], T]) -> T:
        """Return the fitted model; `here` fits it by requests of its own, one by one."""
        del federation, model
        return here()

    def answer(self, federation: Federation, model: Any, here: Callable[[], Any]) -> Any:
        """Return a fitted model's answers about the records, as `here` reads them, or where they are."""
        del federation, model
        return here()

    def score(self, federation: Federation, model: Any, here: Callable[[], float]) -> float:
        """Return how good a model is on labelled records; `here` compares its answers with labels in this process."""
        del federation, model
        return here()

    def to_judge(self, federation: Federation, model: Any, asked: Mapping[str, Any]) -> Federation:
        """Return the federation on which a model is judged: where that is one job, what the job told."""
        del model, asked
        return federation

    def check_slices(self) -> None:
        """Raise if records or columns cannot be chosen from here."""
        raise LocalError(
            "the records are at their sites and cannot be chosen here: let each site set aside its own first"
        )

    def take_rows(self, parts: Mapping[str, Part], rows: Mapping[str, I64]) -> Backend:
        """Return the backend for a slice: of each party's records those with these numbers."""
        del parts, rows
        self.check_slices()
        return self

    def describe(self, federation: Federation) -> str:
        """Return how much data there is and who coordinates, in words."""
        sizes = ", ".join(f"{name} {_size(part)}" for name, part in federation.parts.items())
        labels = f", labels at {federation.labeller}" if federation.labeller else ""
        size = f"{federation.n_rows} x {federation.n_features}"
        return f"{federation.partition}, {size}: {sizes}{labels}; coordinator {federation.coordinator}"


@dataclass(frozen=True)
class Here(Backend):
    """All parties are in this process.

    name: the runtime that plays them.
    """

    name: str = "together"
    imagined: bool = False
    holds_records: ClassVar[bool] = True
    prepares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("runtime", self.name, RUNTIMES)

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Play the protocol with every party's own records."""
        if federation.streamed:
            check_able(request, STREAMED)
        if federation.sparse:
            check_able(request, SPARSE)
        held: Inputs = {n: (each.role, self._entries(federation, n, each)) for n, each in request.inputs.items()}
        watch: dict[str, Any] = {"progress": federation.progress}
        if request.seed is not None and self.name == "together":
            watch["job"] = repeatable_job(request)
        return RUNTIMES[self.name](federation.roster, request.protocol, held, request.params, **watch)

    def resolve(self, left: Left, outcome: Outcome) -> Input:
        """Return the values themselves, which came back."""
        return Values(left.role, outcome.result if left.name is None else getattr(outcome.result, left.name))

    def check_slices(self) -> None:
        """Allow it: records and columns are here."""

    def take_rows(self, parts: Mapping[str, Part], rows: Mapping[str, I64]) -> Here:
        """Return the same runtime for a slice."""
        del parts, rows
        return self

    def _entries(self, federation: Federation, name: str, brought: Input) -> Mapping[str, Any]:
        """Return what each party brings."""
        match brought:
            case Records():
                return federation.parts
            case Beside(federation=other):
                held: Mapping[str, Any] = other.parts
                return held
            case Rules():  # there is no policy where all parties are in one process
                return {party: {} for party in federation.parts}
            case Values(entries=entries):
                return entries
            case Computed(role=role, step=step, of=of):
                sources = [self._entries(federation, name, each) for each in of]
                made: Mapping[str, Any] = {p: step(p, *(each[p] for each in sources)) for p in federation.roster[role]}
                return made
            case Left(of=str(job)):
                absent = f"what job {job} left at its sites: ask a federation that is connected to them"
            case Left():
                absent = "what another request leaves: run both in one plan, that one first"
            case Ids():
                absent = "the ids of records, which this federation does not have: build it with ids="
        raise LocalError(f"input {name!r} is {absent}")


def repeatable_job(request: Request) -> bytes:
    """Return the id of a simulated run whose randomness can be repeated."""
    told = f"{request.seed} {request.name} {sorted(map(repr, request.params.items()))}"
    return sha256(told.encode()).digest()


class Described(Backend):
    """Parties that are elsewhere, as far as they were described.

    Requests can be made for them, and are run by who is connected.
    """

    name = "nats"

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Refuse: nobody is connected."""
        raise LocalError(
            f"{request.name} cannot be run between {', '.join(federation.parts)}: connect to them first (tacit.connect)"
        )

    def resolve(self, left: Left, outcome: Outcome) -> Input:
        """Return a reference to the job, at whose sites the values are."""
        return replace(left, of=outcome.job)

    def answer(self, federation: Federation, model: Any, here: Callable[[], Any]) -> Any:
        """Refuse: nobody is connected."""
        del federation, model, here
        raise LocalError(
            "only a job can ask a model about records of sites: connect to the sites first (tacit.connect)"
        )

    def check(self, request: Request) -> None:
        """Raise if a site could not look the protocol up, or would have to be sent values."""
        known = PROTOCOLS.get(request.name)
        if not isinstance(request.protocol, str) and (known is None or known.play is not request.protocol):
            raise LocalError(
                f"protocol {request.name!r} is not registered, and sites look protocols up by name: run it together"
            )
        sent = [name for name, each in request.inputs.items() if isinstance(each, Values)]
        if sent:
            raise LocalError(
                f"input {sent[0]!r} of {request.name} has values of this process, which parties elsewhere do not have"
            )


def _size(part: Part) -> str:
    return f"{part.X.shape[0]} x {part.X.shape[1]}" if part.owned is None else f"{int(part.owned.sum())} cells"


# Which protocols can do with records that are not all in memory, or have not all their cells


class Lacking(NamedTuple):
    """What some records have not, and most protocols need.

    demands: the values that parameters of a protocol must have so that it can do without; None if it cannot.
    The others are words of the refusal.
    """

    demands: Callable[[Declaration], Params | None]
    found: str
    needs: str
    undo: tuple[str, ...]
    others: str


STREAMED = Lacking(
    attrgetter("streams"),
    found="These records were read with stream=True",
    needs="all records in memory",
    undo=("leave stream=True out",),
    others="what reads blocks of them",
)
SPARSE = Lacking(
    attrgetter("sparse"),
    found="Sparse data was passed",  # the words by which scikit-learn knows such a refusal
    needs="all cells of records",
    undo=("give X.toarray()", "read files with sparse=False"),
    others="what takes sparse records",
)


def check_able(request: Request, lacking: Lacking) -> None:
    """Refuse a request that needs what its records have not."""
    if not any(isinstance(brought, Records) for brought in request.inputs.values()):
        return
    known = PROTOCOLS.get(request.name)
    demands = None if known is None else lacking.demands(known)
    begin = f"{lacking.found}, and {request.name} needs {lacking.needs}"
    if demands is None:
        able = ", ".join(name for name, each in PROTOCOLS.items() if lacking.demands(each) is not None)
        raise LocalError(f"{begin}: {_list_remedies(*lacking.undo, f'use {lacking.others} ({able})')}")
    for name, value in demands.items():
        if request.params.get(name, value) != value:
            remedies = _list_remedies(f"set {name}={value!r}", *lacking.undo)
            raise LocalError(f"{begin} with {name}={request.params[name]!r}: {remedies}")


def _list_remedies(*remedies: str) -> str:
    *first, last = remedies
    return f"{', '.join(first)}, or {last}"
