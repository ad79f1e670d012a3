"""What the gram SVM gives away.

To the coordinator the gram matrix and not more, to the holders nothing of each other's columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from conformance.case import columns
from papers.gram.cases import CASES, play_gram
from tacit.choreo import Holder
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.papers.gram import GramSVC, vertical
from tacit.papers.gram.attacks.gram_inversion import gram_inversion
from tacit.runtimes.together import Together

CASE = CASES[0]


class Tapped(Together):
    """Keeps every frame by receiver."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.frames: list[tuple[str, str, bytes]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int) -> Any:
        self.frames += [(receiver, place, frames.join()) for (_, receiver), frames in outbox.items()]
        return super()._exchange(place, outbox, wanted, missing)


def rotated(part: Any, seed: int) -> Any:
    """Other records with the same gram matrix."""
    orthogonal, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(part.X.shape[1],) * 2))
    return part_of(part.X @ orthogonal, part.y, part.weight, part.features)


def played(inputs: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Tapped, list[Any]]:
    opened: list[Any] = []
    real = vertical.append
    roster = CASE.roster(3)
    with monkeypatch.context() as patch, Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        patch.setattr(vertical, "append", lambda done, band: real(done, opened.append(band) or band))
        play_gram(run, run.hold(Holder, inputs["data"][1]), kernel="linear")
    return run, opened


def test_the_coordinator_learns_the_same_from_records_that_differ_by_a_rotation(monkeypatch):
    inputs = columns(CASE.roster(3))
    turned = {"data": (Holder, {p: rotated(part, i) for i, (p, part) in enumerate(inputs["data"][1].items())})}
    (_, first), (_, second) = played(inputs, monkeypatch), played(turned, monkeypatch)
    assert len(first) == len(second) > 1
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_holders_receive_the_same_bytes_when_another_holder_s_columns_are_rotated(monkeypatch):
    inputs = columns(CASE.roster(3))
    turned = {"data": (Holder, {p: rotated(part, 5) if p == "p3" else part for p, part in inputs["data"][1].items()})}
    (first, _), (second, _) = played(inputs, monkeypatch), played(turned, monkeypatch)

    def to_others(run: Tapped) -> list[Any]:
        # public keys are fresh in every run, and p1 is the asker, to whom the decision values go
        return [
            (r, place, data)
            for r, place, data in run.frames
            if r in ("p2", "p1") and not place.endswith(("PublicKey", "Decision"))
        ]

    assert to_others(first) == to_others(second)


def test_no_holder_ever_receives_an_array_that_is_not_public(monkeypatch):
    run, _ = played(columns(CASE.roster(3)), monkeypatch)
    kinds = {row.type for row in run.ledger if row.receiver in ("p2", "p3")}
    assert kinds == {"Classes", "Size", "PublicKey", "Support"}


@pytest.mark.parametrize(("known", "least", "most"), [(7, 0.0, 1e-6), (12, 0.0, 1e-6), (6, 0.01, 1.0), (0, 0.99, 1.01)])
def test_gram_inversion_succeeds_from_as_many_known_records_as_there_are_columns(known, least, most):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(40, 7))
    noise = rng.uniform(-1, 1, size=(40, 40)) * 3 * 2.0**-33  # the fixed point's rounding does not save anybody
    attack = gram_inversion(A @ A.T + noise + noise.T, A, np.arange(known))
    assert least <= attack.error <= most


@pytest.mark.parametrize("partition", ["vertical", "horizontal"])
def test_of_pairs_the_asker_is_told_a_value_for_each_class_and_none_of_a_pair(partition):
    """Five classes are ten pairs; the coordinator adds up what they say before it tells it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 5
    fed = tacit.simulate(X, y, parties=3, partition=partition, seed=0)
    asked = GramSVC(multi_class="ovo").fit(fed).ask(fed)
    told = [row.shapes for row in asked.outcomes[-1].ledger if row.type in {"Decision", "OwnDecisions"}]
    assert len(told) == (1 if partition == "vertical" else 3)
    assert {shape[-1] for shapes in told for shape in shapes} == {5}
