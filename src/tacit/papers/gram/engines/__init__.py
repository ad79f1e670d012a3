"""Encryption under which products are computed."""
