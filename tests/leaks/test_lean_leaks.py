"""What holders see of the lean gates, exactly: the real choreographies in tiny rings, with what one holder draws.

One run holds every combination of r and of masks of bits that the hidden holder draws, several times: each time with
other draws of the coalition, and with another message from the dealer. The rest of what the hidden holder draws is a
pad on this message: for every r and masks there is exactly one that gives it. So all combinations are equally likely,
and a coalition sees nothing but uniform words if it sees something else for each of them. Of a comparison in Z_4
everything that is drawn is enumerated, pads too. The dealer is sent nothing, so that its view is its own draws.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import widen
from tacit.numeric.shares.lean import Lean, count_words
from tacit.protocols.shares import lean_clip as gates
from tacit.protocols.shares.dealing import Dealt, agree_with_dealer
from tacit.protocols.shares.gates import OpenedBits, Opening
from tacit.protocols.shares.lean_clip import Looked, clip_and_cut, lean_clip, reaches_one
from tacit.runtimes.together import Together

KINDS = {"Dealt": Dealt, "Opening": Opening, "OpenedBits": OpenedBits}
WINDOWS = {
    "one digit": Lean(1, 2, 1, digit=2),
    "digits of a bit": Lean(2, 2, 1, digit=1, looked=1),
    "digits of two bits": Lean(2, 3, 1, digit=2, looked=1),
    "one opening": Lean(2, 2, 1, digit=1, looked=2, joined=True),
}
GATES = {lean_clip: {"clips": True}, clip_and_cut: {"clips": True, "cuts": True}, reaches_one: {"clips": False}}
TIMES = 3  # draws of the coalition and messages of the dealer that are tried


def pack(bits):
    """Lines of bits as planes."""
    padded = np.zeros((len(bits), 64 * count_words(bits.shape[1])), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u8")


def unpack(planes, size):
    return np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")[:, :size]


def cut_bits(numbers, count):
    """The lowest bits of numbers, a line for each."""
    return (numbers[None, :] >> np.arange(count, dtype=np.uint64)[:, None]) & np.uint64(1)


class Draw:
    """What a holder draws for every entry: r, masks of bits, and pads of words and of planes."""

    def __init__(self, looked, r, bits, made, planes) -> None:
        self.lines = (r, bits, made, planes)
        self.own, self.pads = [r, pack(bits).ravel()], [made.ravel(), pack(planes).ravel()]
        assert [each.size for each in (*self.own, *self.pads)] == [sum(each) for each in vars(looked.sizes).values()]

    def words(self, count):
        own = np.concatenate(self.own)
        words = own if count == own.size else np.concatenate([own, *self.pads])
        assert words.size == count
        return words.astype(np.uint64)


class Given(RootEntropy):
    """In place of AES: what every holder draws of the one gate of a run."""

    def __init__(self, draws) -> None:
        super().__init__([*draws, "dealer"], b"leak test")
        self.draws, self.keys = draws, {}

    def pads(self, _party, seeds, tag):
        return Pads(self, seeds, tag)

    def draw(self, key, count):
        name = self.keys.setdefault(key, list(self.draws)[len(self.keys)] if key not in self.keys else "")
        return self.draws[name].words(count)  # the dealer draws first, for all holders in their order


class Pads:
    def __init__(self, source, seeds, tag) -> None:
        self.source, self.seeds, self.tag = source, seeds, tag

    def put_on(self, name, words):
        return iter([self.source.draw((self.seeds[name], self.tag), words)])

    take_off = put_on


class Tapped(Together):
    """Keeps what each holder receives."""

    def _exchange(self, place, outbox, wanted, missing):
        kind = KINDS.get(place.rpartition("/")[2].partition("#")[0])
        for (sender, receiver), frames in outbox.items() if kind else ():
            assert receiver != "dealer"
            if sender != receiver:
                self.seen.setdefault(receiver, []).append((sender, decode_as(kind, frames)))
        return super()._exchange(place, outbox, wanted, missing)


def play(gate, window, looked, draws, values, absorbed=None):
    """What each holder receives, as lines of an entry each, and the values that the gate leaves."""
    names, size, k = tuple(draws), looked.size, window.k
    with Tapped(Roster({Holder: names, Coordinator: ("dealer",)}), job=b"leak test", entropy=Given(draws)) as run:
        run.seen = {}
        dealing = agree_with_dealer(run)
        held = run.hold(Holder, {p: np.full(size, v, np.uint64) for p, v in zip(names, values, strict=True)})
        hidden = {} if absorbed is None else {"absorbed": run.hold(Coordinator, {"dealer": absorbed})}
        left = gate(run, dealing, held, window, size=size, **hidden)
    lines = {p: [] for p in names}
    for p, messages in run.seen.items():
        for sender, message in messages:
            if isinstance(message, OpenedBits):
                found = unpack(message.bits.view("<u8").reshape(-1, count_words(size)), size)
            else:
                found = widen(message.words, k).reshape(-1, size)
            lines[p] += [(sender, line, 1 if isinstance(message, OpenedBits) else k) for line in found]
            if isinstance(message, Dealt) and message.tables.size:
                found = unpack(message.tables.reshape(-1, count_words(size)), size)
                lines[p] += [(sender, line, 1) for line in found]
    read = [
        sum(entries_of(each).values()) % np.uint64(1 << k) for each in (left if isinstance(left, tuple) else [left])
    ]
    return lines, read


def code(lines, size, senders):
    """What is received from some senders, as a number of each entry, and how many bits that has."""
    total, bits = np.zeros(size, np.uint64), 0
    for sender, line, width in lines:
        if sender in senders:
            total, bits = total * np.uint64(1 << width) + line, bits + width
    assert bits < 64
    return total, bits


def split(total, holders, k, rng):
    """Shares of a value."""
    parts = rng.integers(0, 1 << k, holders - 1)
    return [*parts.tolist(), int(total - parts.sum()) % (1 << k)]


def see(gate, window, holders, hidden, values, seed=0, absorbed=0):
    """How many different openings a coalition sees of how many, for each draw of its own; and what is left."""
    rng, names = np.random.default_rng(seed), tuple(f"p{i}" for i in range(holders))
    k, masks = window.k, sum(Looked(1, window, **GATES[gate]).circuit.masks)
    drawn = 1 << (k + masks)
    looked = Looked(TIMES * drawn, window, **GATES[gate])
    size, planes = looked.size, sum(looked.circuit.planes)

    def repeat(lines, top):
        return np.repeat(rng.integers(0, top, (lines, TIMES)).astype(np.uint64), drawn, axis=1)

    def draw(name, pads=None):
        every = np.tile(np.arange(drawn, dtype=np.uint64), TIMES)
        fixed = repeat(1, 1 << k)[0], repeat(masks, 2)
        r, bits = (every >> np.uint64(masks), cut_bits(every, masks)) if name == hidden else fixed
        words, tables = pads or (repeat(looked.words, 1 << k), repeat(planes, 2))
        return Draw(looked, r, bits, words, tables)

    draws = {name: draw(name) for name in names}
    taken = None if not absorbed else np.full(size, absorbed, np.uint64)
    last = names[-1]
    if hidden != last:  # pads that leave the same message from the dealer for all that the hidden holder draws
        _, _, words, tables = draws[hidden].lines
        dealt = [
            line for sender, line, _ in play(gate, window, looked, draws, values, taken)[0][last] if sender == "dealer"
        ]
        more = np.array(dealt[: looked.words]).astype(np.uint64) - repeat(looked.words, 1 << k)
        mixed = np.array(dealt[looked.words :]) ^ repeat(planes, 2)
        draws[hidden] = draw(hidden, ((words + more) & np.uint64((1 << k) - 1), tables ^ mixed))
    lines, left = play(gate, window, looked, draws, values, taken)
    viewer = next(name for name in names if name != hidden)
    seen, bits = code(lines[viewer], size, {hidden})
    assert bits == k + masks, "as many bits are opened as are drawn"
    told = [line.reshape(TIMES, -1) for sender, line, _ in lines[last] if sender == "dealer"] if hidden != last else []
    assert all((line == line[:, :1]).all() for line in told), "the dealer's message is the same for all of them"
    return [len(np.unique(each)) for each in seen.reshape(TIMES, -1)], drawn, left


def expected(gate, window, total):
    """What the gate may leave: the value rounded down or up, or the exact bit."""
    if gate is reaches_one:
        return [{int(total >= 1 << window.F)}]
    found = []
    for value in [min(max(total, 0), 1 << window.F), *([total] if gate is clip_and_cut else [])]:
        low = value >> window.s
        found.append({each % (1 << window.k) for each in (low, low + (value % (1 << window.s) > 0))})
    return found


def room(gate, window):
    """The largest whole number of units that the gate takes."""
    if gate is clip_and_cut:
        return (1 << (window.k - 2)) - 1
    return (1 << (window.k - 1)) - (1 << window.F) - 1


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize(("holders", "hidden"), [(2, "p0"), (2, "p1"), (3, "p1"), (3, "p2")])
def test_all_but_one_holder_see_uniform_openings_whatever_the_last_one_has(gate, name, holders, hidden):
    window, rng = WINDOWS[name], np.random.default_rng(1)
    most = room(gate, window)
    for total in sorted({-most, -1, 1, most}):
        seen, drawn, left = see(gate, window, holders, hidden, split(total, holders, window.k, rng))
        assert seen == [drawn] * TIMES
        for found, allowed in zip(left, expected(gate, window, total), strict=True):
            assert set(np.unique(found).tolist()) <= allowed, total


@pytest.mark.parametrize("gate", [lean_clip, reaches_one])
def test_words_that_the_dealer_absorbs_change_nothing_that_is_seen(gate):
    window, rng = WINDOWS["one digit"], np.random.default_rng(2)
    for hidden in ("p0", "p1"):
        seen, drawn, left = see(gate, window, 2, hidden, split(1 - 5, 2, window.k, rng), absorbed=5)
        assert seen == [drawn] * TIMES
        assert set(np.unique(left[0]).tolist()) <= expected(gate, window, 1)[0]


def compare_whole(values):
    """The views of both holders of a comparison in Z_4, of everything that both draw."""
    window = Lean(0, 2, 0, digit=1)
    looked = Looked(1 << 17, window, clips=False)
    every = np.arange(1 << 17, dtype=np.uint64)
    at, draws = 0, {}
    for name, pads in (("p0", True), ("p1", False)):
        lines = []
        for count in (2, sum(looked.circuit.masks), *((2, sum(looked.circuit.planes)) if pads else ())):
            lines.append(cut_bits(every >> np.uint64(at), count))
            at += count
        words = [each[0] + np.uint64(2) * each[1] for each in lines[::2]]
        nothing = np.zeros((1, every.size), np.uint64), np.zeros((sum(looked.circuit.planes), every.size), np.uint64)
        draws[name] = Draw(looked, words[0], lines[1], *((words[1][None], lines[3]) if pads else nothing))
    assert 1 << at == every.size
    received, left = play(reaches_one, window, looked, draws, values)
    own = {"p0": every & np.uint64((1 << 12) - 1), "p1": every >> np.uint64(12)}
    views = {}
    for p in draws:
        seen, bits = code(received[p], every.size, {"p0", "p1", "dealer"})
        assert bits == (5 if p == "p0" else 12)
        views[p] = np.sort(seen * np.uint64(1 << 12) + own[p] if p == "p0" else seen * np.uint64(1 << 5) + own[p])
    return views, set(left[0].tolist())


def test_of_a_whole_comparison_each_holder_sees_uniform_words():
    for values, above in (((3, 1), 0), ((1, 0), 1), ((2, 3), 1), ((0, 3), 0)):
        views, left = compare_whole(values)
        assert left == {above}
        for view in views.values():
            np.testing.assert_array_equal(view, np.arange(1 << 17))


def read_first(looked, dealt, stage):
    """The masks of the first opening, for every opening."""
    masks = looked.circuit.masks
    return dealt.bits[0].reshape(sum(masks), -1)[: masks[stage]]


def open_results(bits, dealt, looked):
    del dealt, looked
    return bits.copy()


def mask_with_half(x, dealt, ring):
    """A mask that is even."""
    return (x + np.uint64(2) * dealt.masks[0]) & np.uint64(ring.modulus - 1)


BROKEN = {
    "a mask is used twice": (Looked, "read_bits", read_first),
    "a mask is missing": (gates, "mask_results", open_results),
    "a mask is too small": (gates, "mask_value", mask_with_half),
}


@pytest.mark.parametrize("gate", [lean_clip, reaches_one])
@pytest.mark.parametrize("name", BROKEN)
def test_a_gate_whose_masks_are_broken_is_noticed(gate, name, monkeypatch):
    monkeypatch.setattr(*BROKEN[name])
    seen, drawn, _ = see(gate, WINDOWS["digits of a bit"], 2, "p1", (3, 5))
    assert max(seen) < drawn
