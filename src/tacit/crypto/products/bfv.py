"""Engine `bfv`: packed BFV through `tenseal.sealapi`, with a reply that hides the other side from the key holder.

N = 8192, primes of 60, 60, 60 and 38 bits (218 in all: 128-bit security), t = 2^k. A column goes up as one ciphertext,
symmetric and seeded (half the bytes). The reply is, for plaintexts b_f of the layout (`bfv_layout`),

    (c0, c1) = sum_f b_f (a_f1, a_f2)                       in NTT form, coefficient by coefficient                  (1)
    (c0, c1) + Enc_pk(r) + (E, 0)                           r uniform in Z_t^N, E uniform in [0, 2^106)^N            (2)

then switched down to the fewest primes. Decrypted it is the product plus r on every one of the N coefficients, those
too that hold none of the products asked for. A mask hides the plaintext of a reply, not its noise: the key holder knows
its own errors e_f, and finds b_f from (1) by least squares on sum_f e_f b_f, or from c1 = sum_f a_f2 b_f by linear
algebra (`attacks.bfv_noise`). So (2) has all of

    r            hides the product                                             perfectly
    Enc_pk       hides c1: a fresh encryption under the receiver's own key     by RLWE
    E            floods the noise of (1), of at most 22 sum_f |b_f|_1          statistically, at least 2^-40 in all

Randomness: the secret key is a function of 32 bytes of the run, r and E are pads of the run. Encryption noise is SEAL's
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import tenseal.sealapi as seal

from tacit.arrays import I64, U8, U64
from tacit.counted import counted
from tacit.crypto.pads.entropy import prf
from tacit.crypto.products.bfv_layout import (
    N,
    Stretch,
    entries,
    numbers,
    pieces,
    place,
    spread_columns,
    stretches,
    strips,
    strips_of,
)
from tacit.crypto.products.engines import BITS, BOUND, STATISTICAL, Effort, Masks, Plan, check_matrices, draw_words
from tacit.crypto.products.seal_bytes import Form, Memory, SealObject, coefficients, form, plaintext, report_other_form
from tacit.errors import LocalError, PeerError

PRIMES = (60, 60, 60, 38)
HIGH, LOW = 46, 60  # bits of the two words of a flood: 2^46 (2^60 - prime) + 2^60 stays within 2^64
# An error of a fresh ciphertext is a number of ones among 21 random bits less that among 21 others (SEAL's centred
# binomial, of standard deviation 3.24): at most 21. Its plaintext is scaled by q / t, which is no integer, and rounded:
# half of one more.
ERROR = 22
REFUSED = (RuntimeError, ValueError, IndexError)  # what the library raises
WIDTHS = range(2, 60)  # of t, in bits
ONE_PRIME = 48  # up to here t fits under one prime, with room for the noise of switching

# nanoseconds on a usual machine: making the keys of an upload and of a reply, a ciphertext of the upload at both sides,
# a reply at both sides, and one of the products that it is the sum of
KEYS, ENCRYPTION, OPENING = (16e6, 11e6), 2.9e6, 1.6e6
REPLY, PRODUCT, DECRYPTION = 6.2e6, 1.1e6, 1.7e6


class Scheme:
    """The library under one plaintext modulus, and the forms of its ciphertexts."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.mask = (1 << bits) - 1
        self.context = _context(bits)
        self.evaluator = seal.Evaluator(self.context)
        first, last = self.context.first_context_data(), self.context.last_context_data()
        key = self.context.key_parms_id()
        self.primes = [m.value() for m in first.parms().coeff_modulus()]
        self.public = form(key, len(PRIMES), N, ntt=True)
        self.column = form(first.parms_id(), len(self.primes), N, seeded=True)
        self.full = form(first.parms_id(), len(self.primes), N)
        level = last if bits <= ONE_PRIME else last.prev_context_data()
        self.reply = form(level.parms_id(), len(level.parms().coeff_modulus()), N)

    def secret(self, seed: bytes) -> SealObject:
        """Return the secret key of a seed.

        The context is made for nothing else: whatever else it drew would be drawn from the same numbers.
        """
        words = np.frombuffer(prf(seed, b"bfv", b"1") + prf(seed, b"bfv", b"2"), "<u8")
        return seal.KeyGenerator(_context(self.bits, words.tolist())).secret_key()

    def load(self, memory: Memory, into: SealObject, body: bytes) -> SealObject:
        """Let the library read what a peer sent; refuse what it cannot read."""
        try:
            return memory.load(into, self.context, body)
        except REFUSED:
            raise PeerError(
                "a ciphertext or a key is not one of these parameters: all parties need the same version of tacit"
            ) from None

    def plain(self, memory: Memory, words: U64) -> SealObject:
        """Return a polynomial of these coefficients in the library's hands."""
        return memory.load(seal.Plaintext(), self.context, plaintext(words))

    def cipher(self, memory: Memory, kind: Form, content: bytes) -> SealObject:
        """Return a ciphertext in the library's hands."""
        return self.load(memory, seal.Ciphertext(), kind.body(content))


