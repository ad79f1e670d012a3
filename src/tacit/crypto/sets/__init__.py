"""Blind hashing and oblivious stores, by which sets are compared."""
