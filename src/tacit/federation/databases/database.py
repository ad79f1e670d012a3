"""What a module of this room says of the database that it reads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tacit.errors import LocalError
from tacit.federation.folders import Limit


class QueryError(LocalError):
    """A query that gives no table here and now, whatever a job asks of it."""


@dataclass(frozen=True)
class Database:
    """How a database is read.

    name: what people call it. client: the program with which a person tries a query.
    example: a connection, as one is written.
    open: from what follows the colon of a connection, an open cursor in a snapshot that cannot be written to.
    explain_opening, explain: from an error of the driver why opening, or a query, failed; "" if that cannot be said
        without a part of the connection, or a value of a record.
    convert: from a field and its column, the column as numbers, texts or dates.
    """

    name: str
    client: str
    example: str
    open: Callable[[str, Limit], AbstractContextManager[Any]]
    explain_opening: Callable[[str], str]
    explain: Callable[[Exception], str]
    convert: Callable[[Any, Any], Any] = lambda _field, column: column


def find_reason(said: str, reasons: dict[str, str]) -> str:
    """Return our words for the first of these phrases that a driver said; "" if it said none of them."""
    return next((ours for theirs, ours in reasons.items() if theirs in said), "")


def file_of(address: str) -> str:
    """Return the file that a connection such as sqlite:///var/lib/cohort.db names."""
    path = address.removeprefix("//")
    if not path.startswith("/"):
        raise QueryError("its path has to begin with /")
    return path