@cache
def scheme(bits: int) -> Scheme:
    """Return the scheme, once it has shown that it reads and writes what `seal_bytes` says."""
    made = Scheme(bits)
    try_out(made)
    return made


def _context(bits: int, seed: list[int] | None = None) -> SealObject:
    parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
    parameters.set_poly_modulus_degree(N)
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(N, list(PRIMES)))
    parameters.set_plain_modulus(1 << bits)
    if seed is not None:
        parameters.set_random_generator(seal.Blake2xbPRNGFactory(seed))
    # the library's way: with all levels
    return seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)  # noqa: FBT003


def try_out(s: Scheme) -> None:
    """Encrypt, write, read, flood, switch and decrypt a polynomial; raise if the result is not as expected."""
    words = np.arange(N, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) & np.uint64(s.mask)
    with Memory() as memory:
        try:
            key, twin = s.secret(bytes(32)), s.secret(bytes(32))
            public = s.load(memory, seal.PublicKey(), s.public.body(public_of(s, memory, key)))
            sent = s.cipher(memory, s.column, encrypt_column(s, memory, key, words))
            s.evaluator.add_inplace(sent, encode_flood(s, memory, np.full((2, N), (1 << 64) - 1, np.uint64)))
            s.evaluator.add_inplace(sent, encrypt_mask(s, memory, public, words))
            room = seal.Decryptor(s.context, twin).invariant_noise_budget(sent)
            found, _ = decrypt(s, memory, twin, switch_down(s, memory, sent))
        except (*REFUSED, PeerError):
            raise report_other_form("polynomials") from None
    doubled, flooded = words * np.uint64(2) & np.uint64(s.mask), sum(PRIMES[:-1]) - s.bits - HIGH - LOW
    if not np.array_equal(found, doubled) or not 0 < room <= flooded:
        raise report_other_form("polynomials")  # or the flood is not there


# What the key holder does


def public_of(s: Scheme, memory: Memory, key: SealObject) -> bytes:
    """Return the public key of a secret key."""
    public = seal.PublicKey()
    seal.KeyGenerator(s.context, key).create_public_key(public)
    return s.public.content(memory.save(public))


def encrypt_column(s: Scheme, memory: Memory, key: SealObject, words: U64) -> bytes:
    """Return one ciphertext of the upload."""
    return s.column.content(memory.save(seal.Encryptor(s.context, key).encrypt_symmetric(s.plain(memory, words))))


def decrypt(s: Scheme, memory: Memory, key: SealObject, content: bytes) -> tuple[U64, int]:
    """Return all N coefficients of a reply, and how many bits its noise is away from spoiling them."""
    decryptor, cipher, plain = seal.Decryptor(s.context, key), s.cipher(memory, s.reply, content), seal.Plaintext()
    decryptor.decrypt(cipher, plain)
    return coefficients(memory.save(plain), N), decryptor.invariant_noise_budget(cipher)


# What the other side does


def multiply_uploaded(
    s: Scheme, memory: Memory, uploaded: Sequence[SealObject], factors: Sequence[tuple[int, U64]]
) -> SealObject:
    """Return (1): a sum of uploaded ciphertexts, in NTT form, times polynomials; None if all of these are zero."""
    total, term, transformed = None, seal.Ciphertext(), seal.Plaintext()
    for number, words in factors:
        if not words.any():  # the library refuses to make a ciphertext that hides nothing
            continue
        s.evaluator.transform_to_ntt(s.plain(memory, words), s.full.parameters, transformed)
        if total is None:
            total = seal.Ciphertext()
            s.evaluator.multiply_plain(uploaded[number], transformed, total)
        else:
            s.evaluator.multiply_plain(uploaded[number], transformed, term)
            s.evaluator.add_inplace(total, term)
    if total is not None:
        s.evaluator.transform_from_ntt_inplace(total)
    return total


def encrypt_mask(s: Scheme, memory: Memory, public: SealObject, words: U64) -> SealObject:
    """Return Enc_pk(r) of (2): the mask and the fresh encryption in one."""
    cipher = seal.Ciphertext()
    seal.Encryptor(s.context, public).encrypt(s.plain(memory, words), cipher)
    return cipher


def encode_flood(s: Scheme, memory: Memory, words: U64) -> SealObject:
    """Return (E, 0) of (2), E = h 2^60 + l from two rows of words: modulo a prime 2^60 - c that is h c + l."""
    high, low = words[0] >> np.uint64(64 - HIGH), words[1] >> np.uint64(64 - LOW)
    content = np.zeros(s.full.shape, "<u8")
    for i, prime in enumerate(s.primes):
        content[0, i] = (high * np.uint64((1 << LOW) - prime) + low) % np.uint64(prime)
    return s.cipher(memory, s.full, content.tobytes())


