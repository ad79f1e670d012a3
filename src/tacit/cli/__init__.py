"""The command line: `tacit demo`, `train`, `predict`, `report`."""

from tacit.cli.app import main

__all__ = ["main"]
