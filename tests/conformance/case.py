"""A case: the inputs of a protocol, how it is played, and the check against its centralised reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.choreo import Asker, At, Coordinator, Holder, Labeller, Role, Roster, Run
from tacit.data.part import Part

Inputs = dict[str, tuple[Role, dict[str, Any]]]
P1 = Role("holder", single=True, party="p1")


@dataclass(frozen=True)
class Case:
    """`play(run, **held inputs)` must give what `check(result, inputs)` accepts."""

    name: str
    inputs: Callable[[Roster], Inputs]
    play: Callable[..., Any]
    check: Callable[[Any, Inputs], None]
    least: int = 2

    def roster(self, parties: int) -> Roster:
        """p1.. hold the data, p1 the labels; a coordinator of its own."""
        names = tuple(f"p{i + 1}" for i in range(parties))
        return Roster({Holder: names, Labeller: ("p1",), Asker: ("p1",), Coordinator: ("coordinator",)})

    def run(self, run: Run, inputs: Inputs) -> Any:
        """Bind and play."""
        return self.play(run, **{name: run.hold(role, entries) for name, (role, entries) in inputs.items()})


def of_party(inputs: Inputs, party: str) -> Inputs:
    """What one party brings along."""
    return {name: (role, {p: v for p, v in entries.items() if p == party}) for name, (role, entries) in inputs.items()}


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
