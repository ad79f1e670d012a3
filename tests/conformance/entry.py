"""What a party's process does: play every case on its own inputs and give back its own results."""

from __future__ import annotations

from typing import Any

from conformance.cases import CASES
from tacit.choreo import At, decode, encode
from tacit.choreo.role import Role
from tacit.crypto.entropy import RootEntropy
from tacit.runtimes.apart import Apart


def play(run: Apart, payload: bytes) -> bytes:
    """Payload and answer are of this party only; each case is a run of its own over the same links."""
    return encode({name: one(run, name, inputs) for name, inputs in decode(payload).items()}).join()


def one(run: Apart, name: str, inputs: dict[str, tuple[str, Any]]) -> Any:
    """The party's results and its ledger."""
    own_run = Apart(run.me, run.roster, run.post, job=name.encode(), entropy=RootEntropy([run.me], name.encode()))
    own_run._waiting = run._waiting  # a quicker party may already be in the next case
    result = CASES[name].run(own_run, {key: (Role(role), entries) for key, (role, entries) in inputs.items()})
    return own(result), own_run.ledger.template()


def own(result: Any) -> Any:
    """Entries of this party, marked so that they are not taken for plain values."""
    if isinstance(result, At):
        return {"at": dict(result._entries)}
    if isinstance(result, dict):
        return {"dict": {k: own(v) for k, v in result.items()}}
    return {"plain": result}
