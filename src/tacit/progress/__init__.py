"""Waiting: how far a run is, in one line, in a terminal, in a notebook or in a log."""

from tacit.progress.watch import Watch, begin_step, find_step, listen_to, watching

__all__ = ["Watch", "begin_step", "find_step", "listen_to", "watching"]
