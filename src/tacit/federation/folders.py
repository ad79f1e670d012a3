"""Folders of Parquet files: one table, its files in the order of their names.

Folders within, such as `year=2024`, are columns of it. Names that begin with a dot or a bar are no data, as other
programs leave them there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from tacit.errors import LocalError
from tacit.federation.frames import refuse_duplicates

MEGABYTE = 1_000_000


class Limit(NamedTuple):
    """The most rows, and the most megabytes, of one table; keys of a dataset in a party's file have these names."""

    maximum_rows: int
    maximum_megabytes: int

    def check(self, rows: int, size: int, name: str) -> None:
        """Refuse more rows, or bytes, than there may be."""
        if rows > self.maximum_rows:
            raise LocalError(f"{name} has more than {self.maximum_rows} rows: narrow it, or raise maximum_rows")
        if size > self.maximum_megabytes * MEGABYTE:
            large = f"{name} takes more than {self.maximum_megabytes} MB"
            raise LocalError(f"{large}: narrow it, or raise maximum_megabytes")


SUFFIXES = (".parquet", ".pq")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
Stamps = dict[str, tuple[int, int, int]]  # by file: when it was written, its size, and its number on the disk


def stamps_of(folder: Path) -> Stamps:
    """Return what changes with the content of a folder, by file, in the order of their names."""
    found: Stamps = {}
    for path in _files(folder):
        with suppress(FileNotFoundError):  # it was removed meanwhile
            found[path.relative_to(folder).as_posix()] = _stamp(path)
    return dict(sorted(found.items()))


def _stamp(path: Path) -> tuple[int, int, int]:
    now = path.stat()
    return now.st_mtime_ns, now.st_size, now.st_ino


def read_folder(folder: Path, limit: Limit | None = None) -> Any:
    """Return all rows of a folder as an Arrow table; its files must have one schema."""
    before = stamps_of(folder)
    about = look_into(folder, before)
    _check_size(folder, about, limit)
    table = pa.concat_tables(_read(folder, name, _rows_of) for name in about)
    counts = [file.num_rows for file in about.values()]
    for key, values in _partition_columns(folder, about).items():
        table = table.append_column(key, _repeat(values, counts))
    if stamps_of(folder) != before:
        raise _changed(folder)
    return table


def load_parquet() -> Any:
    """Return Arrow's reader of Parquet; it is imported here, since whoever has arrays need not wait for it."""
    return import_module("pyarrow.parquet")


def look_into(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return what the files of a folder say of themselves; they must have one schema."""
    about = {name: _read(folder, name, load_parquet().read_metadata) for name in names}
    if not about:
        raise LocalError(f"folder {folder} has no {' or '.join(SUFFIXES)} file: correct the path, or fill it")
    _check_schemas(folder, about)
    return about


def read_batches(folder: Path, about: Mapping[str, Any], cells: int) -> Iterator[Any]:
    """Yield the rows of these files, in order, as Arrow tables of about so many cells."""
    keys = _partition_columns(folder, about)
    for k, (name, file) in enumerate(about.items()):
        before, rows = _stamp(folder / name), max(1, cells // max(1, file.num_columns))
        try:
            with load_parquet().ParquetFile(folder / name) as opened:
                for batch in opened.iter_batches(rows, use_threads=False):
                    table = pa.table({column: batch.column(column) for column in batch.schema.names})
                    for key, values in keys.items():
                        table = table.append_column(key, _repeat(values[k : k + 1], [len(table)]))
                    yield table
        except (pa.ArrowException, OSError):  # as in `_read`
            raise _unreadable(folder, name) from None
        if _stamp(folder / name) != before:
            raise _changed(folder)


def _changed(folder: Path) -> LocalError:
    return LocalError(f"{folder.name} changed while it was read: write another folder, and move it there whole")


def _unreadable(folder: Path, name: str) -> LocalError:
    return LocalError(f"{name} of {folder.name} is not readable as Parquet: write it again")


def _files(folder: Path) -> Iterator[Path]:
    for place, within, names in os.walk(folder):
        within[:] = [name for name in within if not name.startswith((".", "_"))]
        yield from (
            Path(place, name) for name in names if name.lower().endswith(SUFFIXES) and not name.startswith((".", "_"))
        )


def _read(folder: Path, name: str, read: Callable[[Path], Any]) -> Any:
    try:
        return read(folder / name)
    except (pa.ArrowException, OSError):  # Arrow's text may quote a record
        raise _unreadable(folder, name) from None


def _rows_of(path: Path) -> Any:
    with load_parquet().ParquetFile(
        path
    ) as file:  # and not `read_table`, which takes columns from names of folders too
        table = file.read()
    return pa.table({name: table.column(name) for name in table.column_names})  # without what else its schema says


def _check_schemas(folder: Path, about: Mapping[str, Any]) -> None:
    """Refuse files of which one has other columns, or another type of one, than the first."""
    (first, file), *others = about.items()
    wanted = _types(file, first)
    for name, other in others:
        found = _types(other, name)
        for column in dict.fromkeys([*wanted, *found]):
            if wanted.get(column) != found.get(column):
                has = f"{name} has column {column!r} {_say(found, column)}, and {first} {_say(wanted, column)}"
                raise LocalError(f"{folder.name}: {has}: write all files with one schema")
        if list(found) != list(wanted):
            raise LocalError(f"{folder.name}: {name} has its columns in another order than {first}: write them alike")


def _types(file: Any, name: str) -> dict[str, str]:
    refuse_duplicates(file.schema.names, name)
    return {field.name: str(field.type) for field in file.schema.to_arrow_schema()}


def _say(types: Mapping[str, str], column: str) -> str:
    return f"as {types[column]}" if column in types else "not at all"


def _check_size(folder: Path, about: Mapping[str, Any], limit: Limit | None) -> None:
    """Refuse too much before any of it is read: every file says how many rows and bytes it has."""
    if limit is not None:
        files = about.values()
        size = sum(file.row_group(group).total_byte_size for file in files for group in range(file.num_row_groups))
        limit.check(sum(file.num_rows for file in files), size, folder.name)


def _partition_columns(folder: Path, about: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns that names of folders give, a value for every file."""
    named = {name: _partitions(name) for name in about}
    keys = list(next(iter(named.values())))
    for name, found in named.items():
        if list(found) != keys:
            lies = (
                f"{name} lies in folders of {', '.join(found) or 'no column'}, the first of {', '.join(keys) or 'none'}"
            )
            raise LocalError(f"{folder.name}: {lies}: put all files into folders of the same columns")
    for key in keys:
        if key in next(iter(about.values())).schema.names:
            raise LocalError(f"{folder.name} has {key!r} as a column and as a name of folders: rename one of them")
    return {key: _typed([found[key] for found in named.values()]) for key in keys}


def _partitions(name: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in name.split("/")[:-1])
    return {unquote(key): unquote(value) for key, is_pair, value in pairs if is_pair}


def _typed(values: Sequence[str]) -> list[Any]:
    """Return values that names of folders give: whole numbers if all of them are some, else texts."""
    known = [None if value == NO_VALUE else value for value in values]
    whole = all(value is None or value.removeprefix("-").isdecimal() for value in known)
    kind = pa.int64() if whole else pa.string()
    return [pa.scalar(None if value is None else int(value) if whole else value, kind) for value in known]


def _repeat(values: Sequence[Any], counts: Sequence[int]) -> Any:
    return pa.chunked_array(
        [pa.repeat(value, count) for value, count in zip(values, counts, strict=True)], values[0].type
    )
