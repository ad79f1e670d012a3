"""The figures of chapters 3 and 4 of paper 004, drawn from what is measured here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from threadpoolctl import threadpool_limits

import drawing_data as data
import drawing_paint as show
from figures import Picture, Step
from picture import paint


def figures(quick: bool) -> Iterator[Picture | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure and draw all of them; a quick run has fewer points, from fewer rows."""
    extent = data.QUICK if quick else data.Extent()
    with threadpool_limits(1):
        yield from _chapter_3(extent)
        yield from _chapter_4(extent)


def _chapter_3(extent: data.Extent) -> Iterator[Picture | Step]:
    sizes = data.sizes(extent)
    found = yield from data.by_share(extent)
    title = "Fig. 3.5: accuracy by the share of rows that are landmarks"
    yield paint("fig_3_05.png", title, (8.0, 4.6), partial(show.accuracy_by_share, found=found))
    found = yield from data.by_size(extent)
    title = "Fig. 3.10: training time and rounds, by rows and by features"
    yield paint("fig_3_10.png", title, (9.0, 6.4), partial(show.time_and_rounds, found=found, sizes=sizes))
    found = yield from data.by_number(extent)
    title = "Fig. 3.11: training time by the number of landmarks"
    yield paint("fig_3_11.png", title, (7.2, 4.4), partial(show.time_by_landmarks, found=found))
    parts = yield from data.by_procedure(extent)
    title = "Fig. 3.12: time of each procedure"
    yield paint("fig_3_12.png", title, (8.0, 4.4), partial(show.time_by_procedure, found=parts, sizes=sizes))


def _chapter_4(extent: data.Extent) -> Iterator[Picture | Step]:
    found = yield from data.of_classes(extent)
    title = "Fig. 4.5: accuracy by landmarks, several classes"
    yield paint("fig_4_05.png", title, (9.0, 5.4), partial(show.classes_by_landmarks, found=found))
    for number, method in (("4.6", data.PAN), ("4.7", data.LIBSVM)):
        painter = partial(show.bars_of_validation, found=found, method=method, number=number)
        yield paint(_file(number), f"Fig. {number}: accuracy of {method} under CV1 and CV2", (8.0, 3.8), painter)
    for number, cv in (("4.8", "CV2"), ("4.9", "CV1")):
        painter = partial(show.curves_of_validation, found=found, cv=cv, number=number)
        yield paint(_file(number), f"Fig. {number}: accuracy by landmarks under {cv}", (7.2, 4.2), painter)


def _file(number: str) -> str:
    chapter, figure = number.split(".")
    return f"fig_{chapter}_{int(figure):02}.png"
