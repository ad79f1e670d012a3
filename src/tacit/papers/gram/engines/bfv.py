"""Engine `bfv`: packed BFV through `tenseal.sealapi`, with a reply that hides the other side from the key holder.

N = 8192, primes of 60, 60, 60 and 38 bits (218 in all: 128-bit security), t = 2^k. A column goes up as one ciphertext,
symmetric and seeded (half the bytes). The reply is, for plaintexts b_f of the layout (`bfv_layout`),

    (c0, c1) = sum_f b_f (a_f1, a_f2)                       modulo three primes, Q in all                            (1)
    (c0, c1) + Enc_pk(0) + (round(r Q / t) + E, 0)          r uniform in Z_t^N, E uniform in [0, 2^106)^N            (2)

then cut to the bits that decryption needs (`bfv_reply`). Decrypted it is the product plus r on every one of the N
coefficients, those too that hold none of the products asked for. A mask hides the plaintext of a reply, not its noise:
the key holder knows its own errors e_f, and finds b_f from (1) by least squares on sum_f e_f b_f, or from c1 = sum_f
a_f2 b_f by linear algebra (`attacks.bfv_noise`). So (2) has all of

    r            hides the product                                             perfectly
    Enc_pk(0)    hides c1: a fresh encryption under the receiver's own key     by RLWE
    E            floods the noise of (1), of at most 22 sum_f |b_f|_1          statistically, at least 2^-40 in all

A b_f of long columns has few coefficients that are not 0: then (1) is a sum of that many multiples of a_f, each turned
by a power of X, and nothing is transformed (`bfv_words`). One of short columns has many, and goes through the library's
transforms.

Randomness: the secret key is a function of 32 bytes of the run, r and E are pads of the run. Encryption noise is SEAL's
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import I32, I64, U8, U64
from tacit.counted import counted
from tacit.errors import LocalError, PeerError
from tacit.papers.gram.engines.bfv_layout import (
    N,
    Stretch,
    Terms,
    count_kept,
    entries,
    kept,
    numbers,
    pieces,
    place,
    spread_columns,
    stretches,
    strips,
    strips_of,
    terms,
)
from tacit.papers.gram.engines.bfv_reply import ROOM, read_reply, reply_size, spectrum, write_reply
from tacit.papers.gram.engines.bfv_scheme import (
    Scheme,
    Zeros,
    encrypt_column,
    multiply_by_transforms,
    open_column,
    public_of,
    read_secret,
    scheme,
    wire_size,
)
from tacit.papers.gram.engines.bfv_words import HIGH, LOW, limbs_of
from tacit.papers.gram.engines.engines import BITS, BOUND, STATISTICAL, Masks, Plan, check_matrices, draw_words
from tacit.papers.gram.engines.seal_bytes import Memory, SealObject

# An error of a fresh ciphertext is a number of ones among 21 random bits less that among 21 others (SEAL's centred
# binomial, of standard deviation 3.24): at most 21. Its plaintext is scaled by q / t, which is no integer, and rounded:
# half of one more.
ERROR = 22
WIDTHS = range(2, 60)  # of t, in bits
SPARSE = 100  # so many multiples of a ciphertext take about as long as one product by transforms


class Columns:
    """The ciphertexts of an upload as the other side multiplies them: by limbs, and in NTT form where it needs that."""

    def __init__(self, s: Scheme, memory: Memory, packed: Sequence[U8]) -> None:
        self._s, self._memory, self._packed = s, memory, packed
        self._limbs = np.empty((len(packed), 2 * len(s.primes), 2, N), np.int32)
        self._split: set[int] = set()
        self._transformed: dict[int, SealObject] = {}

    def multiply(self, terms: Sequence[Terms], fold: int, bound: int) -> U64:
        """Return (1), for entries of at most `bound` in size and `fold` columns in a ciphertext."""
        many = [x for x in terms if _is_dense(x.values.shape, fold)]
        found = self._by_transforms(many, fold) if many else np.zeros(self._s.full.shape, np.uint64)
        if few := [x for x in terms if not _is_dense(x.values.shape, fold)]:
            self._s.arithmetic.add_multiples(found, self._limbs_for(few), few, bound)
        return found

    def _limbs_for(self, terms: Sequence[Terms]) -> I32:
        for number in {int(c) for x in terms for c in x.numbers[0]} - self._split:
            self._limbs[number] = limbs_of(self._s.words(self._memory, self._open(number)))
            self._split.add(number)
        return self._limbs

    def _by_transforms(self, terms: Sequence[Terms], fold: int) -> U64:
        polynomials = [
            (int(x.numbers[0, c]), place(x.shifts[:, c : c + fold], x.values[:, c : c + fold], self._s.mask))
            for x in terms
            for c in range(0, x.values.shape[1], fold)
        ]
        for number in {number for number, _ in polynomials} - self._transformed.keys():
            self._transformed[number] = self._open(number)
            self._s.evaluator.transform_to_ntt_inplace(self._transformed[number])
        found = multiply_by_transforms(self._s, self._memory, self._transformed, polynomials)
        return np.zeros(self._s.full.shape, np.uint64) if found is None else self._s.words(self._memory, found).copy()

    def _open(self, number: int) -> SealObject:
        return open_column(self._s, self._memory, self._packed[number])


def _is_dense(shape: tuple[int, ...], fold: int) -> bool:
    """Return whether the polynomials of a stretch have so many coefficients that transforms are faster."""
    return shape[0] * min(fold, shape[1]) > SPARSE


@dataclass(frozen=True)
class Bfv:
    """The engine `bfv`; `fold` columns share a ciphertext of the upload."""

    terms: int
    bound: int = BOUND
    bits: int = BITS
    fold: int = 1

    def __post_init__(self) -> None:
        if self.bits not in WIDTHS:
            raise LocalError(f"engine='bfv' computes with {WIDTHS.start} to {WIDTHS.stop - 1} bits, got {self.bits}")

    def secret(self, seed: bytes) -> bytes:
        """Return the seed itself: the key is a function of it."""
        return seed

    def upload(self, secret: bytes, columns: Sequence[I64]) -> U8:
        """Return the public key, then a ciphertext for every piece of a strip."""
        s, lengths = scheme(self.bits), tuple(len(c) for c in columns)
        with Memory() as memory:
            key = s.secret(secret)
            content = [public_of(s, memory, key)]
            for strip in strips(lengths, self.fold):
                own = [columns[c] for c in strip]
                content += [
                    encrypt_column(s, memory, key, spread_columns(own, top, height, self.fold, s.mask))
                    for top, height in pieces(len(own[0]), self.fold)
                ]
        return np.concatenate(content)

    def reply(self, upload: U8, plan: Plan, matrices: Sequence[I64], pads: Masks) -> tuple[U8, tuple[U64, ...]]:
        """Return (1) and (2) for every polynomial of the layout, and S_Q."""
        check_matrices(plan, matrices, self.bound)
        s, layout = scheme(self.bits), stretches(plan, self.fold)
        self._check_flood(plan, layout)
        masks = draw_words(pads, "mask", len(layout) * N).reshape(-1, N) & np.uint64(s.mask)
        floods = draw_words(pads, "noise", len(layout) * 2 * N).reshape(-1, 2, N)
        key, *packed = _cut(upload, self._upload_sizes(s, plan.lengths), "the upload")
        content = []
        with Memory() as memory:
            zeros, columns = Zeros(s, memory, key), Columns(s, memory, packed)
            asked = self._terms(plan, layout, matrices)
            for row, of_row, mask, flood in zip(counted(layout), asked, masks, floods, strict=True):
                words = columns.multiply(of_row, self.fold, self.bound)
                s.arithmetic.add_protections(words, zeros.draw(), mask, flood)
                content.append(write_reply(s.arithmetic.fractions(words), kept(row, self.fold), self.bits))
        own = self._shares(plan, layout, (~masks + np.uint64(1)) & np.uint64(s.mask))
        return np.concatenate(content), own

    def finish(self, secret: bytes, plan: Plan, reply: U8) -> tuple[U64, ...]:
        """Return S_P; refuse a reply to another key, which is noise only."""
        s, layout = scheme(self.bits), stretches(plan, self.fold)
        contents = _cut(reply, self._reply_sizes(layout), "the reply")
        with Memory() as memory:
            key = spectrum(read_secret(s, memory, s.secret(secret)))
        found = [
            read_reply(content, kept(row, self.fold), self.bits, key)
            for row, content in zip(counted(layout), contents, strict=True)
        ]
        if max(used for _, used in found) > ROOM:
            raise PeerError(
                "the reply of a product does not decrypt under this key: it was made for another, or altered"
            )
        return self._shares(plan, layout, [words for words, _ in found])

    def count_bytes(self, plan: Plan) -> int:
        """Return how many bytes the upload and the reply of a plan have."""
        sizes = self._upload_sizes(scheme(self.bits), plan.lengths)
        return sum(sizes) + sum(self._reply_sizes(stretches(plan, self.fold)))

    def _upload_sizes(self, s: Scheme, lengths: tuple[int, ...]) -> list[int]:
        """Return how many bytes the public key and each ciphertext of an upload have."""
        return [wire_size(s.public)] + [wire_size(s.column)] * len(numbers(lengths, self.fold))

    def _reply_sizes(self, layout: Sequence[Sequence[Stretch]]) -> list[int]:
        return [reply_size(count_kept(row, self.fold), self.bits) for row in layout]

    def _terms(self, plan: Plan, layout: Sequence[Sequence[Stretch]], matrices: Sequence[I64]) -> Iterator[list[Terms]]:
        """Yield for every reply which ciphertexts of the upload it is made of, and what they are multiplied with."""
        order = numbers(plan.lengths, self.fold)
        own = [strips_of(block, plan.lengths, self.fold) for block in plan.blocks]
        for row in layout:
            yield [
                terms(matrices[x.block], [order[strip, x.piece] for strip in own[x.block]], x, self.fold) for x in row
            ]

    def _shares(self, plan: Plan, layout: Sequence[Sequence[Stretch]], words: Sequence[U64] | U64) -> tuple[U64, ...]:
        shares = tuple(np.empty(shape, np.uint64) for shape in plan.shapes())
        for row, polynomial in zip(layout, words, strict=True):
            for x in row:
                rows, columns = slice(x.top, x.top + x.height), slice(x.first, x.first + x.count)
                shares[x.block][rows, columns] = entries(polynomial, x, self.fold)
        return shares

    def _check_flood(self, plan: Plan, layout: Sequence[Sequence[Stretch]]) -> None:
        """Refuse a plan whose noise the floods of all replies do not cover.

        The statistical distance is, for N coefficients of each reply, noise / flood.
        """
        factors = sum(x.count * len(plan.blocks[x.block].columns) for row in layout for x in row)
        if N * ERROR * self.bound * factors > 1 << (HIGH + LOW - STATISTICAL):
            raise LocalError(
                f"products of entries up to {self.bound} are too many for one flood to cover: multiply in several parts"
            )


def _cut(data: U8, sizes: Sequence[int], what: str) -> list[U8]:
    if data.size != sum(sizes):
        raise PeerError(
            f"{what} of a product has {data.size} bytes where the plan needs {sum(sizes)}: it is truncated, or of"
            " another plan"
        )
    ends = np.cumsum(sizes)
    return [data[end - size : end] for end, size in zip(ends, sizes, strict=True)]
