"""Connections: how a database is reached, in a text that holds a password and is never shown."""

from __future__ import annotations

from tacit.federation.databases.database import Database, QueryError
from tacit.federation.databases.duckdb import DUCKDB
from tacit.federation.databases.postgresql import POSTGRESQL
from tacit.federation.databases.sqlite import SQLITE

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
