"""BFV of the library SEAL under the parameters of engine `bfv`: keys, encryptions, transforms, and their words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import tenseal.sealapi as seal

from tacit.arrays import I64, U8, U64
from tacit.crypto.pads.entropy import prf
from tacit.errors import PeerError
from tacit.papers.gram.engines.bfv_layout import N
from tacit.papers.gram.engines.bfv_reply import ROOM, read_reply, spectrum, write_reply
from tacit.papers.gram.engines.bfv_words import HIGH, LOW, Arithmetic, pack, packed_size, unpack
from tacit.papers.gram.engines.seal_bytes import Form, Memory, SealObject, form, plaintext, report_other_form

PRIMES = (60, 60, 60, 38)
REFUSED = (RuntimeError, ValueError, IndexError)  # what the library raises


class Scheme:
    """The library under one plaintext modulus, and the forms of its ciphertexts."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.mask = (1 << bits) - 1
        self.context = _context(bits)
        self.evaluator = seal.Evaluator(self.context)
        first, key = self.context.first_context_data(), self.context.key_parms_id()
        self.primes = [m.value() for m in first.parms().coeff_modulus()]
        self.arithmetic = Arithmetic(self.primes, bits)
        self.public = form(key, len(PRIMES), N, ntt=True)
        self.column = form(first.parms_id(), len(self.primes), N, seeded=True)
        self.full = form(first.parms_id(), len(self.primes), N)
        self.transformed = form(first.parms_id(), len(self.primes), N, ntt=True)

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

    def words(self, memory: Memory, cipher: SealObject) -> U64:
        """Return both polynomials of a ciphertext in the library's hands, modulo each prime."""
        return words_of(self.full, self.full.content(memory.save(cipher)))


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
    # the library's way: without the levels that nothing is switched to
    return seal.SEALContext(parameters, False, seal.SEC_LEVEL_TYPE.TC128)  # noqa: FBT003


def try_out(s: Scheme) -> None:
    """Encrypt, write, read, protect, cut and decrypt a polynomial; raise if the result is not as expected."""
    words = np.arange(N, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) & np.uint64(s.mask)
    flood, everything = np.full((2, N), (1 << 64) - 1, np.uint64), np.arange(N)
    with Memory() as memory:
        try:
            key, twin = s.secret(bytes(32)), s.secret(bytes(32))
            sent = s.words(memory, open_column(s, memory, encrypt_column(s, memory, key, words))).copy()
            s.arithmetic.add_protections(sent, Zeros(s, memory, public_of(s, memory, key)).draw(), words, flood)
            room = seal.Decryptor(s.context, twin).invariant_noise_budget(s.cipher(memory, s.full, sent.tobytes()))
            content = write_reply(s.arithmetic.fractions(sent), everything, s.bits)
            found, used = read_reply(content, everything, s.bits, spectrum(read_secret(s, memory, twin)))
        except (*REFUSED, PeerError):
            raise report_other_form("polynomials") from None
    doubled, flooded = words * np.uint64(2) & np.uint64(s.mask), sum(PRIMES[:-1]) - s.bits - HIGH - LOW
    if not np.array_equal(found, doubled) or not 0 < room <= flooded or used > ROOM:
        raise report_other_form("polynomials")  # or the flood is not there


# What the key holder does


def public_of(s: Scheme, memory: Memory, key: SealObject) -> U8:
    """Return the public key of a secret key."""
    public = seal.PublicKey()
    seal.KeyGenerator(s.context, key).create_public_key(public)
    return to_wire(s.public, s.public.content(memory.save(public)))


def encrypt_column(s: Scheme, memory: Memory, key: SealObject, words: U64) -> U8:
    """Return one ciphertext of the upload."""
    cipher = seal.Encryptor(s.context, key).encrypt_symmetric(s.plain(memory, words))
    return to_wire(s.column, s.column.content(memory.save(cipher)))


def read_secret(s: Scheme, memory: Memory, key: SealObject) -> I64:
    """Return the secret polynomial, of -1, 0 and 1."""
    rows = np.frombuffer(memory.save(key)[-8 * N * len(PRIMES) :], "<u8").reshape(-1, N)[: len(s.primes)]
    cipher = s.cipher(memory, s.transformed, np.stack([rows, rows]).tobytes())
    s.evaluator.transform_from_ntt_inplace(cipher)
    first = s.words(memory, cipher)[0, 0]
    found = np.where(first == s.primes[0] - 1, -1, first.astype(np.int64))
    if np.abs(found).max() > 1:
        raise report_other_form("a secret key")
    return found


# What the other side does


def open_column(s: Scheme, memory: Memory, packed: U8) -> SealObject:
    """Return one ciphertext of the upload in the library's hands."""
    return s.cipher(memory, s.column, from_wire(s.column, packed))


class Zeros:
    """Encryptions of zero under the key holder's public key: Enc_pk(0) of (2) in `bfv`."""

    def __init__(self, s: Scheme, memory: Memory, packed: U8) -> None:
        public = s.load(memory, seal.PublicKey(), s.public.body(from_wire(s.public, packed)))
        self._s, self._memory, self._encryptor = s, memory, seal.Encryptor(s.context, public)

    def draw(self) -> U64:
        """Return the words of a fresh one."""
        cipher = seal.Ciphertext()
        self._encryptor.encrypt_zero(cipher)
        return self._s.words(self._memory, cipher)


def multiply_by_transforms(
    s: Scheme, memory: Memory, uploaded: Mapping[int, SealObject], factors: Sequence[tuple[int, U64]]
) -> SealObject:
    """Return a sum of uploaded ciphertexts, in NTT form, times polynomials; None if all of these are zero."""
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


# Words on the wire: those of a prime of 60 bits have 60 bits each


def words_of(kind: Form, content: bytes) -> U64:
    """Return the words of a ciphertext as an array."""
    return np.frombuffer(content, "<u8").reshape(kind.shape).astype(np.uint64, copy=False)


def to_wire(kind: Form, content: bytes) -> U8:
    """Return words and seed of a ciphertext with as few bits as they need."""
    end = math.prod(kind.shape) * 8
    words = np.frombuffer(content[:end], "<u8").astype(np.uint64, copy=False)
    return np.frombuffer(pack(words, LOW) + content[end:], np.uint8)


def from_wire(kind: Form, packed: U8) -> bytes:
    """Return words and seed of a ciphertext as the library has them."""
    count = math.prod(kind.shape)
    end = packed_size(count, LOW)
    return unpack(packed[:end], LOW, count).astype("<u8", copy=False).tobytes() + packed[end:].tobytes()


def wire_size(kind: Form) -> int:
    """Return how many bytes a ciphertext has on the wire."""
    count = math.prod(kind.shape)
    return packed_size(count, LOW) + kind.nbytes - count * 8
