"""Engine `paillier`: the paper's own scheme, many entries to a ciphertext.

A column's entries go up several to a ciphertext, one to a slot of w bits; a power of the ciphertext multiplies all of
them:

    c_gf = E(sum_s a_(gS+s)f 2^(ws)),        S slots: rows gS .. gS + S - 1 of column f                             (1)
    d_gj = E(0; z) prod_f c_gf^(b_jf) * (1 + n)^(sum_s (u_s + 2^l) 2^(ws))                                          (2)
    slot s of D(d_gj) = sum_f a_(gS+s)f b_jf + 2^l + u_s,        u_s uniform below 2^(w-1)                          (3)

2^l is more than any product, so slots are never negative, and u_s is at least 40 bits longer: (3) tells nothing about
the product. Modulo 2^k slot s is S_P, and - u_s - 2^l is S_Q. Slots are whole bytes, so packing is a matter of bytes.

Before they are reduced, S_P and S_Q are integers, and so can be cut: with D = 2^(8 drop), which divides 2^l,

    floor(slot s / D) - floor((u_s + 2^l) / D)  =  floor(product / D)  or one more                                  (4)

the one with the probability that is the rest of product / D. u_s is k + 8 drop bits long or more, so shares stay
uniform.

In (2) exponents are made positive: prod_f c^(b + bound) times prod_f c^(-bound), the second being the same for all j;
powers come from a table for each ciphertext. E(0; z) is the fresh noise that 001's Theorem 1 needs and its Algorithm 1
(line 9) lacks, long enough to hide what became of P's own (`paillier.PublicKey.noise_bits`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import gmpy2
import numpy as np

from tacit.arrays import I64, U8, U64
from tacit.crypto.pads.entropy import words_of
from tacit.errors import PeerError
from tacit.papers.gram.engines.engines import (
    BITS,
    BOUND,
    KEY_BITS,
    STATISTICAL,
    Masks,
    Plan,
    check_matrices,
    draw_words,
)
from tacit.papers.gram.engines.paillier import (
    Integer,
    Powers,
    PublicKey,
    SecretKey,
    check_size,
    ciphers_from_bytes,
    ciphers_to_bytes,
    exponents,
    public_key,
)


@dataclass(frozen=True)
class PaillierSlots:
    """The engine `paillier`.

    drop: how many bytes are cut off products, as in (4). uploads: how large uploaded numbers may be, if larger than
    `bound`.
    """

    terms: int
    bound: int = BOUND
    bits: int = BITS
    key_bits: int = KEY_BITS
    drop: int = 0
    uploads: int | None = None

    def __post_init__(self) -> None:
        check_size(self.key_bits)

    @property
    def offset(self) -> int:
        """The offset 2^l: more than the size of any product, and a multiple of D."""
        return 1 << max(8 * self.drop, (self.terms * self.bound * (self.uploads or self.bound)).bit_length())

    @property
    def slot(self) -> int:
        """How many bytes a slot has.

        The mask is 40 bits longer than product and offset, covers Z_2^k above D, and leaves room for their sum.
        """
        return -(-max(self.offset.bit_length() + 1 + STATISTICAL, 8 * self.drop + self.bits + 1) // 8)

    @property
    def slots(self) -> int:
        """The number S of slots in a ciphertext."""
        return (self.key_bits - 2) // (8 * self.slot)

    def secret(self, seed: bytes) -> bytes:
        """Return the secret key: two primes and the base of the noise."""
        return SecretKey.from_seed(seed, self.key_bits).to_bytes()

    def upload(self, secret: bytes, columns: Sequence[I64]) -> U8:
        """Return the public key, then (1), whose noise is of the system's generator."""
        key = SecretKey.from_bytes(secret, self.key_bits).public
        packed = [number for column in columns for number in self._pack_column(column)]
        bits = key.noise_bits()
        powers = Powers(key.base, key.square, bits, len(packed))
        noise = exponents(words_of(secrets.token_bytes(32), len(packed) * _words(bits)), len(packed), bits)
        ciphers = [key.encrypt(m, powers.times(1, r)) for m, r in zip(packed, noise, strict=True)]
        return np.frombuffer(key.to_bytes() + ciphers_to_bytes(ciphers, key), np.uint8)

    def reply(self, upload: U8, plan: Plan, matrices: Sequence[I64], pads: Masks) -> tuple[U8, tuple[U64, ...]]:
        """Return (2) for every group of every block, row by row of Q's matrix, and S_Q."""
        check_matrices(plan, matrices, self.bound)
        key, ciphers = self._open_upload(upload, plan.lengths)
        count = sum(self._groups(length) * rows for length, rows in plan.shapes())
        masks = self._masks(draw_words(pads, "mask", count * self.slots * _words(8 * self.slot)))
        bits = key.noise_bits(self.terms * self.bound)
        noise = Powers(key.base, key.square, bits, count)
        z = exponents(draw_words(pads, "noise", count * _words(bits)), count, bits)
        answers = [
            key.encrypt(int.from_bytes(u.tobytes(), "little") + self._offsets, noise.times(value, e))
            for value, u, e in zip(self._powers(plan, matrices, ciphers, key), masks, z, strict=True)
        ]
        return np.frombuffer(ciphers_to_bytes(answers, key), np.uint8), self._shares(plan, masks, sign=-1)

    def finish(self, secret: bytes, plan: Plan, reply: U8) -> tuple[U64, ...]:
        """Return S_P from the slots of (3); refuse a reply to another key."""
        key = SecretKey.from_bytes(secret, self.key_bits)
        count = sum(self._groups(length) * rows for length, rows in plan.shapes())
        ciphers = ciphers_from_bytes(_check_size(reply, count * key.public.nbytes, "the reply"), key.public)
        size = self.slots * self.slot
        opened = [key.decrypt(c) for c in ciphers]
        if max(opened) >= 1 << 8 * size:
            raise PeerError(
                "the reply of a product does not decrypt under this key: it was made for another, or altered"
            )
        rows = np.frombuffer(b"".join(m.to_bytes(size, "little") for m in opened), np.uint8)
        return self._shares(plan, rows.reshape(count, self.slots, self.slot), sign=1)

    def count_bytes(self, plan: Plan) -> int:
        """Return how many bytes the upload and the reply of a plan have: a key, and ciphertexts."""
        up = sum(self._groups(length) for length in plan.lengths)
        down = sum(self._groups(length) * rows for length, rows in plan.shapes())
        return self.key_bits // 8 * 3 + self.key_bits // 4 * (up + down)

    @property
    def _offsets(self) -> int:
        return sum(self.offset << 8 * self.slot * s for s in range(self.slots))

    def _groups(self, length: int) -> int:
        """Return how many ciphertexts a column takes."""
        return -(-length // self.slots)

    def _pack_column(self, column: I64) -> Iterator[int]:
        """Yield the plaintexts of (1)."""
        for start in range(0, len(column), self.slots):
            yield sum(int(a) << 8 * self.slot * s for s, a in enumerate(column[start : start + self.slots]))

    def _open_upload(self, upload: U8, lengths: tuple[int, ...]) -> tuple[PublicKey, list[list[Integer]]]:
        """Return the public key and, for every column, its ciphertexts."""
        sizes, head = [self._groups(length) for length in lengths], self.key_bits // 8 * 3
        data = _check_size(upload, head + sum(sizes) * (self.key_bits // 4), "the upload")
        key = public_key(data[:head], self.key_bits)
        ciphers = iter(ciphers_from_bytes(data[head:], key))
        return key, [[next(ciphers) for _ in range(size)] for size in sizes]

    def _powers(
        self, plan: Plan, matrices: Sequence[I64], ciphers: Sequence[Sequence[Integer]], key: PublicKey
    ) -> Iterator[Integer]:
        """Yield prod_f c_gf^(b_jf) for every block, group and row."""
        bits = (2 * self.bound).bit_length()
        for block, matrix in zip(plan.blocks, matrices, strict=True):
            positive = (matrix + self.bound).tolist()
            for group in zip(*(ciphers[c] for c in block.columns), strict=True):
                tables = [Powers(c, key.square, bits, block.rows) for c in group]
                back = gmpy2.powmod(math.prod(group) % key.square, -self.bound, key.square)
                for row in positive:
                    value = back
                    for table, exponent in zip(tables, row, strict=True):
                        value = table.times(value, exponent)
                    yield value

    def _masks(self, words: U64) -> U8:
        """Return all u_s of (2), by bytes: the top bit stays free for the sum."""
        size = _words(8 * self.slot) * 8
        masks = words.astype("<u8").view(np.uint8).reshape(-1, self.slots, size)[:, :, : self.slot].copy()
        masks[:, :, -1] &= 0x7F
        return masks

    def _shares(self, plan: Plan, rows: U8, sign: int) -> tuple[U64, ...]:
        """Return (4) modulo 2^k: the slots themselves at P, - u - 2^l at Q."""
        low = np.zeros((*rows.shape[:2], 8), np.uint8)
        low[:, :, : min(8, self.slot - self.drop)] = rows[:, :, self.drop : self.drop + 8]
        words = low.view("<u8")[:, :, 0].astype(np.uint64)
        offset = np.uint64(self.offset >> 8 * self.drop & (1 << 64) - 1)
        words = (words if sign > 0 else ~(words + offset) + np.uint64(1)) & np.uint64((1 << self.bits) - 1)
        shares, start = [], 0
        for length, others in plan.shapes():
            groups = self._groups(length)
            part = words[start : start + groups * others].reshape(groups, others, self.slots)
            shares.append(np.ascontiguousarray(part.transpose(0, 2, 1).reshape(-1, others)[:length]))
            start += groups * others
        return tuple(shares)


def _words(bits: int) -> int:
    return -(-bits // 64)


def _check_size(data: U8, size: int, what: str) -> bytes:
    if data.size != size:
        raise PeerError(
            f"{what} of a product has {data.size} bytes where the plan needs {size}: it is truncated, or of another"
            " plan"
        )
    return data.tobytes()
