"""When two results may not both be opened, because their difference is one party's data.

The problem. Two results that are harmless one by one can give away their difference: train with five parties, then
without the fifth, and what changed is the fifth party's. So, of a job on records that an earlier job used,

a holder differs if it takes part in one of the two jobs only, or in both with other columns, and the job is refused
unless this is nobody at all or enough of them:

    holders that differ = 0 or >= 3.                                                                           (1)

Any number of results can be combined, so the same holds of all jobs on the same records together. With a column of M
for every column of every holder and a line for every job, 1 where the job uses it, a combination c of the results is
about c M, and

    no c M is other than zero at one or two holders only,  that is  rank M = rank M without any two holders,   (2)

unless all jobs use the same columns. In a gram matrix over rows or cells a column is the same at all holders, so there
the columns of one holder stand for themselves: those that no job tells apart are

    none, or at least 3 of them.                                                                               (3)

An earlier job on none of the same records is no neighbour: there is nothing to subtract. Which dataset the records were
offered in makes no difference: a snapshot under another name holds the same ones. By which records two jobs may differ
is another rule (`cells`).

Decided here, and why:
* The same parties, records and columns again are allowed, under any protocol and parameters: a repeat opens nothing
  that the policy had not allowed for these very records, and searching for good parameters needs it.
* Other columns count as a differing holder. In a vertical split one party's columns are its data: with one column less
  at one party the difference of two gram matrices is that column. In a horizontal split columns change at everybody,
  and three holders or more are enough.
* Over rows and cells all holders bring the same columns, so that "all" of another party is known. Over columns it is
  compared as that word, so "all" beside a list counts as different in (1). In (2) it has the columns that are listed
  elsewhere, and others that may be none: what may be none hides nobody.
* "all" columns of another party are the same word in two datasets too. So a job on another dataset of the same records,
  with other columns here, is refused unless it lists the columns of at least two other holders, and they are others as
  well.

Not protected: what a combination about three columns says to who knows three records; what others did with data that
they have elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tacit.consortium.consent.marks import Rows
from tacit.consortium.jobs.job import Columns
from tacit.federation.checks import FEWEST

Uses = tuple[bool, ...]  # of a column: whether each of the jobs uses it


@dataclass(frozen=True, repr=False)
class Footprint:
    """What a job touches: every holder's columns, and this party's records."""

    columns: dict[str, Columns]
    rows: Rows


class Closeness(NamedTuple):
    """By what a job comes too close to an earlier one, in words without any figure of the records.

    of_records: whether that depends on the records.
    remedy: what would be accepted.
    """

    words: str
    of_records: bool
    remedy: str


def too_close(before: Footprint, after: Footprint) -> Closeness | None:
    """Return by what two jobs break (1); None if they do not."""
    if not overlap(before, after):
        return None
    holders = {*before.columns, *after.columns}
    differing = sorted(p for p in holders if _as_set(before.columns.get(p)) != _as_set(after.columns.get(p)))
    if not 0 < len(differing) < FEWEST:
        return None
    words = f"by {' and '.join(differing)} only, and fewer than {FEWEST} holders hide nobody"
    remedy = f"take the same parties and columns, or others at {FEWEST} holders or more"
    return Closeness(words, of_records=False, remedy=remedy)


def overlap(before: Footprint, after: Footprint) -> bool:
    """Return whether the two are about some of the same records of this party."""
    return not (before.rows.ids.isdisjoint(after.rows.ids) and before.rows.contents.isdisjoint(after.rows.contents))


def about_few_holders(jobs: Sequence[Mapping[str, Columns]]) -> tuple[str, ...]:
    """Return the one or two holders that some combination of results is about by (2); nobody if there is none."""
    sure, perhaps = _uses_by_holder(jobs)
    if len({uses for of in (*sure.values(), *perhaps.values()) for uses in of}) <= 1:
        return ()
    alike = Counter(map(frozenset, sure.values()))
    # of three that are alike one always remains
    rare = [p for p in sorted(sure) if perhaps[p] or alike[frozenset(sure[p])] < FEWEST]
    for few in (*((p,) for p in rare), *combinations(rare, 2)):
        outside = {uses for p, of in sure.items() if p not in few for uses in of}
        inside = {uses for p in few for uses in sure[p] | perhaps[p]}
        if _rank(outside | inside) > _rank(outside):
            return few
    return ()


def about_few_columns(jobs: Sequence[Iterable[str]]) -> bool:
    """Return whether some combination of gram matrices of these columns may be about fewer columns than (3) allows."""
    names = {name for columns in jobs for name in columns}
    uses = Counter(tuple(name in columns for columns in jobs) for name in names)
    return len(uses) > 1 and min(uses.values()) < FEWEST


def _uses_by_holder(jobs: Sequence[Mapping[str, Columns]]) -> tuple[dict[str, set[Uses]], dict[str, set[Uses]]]:
    """Return by holder how its columns are used, and those that it may have or not: "all" may be more than listed."""
    sure: dict[str, set[Uses]] = {}
    perhaps: dict[str, set[Uses]] = {}
    for party in {party for job in jobs for party in job}:
        brought = [job.get(party, ()) for job in jobs]
        listed = {name for columns in brought if columns != "all" for name in columns}
        rest = {tuple(columns == "all" for columns in brought)} if "all" in brought else set()
        sure[party] = {tuple(columns == "all" or name in columns for columns in brought) for name in listed} or rest
        perhaps[party] = rest if listed else set()
    return sure, perhaps


def _rank(lines: set[Uses]) -> int:
    return int(np.linalg.matrix_rank(np.array(sorted(lines), dtype=np.float64))) if lines else 0


def _as_set(columns: Columns | None) -> object:
    return columns if columns is None or isinstance(columns, str) else frozenset(columns)
