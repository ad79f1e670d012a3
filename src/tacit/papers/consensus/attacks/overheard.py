"""Runs of honest parties in one process, with what some of their steps made written down."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from tacit.choreo import At, Role, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.together import Together


class Overheard(Together):
    """All parties in one process; `heard` has what the named steps returned, by party, call by call."""

    heard: dict[str, list[dict[str, Any]]]

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """Play a step as usual, and write down what it returned."""
        done = super().local(role, step, *args, **kwargs)
        if step.__name__ in self.heard:
            self.heard[step.__name__].append(dict(entries_of(done)))
        return done


def overheard(roster: Roster, *steps: str) -> Overheard:
    """Return a run that listens to these steps."""
    job = secrets.token_bytes(16)
    run = Overheard(roster, job=job, entropy=RootEntropy(roster.parties, job))
    run.heard = {step: [] for step in steps}
    return run
