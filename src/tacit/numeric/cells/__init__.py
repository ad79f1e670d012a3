"""Cells of a table: whose they are, as integers, moved; and rings of their owners."""
