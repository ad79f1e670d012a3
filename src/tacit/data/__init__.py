"""Data: whose it is, how it is split, and where it is read from."""

from tacit.data.federation import Federation
from tacit.data.part import Part
from tacit.data.readers import read
from tacit.data.table import Table, as_table

__all__ = ["Federation", "Part", "Table", "as_table", "read"]
