"""What a party's process does: play every case on its own inputs and give back its own results."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from conformance.cases import CASES
from tacit.choreo import At, decode, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import Part
from tacit.runtimes.apart import Apart


def play(run: Apart, payload: bytes) -> bytes:
    """Payload and answer are of this party only; each case is a run of its own over the same links."""
    return encode({name: one(run, name, inputs) for name, inputs in decode(payload).items()}).join()


def one(run: Apart, name: str, inputs: dict[str, tuple[str, Any]]) -> Any:
    """The party's results and its ledger."""
    own_run = Apart(run.me, run.roster, run.post, job=name.encode(), entropy=RootEntropy([run.me], name.encode()))
    own_run._waiting = run._waiting  # a quicker party may already be in the next case
    roles = {role.name: role for role in run.roster.roles}
    brought = {key: (roles[role], {p: arrive(v) for p, v in each.items()}) for key, (role, each) in inputs.items()}
    result = CASES[name].run(own_run, brought)
    return own(result), own_run.ledger.template()


def carry(value: Any) -> Any:
    """What an input is on the way to its process: labels that are texts stay with a party, and have no wire form."""
    if not isinstance(value, Part) or value.y is None or value.y.dtype.kind != "U":
        return value
    return {"part": dataclasses.replace(value, y=None), "labels": tuple(value.y.tolist())}


def arrive(value: Any) -> Any:
    """The input again."""
    if not (isinstance(value, dict) and value.keys() == {"part", "labels"}):
        return value
    return dataclasses.replace(value["part"], y=np.array(value["labels"]))


def own(result: Any) -> Any:
    """Entries of this party, marked so that they are not taken for plain values."""
    if isinstance(result, At):
        return {"at": dict(result._entries)}
    if isinstance(result, dict):
        return {"dict": {k: own(v) for k, v in result.items()}}
    return {"plain": result}
