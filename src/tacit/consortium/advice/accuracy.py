"""How far methods are below the pooled learner, as `benchmarks/run.py --only defaults` measured (docs/defaults.md)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from statistics import mean

POOLED, SMALL = "pooled", 1000  # scikit-learn's SVC on all records; tables of fewer rows are told apart from others
OTHERS = ("dataset", "rows", "columns", "classes")


@dataclass(frozen=True)
class Measured:
    """One dataset: how many rows it has, and the accuracy of each learner on it, in percent."""

    dataset: str
    rows: int
    accuracy: dict[str, float]


@cache
def read_accuracy() -> tuple[Measured, ...]:
    """Return what was measured."""
    text = resources.files("tacit.consortium.advice").joinpath("accuracy.csv").read_text(encoding="utf-8")
    lines = csv.DictReader(text.splitlines())
    return tuple(Measured(each["dataset"], int(each["rows"]), _scores(each)) for each in lines)


def points_below(learner: str, records: int) -> float | None:
    """Return by how many points a learner is below the pooled one on tables of about so many records; None if unknown.

    Of those measured, the small ones stand for small tables and the others for larger ones.
    """
    alike = [each for each in read_accuracy() if (each.rows < SMALL) == (records < SMALL)]
    lost = [each.accuracy[POOLED] - each.accuracy[learner] for each in alike if learner in each.accuracy]
    return mean(lost) if lost else None


def _scores(line: dict[str, str]) -> dict[str, float]:
    return {name: float(value) for name, value in line.items() if name not in OTHERS}
