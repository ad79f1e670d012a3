"""What the randomness of a blind training would cost without a dealer, from samples of what is here to make it.

Two holders could make all of it themselves: products of matrices by BFV, a word in four limbs of 20 bits, and bits in
shares by oblivious transfers, which the alignment of records has (`crypto.sets.transfer`):

    a bit in shares of words          one transfer, since b = b_1 + b_2 - 2 b_1 b_2                                  (1)
    a product of two bits             two transfers, for b_1 c_2 and b_2 c_1; likewise a bit times a word            (2)
    a product of two words            128 transfers, a bit of one at a time                                          (3)
    r, r >> s and msb(r)              64 transfers, (1): all of them are sums of the bits of r                       (4)
    a table of a digit of d bits      2^d - d - 1 products of bits, (2): it is 1 at one place                        (5)

Nothing but (1) to (5) is counted: no message of their own rounds, and no third holder, which makes each of them three.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from figures import Figure, Table
from secure_product import WIDE, multiply
from tacit.crypto.sets import row_hash, transfer
from tacit.numeric.shares.clipping import Window
from tacit.numeric.shares.dual_plan import DualPlan, plan_dual
from tacit.protocols.shares.gates import triangle_size

WORD, LIMBS = 64, 10  # of words of four limbs, products of limbs that are not beyond 2^64
SAMPLE = 1 << 17  # transfers that are measured
OTHER = 8  # bytes that are sent back of each


@dataclass(frozen=True)
class Price:
    """CPU seconds of both sides, and bytes."""

    seconds: float
    bytes: float

    def __mul__(self, times: float) -> Price:
        return Price(times * self.seconds, times * self.bytes)


def figures(records: int, C: float, quick: bool) -> Iterator[Figure | Table]:  # noqa: FBT001 - the one switch of all
    """Measure a product and some transfers, and multiply them by how many a run with the RBF kernel takes."""
    plan, one = plan_dual(records, 1, C), price_transfer()
    yield Figure(
        "without a dealer: a million transfers", f"{one.seconds * 1e6:.1f} CPU s, {one.bytes:.0f} MB as alignment does"
    )
    rows = [] if quick else list(_matrices(plan))
    for name, transfers in count_transfers(plan).items():
        rows.append((name, f"{transfers / 1e6:.1f} million transfers", one * transfers))
    told = tuple((name, how, f"{p.seconds:.0f}", f"{p.bytes / 1e9:.2f}") for name, how, p in rows)
    title = f"blind, {records} records by columns, two holders, without a dealer"
    yield Table(title, ("correlation", "of what", "CPU s", "GB"), told)
    total = sum(p.seconds for *_, p in rows), sum(p.bytes for *_, p in rows)
    left_out = ", products of matrices left out" if quick else ""
    yield Figure(f"without a dealer: all of it{left_out}", f"{total[0]:.0f} CPU s, {total[1] / 1e9:.1f} GB")


def _matrices(plan: DualPlan) -> Iterator[tuple[str, str, Price]]:
    """Measure one product of limbs of each shape, and yield what all of them cost."""
    n, levels = plan.n, plan.squares.levels
    square, fixed = (multiply(n, n, "bfv", others=others, bits=WIDE) for others in (n, plan.rounds + 1))
    multiples = {"squares of matrices": (square, LIMBS * levels), "products with Z": (fixed, 2 * LIMBS)}
    for name, (done, times) in multiples.items():
        yield name, f"{times} products by BFV", Price(done.seconds, done.up + done.down) * times


def count_transfers(plan: DualPlan) -> dict[str, int]:
    """Return how many transfers each correlation of a run takes, by (1) to (5)."""
    entries, vector = triangle_size(plan.n), plan.n * plan.problems
    truncated = entries * (plan.squares.levels + 3) + vector + plan.n
    return {
        "products, entry by entry": 2 * WORD * (entries + vector),
        "truncations": WORD * truncated,
        "clips": vector * plan.rounds * count_clip(plan.clipping),
    }


def count_clip(window: Window) -> int:
    """Return how many transfers one value takes that is clipped: bits of its mask, tables, and products of masks."""
    digits = (window.I - window.lower, window.lower, *window.digits)
    tables = sum(2 * ((1 << d) - d - 1) for d in digits if d)
    return WORD + tables + 2 * window.products


def price_transfer() -> Price:
    """Return what one transfer costs after the first ones, with the rows that the alignment of records has."""
    offer = transfer.make_offer(bytes(32))
    points, chosen = transfer.choose(offer, bytes([1]) * 32)
    first, second = transfer.make_keys(bytes(32), points)
    extend(first, second, chosen, transfer.CHUNK)  # the code is loaded once in a process
    began = time.process_time()
    extend(first, second, chosen, SAMPLE)
    return Price((time.process_time() - began) / SAMPLE, 8 * transfer.WIDTH + OTHER)


def extend(first: np.ndarray, second: np.ndarray, chosen: np.ndarray, count: int) -> None:
    """Do what both sides do for so many transfers of a word: three tables, two of them told, and three hashes."""
    t0, t1, ts = (transfer.stretch(keys, 0, count) for keys in (first, second, chosen))
    for rows in (t0, ts, ts ^ (t0 ^ t1)):
        row_hash.words(rows.view(np.uint8), 1, use=b"tacit transfers")
