"""When records come, go or are corrected between jobs: whether what all jobs open could be combined to a few of them.

The problem. Means of columns, counts of an evaluation and the like are over all records of a table at once. Two of them
over tables that differ by a few records tell what these few are. Any number of results can be combined, so records are
sorted by the jobs that used them: those that were in the same jobs form a *cell*. Every combination of results is a
function of what cells alone would give, and a job is refused after which

    a cell, or the records of one class in a cell, would be fewer than `least`, but not none.                   (4)

Decided here, and why:
* Classes are told apart over rows, since many sums are over a class: of ten new records nine of which are healthy, the
  difference of two such sums is the tenth. A class of which a table has fewer than `FLOOR` records takes part in no sum
  over a class, and is not counted. Over columns and cells most parties have no labels.
* A simulation has the same rule (`federation.memory`).
* Records are compared twice, by their id and by their content: a corrected value under an old id is a new record, and a
  table written anew with one more column still holds the old ones. (4) must hold in both views.
* A cell that was small before, by the rules of an older version, and that this job takes as a whole or not at all, is
  no reason to refuse it: the job tells nothing apart.

Not protected: counts within a cell. If ten records come, two evaluations tell how many of these ten were judged right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tacit.consortium.consent.marks import Marks, Rows

UNTOLD = 50  # records that must differ from a job of version 0.1, which did not write down which classes they are of
NONE: Marks = frozenset()


def find_few(earlier: Sequence[Rows], now: Rows, least: int, *, by_class: bool) -> int | None:
    """Return which earlier job is the nearest to one on the records `now` by which (4) is broken; None if it holds."""
    for *before, after in _views([*earlier, now], by_class=by_class):
        if not all(map(after.isdisjoint, before)) and _breaks(before, after, least):
            return min((len(marks ^ after), k) for k, marks in enumerate(before) if marks != after)[1]
    return None


def choose_least(earlier: Sequence[Rows], least: int, *, by_class: bool) -> int:
    """Return how many records must differ from these jobs."""
    return max(least, UNTOLD) if by_class and any(rows.classes is None for rows in earlier) else least


def _views(jobs: Sequence[Rows], *, by_class: bool) -> Iterator[list[Marks]]:
    """Yield the marks of every job's records: by id and by content, of all records and of those of each class."""
    yield [rows.ids for rows in jobs]
    yield [rows.contents for rows in jobs]
    for name in sorted({name for rows in jobs for name in rows.classes or {}}) if by_class else ():
        for view in range(2):
            yield [(rows.classes or {}).get(name, (NONE, NONE))[view] for rows in jobs]


def _breaks(before: Sequence[Marks], after: Marks, least: int) -> bool:
    """Return whether a job on the marks `after` makes a cell of fewer than `least`."""
    used: dict[bytes, int] = {}
    for k, marks in enumerate(dict.fromkeys(before)):  # jobs on the same records tell nothing apart
        for mark in marks:
            used[mark] = used.get(mark, 0) | 1 << k
    whole = Counter(used.values())
    cells = Counter((cell, mark in after) for mark, cell in used.items())
    cells[0, True] = len(after - used.keys())  # records that no job has used
    return any(0 < size < least and size != whole[cell] for (cell, _), size in cells.items())
