"""When two results may not both be opened, because their difference is one party's data.

The problem. Two results that are harmless one by one can give away their difference: train with five parties, then
without the fifth, and what changed is the fifth party's. So, of a job on records that an earlier job used,

    holders   a holder differs if it takes part in one of the two jobs only, or in both with other columns
    rows      this party's own records that only one of the two jobs uses

and the job is refused unless each of these differences is nothing at all or large enough:

    holders that differ = 0 or >= 3,       rows that differ = 0 or >= minimum_rows                    (1)

An earlier job on none of the same records is no neighbour: there is nothing to subtract. Which dataset the records were offered in makes
no difference: a snapshot under another name holds the same ones.

Decided here, and why:
* The same parties, records and columns again are allowed, under any protocol and parameters: a repeat opens nothing that
  the policy had not allowed for these very records, and searching for good parameters needs it.
* Other columns count as a differing holder. In a vertical split one party's columns are its data: with one column less
  at one party the difference of two gram matrices is that column. In a horizontal split columns change at everybody, and
  three holders or more are enough.
* Each party knows its own records only and checks those exactly. "all" columns of another party are compared as that
  word, so "all" beside a list counts as different.
* Records are compared twice, by their id and by their content: a corrected value under an old id is a new record, and a
  table written anew with one more column still holds the old ones. (1) must hold in both views.
* "all" columns of another party are the same word in two datasets too. So a job on another dataset of the same records, with other columns
  here, is refused unless it lists the columns of at least two other holders, and they are others as well.

Not protected: differences that need three or more results to be combined; what others did with data they have elsewhere.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tacit.consortium.job import Columns
from tacit.data.checks import FEWEST
from tacit.data.part import Part

MARK = 16  # bytes of a salted hash
Marks = frozenset[bytes]


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
    """By what (1) is broken, in words without any figure of the records, and whether that depends on the records."""

    words: str
    of_records: bool


def too_close(before: Footprint, after: Footprint, minimum_rows: int) -> Closeness | None:
    """By what (1) is broken; None if it is not."""
    if before.rows.ids.isdisjoint(after.rows.ids) and before.rows.contents.isdisjoint(after.rows.contents):
        return None
    holders = {*before.columns, *after.columns}
    differing = sorted(p for p in holders if _named(before.columns.get(p)) != _named(after.columns.get(p)))
    if 0 < len(differing) < FEWEST:
        return Closeness(f"by {' and '.join(differing)} only, and fewer than {FEWEST} holders hide nobody", of_records=False)
    few = any(0 < len(b ^ a) < minimum_rows for b, a in zip(_views(before.rows), _views(after.rows), strict=True))
    return Closeness(f"by fewer than {minimum_rows} of this party's records", of_records=True) if few else None


def _named(columns: Columns | None) -> object:
    return columns if columns is None or isinstance(columns, str) else frozenset(columns)


def _views(rows: Rows) -> tuple[Marks, Marks]:
    return rows.ids, rows.contents


def rows_of(salt: bytes, part: Part, ids: Sequence[Any] | None = None) -> Rows:
    """The records of a part, with all its columns; by content alone where they have no ids."""
    keys = [_content(part, i) for i in range(len(part.X))]
    contents = _marks(salt, keys)
    named = contents if ids is None else _marks(salt, [repr(_plain(i)).encode() for i in ids])
    order = hashlib.blake2b(b"".join(hashlib.sha256(k).digest() for k in keys), key=salt, digest_size=32).hexdigest()
    return Rows(named, contents, order)


def _marks(salt: bytes, keys: Iterable[bytes]) -> Marks:
    return frozenset(_marked(salt, keys))


def _marked(salt: bytes, keys: Iterable[bytes]) -> list[bytes]:
    """Salted hashes; equal records are told apart by counting them, so that one of two twins is missed."""
    seen: Counter[bytes] = Counter()
    found = []
    for key in keys:
        found.append(hashlib.blake2b(seen[key].to_bytes(8, "little") + key, key=salt, digest_size=MARK).digest())
        seen[key] += 1
    return found


def record_marks(salt: bytes, part: Part, ids: Sequence[Any] | None) -> list[bytes]:
    """One mark for every record, in order: of its id, or of its content where it has none."""
    return _marked(salt, (_content(part, i) for i in range(len(part.X))) if ids is None else [repr(_plain(i)).encode() for i in ids])


def _content(part: Part, i: int) -> bytes:
    label = None if part.y is None else _plain(part.y[i])
    weight = None if part.weight is None else float(part.weight[i])
    cells: bytes = (part.X[i] + 0.0).tobytes()  # -0.0 is the same value
    return cells + repr((label, weight)).encode()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
