"""A roster, and links whose far end is in the test's own hands."""

import queue
from collections import defaultdict

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.apart import Apart, queue_posts


class Wire:
    """The links of one party, played by the test from the other side."""

    def __init__(self, me, roster) -> None:
        self.posts = queue_posts(roster.parties)
        self.run = Apart(me, roster, self.posts[me], job=b"job", entropy=RootEntropy([me], b"job"), patience=0.2)
        self.me = me

    def deliver(self, sender, place, value):
        data = value if isinstance(value, bytes) else encode(value).join()
        self.raw(sender, encode(("message", place, np.frombuffer(data, np.uint8))).join())

    def stop(self, sender, place, kind):
        self.raw(sender, encode(("stop", sender, place, kind)).join())

    def raw(self, sender, data):
        self.posts[sender].put(self.me, data)

    def sent(self):
        """Everything that left, by receiver."""
        out = defaultdict(list)
        for other, post in self.posts.items():
            if other != self.me:
                while True:
                    try:
                        out[other].append(post.get(0.0)[1])
                    except queue.Empty:
                        break
        return {other: data for other, data in out.items() if data}


@pytest.fixture
def roster():
    return Roster({Holder: ("ann", "ben", "cat"), Coordinator: ("hub",)})


@pytest.fixture
def hub(roster):
    return Wire("hub", roster)


@pytest.fixture
def ann(roster):
    return Wire("ann", roster)


@pytest.fixture
def wire(roster):
    return lambda me: Wire(me, roster)
