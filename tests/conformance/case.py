"""A case: the inputs of a protocol, how it is played, and the check against its centralised reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.choreo import Asker, At, Coordinator, Holder, Labeller, Result, Role, Roster, Run
from tacit.choreo.protocol import Declaration
from tacit.federation.part import Part

Inputs = dict[str, tuple[Role, dict[str, Any]]]
P1 = Role("holder", single=True, party="p1")


@dataclass(frozen=True)
class Case:
    """`play(run, **held inputs)` must give what `check(result, inputs)` accepts; a long one is left to test-all."""

    name: str
    inputs: Callable[[Roster], Inputs]
    play: Callable[..., Any]
    check: Callable[[Any, Inputs], None]
    least: int = 2
    long: bool = False

    def roster(self, parties: int) -> Roster:
        """p1.. hold the data, p1 the labels; a coordinator of its own."""
        names = tuple(f"p{i + 1}" for i in range(parties))
        return Roster({Holder: names, Labeller: ("p1",), Asker: ("p1",), Coordinator: ("coordinator",)})

    def run(self, run: Run, inputs: Inputs) -> Any:
        """Bind and play; a result comes back by name, as checks of all runtimes have it."""
        return by_name(self.play(run, **{name: run.hold(role, entries) for name, (role, entries) in inputs.items()}))


def flat(play: Callable[..., Any]) -> Callable[..., Any]:
    """Return a choreography as a function of its parameters one by one, as a job gives them."""
    return lambda run, *held, **given: play(run, *held, **Declaration(play).arguments(given))


def of_party(inputs: Inputs, party: str) -> Inputs:
    """What one party brings along."""
    return {name: (role, {p: v for p, v in entries.items() if p == party}) for name, (role, entries) in inputs.items()}


def by_name(result: Any) -> Any:
    """A result by name, however deep, without the fields that its protocol left out."""
    if not isinstance(result, Result):
        return result
    absent = {field.name for field in dataclasses.fields(result) if field.default is None}  # type: ignore[arg-type]
    given = {name: value for name, value in result.as_dict().items() if value is not None or name not in absent}
    return {name: by_name(value) for name, value in given.items()}


def merged(results: Mapping[str, Any]) -> Any:
    """One result from what each party has: entries united, plain values equal."""
    first, *rest = results.values()
    if isinstance(first, At):
        return {party: value for result in results.values() for party, value in result._entries.items()}
    if isinstance(first, dict):
        return {key: merged({p: result[key] for p, result in results.items()}) for key in first}
    for other in rest:
        np.testing.assert_array_equal(other, first)
    return first


def table(classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 7))
    score = X[:, 0] + X[:, 1] * X[:, 2]
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def columns(roster: Roster, classes: int = 2) -> Inputs:
    X, y = table(classes)
    holders = roster[Holder]
    cut = np.array_split(np.arange(X.shape[1]), len(holders))
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    parts = {
        p: Part(np.ascontiguousarray(X[:, c]), y if p == "p1" else None, None, tuple(names[i] for i in c), None)
        for p, c in zip(holders, cut, strict=True)
    }
    return {"data": (Holder, parts)}
