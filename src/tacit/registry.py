"""The one table that binds protocols to runtimes: a job names both, a process looks them up here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.choreo import At, Entropy, Holder, Ledger, Role, Roster, Run, entries_of
from tacit.crypto.entropy import RootEntropy
from tacit.errors import LocalError
from tacit.protocols.elm_horizontal import elm_horizontal
from tacit.protocols.elm_vertical import elm_predict, elm_vertical
from tacit.protocols.gram_vertical import gram_predict, gram_vertical
from tacit.protocols.pan_svm import pan_svm
from tacit.protocols.select_filter import select_filter
from tacit.protocols.select_wrapper import select_wrapper
from tacit.protocols.shift_ring import shift_ring, shift_ring_predict
from tacit.protocols.shift_secret import (
    shift_secret_columns,
    shift_secret_columns_predict,
    shift_secret_rows,
    shift_secret_rows_predict,
)
from tacit.protocols.shift_vertical import shift_vertical, shift_vertical_predict
from tacit.runtimes.together import Together

PROTOCOLS: dict[str, Callable[..., Any]] = {
    "gram_vertical": gram_vertical,
    "gram_predict": gram_predict,
    "pan_svm": pan_svm,
    "elm_horizontal": elm_horizontal,
    "elm_vertical": elm_vertical,
    "elm_predict": elm_predict,
    "select_wrapper": select_wrapper,
    "select_filter": select_filter,
    "shift_ring": shift_ring,
    "shift_ring_predict": shift_ring_predict,
    "shift_vertical": shift_vertical,
    "shift_vertical_predict": shift_vertical_predict,
    "shift_secret_rows": shift_secret_rows,
    "shift_secret_rows_predict": shift_secret_rows_predict,
    "shift_secret_columns": shift_secret_columns,
    "shift_secret_columns_predict": shift_secret_columns_predict,
}

# protocols that a job between organisations may name, and who brings a table along under which name
INPUTS: dict[str, dict[str, Role]] = {"gram_vertical": {"data": Holder}, "pan_svm": {"data": Holder}, "elm_horizontal": {"data": Holder}}

Inputs = Mapping[str, tuple[Role, Mapping[str, Any]]]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run leaves behind in this process."""

    result: Any
    ledger: Ledger
    history: list[dict[str, Any]]
    seconds: float
    cpu: dict[str, float]


def play(run: Run, protocol: str, inputs: Inputs, params: Mapping[str, Any]) -> Any:
    """Bind each input to its role and play the protocol."""
    if protocol not in PROTOCOLS:
        raise LocalError(f"unknown protocol {protocol!r}: use one of {', '.join(PROTOCOLS)}")
    held = {name: run.hold(role, entries) for name, (role, entries) in inputs.items()}
    return PROTOCOLS[protocol](run, **held, **params)


def execute_together(
    roster: Roster,
    protocol: str,
    inputs: Inputs,
    params: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    entropy: Entropy | None = None,
) -> Outcome:
    """Run a protocol with all parties in this process."""
    start, job = time.perf_counter(), secrets.token_bytes(16)
    with Together(roster, job=job, entropy=entropy or RootEntropy(roster.parties, job), progress=progress) as run:
        result = play(run, protocol, inputs, params)
        return Outcome(opened(result), run.ledger, run.history, time.perf_counter() - start, dict(run.cpu))


RUNTIMES: dict[str, Callable[..., Outcome]] = {"together": execute_together}


def opened(result: Any) -> Any:
    """A result with every `At` replaced by {party: value}: for whoever simulates all parties."""
    if isinstance(result, At):
        return dict(entries_of(result))
    if isinstance(result, dict):
        return {k: opened(v) for k, v in result.items()}
    if type(result) is tuple:
        return tuple(opened(v) for v in result)
    return result
