"""Parties of a blind training that send what does not fit: one line that says who, what and what to do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit.choreo import Coordinator, Holder, Labeller, Roster, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import PeerError
from tacit.federation.part import part_of
from tacit.protocols.blind.training import gram_blind
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.shares.dealing import Dealt
from tacit.protocols.shares.gates import OpenedBits, Opening
from tacit.runtimes.together import Together

NAMES = ("north", "south")
X, Y = make_classification(20, 4, random_state=2)
WORDS, BITS = np.zeros(3, np.uint64), np.zeros(3, np.uint8)


class Deviating(Together):
    """One message of one party is another than it should be."""

    def _exchange(self, place, outbox, wanted, missing):
        kind, sender, receiver, message = self.instead
        if place.rpartition("/")[2] == kind and (sender, receiver) in outbox:
            outbox = {**outbox, (sender, receiver): encode(message)}
        return super()._exchange(place, outbox, wanted, missing)


def train_between_two(*instead):
    """A training in which a message is replaced, if one is given."""
    roster = Roster({Holder: NAMES, Labeller: NAMES[:1], Coordinator: ("clearing",)})
    features = tuple(f"x{j}" for j in range(4))
    parts = {
        name: part_of(X[:, i::2], Y if i == 0 else None, None, features[i::2], None) for i, name in enumerate(NAMES)
    }
    with Deviating(roster, job=b"bad", entropy=RootEntropy(roster.parties, b"bad")) as run:
        run.instead = instead or ("", "", "", None)
        kernel = AnyKernel(kernel="rbf", gamma=0.2, degree=3, coef0=0.0)
        return gram_blind(run, run.hold(Holder, parts), partition="vertical", kernel=kernel, C=1.0)


def test_two_holders_are_enough():
    assert train_between_two().records == len(X)


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        (("Opening", "south", "north", Opening(WORDS)), r"south opened 3 words where 420 belong: stop and ask south"),
        (
            ("OpenedBits", "south", "north", OpenedBits(BITS)),
            r"south opened 3 bytes where \d+ belong: stop.*south",
        ),
        (
            ("Dealt", "clearing", "south", Dealt(WORDS, WORDS[:0])),
            r"the dealer sent 3 words of \d+: is it of the same version\?",
        ),
    ],
)
def test_a_message_of_the_wrong_shape_stops_the_run_with_one_line(instead, says):
    with pytest.raises(PeerError, match=f"^{says}$"):
        train_between_two(*instead)


def test_an_opening_that_is_of_another_kind_stops_the_run_too():
    with pytest.raises(PeerError, match="OpenedBits"):
        train_between_two("Opening", "south", "north", OpenedBits(BITS))
