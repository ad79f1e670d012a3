"""Marks of records: salted hashes of their ids and contents, by which a site knows them again without keeping them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.federation.deal import classes_of
from tacit.federation.part import Part
from tacit.numeric.groups.least_count import FLOOR

MARK = 16  # bytes of a salted hash
Marks = frozenset[bytes]


@dataclass(frozen=True, repr=False)
class Rows:
    """This party's records as the register knows them: marks of ids and contents, and a digest of their order.

    classes: of each class with `FLOOR` records or more, under a salted hash of its name, the marks of ids and contents
        of its records; None if nobody wrote them down, as in version 0.1.
    earlier: the same records under the salts of register files of version 0.1, by the names of these files.
    """

    ids: Marks
    contents: Marks
    order: str
    classes: Mapping[str, tuple[Marks, Marks]] | None = None
    earlier: Mapping[str, Rows] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.contents)


def rows_of(salt: bytes, part: Part, ids: Sequence[Any] | None = None) -> Rows:
    """Return the records of a part, with all its columns; by content alone where they have no ids."""
    keys = _contents(part)
    contents = _mark(salt, keys)
    named = contents if ids is None else _mark(salt, _names(ids))
    order = hashlib.blake2b(b"".join(hashlib.sha256(k).digest() for k in keys), key=salt, digest_size=32).hexdigest()
    return Rows(frozenset(named), frozenset(contents), order, _by_class(salt, part, named, contents))


def _by_class(
    salt: bytes, part: Part, ids: Sequence[bytes], contents: Sequence[bytes]
) -> dict[str, tuple[Marks, Marks]]:
    """Return the marks of the records of each class that is large enough to take part in sums over it."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for i, kind in enumerate(classes_of(part.y, len(contents)).tolist()):
        found[kind].append(i)
    if part.y is None or len(found) == 1:
        return {}
    names = {kind: _mark(salt, [repr(_plain(part.y[at[0]])).encode()])[0].hex() for kind, at in found.items()}
    large = {names[kind]: at for kind, at in found.items() if len(at) >= FLOOR}
    return {name: (frozenset(ids[i] for i in at), frozenset(contents[i] for i in at)) for name, at in large.items()}


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
