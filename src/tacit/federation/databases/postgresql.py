"""PostgreSQL, by ADBC's driver over libpq."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tacit.errors import MissingExtraError
from tacit.federation.databases.database import Database, QueryError, find_reason
from tacit.federation.folders import Limit

LONGEST_WAIT, LONGEST_QUERY = 10, 300  # seconds until a connection, and a query, is given up
WAIT = "connect_timeout"
SESSION = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    f"SET LOCAL statement_timeout = '{LONGEST_QUERY}s'",
    # what is read twice is the same to the last bit: a sum of floats depends on their order
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "SET LOCAL synchronize_seqscans = off",
)
WHY_NOT_OPENED = {
    "Connection refused": "nothing listens at that host and port",
    "No such file": "nothing listens at that socket",
    "could not translate host name": "that host is not known here",
    "password authentication failed": "user or password is wrong",
    "no password supplied": "it asks for a password",
    "no pg_hba.conf entry": "it does not admit that user from this machine",
    "role ": "it has no such user",
    "database ": "it has no such database",
    "timeout": f"no answer within {LONGEST_WAIT} s",
    "SSL": "the two sides do not agree about TLS",
    "invalid": "the connection is not well-formed",
    "URI": "the connection is not well-formed",
}
WHY_NOT_READ = {  # a stream of rows that breaks off has no code, only a text
    "read-only transaction": "it would write, and may only read",
    "statement timeout": f"it took longer than {LONGEST_QUERY} s",
    "division by zero": "a value is divided by zero",
    "invalid input syntax": "a value cannot be converted",
    "out of range": "a value is out of range",
}
DENIED = "42501"  # the code of a table that the user may not read


@contextmanager
def open_session(address: str, limit: Limit) -> Iterator[Any]:
    """Open a connection, and in it one transaction that only reads, and reads one state of the database."""
    del limit  # rows arrive in batches, which are counted as they come
    try:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("a query of PostgreSQL", "sql") from None
    with dbapi.connect(_bound_wait(f"postgresql:{address}")) as connection, connection.cursor() as cursor:
        for statement in SESSION:
            cursor.execute(statement)
        yield cursor


def _bound_wait(connection: str) -> str:
    """Return a connection that says how long to wait for an answer; libpq waits for minutes by itself."""
    more = "&" if "?" in connection else "?"
    return connection if WAIT in connection else f"{connection}{more}{WAIT}={LONGEST_WAIT}"


def explain(error: Exception) -> str:
    """Return why a query failed: what was said while it was prepared names nothing but its own words."""
    state, said = getattr(error, "sqlstate", None), str(error)
    quoted = re.search(r"ERROR:\s+(.*)", said)
    if quoted and (state == DENIED or "Failed to prepare" in said):
        return quoted[1]
    return find_reason(said, WHY_NOT_READ) or (f"SQLSTATE {state}" if state else "")


def convert(field: Any, column: Any) -> Any:
    """Return a column of a type that Arrow does not have as numbers or texts; refuse amounts in an unknown unit."""
    kind = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    if kind == "money":
        told = f"column '{field.name}' of a query is of type money, whose unit is not known"
        raise QueryError(f"{told}: select it as numeric")
    if kind == "numeric":
        return column.cast(pa.string()).cast(pa.float64())
    if kind == "uuid":
        return pa.chunked_array([pa.array([None if each is None else str(each) for each in column.to_pylist()])])
    return column


POSTGRESQL = Database(
    name="PostgreSQL",
    client="psql",
    example="postgresql://user:password@host:5432/name",
    open=open_session,
    explain_opening=lambda said: find_reason(said, WHY_NOT_OPENED),
    explain=explain,
    convert=convert,
)
