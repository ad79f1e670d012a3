"""DuckDB, by the ADBC driver that comes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tacit.errors import MissingExtraError
from tacit.federation.databases.database import Database, file_of, find_reason
from tacit.federation.folders import Limit

SESSION = {
    "access_mode": "READ_ONLY",
    "enable_external_access": "false",  # no other file is read or written, and nothing is fetched
    "lock_configuration": "true",
    "threads": "1",  # what is read twice is the same to the last bit: a sum of floats depends on their order
}
WHY_NOT_OPENED = {
    "does not exist": "there is no such file",
    "not a valid DuckDB": "the file is not a DuckDB database",
    "lock": "another program has the file open for writing",
    "ermission": "the file may not be read",
}
WHY_NOT_READ = {
    "read-only mode": "it would write, and may only read",
    "disabled by configuration": "it reads or writes another file, and may only read its own",
    "Out of Memory": "it needs more than maximum_megabytes",
}
OF_ITS_WORDS = ("Parser", "Binder", "Catalog")  # errors that are found before any record is read


@contextmanager
def open_session(address: str, limit: Limit) -> Iterator[Any]:
    """Open a file for reading only, in one transaction."""
    try:
        from adbc_driver_duckdb import driver_path  # noqa: PLC0415 - an extra
        from adbc_driver_manager import dbapi  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("a query of DuckDB", "sql") from None
    options = {"path": file_of(address), "memory_limit": f"{limit.maximum_megabytes}MB", **SESSION}
    with (
        dbapi.connect(driver=driver_path(), entrypoint="duckdb_adbc_init", db_kwargs=options) as connection,
        connection.cursor() as cursor,
    ):
        yield cursor


def explain(error: Exception) -> str:
    """Return why a query failed: what was said while it was bound names nothing but its own words."""
    said = re.search(r"(\w+) Error: (.*)", str(error))
    reason = find_reason(str(error), WHY_NOT_READ)
    if reason or said is None:
        return reason
    return said[2] if said[1] in OF_ITS_WORDS else f"a {said[1]} Error"


DUCKDB = Database(
    name="DuckDB",
    client="duckdb",
    example="duckdb:///var/lib/hospital/cohort.duckdb",
    open=open_session,
    explain_opening=lambda said: find_reason(said, WHY_NOT_OPENED),
    explain=explain,
)
