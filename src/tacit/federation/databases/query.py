"""What a query selects: read in one snapshot, as far as a limit allows, in an order that stays."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from tacit.errors import LocalError, MissingExtraError
from tacit.federation.databases.database import Database, QueryError
from tacit.federation.databases.duckdb import DUCKDB
from tacit.federation.databases.postgresql import POSTGRESQL
from tacit.federation.databases.sqlite import SQLITE
from tacit.federation.folders import Limit
from tacit.federation.frames import refuse_duplicates

SHOWN = 200  # characters of what a database says
IN_ORDER = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def read_query(connection: Connection, query: str, limit: Limit, name: str, ids: str | None = None) -> Any:
    """Return the rows that a query selects, as an Arrow table; `name` is what errors call the query.

    They are in the order that the query states. If it states none, they are sorted by `ids`, or else by all columns:
    a database may give them in another order every time, and a run goes on only with the very same records.
    """
    try:
        table = _fetch(connection, query, limit, name)
    except QueryError:
        raise
    except LocalError as error:  # too much, or not to be told apart: no job bears upon it
        raise QueryError(str(error)) from None
    if not table.num_rows:
        raise QueryError(f"{name} returned no rows: correct it, or fill what it selects from")
    return table if states_order(query) else _sort(table, ids)


def _fetch(connection: Connection, query: str, limit: Limit, name: str) -> Any:
    database = connection.database
    with ExitStack() as stack:
        try:
            cursor = stack.enter_context(database.open(connection.address, limit))
        except MissingExtraError:
            raise
        except _failures() as error:
            why = str(error) if isinstance(error, QueryError) else database.explain_opening(str(error))
            remedy = f"correct {connection.place}, or check the database"
            raise QueryError(f"{name}: {database.name} cannot be opened{_in_brackets(why)}: {remedy}") from None
        try:
            cursor.execute(bare(query))
            table = _collect(cursor.fetch_record_batch(), limit, name)
        except _failures() as error:
            why = database.explain(error)
            remedy = f"try it with {database.client} and the same connection, and correct it"
            raise QueryError(f"{name} failed in {database.name}{_in_brackets(why)}: {remedy}") from None
    columns = {field.name: database.convert(field, table.column(j)) for j, field in enumerate(table.schema)}
    return pa.table(columns)


def _in_brackets(why: str) -> str:
    return f" ({why[:SHOWN]})" if why else ""


def _failures() -> tuple[type[Exception], ...]:
    """Return what our modules and drivers raise, and what Arrow does while a driver gives it rows."""
    from adbc_driver_manager import Error  # noqa: PLC0415 - an extra, which is there once a database was opened

    return QueryError, Error, OSError, IndexError, pa.ArrowException


def _collect(batches: Any, limit: Limit, name: str) -> Any:
    """Return all batches as a table, and stop at the first that is too much."""
    kept, rows, size = [], 0, 0
    for batch in batches:
        rows, size = rows + batch.num_rows, size + batch.nbytes
        limit.check(rows, size, name)
        kept.append(batch)
    table = pa.Table.from_batches(kept, batches.schema)
    refuse_duplicates(table.column_names, name)
    return table


def _sort(table: Any, ids: str | None) -> Any:
    keys = [field.name for field in table.schema if any(test(field.type) for test in IN_ORDER)]
    keys.sort(key=lambda name: name != ids)  # the ids first; others decide where two are the same
    return table.sort_by([(name, "ascending") for name in keys]) if keys else table


# The text of a query: a single statement that selects


COMMENT = r"--[^\n]*|/\*.*?\*/"
QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*\""""  # texts and names
TOKENS = re.compile(f"({COMMENT})|{QUOTED}", re.DOTALL)
INNERMOST = re.compile(r"\([^()]*\)")


def check_query(query: str, where: str) -> None:
    """Refuse what is not a single statement that selects; `where` names it in an error."""
    code = _without_quoted(query)
    if not re.match(r"(select|with)\b", code, re.IGNORECASE):
        raise LocalError(f"{where} does not begin with select or with: write one statement that selects the records")
    if ";" in code:
        raise LocalError(f"{where} has more than one statement: write one that selects the records")


def bare(query: str) -> str:
    """Return a statement without comments and without the semicolon at its end: a driver may put it into another."""
    return TOKENS.sub(lambda found: " " if found[1] else found[0], query).strip().removesuffix(";").strip()


def states_order(query: str) -> bool:
    """Return whether a query says in which order its rows come; a subquery, or a window, has an order of its own."""
    code, inner = _without_quoted(query), 1
    while inner:
        code, inner = INNERMOST.subn(" ", code)
    return re.search(r"\border\s+by\b", code, re.IGNORECASE) is not None


def _without_quoted(query: str) -> str:
    return TOKENS.sub(" ", bare(query)).strip()


# Connections: how a database is reached, in a text that holds a password and is never shown


DATABASES: dict[str, Database] = {each.example.partition(":")[0]: each for each in (POSTGRESQL, SQLITE, DUCKDB)}


class Connection:
    """A database, and where it is; `place` says where that was written, and is all that an error shows."""

    def __init__(self, text: str, place: str) -> None:
        kind, _, self.address = text.strip().partition(":")
        if kind not in DATABASES or not self.address:
            known = ", or ".join(each.example for each in DATABASES.values())
            raise QueryError(f"{place} holds no connection: write it like {known}")
        self.kind, self.place, self.database = kind, place, DATABASES[kind]

    def __repr__(self) -> str:
        return f"Connection({self.kind}:..., from {self.place})"
