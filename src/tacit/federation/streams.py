"""Tables that are larger than memory: Parquet files and folders, read once in batches into a scratch file.

The cells of a table then lie on disk (`scratch`), 8 bytes each, and trainings read them block by block. What they keep
of each row, such as its group and its margin, lies on disk too, and steps read and write it block by block. What grows
with the rows of a party is its labels while they are read, and a line for each group of rows; it is checked against the
memory that the caller declares before anything is read.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.choreo.declaration import wrong_value
from tacit.errors import LocalError
from tacit.federation.folders import SUFFIXES, look_into, read_batches, stamps_of
from tacit.federation.frames import Categories, arrow_columns
from tacit.federation.readers import check_file, from_loaded
from tacit.federation.table import Table
from tacit.scratch import lay_aside, make_array, release

CELLS = 1 << 20  # of a batch
ASIDE = 600_000_000  # bytes that a process takes by itself, with its blocks
PER_ROW = 70  # bytes of resident memory for each row of the largest party, as `benchmarks/streaming.py` finds it
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", re.IGNORECASE)


def check_memory(rows: Sequence[int], memory: str | int) -> None:
    """Refuse rows, a number for each party, of which a step would need more memory at once."""
    needed, most = ASIDE + PER_ROW * max(rows), read_memory(memory)
    if needed > most:
        raise LocalError(
            f"{max(rows)} rows of one party need about {needed / 1e9:.1f} GB for what is kept of all rows at once,"
            f" and memory={memory!r} is less: raise memory, or split the rows between more parties"
        )


def read_memory(memory: str | int) -> int:
    """Return a memory as bytes: a number, or one with a unit, such as "2GB"."""
    found = SIZE.fullmatch(memory) if isinstance(memory, str) else None
    if found is not None:
        return int(float(found[1]) * UNITS[found[2].upper()])
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    raise wrong_value("memory", "Federation", "a number of bytes, or a str such as '2GB'", memory)


def read_streams(
    files: Mapping[str, Path],
    label: str | None,
    drop: Sequence[str],
    categories: Categories | None,
    memory: str | int,
) -> Mapping[str, Table]:
    """Return the table of each party's file or folder, with its cells on disk."""
    about = {name: _look_into(path) for name, path in files.items()}
    check_memory([_count(each) for _, each in about.values()], memory)
    return {name: _read(path.name, *about[name], label, drop, categories) for name, path in files.items()}


def _look_into(path: Path) -> tuple[Path, dict[str, Any]]:
    """Return a folder, and what those of its files that are read say of themselves."""
    if path.is_dir():
        return path, look_into(path, stamps_of(path))
    check_file(path)
    if path.suffix.lower() not in SUFFIXES:
        raise LocalError(f"stream=True reads Parquet files, or folders of them: write {path.name} as Parquet")
    return path.parent, look_into(path.parent, [path.name])


def _count(about: Mapping[str, Any]) -> int:
    return sum(file.num_rows for file in about.values())


def _read(
    name: str,
    folder: Path,
    about: Mapping[str, Any],
    label: str | None,
    drop: Sequence[str],
    categories: Categories | None,
) -> Table:
    """Return one table; errors name the row from which on a batch is."""
    rows, start, labels, first, X = _count(about), 0, [], None, np.empty((0, 0))
    if not rows:
        raise LocalError(f"{name} has no records: give a file with at least one record")
    for batch in read_batches(folder, about, CELLS):
        where = name if start == 0 else f"{name}, from row {start + 1} on,"
        some = from_loaded(arrow_columns(batch, name), where, label, drop, categories=categories)
        if first is None:
            first, X = some, make_array((rows, some.X.shape[1]), np.float64)
        at = slice(start, start + len(some.X))
        X[at] = some.X
        release(X[at])
        labels.append(some.y)
        start = at.stop
    if first is None or start != rows:
        raise LocalError(f"{name} has another number of rows than its metadata says: write it again")
    X.flags.writeable = False
    return dataclasses.replace(first, X=X, y=_join(labels), columns={}, name=name)


def _join(labels: Iterable[Array | None]) -> Array | None:
    """Return all labels, whole numbers in as few bytes as they need."""
    held = [each for each in labels if each is not None]
    if not held:
        return None
    y = np.concatenate(held)
    if y.dtype.kind == "O":
        y = y.astype(str)
    if y.dtype.kind == "i":
        y = y.astype(np.result_type(np.min_scalar_type(y.min()), np.min_scalar_type(y.max()), np.int8))
    return lay_aside(y)
