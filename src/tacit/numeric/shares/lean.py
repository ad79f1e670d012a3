"""Clipping a value in shares to [0, 1] and comparing it with 1: a mask's tables, and products of bits that stay bits.

A value x has F bits after the point and I before it, and |x| < 2^(I-1) - 1. c = x + r mod 2^(F+I) is public, r is the
dealer's. c = (c_hi, c_lo) and r = (r_hi, r_lo) are cut at the point. With u = c_hi and w = c_hi - 1 mod 2^I,

    b  = [r_lo > c_lo],     E0 = [r_hi = u],     E1 = [r_hi = w],     B = [c_hi - r_hi >= 1] = 1 - msb(w - r_hi)     (1)
    inside = E0 (1 - b) + E1 b,          clip(x) = inside ((c_lo >> s) - (r_lo >> s)) + 2^q B,       s = F - q       (2)

r_hi and the first bits of r_lo are cut into digits. The dealer shares for each digit a table that is 1 at one place, by
exclusive or. So [=] of a public digit is an entry of it, and [>] is the sum of the entries above. With digits from the
most significant one on, [r_i = w_i] = e_i and [r_i > w_i] = g_i,

    [r > w] = g_0 + e_0 g_1 + e_0 e_1 g_2 + ..              all sums of bits are exclusive or                        (3)
    msb(w - r) = msb(w) + msb(r) + [r mod 2^(I-1) > w mod 2^(I-1)]                                                   (4)

b is (3) of the digits that are looked at. Where these are equal, x is that near to a whole number, and so is (2).

A bit x is opened as e = x + m under a mask m. A product of bits is a sum of products of e's times products of masks,
of which the dealer shares each as one bit:

    prod_i x_i = prod_i (e_i + m_i) = sum over subsets S of  prod_(not in S) e_i  prod_(in S) m_i                    (5)

So (1) and (2) take two openings of bits: a first one joins digits to groups, a second one joins groups; or a single one
for more products of masks. Another one opens the results, under masks that the dealer also shares as words. Bits are in
planes (`lean_loops`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import combinations, pairwise, product
from operator import xor

import numpy as np

from tacit.arrays import I64, U64

WORD = 64
WIDEST = 6  # bits of a digit
GROUP = 3  # digits that the first opening joins, where that leaves three groups at most
FULL = np.uint64(2**WORD - 1)

Product = frozenset[str]
Sum = frozenset[Product]  # of products of bits, by exclusive or; the empty product is 1


@dataclass(frozen=True)
class Lean:
    """The window of a value: F bits after the point, I before it, and q after it in what is clipped.

    digit: how many bits of a digit have a table. looked: how many digits after the point are compared. joined: one
    opening of bits in place of two, for more products of masks: as many as 2^(the number of digits), and more.
    """

    F: int
    I: int  # noqa: E741 - the letter of the equations
    q: int
    digit: int = 4
    looked: int = 3
    joined: bool = False

    def __post_init__(self) -> None:
        if not (self.I > 1 and 0 <= self.q <= self.F and self.k <= WORD and 1 <= self.digit <= WIDEST):
            raise ValueError(f"no window: {self}")

    @property
    def k(self) -> int:
        """How many bits a word has."""
        return self.F + self.I

    @property
    def s(self) -> int:
        """How many bits are cut of what is clipped."""
        return self.F - self.q


@dataclass(frozen=True)
class Digit:
    """Some bits of a word, from a lowest one on."""

    low: int
    width: int


def cut_digits(ends: Sequence[int]) -> tuple[Digit, ...]:
    """Return the digits between these places, which fall."""
    return tuple(Digit(end, start - end) for start, end in pairwise(ends))


# Sums of products of bits


ONE: Sum = frozenset([frozenset[str]()])
NONE: Sum = frozenset()


def bit(name: str) -> Sum:
    """Return the sum that is one bit."""
    return frozenset([frozenset([name])])


def add(terms: Iterable[Sum]) -> Sum:
    """Return the sum of sums; what is in two of them is in none."""
    return reduce(xor, terms, NONE)


def times(factors: Iterable[Sum]) -> Sum:
    """Return the product of sums; a bit times itself is the bit."""
    found = ONE
    for each in factors:
        found = add(frozenset([x | y]) for x, y in product(found, each))
    return found


def exceed(above: Sequence[Sum], equal: Sequence[Sum]) -> Sum:
    """Return the bit [r > w], (3), from comparisons of their digits."""
    return add(times([*equal[:j], each]) for j, each in enumerate(above))


@dataclass(frozen=True)
class Stage:
    """One opening of bits: the bits that come in, by name, and the sums that are made of them, by name."""

    given: tuple[str, ...]
    sums: tuple[tuple[str, Sum], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what is made."""
        return tuple(name for name, _ in self.sums)

    @cached_property
    def opened(self) -> tuple[str, ...]:
        """The bits that are opened: those that are multiplied."""
        used = frozenset[str]().union(*(each for _, total in self.sums for each in total if len(each) > 1))
        return tuple(name for name in self.given if name in used)

    @cached_property
    def at(self) -> I64:
        """The places of the opened bits among those that come in."""
        return np.array([self.given.index(name) for name in self.opened], dtype=np.int64)

    @cached_property
    def subsets(self) -> tuple[tuple[str, ...], ...]:
        """The subsets of (5), short ones first: none, each opened bit, and those whose products are dealt."""
        order = {name: at for at, name in enumerate(self.opened)}
        longest = [sorted(each, key=order.__getitem__) for _, total in self.sums for each in total if len(each) > 1]
        found = {some for each in longest for n in range(len(each)) for some in combinations(each, n + 1)}
        return ((), *sorted(found, key=lambda some: (len(some), [order[name] for name in some])))

    @property
    def dealt(self) -> int:
        """How many products of masks are dealt."""
        return len(self.subsets) - 1 - len(self.opened)

    @cached_property
    def factors(self) -> I64:
        """Of every product but the empty one the product without its last bit, and the last bit."""
        row = {some: at for at, some in enumerate(self.subsets)}
        pairs = [(row[some[:-1]], self.opened.index(some[-1])) for some in self.subsets[1:]]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def terms(self) -> I64:
        """Of every term of (5) the sum that it belongs to, the product of opened bits, and the share that it takes.

        Shares are those of the products of `subsets`, and then of the bits that come in.
        """
        row = {frozenset(some): at for at, some in enumerate(self.subsets)}
        found = []
        for made, (_, total) in enumerate(self.sums):
            for each in total:
                if len(each) == 1:
                    found += [(made, 0, len(row) + self.given.index(name)) for name in each]
                else:
                    found += [(made, row[each - some], at) for some, at in row.items() if some <= each]
        return np.array(sorted(found), dtype=np.int64).reshape(-1, 3)

    def multiply(self, bits: U64) -> U64:
        """Return the products of `subsets`, of masks at the dealer or of opened bits at the holders, as planes."""
        from tacit.numeric.shares.lean_loops import fill_products  # noqa: PLC0415 - it takes a second to load

        found = np.empty((len(self.subsets), bits.shape[1]), dtype=np.uint64)
        fill_products(bits, self.factors, found)
        return found

    def combine(self, given: U64, e: U64, masks: U64, dealt: U64, *, first: bool) -> U64:
        """Return a holder's planes of the sums, by (5), of which the first holder adds what is public."""
        from tacit.numeric.shares.lean_loops import add_terms  # noqa: PLC0415 - it takes a second to load

        one = np.full((1, e.shape[1]), FULL if first else 0, dtype=np.uint64)
        found = np.zeros((len(self.sums), e.shape[1]), dtype=np.uint64)
        add_terms(self.multiply(e), np.concatenate([one, masks, dealt, given]), self.terms, found)
        return found


