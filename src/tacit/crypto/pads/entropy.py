"""Entropy: all secret randomness of the parties in this process, from one root key each.

    seed  = PRF(root, run, place)                    a fresh 32 bytes for a place of the protocol
    pad   = AES-CTR(PRF(seed, tag))                  tag = H(job, all published so far, place)

One PRF input on two values would give away their difference, so putting on the same pad twice raises.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from tacit.errors import LocalError

Seeds = Mapping[Any, bytes]  # by names of the protocol's own: of a peer, or of two


def prf(key: bytes, *inputs: bytes) -> bytes:
    """Return the HMAC-SHA-256 of the inputs, each with its length."""
    mac = hmac.new(key, digestmod="sha256")
    for part in inputs:
        mac.update(len(part).to_bytes(8, "little") + part)
    return mac.digest()


class RootEntropy:
    """Fresh root keys for the given parties, or the given ones.

    `spent` are marks of pads that they put on elsewhere. `lasting` are secrets that parties keep beyond the run.
    """

    def __init__(
        self,
        parties: Iterable[str],
        run: bytes,
        roots: Mapping[str, bytes] | None = None,
        spent: Mapping[str, Iterable[bytes]] | None = None,
        lasting: Mapping[str, bytes] | None = None,
    ) -> None:
        self._lasting = dict(lasting or {})
        self._roots = dict(roots) if roots else {p: secrets.token_bytes(32) for p in parties}
        self._run = run
        self._spent: dict[str, set[bytes]] = {p: set((spent or {}).get(p, ())) for p in self._roots}
        self._lock = threading.Lock()
        self.words_drawn = 0

    def __repr__(self) -> str:
        return f"RootEntropy({', '.join(self._roots)})"

    def seed(self, party: str, place: str) -> bytes:
        """Return 32 bytes for this party at this place."""
        return prf(self._roots[party], b"seed", self._run, place.encode())

    def lasting(self, party: str) -> bytes | None:
        """Return 32 bytes that are the same in all runs of the party; None if it keeps no secret."""
        return prf(self._lasting[party], b"lasting") if party in self._lasting else None

    def pads(self, party: str, seeds: Seeds, tag: bytes) -> Pads:
        """Return pads under these seeds, bound to the tag."""
        return Pads(seeds, tag, self, party)

    def spend(self, party: str, key: bytes) -> None:
        """Mark a pad as put on; raise if it was put on before."""
        mark = prf(key, b"spent")  # the register must not hold keys
        with self._lock:
            if mark in self._spent[party]:
                raise LocalError(
                    f"{party} would put the same pad on two values, which gives away their difference: give each sum"
                    " its own tag"
                )
            self._spent[party].add(mark)

    def marks(self, party: str) -> frozenset[bytes]:
        """Return marks of the pads that the party has put on; a mark tells nothing about its pad."""
        return frozenset(self._spent[party])

    def count(self, words: int) -> None:
        """Account for words drawn, so that a test can see that nobody's pad is skipped."""
        with self._lock:
            self.words_drawn += words


@dataclass(frozen=True)
class Pads:
    """The pads of one party under one tag, by the name of their seed."""

    seeds: Seeds = field(repr=False)
    tag: bytes = field(repr=False)
    source: RootEntropy
    party: str

    def put_on(self, name: Hashable, words: int) -> Iterator[NDArray[np.uint64]]:
        """Return the pad in chunks, to be added to a value; once only."""
        key = prf(self.seeds[name], b"pad", self.tag)
        self.source.spend(self.party, key)
        return self._draw(key, words)

    def take_off(self, name: Hashable, words: int) -> Iterator[NDArray[np.uint64]]:
        """Return the same pad, to be subtracted again."""
        return self._draw(prf(self.seeds[name], b"pad", self.tag), words)

    def _draw(self, key: bytes, words: int) -> Iterator[NDArray[np.uint64]]:
        self.source.count(words)
        return stream(key, words)


# Pads: a 32-byte key becomes a stream of uniform words of Z_2^64.
#
# AES-256 in counter mode over zeros. Each key is derived for one use (see `entropy`), so the counter starts at zero.
# The stream is made 128 KiB at a time into one reused buffer: a large pad never exists as a whole.


KEY_BYTES = 32
WORDS = 1 << 14  # 128 KiB: stays in the second-level cache
ZEROS = bytes(WORDS * 8)


def stream(key: bytes, words: int) -> Iterator[NDArray[np.uint64]]:
    """Return the first words under a key, in chunks; a chunk is overwritten by the next."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a pad needs a key of {KEY_BYTES} bytes, got {len(key)}")
    return _chunks(key, words)


def words_of(key: bytes, count: int) -> NDArray[np.uint64]:
    """Return the first words under a key, in one array."""
    chunks = [chunk.copy() for chunk in stream(key, count)]
    return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.uint64)


def _chunks(key: bytes, words: int) -> Iterator[NDArray[np.uint64]]:
    encryptor = Cipher(AES(key), CTR(bytes(16))).encryptor()
    buffer = np.empty(WORDS, dtype="<u8")
    into = buffer.data.cast("B")
    for start in range(0, words, WORDS):
        n = min(WORDS, words - start)
        encryptor.update_into(ZEROS[: n * 8] if n < WORDS else ZEROS, into)
        yield buffer[:n]
