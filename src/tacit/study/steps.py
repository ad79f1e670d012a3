"""The steps of a study as a job writes them: names of estimators and their parameters, and nothing that runs.

    [[step]]
    use = "FederatedGridSearch"
    estimator = "SVC"                         or { use = "SVC", probability = true }
    grid = { C = [0.3, 1, 3] }

A step is a mapping: `use` names an estimator, `name` the step, everything else is a parameter of it. An estimator among
the parameters is written in the same way. The public seed of the study stands in for every `random_state`.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from tacit.base.by_name import estimators
from tacit.base.estimator import Federated
from tacit.choreo.declaration import Unmeasured
from tacit.errors import LocalError
from tacit.pipeline import Pipeline

# the protocol of a study, and parameters of it that sites read before they play it
USE, NAME, GRID = "use", "name", "grid"
MOST, SIZE, DEPTH = 50, 20_000, 8  # of a study, of what one holds in all, and how deep that is nested
# what a federation decides, or what matters only where plain arrays are split
NOT_SAID = ("partition", "n_parties", "runtime")
RANDOM_STATE = "random_state"

Step = Mapping[str, Any]
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class StepsKind(Unmeasured):
    """Steps in the form of a job; what they say is checked when they are rehearsed."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is a list of mappings that is neither too long nor nested too deeply."""
        listed = isinstance(value, (list, tuple)) and 1 <= len(value) <= MOST
        return listed and all(isinstance(each, dict) for each in value) and _count(value, DEPTH) <= SIZE

    def __str__(self) -> str:
        return f"a list of 1 to {MOST} steps"


@dataclass(frozen=True)
class PlainTable(Unmeasured):
    """A small table of plain values."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is a table that is neither too large nor nested too deeply."""
        return isinstance(value, dict) and _count(value, DEPTH) <= SIZE

    def __str__(self) -> str:
        return "a table"


def draw_seed() -> int:
    """Return a public seed for a study."""
    return secrets.randbelow(1 << 31)


def read_pipeline(steps: Sequence[Step], seed: int | None) -> Pipeline:
    """Return the pipeline of these steps, not fitted; whatever it draws at random follows from the seed.

    None: with the seeds that the steps name, and no other.
    """
    numbered = list(enumerate(steps, 1))
    made = [(str(step.get(NAME, f"step{k}")), read_estimator(step, seed, f"step {k}")) for k, step in numbered]
    twice = next((name for k, (name, _) in enumerate(made) if name in dict(made[:k])), None)
    if twice is not None:
        raise LocalError(f"two steps are called {twice!r}: give each a name of its own")
    return Pipeline(made)


def learns_classes(pipeline: Pipeline) -> bool:
    """Return whether the last step learns classes."""
    last = pipeline.steps[-1][1] if pipeline.steps else None
    return last is not None and bool(is_classifier(getattr(last, "estimator", last)))


def takes_gaps(steps: Sequence[Step]) -> bool:
    """Return whether records may lack values, or hold texts: unless the first step is a learner that takes none."""
    first = next((step for _, step in read_pipeline(steps, 0).steps), None)
    learner = getattr(first, "estimator", first)
    return not isinstance(learner, Federated) or learner.takes_gaps


def read_estimator(step: Step, seed: int | None, where: str) -> Any:
    """Return the estimator that a step describes."""
    known, use = estimators(BaseEstimator), step.get(USE)
    if use not in known or issubclass(known[use], Pipeline):
        offered = ", ".join(name for name, kind in known.items() if not issubclass(kind, Pipeline))
        raise LocalError(f"{where} has use = {use!r}: name one of {offered}")
    params = {_param(known[use], name): value for name, value in step.items() if name not in (USE, NAME)}
    takes = known[use]._get_param_names()  # noqa: SLF001 - scikit-learn's own way to list parameters
    unknown = [name for name in params if name not in takes or name in NOT_SAID]
    if unknown:
        offered = ", ".join(name for name in takes if name not in NOT_SAID)
        raise LocalError(f"{where}: {use} has no parameter {unknown[0]!r}: it takes {offered}")
    own = {name: _read_value(name, value, seed, where) for name, value in params.items()}
    seeded = {RANDOM_STATE: seed} if RANDOM_STATE in takes and own.get(RANDOM_STATE) is None else {}
    try:
        return known[use](**{**own, **seeded})
    except TypeError as error:
        raise LocalError(f"{where}: {use} cannot be made of these parameters ({error}): add what is missing") from None


def show_step(step: Step) -> str:
    """Return a step, or another table of plain values, as people read it."""
    said = ", ".join(f"{name} {_show(value)}" for name, value in step.items() if name not in (USE, NAME))
    return f"{step[USE]}{f' with {said}' if said else ''}" if USE in step else said


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({show_step(value)})"
    return ", ".join(map(_show, value)) if isinstance(value, (list, tuple)) else str(value)


def write_steps(pipeline: Any) -> tuple[dict[str, Any], ...]:
    """Return the steps of a pipeline as a job writes them; of a single estimator, one step."""
    if isinstance(pipeline, Pipeline):
        pipeline.divide_budget()
    steps = pipeline.steps if hasattr(pipeline, "steps") else [("model", pipeline)]
    used = [(name, step) for name, step in steps if step not in (None, "passthrough")]
    return tuple({NAME: name, **write_estimator(step)} for name, step in used)


def write_estimator(estimator: Any) -> dict[str, Any]:
    """Return an estimator as a step describes it: its name, and every parameter that is not at its default."""
    kind = type(estimator)
    if kind.__name__ not in estimators(BaseEstimator):
        raise LocalError(
            f"a {kind.__name__} is unknown to the sites of a study, which look estimators up by name:"
            f" use one of {', '.join(estimators(BaseEstimator))}"
        )
    usual = _defaults(kind)
    said = {n: v for n, v in estimator.get_params(deep=False).items() if n not in NOT_SAID}
    kept = {name: value for name, value in said.items() if name not in usual or not _same(value, usual[name])}
    return {USE: kind.__name__, **{name: _write_value(name, value) for name, value in kept.items()}}


def _param(kind: type, name: str) -> str:
    return "param_grid" if name == GRID and "param_grid" in kind._get_param_names() else name  # type: ignore[attr-defined]  # noqa: SLF001


def _read_value(name: str, value: Any, seed: int | None, where: str) -> Any:
    if name == "estimator":
        step = {USE: value} if isinstance(value, str) else value
        if not isinstance(step, Mapping):
            raise LocalError(f"{where} has estimator = {value!r}: name one, or write {{ use = 'SVC', ... }}")
        return read_estimator(step, seed, f"the estimator of {where}")
    return value


def _write_value(name: str, value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return write_estimator(value)
    if name == RANDOM_STATE and not isinstance(value, int):
        raise LocalError(f"random_state={value!r} cannot stand in a job: give a whole number")
    return value


def _defaults(kind: Any) -> dict[str, Any]:
    known = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in known if p.default is not p.empty}


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and bool(value == usual)


def _count(value: Any, depth: int) -> int:
    """Return how many plain values something holds; more than any study has if it holds others, or is too deep."""
    if isinstance(value, PLAIN):
        return 1
    if depth == 0 or not isinstance(value, (list, tuple, dict)):
        return SIZE + 1
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(_count(each, depth - 1) for each in inner)
