"""The command line: `tacit demo`, `train`, `predict`, `report`; between organisations `keys`, `party`, `submit` and others."""

from tacit.cli.app import main

__all__ = ["main"]