def switch_down(s: Scheme, memory: Memory, cipher: SealObject) -> bytes:
    """Return the reply with as few primes as decryption needs."""
    s.evaluator.mod_switch_to_inplace(cipher, s.reply.parameters)
    return s.reply.content(memory.save(cipher))


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
        return np.frombuffer(b"".join(content), np.uint8)

    def reply(self, upload: U8, plan: Plan, matrices: Sequence[I64], pads: Masks) -> tuple[U8, tuple[U64, ...]]:
        """Return (1) and (2) for every polynomial of the layout, and S_Q."""
        check_matrices(plan, matrices, self.bound)
        s, layout = scheme(self.bits), stretches(plan, self.fold)
        self._check_flood(plan, layout)
        masks = draw_words(pads, "mask", len(layout) * N).reshape(-1, N) & np.uint64(s.mask)
        floods = draw_words(pads, "noise", len(layout) * 2 * N).reshape(-1, 2, N)
        content = []
        with Memory() as memory:
            public, uploaded = self._open_upload(s, memory, upload, plan.lengths)
            for mask, flood, factors in zip(
                counted([*masks]), floods, self._factors(plan, layout, matrices, s.mask), strict=True
            ):
                cipher = encrypt_mask(s, memory, public, mask)
                if (product := multiply_uploaded(s, memory, uploaded, factors)) is not None:
                    s.evaluator.add_inplace(cipher, product)
                s.evaluator.add_inplace(cipher, encode_flood(s, memory, flood))
                content.append(switch_down(s, memory, cipher))
        own = self._shares(plan, layout, (~masks + np.uint64(1)) & np.uint64(s.mask))
        return np.frombuffer(b"".join(content), np.uint8), own

    def finish(self, secret: bytes, plan: Plan, reply: U8) -> tuple[U64, ...]:
        """Return S_P; refuse a reply to another key, which is noise only."""
        s, layout = scheme(self.bits), stretches(plan, self.fold)
        contents = _cut(reply, [s.reply.nbytes] * len(layout), "the reply")
        with Memory() as memory:
            key = s.secret(secret)
            found = [decrypt(s, memory, key, content) for content in counted(contents)]
        if min(room for _, room in found) < 1:
            raise PeerError(
                "the reply of a product does not decrypt under this key: it was made for another, or altered"
            )
        return self._shares(plan, layout, np.stack([words for words, _ in found]))

    def effort(self, plan: Plan) -> Effort:
        """Return what a plan takes: its ciphertexts, and the polynomials that replies are made of."""
        s, layout = scheme(self.bits), stretches(plan, self.fold)
        up, down = len(numbers(plan.lengths, self.fold)), len(layout)
        own = [len(strips_of(block, plan.lengths, self.fold)) for block in plan.blocks]
        factors = sum(own[x.block] for row in layout for x in row)
        return Effort(
            s.public.nbytes + s.column.nbytes * up + s.reply.nbytes * down,
            upload=KEYS[0] + ENCRYPTION * up,
            reply=OPENING * up + REPLY * down + PRODUCT * factors,
            finish=KEYS[1] + DECRYPTION * down,
        )

    def _open_upload(
        self, s: Scheme, memory: Memory, upload: U8, lengths: tuple[int, ...]
    ) -> tuple[SealObject, list[SealObject]]:
        """Return the public key and the columns of an upload, these in NTT form."""
        count = len(numbers(lengths, self.fold))
        key, *contents = _cut(upload, [s.public.nbytes] + [s.column.nbytes] * count, "the upload")
        columns = [s.cipher(memory, s.column, content) for content in contents]
        for column in columns:
            s.evaluator.transform_to_ntt_inplace(column)
        return s.load(memory, seal.PublicKey(), s.public.body(key)), columns

    def _factors(
        self, plan: Plan, layout: Sequence[Sequence[Stretch]], matrices: Sequence[I64], mask: int
    ) -> Iterator[list[tuple[int, U64]]]:
        """Yield for every reply which ciphertexts of the upload it is made of, and what they are multiplied with."""
        order = numbers(plan.lengths, self.fold)
        own = [strips_of(block, plan.lengths, self.fold) for block in plan.blocks]
        for row in layout:
            yield [
                (
                    order[strip, x.piece],
                    place(matrices[x.block][:, i * self.fold : (i + 1) * self.fold], x, self.fold, mask),
                )
                for x in row
                for i, strip in enumerate(own[x.block])
            ]

    def _shares(self, plan: Plan, layout: Sequence[Sequence[Stretch]], words: U64) -> tuple[U64, ...]:
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


def _cut(data: U8, sizes: Sequence[int], what: str) -> list[bytes]:
    if data.size != sum(sizes):
        raise PeerError(
            f"{what} of a product has {data.size} bytes where the plan needs {sum(sizes)}: it is truncated, or of"
            " another plan"
        )
    ends = np.cumsum(sizes)
    return [data[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True)]