# What is computed


@dataclass(frozen=True)
class Circuit:
    """How bits of (1) and (2) follow from tables: what is looked up, and one or two openings.

    clips: `inside` and B are made, otherwise B alone.
    """

    window: Lean
    clips: bool

    @cached_property
    def upper(self) -> tuple[Digit, ...]:
        """The digits before the point, or of the whole word; the first one, of the highest bits, may be shorter."""
        window = self.window
        last = window.F if self.clips else 0
        return cut_digits([window.k, *reversed(range(last, window.k, window.digit))])

    @cached_property
    def lower(self) -> tuple[Digit, ...]:
        """The digits after the point that are looked at; the last one may be shorter."""
        window = self.window
        count = min(window.looked, -(-window.F // window.digit)) if self.clips else 0
        return cut_digits([max(0, window.F - window.digit * j) for j in range(count + 1)])

    @cached_property
    def digits(self) -> tuple[Digit, ...]:
        """The digits of r that have tables."""
        return self.upper + self.lower

    @cached_property
    def entries(self) -> int:
        """How many entries all tables of a value have."""
        return sum(1 << digit.width for digit in self.digits)

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The bits that the last opening shows, under masks that are words too."""
        return ("inside", "B") if self.clips else ("B",)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The openings that join digits to groups, and groups to `results`, or one that does both."""
        sums: dict[str, Sum] = {}

        def keep(name: str, total: Sum) -> Sum:
            """Return what stands for a sum in what follows: a bit that an opening makes, or the sum itself."""
            if self.window.joined:
                return total
            sums[name] = total
            return bit(name)

        E0, E1, level, above = [], [], [], []
        for name, group in _name_groups("h", len(self.upper)):
            E0.append(keep(f"E0{name}", times(bit(f"u{j}") for j in group)))
            E1.append(keep(f"E1{name}", times(bit(f"w{j}") for j in group)))
            equal = [bit(f"w{j}" if j else "level") for j in group]
            level.append(keep(f"L{name}", times(equal)))
            above.append(keep(f"G{name}", exceed([bit(f"g{j}") for j in group], equal)))
        made = {"B": ONE ^ exceed(above, level)}
        if self.clips:
            e, g = [], []
            for name, group in _name_groups("l", len(self.lower)):
                equal = [bit(f"e{j}") for j in group]
                e.append(keep(f"e{name}", times(equal)))
                g.append(keep(f"g{name}", exceed([bit(f"a{j}") for j in group], equal)))
            b, E = exceed(g, e), times(E0)
            made = {"inside": E ^ times([E, b]) ^ times([*E1, b]), **made}
        if self.window.joined:
            return (Stage(self.looked_up, tuple(made.items())),)
        used = frozenset[str]().union(*(each for total in made.values() for each in total))
        first = Stage(self.looked_up, tuple((name, total) for name, total in sums.items() if name in used))
        return first, Stage(first.names, tuple(made.items()))

    @cached_property
    def looked_up(self) -> tuple[str, ...]:
        """The bits that are looked up, in order."""
        upper, lower = range(len(self.upper)), range(len(self.lower))
        names = [*(f"w{j}" for j in upper), *(f"g{j}" for j in upper), "level"]
        if self.clips:
            names += [f"{letter}{j}" for letter, places in (("u", upper), ("e", lower), ("a", lower)) for j in places]
        return tuple(names)

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """How many masks of bits each opening takes, and those of the results."""
        return (*(len(stage.opened) for stage in self.stages), len(self.results))

    @cached_property
    def planes(self) -> tuple[int, ...]:
        """How many planes are dealt: of the tables, and of products for each opening."""
        return (self.entries, *(stage.dealt for stage in self.stages))

    # At the dealer

    def make_planes(self, r: U64, masks: U64) -> U64:
        """Return the planes of the tables of r, and of products of masks, (5)."""
        from tacit.numeric.shares.lean_loops import fill_tables  # noqa: PLC0415 - it takes a second to load

        found = np.empty((sum(self.planes), masks.shape[1]), dtype=np.uint64)
        fill_tables(make_planes(r, self.window.k), *_places(self.digits), found[: self.entries])
        start, cuts = self.entries, np.cumsum(self.masks)[:-1]
        for stage, own in zip(self.stages, np.split(masks, cuts), strict=False):
            end = start + stage.dealt
            found[start:end] = stage.multiply(own)[1 + len(own) :]
            start = end
        return found

    # At the holders

    def look_up(self, c: U64, tables: U64, *, first: bool) -> U64:
        """Return a holder's planes of all bits that are looked up; the first holder adds the public part of (4)."""
        window, upper = self.window, self.upper
        w = c - np.uint64(1 << window.F)
        at_w, rows = make_planes(w, window.k), np.cumsum([0, *(1 << digit.width for digit in self.digits)])
        equal, above = _look_up(tables, rows[: len(upper)], at_w, upper)
        half = 1 << (upper[0].width - 1)
        folded = tables[:half] ^ tables[half : 2 * half]  # of the first digit without its highest bit, for (4)
        level, g0 = _look_up(folded, rows[:1], at_w, (Digit(upper[0].low, upper[0].width - 1),))
        above[0] = g0[0] ^ np.bitwise_xor.reduce(tables[half : 2 * half])
        if first:
            above[0] ^= at_w[window.k - 1]
        found = [equal, above, level]
        if self.clips:
            at_c = make_planes(c, window.k)
            found.append(_look_up(tables, rows[: len(upper)], at_c, upper)[0])
            found += _look_up(tables, rows[len(upper) : -1], at_c, self.lower)
        return np.concatenate(found)


@lru_cache(maxsize=64)
def design(window: Lean, *, clips: bool) -> Circuit:
    """Return the circuit of a window; it is the same object each time, since it takes a while to make."""
    return Circuit(window, clips)


def _name_groups(kind: str, digits: int) -> list[tuple[str, range]]:
    """Return groups of digits that follow each other, of three, or of more where that leaves more than three groups."""
    count = max(1, math.isqrt(max(0, digits - 1)) + 1 if digits > GROUP * GROUP else -(-digits // GROUP))
    ends = [digits * j // count for j in range(count + 1)]
    return [(f"{kind}{j}", range(*pair)) for j, pair in enumerate(pairwise(ends)) if digits]


def _places(digits: Sequence[Digit]) -> tuple[I64, I64]:
    return (
        np.array([digit.low for digit in digits], dtype=np.int64),
        np.array([digit.width for digit in digits], dtype=np.int64),
    )


def _look_up(tables: U64, rows: I64, planes: U64, digits: Sequence[Digit]) -> tuple[U64, U64]:
    from tacit.numeric.shares.lean_loops import look_up  # noqa: PLC0415 - it takes a second to load

    equal, above = np.empty((2, len(digits), planes.shape[1]), dtype=np.uint64)
    look_up(tables, np.ascontiguousarray(rows), planes, *_places(digits), equal, above)
    return equal, above


# Planes and words


def count_words(size: int) -> int:
    """Return how many words a plane of so many bits has."""
    return -(-size // WORD)


def make_planes(words: U64, k: int) -> U64:
    """Return the first k bits of words as planes."""
    from tacit.numeric.shares.lean_loops import fill_planes  # noqa: PLC0415 - it takes a second to load

    planes = np.empty((k, count_words(words.size)), dtype=np.uint64)
    fill_planes(np.ascontiguousarray(words), planes)
    return planes


def fill_words(plane: U64, words: U64) -> None:
    """Write the bits of a plane as words."""
    from tacit.numeric.shares.lean_loops import spread_bits  # noqa: PLC0415 - it takes a second to load

    spread_bits(plane, words)


def fill_clip_words(r: U64, masks: U64, window: Lean, made: U64) -> None:
    """Write what the last step of (2) takes: r_lo >> s, m1, m1 (r_lo >> s) and mB; m1 and mB mask `inside` and B."""
    low, m1, both, mB = made[:4]
    np.bitwise_and(r, np.uint64((1 << window.F) - 1), out=low)
    np.right_shift(low, np.uint64(window.s), out=low)
    fill_words(masks[0], m1)
    np.multiply(m1, low, out=both)
    fill_words(masks[1], mB)


def clip_with(c: U64, bits: U64, made: U64, window: Lean, *, first: bool) -> U64:
    """Return a holder's share of clip(x), (2), from masked `inside` and B, and its shares of `fill_clip_words`."""
    from tacit.numeric.shares.lean_loops import add_clip  # noqa: PLC0415 - it takes a second to load

    found = np.empty_like(c)
    add_clip(c, bits, made, *(np.uint64(each) for each in (first, window.F, window.s, window.q)), found)
    return found


def read_with(bits: U64, mask: U64, *, first: bool) -> U64:
    """Return a holder's share of a bit as a word, from the masked bit and a share of its mask."""
    x = np.empty_like(mask)
    fill_words(bits[0], x)
    return np.where(x, np.uint64(first) - mask, mask)
