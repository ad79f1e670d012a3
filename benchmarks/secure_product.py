"""Products of two owners' matrices in shares: CPU seconds of both sides together, and bytes, by engine and size."""

from __future__ import annotations

import cProfile
import math
import pstats
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from figures import Figure, Table
from tacit.choreo import Holder, Role, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.products.engines import BOUND
from tacit.numeric.ring.words import Ring
from tacit.protocols.products.secure_product import secure_product
from tacit.runtimes.together import Together

P, Q = (Role("holder", single=True, party=p) for p in ("p1", "p2"))
BITS, WIDE = 48, 56  # of shares: usually, and of products over 455 columns
SIZES = ((100, 10), (200, 10), (500, 20), (1000, 30))
# operations a second of python-paillier (phe) at 2048 bits on one core: encryption, a multiple by 16 bits, addition,
# decryption
UNPACKED = (105, 11_000, 127_000, 364)


PARTS = {  # of one product, by functions of SEAL and by loops
    "multiples of ciphertexts added up": ("bfv_loops.add_multiples",),
    "encryptions of zero": ("<built-in method _sealapi_cpp.encrypt_zero>",),
    "encryptions of columns": ("<built-in method _sealapi_cpp.encrypt_symmetric>",),
    "ciphertexts handed over as bytes": ("seal_bytes.save", "seal_bytes.load"),
    "masked, flooded, cut to the bits that are sent": (
        "bfv_loops.add_protections", "bfv_loops.to_fractions", "bfv_loops.pack_bits"
    ),
    "decrypted": ("bfv_reply.read_reply",),
}  # fmt: skip
REST = "the rest: keys, entries placed, pads, messages and their codes, Python"


@dataclass(frozen=True)
class Product:
    """One product: CPU seconds of all that both sides did, bytes each way, and whether every entry is right."""

    seconds: float
    up: int
    down: int
    exact: bool


def figures(quick: bool) -> Iterator[Figure | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure every size with `bfv`; `paillier` at the smallest, and at the largest unless quick."""
    multiply(10, 2, "bfv")  # the library is loaded and tried out once in a process
    found = {size: multiply(*size, "bfv") for size in SIZES}
    for by, key_bits in (("paillier", 2048), ("paillier", 3072)):
        yield from _small(multiply(*SIZES[0], by, key_bits=key_bits), key_bits)
    yield _within(found[SIZES[-1]], "bfv", SIZES[-1], 1.2, reply=4.0, before="3.3 CPU s, 16.4 MB")
    yield _beside_shares(found[SIZES[-1]], *SIZES[-1])
    if not quick:
        yield _within(multiply(*SIZES[-1], "paillier"), "paillier 2048", SIZES[-1], 300)
        yield _square(multiply(455, 455, "bfv", bits=WIDE))
    rows = tuple(
        (f"{m} x {n}", f"{x.seconds:.2f}", f"{x.up / 1e6:.1f}", f"{x.down / 1e6:.1f}") for (m, n), x in found.items()
    )
    yield Table("secure product with bfv, entries up to 2^20", ("A and B", "CPU s", "MB up", "MB down"), rows)
    yield _parts(*SIZES[-1])


def multiply(m: int, n: int, by: str, *, others: int | None = None, **settings: int) -> Product:
    """Compute A B' for random matrices of m x n and others x n, by default as many."""
    rng, k = np.random.default_rng(0), others or m
    A, B = (rng.integers(-BOUND, BOUND + 1, (rows, n)) for rows in (m, k))
    roster = Roster({Holder: ("p1", "p2")})
    start = time.process_time()
    with Together(roster, job=b"bench", entropy=RootEntropy(roster.parties, b"bench")) as run:
        a, b = run.hold(P, {"p1": A}), run.hold(Q, {"p2": B})
        shares = secure_product(run, a, b, p=P, q=Q, shape=(m, k, n), by=by, **settings)
    seconds = time.process_time() - start
    ring = Ring(1 << settings.get("bits", BITS))
    total = ring.centred(ring.total([next(iter(entries_of(s).values())) for s in shares]))
    up, down = (next(row.bytes or 0 for row in run.ledger if row.type == kind) for kind in ("Upload", "Reply"))
    return Product(seconds, up, down, np.array_equal(total, A @ B.T))


def _parts(m: int, n: int) -> Table:
    """Measure where the time of one product goes, by what is called of SEAL and of the loops."""
    profile = cProfile.Profile(time.process_time)
    profile.runcall(multiply, m, n, "bfv")
    stats = pstats.Stats(profile)
    calls = {
        (name if name.startswith("<") else f"{Path(file).stem}.{name}"): (times, seconds)
        for (file, _, name), (_, times, _, seconds, _) in stats.stats.items()
    }
    found = {part: [calls[name] for name in names] for part, names in PARTS.items()}
    rest = stats.total_tt - sum(seconds for part in found.values() for _, seconds in part)
    rows = [(part, str(done[0][0]), f"{sum(seconds for _, seconds in done):.2f}") for part, done in found.items()]
    return Table(f"{m} x {n}, bfv: where the time goes", ("part", "times", "CPU s"), (*rows, (REST, "", f"{rest:.2f}")))


def _square(done: Product) -> Figure:
    measured = f"{done.seconds:.1f} CPU s, {done.up / 1e6:.0f} MB up, {done.down / 1e6:.0f} MB down"
    return Figure("455 x 455, bfv: a limb of a square that blind training would need without a dealer", measured)


def _small(done: Product, key_bits: int) -> Iterator[Figure]:
    m, n = SIZES[0]
    measured = f"{done.seconds:.2f} CPU s, {done.up / 1e6:.2f} MB up, {done.down / 1e6:.2f} MB down"
    yield Figure(f"{m} x {n}, paillier {key_bits}, {'exact' if done.exact else 'WRONG'}", measured)
    if key_bits == 2048:
        unpacked = sum(count / rate for count, rate in zip((m * n, m * m * n, m * m * n, m * m), UNPACKED, strict=True))
        ratio = unpacked / done.seconds
        asked = f"20 times faster than {unpacked:.0f} s, unpacked at published rates"
        yield Figure("the same, times faster than unpacked", f"{ratio:.0f}", asked, done.exact and ratio >= 20)


def _beside_shares(done: Product, m: int, n: int) -> Figure:
    """Return how long the reply is beside the words of P's share, which no reply can be shorter than."""
    floor = m * m * ((n * BOUND**2).bit_length() + 1) / 8
    told = f"{done.down / floor:.1f} times the {floor / 1e6:.2f} MB of P's share"
    return Figure(f"{m} x {n}, bfv: the reply", told)


def _within(
    done: Product, name: str, size: tuple[int, int], limit: float, reply: float = math.inf, before: str = ""
) -> Figure:
    measured = f"{done.seconds:.1f} CPU s, {done.up / 1e6:.1f} MB up, {done.down / 1e6:.1f} MB down"
    return Figure(
        f"{size[0]} x {size[1]}, {name}",
        measured,
        f"exact, under {limit:g} CPU s" + (f", {reply:g} MB down" if reply < math.inf else ""),
        done.exact and done.seconds < limit and done.down <= reply * 1e6,
        before=before,
    )
