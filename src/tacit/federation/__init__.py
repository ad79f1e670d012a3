"""Data: whose it is, how it is split, and where it is read from."""

from tacit.federation.federation import Federation
from tacit.federation.part import Part
from tacit.federation.readers import read
from tacit.federation.table import Table, as_table

__all__ = ["Federation", "Part", "Table", "as_table", "read"]
