"""When two results may not both be opened, because their difference is one party's data.

The problem. Two results that are harmless one by one can give away their difference: train with five parties, then
without the fifth, and what changed is the fifth party's. So, of a job on records that an earlier job used,

    holders   a holder differs if it takes part in one of the two jobs only, or in both with other columns
    rows      this party's own records that only one of the two jobs uses

and the job is refused unless each of these differences is nothing at all or large enough:

    holders that differ = 0 or >= 3,       rows that differ = 0 or >= minimum_rows                             (1)

Any number of results can be combined, so the same holds of all jobs on the same records together. With a column of M
for every column of every holder and a line for every job, 1 where the job uses it, a combination c of the results is
about c M, and

    no c M is other than zero at one or two holders only,  that is  rank M = rank M without any two holders,   (2)

unless all jobs use the same columns. In a gram matrix over rows or cells a column is the same at all holders, so there
the columns of one holder stand for themselves: those that no job tells apart are

    none, or at least 3 of them.                                                                               (3)

An earlier job on none of the same records is no neighbour: there is nothing to subtract. Which dataset the records were
offered in makes no difference: a snapshot under another name holds the same ones.

Decided here, and why:
* The same parties, records and columns again are allowed, under any protocol and parameters: a repeat opens nothing
  that the policy had not allowed for these very records, and searching for good parameters needs it.
* Other columns count as a differing holder. In a vertical split one party's columns are its data: with one column less
  at one party the difference of two gram matrices is that column. In a horizontal split columns change at everybody,
  and three holders or more are enough.
* Each party knows its own records only and checks those exactly. Over rows and cells all holders bring the same
  columns, so that "all" of another party is known. Over columns it is compared as that word, so "all" beside a list
  counts as different in (1). In (2) it has the columns that are listed elsewhere, and others that may be none: what may
  be none hides nobody.
* Records are compared twice, by their id and by their content: a corrected value under an old id is a new record, and a
  table written anew with one more column still holds the old ones. (1) must hold in both views.
* "all" columns of another party are the same word in two datasets too. So a job on another dataset of the same records,
  with other columns here, is refused unless it lists the columns of at least two other holders, and they are others as
  well.
* A few new or corrected records make a table another one until minimum_rows of them differ. Sums of trainings are over
  groups of rows that remember each other (`opened`), but not all that is opened is: means, deviations, quantiles and
  categories of columns, the kernel's width gamma = "scale" and the counts of an evaluation are over all rows at once,
  and two of them tell a few rows that only one has.

Not protected: combinations of three or more results over other records each, where (1) holds for every two of them;
what a combination about three columns says to who knows three records; what others did with data they have elsewhere.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import F64
from tacit.consortium.jobs.job import Columns
from tacit.federation.checks import FEWEST
from tacit.federation.part import Part

MARK = 16  # bytes of a salted hash
Marks = frozenset[bytes]
Uses = tuple[bool, ...]  # of a column: whether each of the jobs uses it


@dataclass(frozen=True, repr=False)
class Rows:
    """This party's records as the register knows them: marks of ids and contents, and a digest of their order.

    earlier: the same records under the salts of register files of version 0.1, by the names of these files.
    """

    ids: Marks
    contents: Marks
    order: str
    earlier: Mapping[str, Rows] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.contents)


@dataclass(frozen=True, repr=False)
class Footprint:
    """What a job touches: every holder's columns, and this party's records."""

    columns: dict[str, Columns]
    rows: Rows


class Closeness(NamedTuple):
    """By what (1) is broken, in words without any figure of the records, and whether that depends on the records.

    remedy: what would be accepted.
    """

    words: str
    of_records: bool
    remedy: str


def too_close(before: Footprint, after: Footprint, minimum_rows: int) -> Closeness | None:
    """Return by what two jobs break (1); None if they do not."""
    if not overlap(before, after):
        return None
    holders = {*before.columns, *after.columns}
    differing = sorted(p for p in holders if _as_set(before.columns.get(p)) != _as_set(after.columns.get(p)))
    if 0 < len(differing) < FEWEST:
        words = f"by {' and '.join(differing)} only, and fewer than {FEWEST} holders hide nobody"
        remedy = f"take the same parties and columns, or others at {FEWEST} holders or more"
        return Closeness(words, of_records=False, remedy=remedy)
    views = ((before.rows.ids, after.rows.ids), (before.rows.contents, after.rows.contents))
    few = any(0 < len(old ^ new) < minimum_rows for old, new in views)
    remedy = f"offer the very records of that one, or wait until {minimum_rows} have changed, come or gone"
    return (
        Closeness(f"by fewer than {minimum_rows} of this party's records", of_records=True, remedy=remedy)
        if few
        else None
    )


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


def rows_of(salt: bytes, part: Part, ids: Sequence[Any] | None = None) -> Rows:
    """Return the records of a part, with all its columns; by content alone where they have no ids."""
    keys = _contents(part)
    contents = frozenset(_mark(salt, keys))
    named = contents if ids is None else frozenset(_mark(salt, _names(ids)))
    order = hashlib.blake2b(b"".join(hashlib.sha256(k).digest() for k in keys), key=salt, digest_size=32).hexdigest()
    return Rows(named, contents, order)


def _mark(salt: bytes, keys: Iterable[bytes]) -> list[bytes]:
    """Return salted hashes; equal records are told apart by counting them, so that one of two twins is missed."""
    seen: Counter[bytes] = Counter()
    found = []
    for key in keys:
        found.append(hashlib.blake2b(seen[key].to_bytes(8, "little") + key, key=salt, digest_size=MARK).digest())
        seen[key] += 1
    return found


def record_marks(salt: bytes, part: Part, ids: Sequence[Any] | None) -> list[bytes]:
    """Return one mark for every record, in order: of its id, or of its content where it has none."""
    return _mark(salt, _contents(part) if ids is None else _names(ids))


def _names(ids: Sequence[Any]) -> list[bytes]:
    return [repr(_plain(i)).encode() for i in ids]


def _contents(part: Part) -> list[bytes]:
    at = [part.features.index(name) for name in part.texts]
    cells = part.X + 0.0  # -0.0 is the same value
    cells[:, at] = 0.0  # numbers of texts are others in another table
    return [_content(part, cells, i, dict(zip(part.texts, at, strict=True))) for i in range(len(cells))]


def _content(part: Part, cells: F64, i: int, texts: Mapping[str, int]) -> bytes:
    label = None if part.y is None else _plain(part.y[i])
    weight = None if part.weight is None else float(part.weight[i])
    words = tuple(_text(part.texts[name], part.X[i, j]) for name, j in texts.items())
    row: bytes = cells[i].tobytes()
    return row + repr((label, weight, *([words] if words else []))).encode()


def _text(texts: Sequence[str], code: float) -> str | None:
    return None if np.isnan(code) else texts[int(code)]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
