"""Protocols and runtimes by name: a job names both, a process looks them up here."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from tacit import protocols
from tacit.choreo import At, Entropy, Holder, Ledger, Result, Roster, Run, entries_of
from tacit.choreo import protocol as declarations
from tacit.choreo.declaration import Parameter
from tacit.choreo.progress import Listener
from tacit.choreo.protocol import Declaration, ResultKind
from tacit.choreo.result import result_type
from tacit.crypto.pads.entropy import RootEntropy, prf
from tacit.errors import LocalError
from tacit.protocols.parameters import PARAMETERS, fault
from tacit.request import Protocol
from tacit.runtimes.spark.cluster import Spark
from tacit.runtimes.spark.layers import Partitions
from tacit.runtimes.spark.session import session
from tacit.runtimes.together import Together

GROUP = "tacit.protocols"  # entry points by which other packages bring protocols
TEMPLATE = "tacit.protocols.template"  # a protocol to copy, which no job names

Inputs = declarations.Inputs


class Catalogue(Mapping[str, Declaration]):
    """Declarations by name: ours, and those that installed packages bring.

    One of these is loaded when it is first looked up.
    """

    def __init__(self) -> None:
        # every module, so that the facts of all of them are known by name
        names = [each.name for each in walk_packages(protocols.__path__, f"{protocols.__name__}.")]
        found = [import_module(name) for name in names if name != TEMPLATE]
        self._ours = {d.name: d for module in found for d in vars(module).values() if isinstance(d, Declaration)}
        self._loaded: dict[str, Declaration] = {}

    @property
    def ours(self) -> tuple[Declaration, ...]:
        """The declarations of this package, which are loaded."""
        return tuple(self._ours.values())

    @cached_property
    def _brought(self) -> dict[str, EntryPoint]:
        """What installed packages bring, by name; none may stand in for another."""
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=GROUP):
            if point.name in self._ours or found.setdefault(point.name, point).value != point.value:
                raise _refuse(point, "and there is another of this name")
        return found

    def __getitem__(self, name: str) -> Declaration:
        if name in self._ours:
            return self._ours[name]
        if name not in self._loaded:
            self._loaded[name] = _load(self._brought[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._ours, *self._brought))

    def __len__(self) -> int:
        return len(self._ours) + len(self._brought)

    def source_of(self, name: str) -> dict[str, Path]:
        """Return the source files of the package that brings a protocol, by name; none for ours."""
        if name in self._ours:
            return {}
        self[name]  # loaded, and so its package too
        package = self._brought[name].module.partition(".")[0]
        origin = sys.modules[package].__file__
        if origin is None:
            lacking = f"{package}, which has no __init__.py that sites could compare"
            raise LocalError(f"protocol {name!r} is brought by {lacking}")
        top = Path(origin)
        files = top.parent.rglob("*.py") if top.name == "__init__.py" else (top,)
        return {file.relative_to(top.parent.parent).as_posix(): file for file in files}


def _load(point: EntryPoint) -> Declaration:
    """Return the declaration that a package brings, or say in one line why it is none."""
    try:
        found = point.load()
    except Exception as error:  # whatever the text of another package raises
        raise _refuse(point, f"which cannot be loaded ({error}): install it again") from error
    if not isinstance(found, Declaration) or found.name != point.name:
        raise _refuse(point, f"but {point.value} is no declaration of that name: remove it")
    own = {each.name for each in found.own}
    clashing = [name for name in own if name in PARAMETERS]
    unknown = [name for name in found.takes if name not in PARAMETERS and name not in own]
    if clashing or (found.rehearsal and unknown):
        wrong = f"(missing: {unknown}, known already: {clashing})"
        raise _refuse(point, f"which must declare the parameters that it alone has, and no others {wrong}")
    return found


def _refuse(point: EntryPoint, why: str) -> LocalError:
    package = point.dist.name if point.dist else point.module
    return LocalError(f"package {package} brings a protocol {point.name!r}, {why}")


PROTOCOLS = Catalogue()


def declared(protocol: str) -> Declaration:
    """Return the declaration of a protocol, or refuse a name that nobody has declared."""
    if protocol not in PROTOCOLS:
        raise LocalError(f"unknown protocol {protocol!r}: use one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[protocol]


def job_protocols() -> dict[str, Declaration]:
    """Return the protocols that a job between organisations may name."""
    return {name: each for name, each in PROTOCOLS.items() if each.brings}


def makers_of(protocol: str) -> tuple[str, ...]:
    """Return the protocols that leave what this one builds on."""
    needed = set(PROTOCOLS[protocol].builds_on)
    return tuple(name for name, each in PROTOCOLS.items() if needed & set(each.leaves))


def kind_of(protocol: str) -> ResultKind:
    """Return of what a job's results are made; "records", which are guarded best, if the protocol is no longer here."""
    return PROTOCOLS[protocol].kind if protocol in PROTOCOLS else "records"


def known_parameters() -> dict[str, Parameter]:
    """Return every parameter that some protocol takes; a name means the same in all of them."""
    found = dict(PARAMETERS)
    for protocol in PROTOCOLS.values():
        for own in protocol.own:
            if found.setdefault(own.name, own) != own:
                says = f"protocol {protocol.name} declares {own.name!r} otherwise"
                raise LocalError(f"{says} than another protocol does: remove one of the packages")
    return found


