"""Clipping a value in shares to [0, 1], from one masked opening and tables of the mask.

v has I bits before the point and G = k - 1 - I after it, and |v| <= 2^(I-1) - 1. c = v + 2^(k-2) + r is public, r is
the dealer's. Modulo 2^(k-1), c = (c_hi, c_lo) and r = (r_hi, r_lo) are cut at the point. With u = c_hi - 2^(I-1) and
w = u - 1,

    b  = [r_lo > c_lo],     floor(v) = c_hi - r_hi - b - 2^(I-1)                                                    (1)
    E0 = [r_hi = u],        E1 = [r_hi = w],        B = [r_hi in c_hi + 1 .. w]                                      (2)
    [0 <= v < 1] = E0 (1 - b) + E1 b,               [1 <= v] = B - E1 b                                              (3)
    clip(v) = [0 <= v < 1] ((c_lo >> s) - (r_lo >> s)) + 2^q B,        s = G - q                                     (4)

c is public, so each bit of (1) and (2) is an entry of a table that depends on r alone: the dealer shares the tables by
exclusive or, and everybody looks up its part. b looks at two digits of r_lo, b = B1 + Q B0; where both are equal to
those of c, v is near a whole number, with digits of 8 bits within 2^-16 of it, and so is what (4) gives.

A wide window has two digits before the point too, (r1, r0), and (2) is made of bits of each:

    E0 = [r1 = u1] [r0 = u0],     E1 = [r1 = w1] [r0 = w0]                                                           (5)
    B = P + [r1 = c1] [r0 > c0] - [r1 = w1] [r0 > w0],     P = [r1 > c1] xor [r1 > w1] xor [w < c_hi]                (6)

With one digit B = P, and r1 is r_hi. All bits are opened under masks m of the dealer's: a bit is x + (1 - 2 x) m, where
x is public. So (4) is a sum of public numbers times products of masks, {1, those of E0, those of E1} x {1, m_B1, m_Q,
m_B0, m_Q m_B0}, and those of (6). The dealer gives shares of them, and of (r_lo >> s) times the former.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import I64, U64

WORD = 64
BYTE = 8
U1, W1, P, B1, Q, B0, U0, W0, C1, ABOVE_C0, ABOVE_W0 = range(11)  # bits; those from U0 on are of the lower digit
SECOND = 5  # products of masks of b

Words = tuple[U64, ...]


@dataclass(frozen=True)
class Window:
    """Where the point is: k bits of the ring, I before the point, and q after it in what is clipped.

    digit: how many bits of r_lo a table has entries for. lower: how many bits r0 of (5) has, I - 2 at most; 0 where
    there is one digit before the point.
    """

    k: int
    I: int  # noqa: E741 - the letter of the equations
    q: int
    digit: int = 8
    lower: int = 0

    @property
    def G(self) -> int:  # noqa: N802 - the letter of the equations
        """How many bits are after the point."""
        return self.k - 1 - self.I

    @property
    def s(self) -> int:
        """How many of them are cut."""
        return self.G - self.q

    @property
    def bits(self) -> int:
        """How many bits are opened for each value."""
        return ABOVE_W0 + 1 if self.lower else B0 + 1

    @property
    def first(self) -> int:
        """How many products of masks E0 and E1 have: those of subsets of their bits, and 1."""
        return 7 if self.lower else 3

    @property
    def products(self) -> int:
        """How many words `make_products` gives for each value."""
        return 2 * self.first * SECOND - 1 + (6 if self.lower else 1)

    @property
    def digits(self) -> tuple[int, int]:
        """How many bits the two digits of r_lo have that b looks at."""
        upper = min(self.digit, self.G)
        return upper, min(self.digit, self.G - upper)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many words the tables have for each value: [=] and [>] of r1, [>] and [=] of B1, [>] of B0; of r0."""
        upper, lower = self.digits
        high, low = self.I - self.lower, (self.lower, self.lower) if self.lower else ()
        return tuple(max(1, (1 << bits) // WORD) for bits in (high, high, upper, upper, lower, *low))

    def cut(self, words: U64) -> tuple[U64, U64, U64, U64]:
        """Return hi, lo, and the two digits of lo."""
        low = words & np.uint64((1 << self.G) - 1)
        upper, lower = self.digits
        first = low >> np.uint64(self.G - upper)
        second = (low >> np.uint64(self.G - upper - lower)) & np.uint64((1 << lower) - 1)
        return (words >> np.uint64(self.G)) & np.uint64((1 << self.I) - 1), low, first, second

    def split(self, high: U64) -> tuple[U64, U64]:
        """Return the digits before the point, r1 and r0."""
        return high >> np.uint64(self.lower), high & np.uint64((1 << self.lower) - 1)


# At the dealer


def make_tables(r: U64, window: Window) -> Words:
    """Return the tables for every r, each as words."""
    hi, _, first, second = window.cut(r)
    r1, r0 = window.split(hi)
    w = window.widths
    low = (_one(r0, w[5]), _below(r0, w[6])) if window.lower else ()
    return (_one(r1, w[0]), _below(r1, w[1]), _below(first, w[2]), _one(first, w[3]), _below(second, w[4]), *low)


def make_products(r: U64, m: U64, window: Window) -> Words:
    """Return masks of (6), then of (4) but the empty product, then (r_lo >> s) times these, the empty one too."""
    low = window.cut(r)[1] >> np.uint64(window.s)
    bit = [(m >> np.uint64(j)) & np.uint64(1) for j in range(window.bits)]
    one = np.ones_like(r)
    first, of_B = [one, bit[U1], bit[W1]], [bit[P]]
    if window.lower:
        first = [one, bit[U1], bit[U0], bit[U1] * bit[U0], bit[W1], bit[W0], bit[W1] * bit[W0]]
        of_B += [bit[C1], bit[ABOVE_C0], bit[C1] * bit[ABOVE_C0], bit[ABOVE_W0], bit[W1] * bit[ABOVE_W0]]
    products = [a * b for a in first for b in (one, bit[B1], bit[Q], bit[B0], bit[Q] * bit[B0])]
    return (*of_B, *products[1:], *(low * each for each in products))


def _one(at: U64, width: int) -> U64:
    """Return tables that are 1 at one place."""
    table = np.zeros((at.size, width), dtype=np.uint64)
    table[np.arange(at.size), (at // np.uint64(WORD)).astype(np.int64)] = np.uint64(1) << (at % np.uint64(WORD))
    return table.ravel()


def _below(at: U64, width: int) -> U64:
    """Return tables that are 1 below a place."""
    word, below = (at // np.uint64(WORD)).astype(np.int64)[:, None], (np.uint64(1) << (at % np.uint64(WORD)))[:, None]
    places, full = np.arange(width)[None, :], np.uint64(2**WORD - 1)
    return np.where(places == word, below - np.uint64(1), np.where(places < word, full, np.uint64(0))).ravel()


# At the holders


def look_up(c: U64, tables: U64, window: Window, *, first: bool) -> U64:
    """Return a holder's part of the bits, a word for each value; the first holder adds what is public of P."""
    hi, _, upper, lower = window.cut(c)
    N = np.uint64((1 << window.I) - 1)
    u = (hi - np.uint64(1 << (window.I - 1))) & N
    w = (u - np.uint64(1)) & N
    (u1, u0), (w1, w0), (c1, c0) = (window.split(each) for each in (u, w, hi))
    cuts = np.cumsum([c.size * width for width in window.widths])[:-1]
    one, above, greater, equal, greatest, *low = (part.reshape(c.size, -1) for part in np.split(tables, cuts))
    wraps = (w < hi).astype(np.uint64) if first else np.uint64(0)
    found = [
        _entry(one, u1), _entry(one, w1), _entry(above, c1) ^ _entry(above, w1) ^ wraps,
        _entry(greater, upper), _entry(equal, upper), _entry(greatest, lower),
    ]  # fmt: skip
    if window.lower:
        same, over = low
        found += [_entry(same, u0), _entry(same, w0), _entry(one, c1), _entry(over, c0), _entry(over, w0)]
    bits: U64 = np.bitwise_or.reduce([bit << np.uint64(j) for j, bit in enumerate(found)])
    return bits


def _entry(table: U64, at: U64) -> U64:
    words = table[np.arange(len(table)), (at // np.uint64(WORD)).astype(np.int64)]
    return (words >> (at % np.uint64(WORD))) & np.uint64(1)


def clip_with(c: U64, opened: U64, products: U64, window: Window, *, first: bool) -> U64:
    """Return a holder's share of clip(v) by (4), from the masked bits and its shares of `make_products`, line by line.

    opened: a word of bits for each value.
    """
    x = np.stack([(opened >> np.uint64(j)) & np.uint64(1) for j in range(window.bits)]).view(np.int64)
    g, rest = 1 - 2 * x, products[6 if window.lower else 1 :]
    lines = window.first * SECOND
    plain = np.concatenate([np.full((1, c.size), first, dtype=np.uint64), rest[: lines - 1]])
    b = np.stack([x[B1] + x[Q] * x[B0], g[B1], g[Q] * x[B0], x[Q] * g[B0], g[Q] * g[B0]])
    not_b = -b
    not_b[0] += 1
    e0, e1 = _spread(x, g, window)
    inside = (e0[:, None] * not_b[None] + e1[:, None] * b[None]).reshape(lines, -1).view(np.uint64)  # (3)
    low = window.cut(c)[1] >> np.uint64(window.s)
    found: U64 = (inside * (low * plain - rest[lines - 1 :])).sum(axis=0)
    return found + (_range(x, g, products, plain, window) << np.uint64(window.q))


def _spread(x: I64, g: I64, window: Window) -> tuple[I64, I64]:
    """Return what E0 and E1 of (5) are in products of their masks: a line for each that either has."""
    e0, e1 = np.zeros((2, window.first, x.shape[1]), dtype=np.int64)
    half = window.first // 2
    for e, high, low, at in ((e0, U1, U0, 1), (e1, W1, W0, 1 + half)):
        if window.lower:
            e[0] = x[high] * x[low]
            e[at : at + half] = g[high] * x[low], x[high] * g[low], g[high] * g[low]
        else:
            e[0], e[at] = x[high], g[high]
    return e0, e1


def _range(x: I64, g: I64, products: U64, plain: U64, window: Window) -> U64:
    """Return the share of B by (6)."""
    terms = [(x[P], plain[0]), (g[P], products[0])]
    if window.lower:
        m_c1, m_c0, both, m_w0, with_w1 = products[1:6]
        m_w1, c0, w0 = plain[(1 + window.first // 2) * SECOND], ABOVE_C0, ABOVE_W0
        terms += [(x[C1] * x[c0] - x[W1] * x[w0], plain[0]), (g[C1] * x[c0], m_c1), (x[C1] * g[c0], m_c0)]
        terms += [(g[C1] * g[c0], both), (-g[W1] * x[w0], m_w1), (-x[W1] * g[w0], m_w0), (-g[W1] * g[w0], with_w1)]
    total = np.zeros(x.shape[1], dtype=np.uint64)
    for factor, share in terms:
        total += factor.view(np.uint64) * share
    return total
