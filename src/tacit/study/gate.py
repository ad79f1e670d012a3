"""The release gate of a study: what came of it, and that a model which is refused does not go to the analyst.

Who took part has the model, since it was trained between them. The gate is about who did not: the coordinator sends an
analyst the result of a study only if no line of the table is refused, and otherwise the table alone. Every study whose
model leaves its sites has a gate, unless it says that it shall have none.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.base.release_between import check_between
from tacit.choreo import State
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.pipeline import Pipeline
from tacit.protocols.judge.release_figures import FEWEST
from tacit.report.release import SEEN, Line, Release
from tacit.study.steps import Step, read_pipeline

Said = Mapping[str, Any] | bool | None  # a table, whether there is one, or nothing, which is as usual
GATE = "gate"  # how the table is called in the result of a study


class GateLine(State):
    """A line of the table, as a result carries it; `measured` is False where the figure stands for nothing."""

    name: str
    limit: str
    measured: bool
    figure: float
    allowed: float
    refused: bool
    note: str


class Gate(State):
    """The table of a release gate."""

    lines: tuple[GateLine, ...]
    how: str

    @classmethod
    def of(cls, found: Release | None) -> Gate:
        """Return a table in the form of a result."""
        made = Release() if found is None else found
        return cls(tuple(_write(line) for line in made.lines), made.how)

    @property
    def release(self) -> Release:
        """The table as a report has it."""
        lines = [
            Line(each.name, each.limit, each.figure if each.measured else None, each.allowed, each.refused, each.note)
            for each in self.lines
        ]
        return Release(lines, self.how)

    @property
    def refused(self) -> bool:
        """Whether a line is refused."""
        return any(line.refused for line in self.lines)


def _write(line: Line) -> GateLine:
    said = (line.name, line.limit, line.figure is not None, float(line.figure or 0.0), float(line.allowed))
    return GateLine(*said, line.refused, line.note)


class NotReleasedError(LocalError):
    """A model that its sites keep to themselves; `release` is the table that says why."""

    def __init__(self, release: Release) -> None:
        self.release = release
        super().__init__(f"{release.why}. {SEEN}")


def choose_gate(said: Said, steps: Sequence[Step], partition: str, parties: Sequence[str]) -> dict[str, Any] | None:
    """Return the table [release] of a study: as its author says, and the usual one where nothing is said.

    None: without a gate, because its author says so, or because there is nothing that sites could measure.
    """
    if said is None:
        return {} if partition == "horizontal" and len(parties) >= FEWEST and makes_public_model(steps) else None
    if isinstance(said, bool):
        return {} if said else None
    return dict(said)


def makes_public_model(steps: Sequence[Step]) -> bool:
    """Return whether a study by rows ends with a model that whoever gets it can use without its sites."""
    last = read_pipeline(steps, 0).steps[-1][1] if steps else None
    return bool(getattr(getattr(last, "estimator", last), "makes_public_model", False))


def check_gate(pipeline: Pipeline, learning: Federation, judging: Federation, release: Mapping[str, Any]) -> Release:
    """Have the sites attack the model of a study, as its table [release] asks."""
    takes = inspect.signature(check_between).parameters.values()
    known = [each.name for each in takes if each.kind is each.KEYWORD_ONLY]
    unknown = [name for name in release if name not in known]
    if unknown:
        raise LocalError(
            f"[release] has {unknown[0]!r}: it takes {', '.join(known)}; limits are those of the sites' policies"
        )
    return check_between(pipeline, learning, judging, **release)


def withhold(public: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what an analyst is sent in place of a result whose model is refused: the table; None if it is not."""
    gate = public.get(GATE)
    return {GATE: gate} if isinstance(gate, Gate) and gate.refused else None


def is_withheld(values: Any) -> bool:
    """Return whether the result of a study is the table of a refused model, and nothing else."""
    return isinstance(values, Mapping) and GATE in values and "told" not in values


def check_released(values: Any) -> None:
    """Raise if a model was refused, and is not in the result."""
    if is_withheld(values):
        raise NotReleasedError(values[GATE].release)
