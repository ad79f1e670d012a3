"""Databases: what a query returns, as an Arrow table, read in one snapshot by a session that cannot write.

One module for each library, imported when a connection asks for it. No text that is raised here shows a connection, or
a value of a record.
"""
