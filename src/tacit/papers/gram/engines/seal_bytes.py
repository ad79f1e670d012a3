"""SEAL's files, written and read by hand: the library's Python layer has no other way in or out for arrays.

    file       = header body              header = magic:u16 16:u8 version:u8,u8 compression:u8 0:u16 length:u64
    array      = header count:u64 words                                                       uncompressed
    plaintext  = parameters:32 count:u64 scale:f64 array
    ciphertext = parameters:32 ntt:u8 polynomials:u64 degree:u64 primes:u64 scale:f64 1:u64 array [seed]
    seed       = header type:u8 seed:64

This is SEAL 4; another release may write something else, so whatever is read must have exactly this form, and
`bfv` tries it out once before it is relied on. The library loads and saves by path only, and it is given one that leads
to memory: what it writes never reaches a disk.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.arrays import U64
from tacit.errors import LocalError, install_command

SealObject = Any  # a key, a ciphertext or the like of SEAL's, whose Python layer has no types

HEADER = struct.Struct("<HBBBBHQ")
MAGIC, VERSION, PLAIN, ZSTD = 0xA15E, (4, 3), 0, 2
PLAINTEXT = struct.Struct("<32sQd")
CIPHERTEXT = struct.Struct("<32sBQQQdQ")
SEED_BYTES, BLAKE2 = 64, b"\1"


class Memory:
    """A file in memory, for as long as a `with` lasts."""

    def __enter__(self) -> Self:
        if not hasattr(os, "memfd_create"):
            raise LocalError(
                "engine='bfv' needs files in memory, which this system does not have: use Linux, or engine='paillier'"
            )
        self._file = os.fdopen(os.memfd_create("tacit"), "r+b", buffering=0)
        self.path = f"/proc/self/fd/{self._file.fileno()}"
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def save(self, thing: SealObject) -> bytes:
        """Return the body of what the library writes."""
        self._file.truncate(0)
        thing.save(self.path)
        self._file.seek(0)
        data = self._file.read()
        magic, size, *version, compression, _, length = HEADER.unpack_from(data)
        if (magic, size, length) != (MAGIC, HEADER.size, len(data)) or compression not in (PLAIN, ZSTD):
            raise report_other_form(f"SEAL {'.'.join(map(str, version))}")
        body = data[HEADER.size :]
        return body if compression == PLAIN else bytes(pa.CompressedInputStream(pa.BufferReader(body), "zstd").read())

    def load(self, thing: SealObject, context: SealObject, body: bytes) -> SealObject:
        """Let the library read a body; return what it read."""
        self._file.seek(0)
        self._file.truncate()
        self._file.write(wrap(body))
        thing.load(context, self.path)
        return thing


def wrap(body: bytes) -> bytes:
    """Return a body with its header, uncompressed."""
    return HEADER.pack(MAGIC, HEADER.size, *VERSION, PLAIN, 0, HEADER.size + len(body)) + body


def plaintext(words: U64) -> bytes:
    """Return a polynomial of these coefficients as the library writes it."""
    array = wrap(struct.pack("<Q", words.size) + words.astype("<u8").tobytes())
    return PLAINTEXT.pack(bytes(32), words.size, 1.0) + array


def coefficients(body: bytes, degree: int) -> U64:
    """Return the coefficients of a saved plaintext, which leaves out leading zeros."""
    words = np.frombuffer(body, "<u8", offset=PLAINTEXT.size + HEADER.size + 8)
    if body[: len(body) - words.nbytes] != plaintext(words)[: len(body) - words.nbytes] or words.size > degree:
        raise report_other_form("a plaintext")
    return np.pad(words, (0, degree - words.size)).astype(np.uint64)


@dataclass(frozen=True)
class Form:
    """All that ciphertexts of one kind have in common; a seeded one has a seed in place of its second polynomial."""

    parameters: tuple[int, ...]
    primes: int
    degree: int
    ntt: bool = False
    seeded: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many polynomials, primes and coefficients there are."""
        return (1 if self.seeded else 2, self.primes, self.degree)

    @property
    def nbytes(self) -> int:
        """How many bytes words and seed have."""
        return int(np.prod(self.shape)) * 8 + (SEED_BYTES if self.seeded else 0)

    @property
    def _head(self) -> bytes:
        count = int(np.prod(self.shape))
        parameters = struct.pack("<4Q", *self.parameters)
        array = HEADER.pack(MAGIC, HEADER.size, *VERSION, PLAIN, 0, HEADER.size + 8 + count * 8)
        fixed = CIPHERTEXT.pack(parameters, self.ntt, 2, self.degree, self.primes, 1.0, 1)
        return fixed + array + struct.pack("<Q", count)

    @property
    def _seed_head(self) -> bytes:
        return wrap(BLAKE2 + bytes(SEED_BYTES))[:-SEED_BYTES] if self.seeded else b""

    def body(self, content: bytes) -> bytes:
        """Return what the library loads, from words and seed as `content` gives them."""
        end = len(content) - (SEED_BYTES if self.seeded else 0)
        return self._head + content[:end] + self._seed_head + content[end:]

    def content(self, body: bytes) -> bytes:
        """Return words and seed of what the library saved."""
        start, end = len(self._head), len(body) - (SEED_BYTES if self.seeded else 0)
        content = body[start : end - len(self._seed_head)] + body[end:]
        if len(content) != self.nbytes or self.body(content) != body:
            raise report_other_form("a ciphertext")
        return content


def form(parameters: Sequence[int], primes: int, degree: int, *, ntt: bool = False, seeded: bool = False) -> Form:
    """Return the form of ciphertexts with these parameters, which the library has a name for."""
    return Form(tuple(parameters), primes, degree, ntt, seeded)


def report_other_form(what: str) -> LocalError:
    """Return the error for a library that writes something else."""
    return LocalError(
        f"tenseal {version('tenseal')} writes {what} in a form that tacit does not know: {install_command('he')}"
    )
