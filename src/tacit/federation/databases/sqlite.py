"""SQLite, by ADBC's driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from tacit.errors import MissingExtraError
from tacit.federation.databases.database import Database, file_of, find_reason
from tacit.federation.folders import Limit

BATCH = "adbc.sqlite.query.batch_rows"
WHY_NOT_OPENED = {"failed to open": "there is no such file, or it may not be read"}
WHY_NOT_READ = {
    "readonly database": "it would write, and may only read",
    "file is not a database": "the file is not a SQLite database",
    "locked": "another program is writing to the file",
}


@contextmanager
def open_session(address: str, limit: Limit) -> Iterator[Any]:
    """Open a file for reading only; a single statement reads one state of it."""
    try:
        from adbc_driver_sqlite import dbapi  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("a query of SQLite", "sql") from None
    with dbapi.connect(f"file:{quote(file_of(address))}?mode=ro") as connection, connection.cursor() as cursor:
        # a column has no type of its own: the driver takes that of the first batch, so that has to be all
        cursor.adbc_statement.set_options(**{BATCH: str(limit.maximum_rows + 1)})
        yield cursor


def explain(error: Exception) -> str:
    """Return why a query failed: what was said while it was prepared names nothing but its own words."""
    quoted = re.search(r"Failed to prepare query: (.*)", str(error))
    return find_reason(str(error), WHY_NOT_READ) or (quoted[1] if quoted else "")


SQLITE = Database(
    name="SQLite",
    client="sqlite3",
    example="sqlite:///var/lib/hospital/cohort.db",
    open=open_session,
    explain_opening=lambda said: find_reason(said, WHY_NOT_OPENED),
    explain=explain,
)
