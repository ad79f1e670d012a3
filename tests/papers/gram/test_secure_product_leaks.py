"""What each side learns from two products of one upload, exactly: the real engine in Z_4, all inputs and all masks.

Rows of Q's matrix are independent of each other, so one run holds every combination of an entry of B and its masks: row
r of both products has the r-th. What P can read of the replies, all that decrypts of a polynomial, must have the same
distribution over the masks whatever B is; what Q has besides ciphertexts, its shares, must not depend on A. A
ciphertext itself is not enumerated: that its noise tells nothing is what `attacks.bfv_noise` tries.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Holder, Role, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.papers.gram.engines.bfv_layout import LEAST, kept, stretches
from tacit.papers.gram.engines.bfv_reply import read_reply, reply_size, spectrum
from tacit.papers.gram.engines.bfv_scheme import read_secret, scheme
from tacit.papers.gram.engines.engines import Block, Plan, make_engine
from tacit.papers.gram.engines.seal_bytes import Memory
from tacit.papers.gram.secure_product import Reply, Upload, answer_upload, finish_product, offer, own_pads, seal_reply
from tacit.runtimes.together import Together

Q, ENTRIES = 4, (-1, 0, 1)
ROWS = list(
    product(ENTRIES, ENTRIES, range(Q), range(Q))
)  # of B in the first and in the second product, and their masks
P1, P2 = (Role("holder", single=True, party=p) for p in ("p1", "p2"))
PLAN = Plan((1,), (Block((0,), len(ROWS)),))


class GivenPads:
    """In place of AES: the masks of the enumeration, then 0, 1, ... on the coefficients that hold no product."""

    def __init__(self, real: Any, masks: list[int]) -> None:
        self.real, self.masks = real, masks

    def put_on(self, name: str, words: int) -> Any:
        if name != "mask":
            return self.real.put_on(name, words)
        rest = np.arange(words - len(self.masks)) % Q
        return iter([np.concatenate([self.masks, rest]).astype(np.uint64)])


class GivenEntropy(RootEntropy):
    def __init__(self, *, masked: bool) -> None:
        super().__init__(["p1", "p2"], b"leak test")
        self.given = [[row[2 + t] * masked for row in ROWS] for t in range(2)]

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        return GivenPads(super().pads(party, seeds, tag), self.given.pop(0))


class Tapped(Together):
    """Keeps the replies."""

    replies: tuple[Reply, ...] = ()

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        if place.rsplit("/", 1)[-1].split("#", maxsplit=1)[0] == "Reply":
            self.replies += tuple(decode_as(Reply, frames) for frames in outbox.values())
        return super()._exchange(place, outbox, wanted, missing)


def played(a: int, *, masked: bool = True) -> tuple[Any, Any, Any]:
    """What P reads in both replies, its shares, and Q's shares; a row for each row of B."""
    way, (row,) = make_engine("bfv", 1, bits=2, bound=1), stretches(PLAN, 1)
    with Tapped(Roster({Holder: ("p1", "p2")}), job=b"leak test", entropy=GivenEntropy(masked=masked)) as run:
        offered = offer(run, run.hold(P1, {"p1": (np.array([a]),)}), p=P1, way=way)
        mine, theirs = [], []
        for t in range(2):
            held = run.hold(P2, {"p2": (np.array([[row[t]] for row in ROWS]),)})
            upload, tag = run.send(Upload, P1 >> P2, offered.upload), run.tag()
            pads = run.pads(run.local(P2, own_pads, run.random(P2)), run.tag())
            answer = run.local(P2, answer_upload, way, upload, offered.tag, PLAN, held, pads)
            reply = run.send(Reply, P2 >> P1, run.local(P2, seal_reply, answer, upload, tag))
            share = run.local(P1, finish_product, way, offered.secret, offered.upload, PLAN, reply, tag)
            mine.append(entries_of(share)["p1"][0][0])
            theirs.append(entries_of(answer)["p2"][1][0][0])
        seen = [read_all(entries_of(offered.secret)["p1"], reply.body, kept(row, 1)) for reply in run.replies]
    return np.stack(seen, axis=1), np.stack(mine, axis=1), np.stack(theirs, axis=1)


def read_all(secret: bytes, body: Any, sent: Any) -> Any:
    """All that decrypts of a reply: each coefficient of c0 that was sent."""
    assert body.size == reply_size(len(sent), 2)
    with Memory() as memory:
        key = spectrum(read_secret(scheme(2), memory, scheme(2).secret(secret)))
    return read_reply(body, sent, 2, key)[0][sent]


def distributions(view: Any) -> dict[tuple[int, int], Counter[tuple[int, ...]]]:
    """Of the view of a row, over the masks, for every pair of entries of B."""
    found: dict[tuple[int, int], Counter[tuple[int, ...]]] = {}
    for (b1, b2, _, _), seen in zip(ROWS, view.tolist(), strict=True):
        found.setdefault((b1, b2), Counter())[tuple(seen)] += 1
    return found


@pytest.mark.parametrize("a", ENTRIES)
def test_what_the_key_holder_reads_is_uniform_whatever_the_other_side_has(a):
    seen, mine, theirs = played(a)
    found = distributions(seen[: len(ROWS)])
    assert set(found[0, 0].values()) == {1}
    assert len(found[0, 0]) == Q * Q
    assert len({frozenset(each.items()) for each in found.values()}) == 1
    np.testing.assert_array_equal(seen[: len(ROWS)], mine)
    np.testing.assert_array_equal((mine + theirs) % Q, np.array([[a * b1, a * b2] for b1, b2, _, _ in ROWS]) % Q)


def test_coefficients_that_hold_no_product_are_masked_too_or_not_sent():
    way, plan = make_engine("bfv", 1, bits=2, bound=1), Plan((3,), (Block((0,), 1),))
    secret, masks = bytes(32), [2, 0, 3]
    pads = GivenPads(RootEntropy(["q"], b"leak test").pads("q", {"noise": bytes(32)}, b"tag"), masks)
    reply, _ = way.reply(way.upload(secret, [np.array([1, 0, -1])]), plan, [np.array([[1]])], pads)
    (row,) = stretches(plan, 1)
    sent = kept(row, 1)
    np.testing.assert_array_equal(sent, np.arange(LEAST))
    found = read_all(secret, reply, sent)
    np.testing.assert_array_equal(found[:3], [(2 + 1) % Q, 0, (3 - 1) % Q])
    np.testing.assert_array_equal(found[3:], np.arange(LEAST - 3) % Q)


def test_the_shares_of_the_other_side_do_not_depend_on_what_was_uploaded():
    for b in (played(a)[2] for a in ENTRIES):
        np.testing.assert_array_equal(b, [[-u % Q, -v % Q] for _, _, u, v in ROWS])


def test_without_a_mask_the_same_test_fails():
    found = distributions(played(1, masked=False)[0][: len(ROWS)])
    assert len({frozenset(each.items()) for each in found.values()}) == 9