def parameters_called(names: Iterable[str]) -> dict[str, Parameter]:
    """Return the parameters of these names at least; protocols outside of this room are loaded only for their own."""
    ours = {own.name: own for protocol in PROTOCOLS.ours for own in protocol.own} | PARAMETERS
    return ours if all(name in ours for name in names) else known_parameters()


def parameter_of(protocol: str, name: str) -> Parameter:
    """Return the declaration of a protocol's parameter: shared, or its own."""
    return {own.name: own for own in PROTOCOLS[protocol].own}.get(name) or PARAMETERS[name]


def find_fault(protocol: str, name: str, value: Any) -> str | None:
    """Return what is wrong with the value of a parameter in a job, by its kind or its menu; None if nothing is."""
    asked, own = declared(protocol), parameter_of(protocol, name)
    return fault(replace(own, kind=asked.menu.get(name, own.kind)), asked.takes[name].annotation, value)


def is_declared(protocol: str, name: str) -> bool:
    """Return whether a protocol's parameter is declared, as all are that somebody chooses."""
    return name in PARAMETERS or any(own.name == name for own in PROTOCOLS[protocol].own)


def read_result(protocol: str, public: Mapping[str, Any]) -> Any:
    """Return what is public of a protocol's result, as the record that the protocol returns if it returns one."""
    kind = result_type(PROTOCOLS[protocol].play) if protocol in PROTOCOLS else None
    return dict(public) if kind is None else kind.from_public(public)


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run leaves behind in this process.

    result: what the choreography returned; of each value that parties hold, {party: value} of those in this process.
    job: between organisations, the job at whose sites each party's own values stay.
    told: between organisations, who is told the answers of a question.
    until: between organisations, the day until which sites keep their own values at least.
    """

    result: Any
    ledger: Ledger
    history: list[dict[str, Any]]
    seconds: float
    cpu: dict[str, float]
    concerns: tuple[str, ...] = ()  # what the report has to warn of
    job: str = ""
    told: tuple[str, ...] = ()
    until: str = ""


def play(run: Run, protocol: Protocol, inputs: Inputs, params: Mapping[str, Any]) -> Any:
    """Bind each input to its role and play the protocol: a choreography, or the registered one of that name.

    A registered protocol gets its parameters one by one, as a job has them.
    """
    held = {name: run.hold(role, entries) for name, (role, entries) in inputs.items()}
    if not isinstance(protocol, str):
        return protocol(run, **held, **params)
    known = declared(protocol)
    return known.play(run, **held, **known.arguments(params))


def execute_together(
    roster: Roster,
    protocol: Protocol,
    inputs: Inputs,
    params: Mapping[str, Any],
    *,
    progress: Listener | None = None,
    entropy: Entropy | None = None,
    job: bytes | None = None,
) -> Outcome:
    """Run a protocol with all parties in this process.

    With a `job` of its own all randomness follows from it, so that a simulation can be repeated.
    """
    start = time.perf_counter()
    roots = None if job is None else {party: prf(job, b"simulation", party.encode()) for party in roster.parties}
    job = job or secrets.token_bytes(16)
    entropy = entropy or RootEntropy(roster.parties, job, roots)
    with Together(roster, job=job, entropy=entropy, progress=progress) as run:
        result = play(run, protocol, inputs, params)
        return Outcome(open_result(result), run.ledger, run.history, time.perf_counter() - start, dict(run.cpu))


def execute_spark(
    roster: Roster,
    protocol: Protocol,
    inputs: Inputs,
    params: Mapping[str, Any],
    *,
    progress: Listener | None = None,
    spark: Any = None,
) -> Outcome:
    """Run a protocol with each holder at a partition and this process as its driver.

    What is on the cluster already stays there. Nothing outlives a run: whoever could combine two runs on Spark, which
    is one trust domain, has the rows anyway.
    """
    simulated = not any(isinstance(entries, Partitions) for _, entries in inputs.values())
    sc, start, job = session(spark).sparkContext, time.perf_counter(), secrets.token_bytes(16)
    with Spark(roster, roster[Holder], sc=sc, job=job, simulated=simulated, progress=progress) as run:
        result = play(run, protocol, inputs, params)
        run.finish()
        found = open_result(result, run.opened if simulated else run.here)
        return Outcome(found, run.ledger, run.history, time.perf_counter() - start, dict(run.cpu))


RUNTIMES: dict[str, Callable[..., Outcome]] = {"together": execute_together, "spark": execute_spark}


def open_result(result: Any, held: Callable[[At[Any]], Mapping[str, Any]] = entries_of) -> Any:
    """Return a result with every `At` replaced by {party: value}: for whoever simulates all parties."""
    if isinstance(result, At):
        return dict(held(result))
    if isinstance(result, Result):
        return type(result)(**{k: open_result(v, held) for k, v in result.as_dict().items()})
    if isinstance(result, dict):
        return {k: open_result(v, held) for k, v in result.items()}
    if type(result) is tuple:
        return tuple(open_result(v, held) for v in result)
    return result
