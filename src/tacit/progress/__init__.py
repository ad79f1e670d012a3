"""Waiting: how much time is left of a run, and the line that says so, in a terminal, in a notebook or in a log."""

from tacit.progress.time_left import StepsLeft, TimeLeft
from tacit.progress.watch import Watch, begin_step, find_step, listen_to, watching

__all__ = ["StepsLeft", "TimeLeft", "Watch", "begin_step", "find_step", "listen_to", "watching"]
