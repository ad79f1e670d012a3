"""Clipping a value in shares to [0, 1], from one masked opening and tables of the mask.

v is a number of I + G bits below 2^(k-1), G = k - 1 - I of them a fraction. c = v + 2^(k-2) + r is public, r is the
dealer's. With c = (c_hi, c_lo) and r = (r_hi, r_lo) cut at the point, modulo 2^(k-1),

    b  = [r_lo > c_lo],     floor(v) = c_hi - r_hi - b - 2^(I-1)                                                    (1)
    E0 = [r_hi = u],        E1 = [r_hi = u - 1],        B = [r_hi in c_hi + 1 .. u - 2],      u = c_hi - 2^(I-1)     (2)
    [0 <= v < 1] = E0 (1 - b) + E1 b                          [1 <= v] = B + E1 (1 - b)                              (3)
    clip(v) = [0 <= v < 1] ((c_lo >> s) - (r_lo >> s)) + 2^q (E1 b + [1 <= v]),        s = G - q                     (4)

c is public, so each bit of (1) and (2) is an entry of a table that depends on r alone: the dealer shares the tables by
exclusive or, and everybody looks up its part. b looks at two digits of r_lo, b = B1 + Q B0; where both are equal to
those of c, v is near a whole number, with digits of 8 bits within 2^-16 of it, and so is what (4) gives.

The six bits are opened under masks m of the dealer's: a bit is x' + (1 - 2 x') m, where x' is public. So (3) and (4)
are sums of public numbers times products of masks, {1, m_E0, m_E1} x {1, m_B1, m_Q, m_B0, m_Q m_B0}, of which the
dealer gives shares, and shares of (r_lo >> s) times them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import U8, U64

WORD = 64
E0, E1, B, B1, Q, B0 = range(6)
FIRST, SECOND = 3, 5  # how many factors of a product of masks: of E0 and E1, and of b
PRODUCTS = FIRST * SECOND
BITS = 6

Words = tuple[U64, ...]


@dataclass(frozen=True)
class Window:
    """Where the point is: k bits of the ring, I before the point, and q after it in what is clipped.

    digit: how many bits of r_lo a table has entries for.
    """

    k: int
    I: int  # noqa: E741 - the letter of the equations
    q: int
    digit: int = 8

    @property
    def G(self) -> int:  # noqa: N802 - the letter of the equations
        """How many bits are after the point."""
        return self.k - 1 - self.I

    @property
    def s(self) -> int:
        """How many of them are cut."""
        return self.G - self.q

    @property
    def digits(self) -> tuple[int, int]:
        """How many bits the two digits of r_lo have that b looks at."""
        upper = min(self.digit, self.G)
        return upper, min(self.digit, self.G - upper)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many words the five tables have for each value: [=] and [<] of r_hi, [>] and [=] of B1, [>] of B0."""
        upper, lower = self.digits
        return tuple(max(1, (1 << bits) // WORD) for bits in (self.I, self.I, upper, upper, lower))

    def cut(self, words: U64) -> tuple[U64, U64, U64, U64]:
        """Return hi, lo, and the two digits of lo."""
        low = words & np.uint64((1 << self.G) - 1)
        upper, lower = self.digits
        first = low >> np.uint64(self.G - upper)
        second = (low >> np.uint64(self.G - upper - lower)) & np.uint64((1 << lower) - 1)
        return (words >> np.uint64(self.G)) & np.uint64((1 << self.I) - 1), low, first, second


# At the dealer


def make_tables(r: U64, window: Window) -> Words:
    """Return the five tables for every r, each as words."""
    hi, _, first, second = window.cut(r)
    w = window.widths
    return (
        _one(hi, w[0]), _below(hi, w[1], above=True), _below(first, w[2]), _one(first, w[3]), _below(second, w[4])
    )  # fmt: skip


def make_products(r: U64, m: U8, window: Window) -> Words:
    """Return m_B, the products of masks but the empty one, and (r_lo >> s) times each of them, the empty one too."""
    low = window.cut(r)[1] >> np.uint64(window.s)
    bit = [((m >> np.uint8(j)) & np.uint8(1)).astype(np.uint64) for j in range(BITS)]
    one = np.ones_like(r)
    products = [a * b for a in (one, bit[E0], bit[E1]) for b in (one, bit[B1], bit[Q], bit[B0], bit[Q] * bit[B0])]
    return (bit[B], *products[1:], *(low * each for each in products))


def _one(at: U64, width: int) -> U64:
    """Return tables that are 1 at one place."""
    table = np.zeros((at.size, width), dtype=np.uint64)
    table[np.arange(at.size), (at // np.uint64(WORD)).astype(np.int64)] = np.uint64(1) << (at % np.uint64(WORD))
    return table.ravel()


def _below(at: U64, width: int, *, above: bool = False) -> U64:
    """Return tables that are 1 below a place, or above it."""
    word, bit = (at // np.uint64(WORD)).astype(np.int64)[:, None], (at % np.uint64(WORD))[:, None]
    places, full = np.arange(width)[None, :], np.uint64(2**WORD - 1)
    below = (np.uint64(1) << bit) - np.uint64(1)
    here = ~(below | (np.uint64(1) << bit)) if above else below
    whole = places > word if above else places < word
    return np.where(places == word, here, np.where(whole, full, np.uint64(0))).ravel()


# At the holders


def look_up(c: U64, tables: Words, window: Window, *, first: bool) -> U8:
    """Return a holder's part of the six bits; the first holder adds what is public of B."""
    hi, _, upper, lower = window.cut(c)
    N = np.uint64((1 << window.I) - 1)
    u = (hi - np.uint64(1 << (window.I - 1))) & N
    before, after = (u - np.uint64(1)) & N, (hi + np.uint64(1)) & N
    one, less, greater, equal, greatest = (t.reshape(c.size, w) for t, w in zip(tables, window.widths, strict=True))
    wraps = (before < after).astype(np.uint8) if first else np.uint8(0)
    bits = {
        E0: _entry(one, u),
        E1: _entry(one, before),
        B: _entry(less, before) ^ _entry(less, after) ^ wraps,
        B1: _entry(greater, upper),
        Q: _entry(equal, upper),
        B0: _entry(greatest, lower),
    }
    found = np.zeros(c.size, dtype=np.uint8)
    for j, bit in bits.items():
        found |= bit << np.uint8(j)
    return found


def _entry(table: U64, at: U64) -> U8:
    words = table[np.arange(len(table)), (at // np.uint64(WORD)).astype(np.int64)]
    return ((words >> (at % np.uint64(WORD))) & np.uint64(1)).astype(np.uint8)


def clip_with(c: U64, opened: U8, products: Words, window: Window, *, first: bool) -> U64:
    """Return a holder's share of clip(v) by (4), from the masked bits and its shares of `make_products`."""
    x = np.stack([(opened >> np.uint8(j)) & np.uint8(1) for j in range(BITS)]).astype(np.int64)
    g, zero, one = 1 - 2 * x, np.zeros(c.size, np.int64), np.ones(c.size, np.int64)
    b = np.stack([x[B1] + x[Q] * x[B0], g[B1], g[Q] * x[B0], x[Q] * g[B0], g[Q] * g[B0]])
    not_b = -b
    not_b[0] += 1
    e0, e1 = np.stack([x[E0], g[E0], zero]), np.stack([x[E1], zero, g[E1]])
    inside = _outer(e0, not_b) + _outer(e1, b)  # (3)
    at_one = _outer(e1, b) + _outer(e1, not_b)
    at_one[0] += x[B]
    low = window.cut(c)[1] >> np.uint64(window.s)
    m_B, shares = products[0], products[1:]
    empty = one.view(np.uint64) if first else np.zeros(c.size, np.uint64)
    plain, scaled = np.stack([empty, *shares[: PRODUCTS - 1]]), np.stack(shares[PRODUCTS - 1 :])
    whole = np.uint64(1 << window.q)
    rest = inside.view(np.uint64) * low + at_one.view(np.uint64) * whole
    found: U64 = (rest * plain - inside.view(np.uint64) * scaled).sum(axis=0) + g[B].view(np.uint64) * m_B * whole
    return found


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((a[:, None] * b[None]).reshape(PRODUCTS, -1))
