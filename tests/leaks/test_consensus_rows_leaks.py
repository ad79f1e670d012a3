"""Consensus over rows: what leaves a holder is masked, and what is opened does not say whose it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.case import flat
from conformance.pan_oracle import labelled
from tacit.choreo import Coordinator, Holder, Message, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.protocols.consensus import horizontal as protocol
from tacit.protocols.consensus.rounds import Agreed
from tacit.protocols.consensus.space import Metric
from tacit.runtimes.together import Together

HOLDERS = ("p1", "p2", "p3")
ROSTER = Roster({Holder: HOLDERS, Coordinator: ("site",)})
OPENED: dict[str, type[Message]] = {"Agreed": Agreed, "Metric": Metric, "Plane": protocol.Plane}


class Tapped(Together):
    """Keeps every message that everyone is told of the weights."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.told: list[bytes] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        name = place.rsplit("/", 1)[-1]
        if name in OPENED:
            (_, frames), *_ = outbox.items()
            decode_as(OPENED[name], frames)
            self.told.append(frames.join())
        return super()._exchange(place, outbox, wanted, missing)


def told(order: tuple[int, ...], how: dict[str, Any]) -> tuple[list[bytes], set[tuple[str, str]]]:
    X, y = labelled(2)
    cut = np.array_split(np.arange(len(X)), 3)
    parts = {p: part_of(X[cut[i]], y[cut[i]], None, ("a", "b", "c")) for p, i in zip(HOLDERS, order, strict=True)}
    with Tapped(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"j")) as run:
        flat(protocol.consensus_horizontal)(run, run.hold(Holder, parts), C=1.0, max_rounds=12, **how)
    return run.told, {(row.sender_role, row.type) for row in run.ledger}


@pytest.mark.parametrize(
    "how",
    [{}, {"disclose": "least"}, {"kernel": "rbf", "landmark_source": "ranges", "landmarks": 5}],
    ids=["metric", "least", "rbf"],
)
def test_all_that_is_opened_is_the_same_to_the_bit_whoever_holds_which_rows(how):
    first, types = told((0, 1, 2), how)
    for order in ((1, 0, 2), (2, 0, 1)):
        assert told(order, how)[0] == first
    assert len(first) >= 13
    assert {kind for role, kind in types if role == "holder"} == {"PublicKey", "Held", "Masked"}
