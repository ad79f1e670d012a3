"""Who receives what in the cutting planes, and what becomes of a coordinator that lies."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from leaks.planes import blobs, shared
from tacit.attacks.coordinator import OwnCoordinator, play
from tacit.choreo import Coordinator, PeerError
from tacit.protocols.planes import cutting_plane as protocol

HELD = {f"p{i}": rows for i, rows in enumerate(shared(blobs(n=60, columns=3, noise=0.5), 3))}


@pytest.mark.parametrize("witness", [False, True])
def test_nobody_receives_anything_but_masked_vectors_and_what_is_published(monkeypatch, witness):
    runs: list[Any] = []
    real = OwnCoordinator.__init__

    def kept(self: Any, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        runs.append(self)

    monkeypatch.setattr(OwnCoordinator, "__init__", kept)
    play({}, HELD, C=1.0, min_count=3, witness=witness)
    coordinator, holder = ({row.type for row in runs[0].ledger if row.receiver == who} for who in ("coordinator", "p2"))
    assert coordinator == {"PublicKey", "Masked", "Rounds"}
    assert holder == {"PublicKey", "Rounds", "Direction", "Step", "Optima"} | ({"Masked"} if witness else set())


def another_direction(*args: Any) -> Any:
    honest = protocol.direction(*args)
    return dataclasses.replace(honest, w=honest.w + 0.1)


def another_step(*args: Any) -> Any:
    honest = protocol.choose(*args)
    return dataclasses.replace(honest, length=honest.length / 2 + 0.1)


def another_slack(*args: Any) -> Any:
    honest = protocol.choose(*args)
    return dataclasses.replace(honest, slack=honest.slack + 1.0)


def another_model(*args: Any) -> Any:
    honest = protocol.optima(*args)
    return dataclasses.replace(honest, w=honest.w * 1.01)


LIES = {
    "direction": (another_direction, "direction", "Direction"),
    "step": (another_step, "choose", "Step"),
    "slack": (another_slack, "choose", "Step"),
    "model": (another_model, "optima", "Optima"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_passes_unseen_by_holders_that_do_not_see_the_sums_and_stops_those_that_do(name):
    lie, step, told = LIES[name]
    play({step: lie}, HELD, C=1.0, min_count=3, max_rounds=6)
    with pytest.raises(PeerError, match=f"the coordinator published a {told} whose .* does not follow from the sums"):
        play({step: lie}, HELD, C=1.0, min_count=3, max_rounds=6, witness=True)


def test_a_lie_cannot_make_a_holder_split_a_group_into_a_few_rows():
    """Holders round their own sets: whatever is published, no piece has fewer rows than min_count."""
    for lie, step, _ in LIES.values():
        past: dict[str, Any] = {}
        play({step: lie}, HELD, C=100.0, min_count=4, max_rounds=12, past=past)
        for kept in past.values():
            assert np.unique(kept.label[kept.label >= 0], return_counts=True)[1].min() >= 4
    assert Coordinator not in past
