"""The command line: what `tacit` does when it is called in a terminal."""

from tacit.cli.app import main

__all__ = ["main"]
