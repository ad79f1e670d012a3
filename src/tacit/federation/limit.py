"""A limit: how large a table may become in memory."""

from __future__ import annotations

from typing import NamedTuple

from tacit.errors import LocalError

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
