"""Seconds of PanSVC in the form of Tables 3.4 to 3.6 of paper 004."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import mean, stdev

from figures import Figure, Step, Table
from paper004 import ADMM_SECONDS, ADULT, ADULT_SECONDS, FOURCLASS, PAN_SECONDS, SINGLE, SMALL
from trial import Results, early, measured, pan, repeated

SOURCES = (5, 10, 20)
SPLITS = {"same": None, "different": 0}
PIMA = SMALL[2]
PRINTED = ("the paper's PAN-SVM", "the paper's SVM-ADMM")


def source_seconds(repeats: int) -> Iterator[Figure | Step | Table]:
    """Measure Tables 3.4 and 3.5: rows dealt at random, or by the value of the first feature."""
    cells = {
        (task.name, split, str(n)): partial(
            repeated, pan(parties=n, by=by, landmarks=0.15, **SINGLE, **task.svm), task.load(), repeats
        )
        for task in (FOURCLASS, PIMA)
        for split, by in SPLITS.items()
        for n in SOURCES
    }
    found = yield from measured("Tables 3.4, 3.5", cells)
    for number, task in (("3.4", FOURCLASS), ("3.5", PIMA)):
        title = (
            f"Table {number}: seconds to train on {task.name}, mean (standard deviation) of {repeats}, 15 % landmarks,"
            " min_count=1"
        )
        heads = ("distributions", "", *(f"{n} sources" for n in SOURCES))
        yield Table(title, heads, tuple(_rows(found, task.name)), PRINTED)
    yield early("Tables 3.4, 3.5", [t for trials in found.values() for t in trials])


def _rows(found: Results, task: str) -> Iterator[tuple[str, ...]]:
    for split in SPLITS:
        each = [found[task, split, str(n)] for n in SOURCES]
        yield (
            split,
            "PAN, wall clock, all parties on this machine",
            *(_spread([t.seconds for t in trials]) for trials in each),
        )
        yield (
            "",
            "PAN, CPU of the busiest party and the coordinator",
            *(_spread([t.busiest for t in trials]) for trials in each),
        )
        for name, seconds in zip(PRINTED, (PAN_SECONDS, ADMM_SECONDS), strict=True):
            yield ("", name, *seconds[task, split])


def _spread(seconds: list[float]) -> str:
    return f"{mean(seconds):.3f} ({stdev(seconds):.3f})"


def adult_seconds(rows: int | None) -> Iterator[Figure | Step | Table]:
    """Measure Table 3.6, of which only the first column is measured here."""
    data = ADULT.load().sample(rows)
    yield Step("Table 3.6: Adult", 0, 1)
    trial = pan(**ADULT.svm)(data, 0)
    theirs = tuple(f"paper's {name}" for name in ADULT_SECONDS)
    columns = ("", "PAN here", "CPU of all", *theirs)
    cells = (
        f"Adult, {len(data.X)} rows",
        f"{trial.seconds:.1f}",
        f"{trial.cpu:.1f}",
        *(f"{s:g}" for s in ADULT_SECONDS.values()),
    )
    title = (
        f"Table 3.6: seconds to train on Adult (the paper's columns: all 32561 rows, other machines); {trial.landmarks}"
        " landmarks"
    )
    yield Table(title, columns, (cells,), theirs)
    yield early("Table 3.6", [trial])
