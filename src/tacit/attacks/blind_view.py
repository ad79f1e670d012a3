"""What parties of a blind gram SVM have in their hands, and the most that attacks could make of it.

The real protocols, played by parties that forget nothing. A view is every vector of words that a party was sent, drew
or computed, in the order of the run. An attack on a kernel matrix is played on each vector that is as long as one, and
the best of all counts, as if somebody had told the attacker which to take, and by how much to multiply what comes out:

    error = min over vectors, min over s of |s found - truth| / |truth|                                            (1)

That is below 1 by luck alone. How far luck goes is (1) of as many vectors of uniform words: chance.

The dealer and a holder together have more than their two views: the mask of every opening. c - r - 2^62 and d + a are
the values in shares themselves, with the letters of `shares.gates`.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.attacks.inversion import Inversion, relative
from tacit.choreo import At, Message, State, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation import Federation
from tacit.federation.backend import Here
from tacit.numeric.ring.triangle import unpack
from tacit.registry import Outcome, open_result, play
from tacit.request import Request
from tacit.runtimes.together import Together

LEAST = 2.0**-30  # that an entry of a kernel matrix is taken for: it has 30 bits after the point
OFFSET = np.uint64(1 << 62)  # of a truncation

Memory = list[tuple[str, Any]]  # who had what, in the order of the run
Attack = Callable[[F64], Inversion]


class Remembering(Together):
    """All parties in this process, and a list of what each of them was sent and what its steps left."""

    def __init__(self, *args: Any, memory: Memory, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._memory = memory

    def _each(self, place: str, work: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        done = super()._each(place, work)
        self._memory += done.items()
        return done

    def send(self, kind: type[Any], channel: Any, value: At[Any], **along: Any) -> At[Any]:
        """Send as usual, and remember what everybody received."""
        received = super().send(kind, channel, value, **along)
        self._memory += entries_of(received).items()
        return received


@dataclass(frozen=True)
class Watched(Here):
    """All parties in this process, with a memory of every run.

    roots: keys of their randomness, where a run shall be the same again.
    """

    heard: Memory = field(default_factory=list, compare=False, repr=False)
    roots: Mapping[str, bytes] | None = field(default=None, compare=False, repr=False)

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Play the protocol, and remember."""
        held = {n: (each.role, self._entries(federation, n, each)) for n, each in request.inputs.items()}
        roster, job = federation.roster, b"watched" if self.roots else secrets.token_bytes(16)
        entropy = RootEntropy(roster.parties, job, self.roots)
        with Remembering(roster, job=job, entropy=entropy, memory=self.heard) as run:
            result = open_result(play(run, request.protocol, held, request.params))
            return Outcome(result, run.ledger, run.history, 0.0, dict(run.cpu))


@dataclass(frozen=True)
class BlindView:
    """What was in whose hands in one or more runs, of which `dealer` dealt."""

    memory: Memory = field(repr=False)
    dealer: str

    def of(self, party: str) -> list[U64]:
        """Return every vector of words that a party was sent, drew or computed."""
        return [words for who, value in self.memory if who == party for words in list_words(value)]

    def of_group(self, parties: Sequence[str]) -> list[U64]:
        """Return the sums of what holders who work together have in shares, step by step."""
        each = [[v for who, v in self.memory if who == p and isinstance(v, np.ndarray)] for p in parties]
        sums = [sum(own[1:], own[0]) for own in zip(*each, strict=True) if own[0].dtype == np.uint64]
        return [words.ravel() for words in sums]

    def brought_by(self, party: str) -> list[U64]:
        """Return the vectors that a party had before it was sent any words: they are of its own records alone."""
        found: list[U64] = []
        for value in (value for who, value in self.memory if who == party):
            words = list(list_words(value))
            if words and isinstance(value, Message):
                break
            found += words
        return found

    def of_both(self, party: str) -> list[U64]:
        """Return what the dealer and a holder find together: each of the holder's vectors without the dealer's masks.

        A mask is dealt before what it hides is opened.
        """
        found: list[U64] = []
        masks: tuple[U64, ...] = ()
        for who, value in self.memory:
            if who == self.dealer and isinstance(value, tuple) and all(isinstance(m, np.ndarray) for m in value):
                masks = value
            elif who == party and isinstance(value, np.ndarray) and value.size == sum(m.size for m in masks):
                found += _unmask(value, masks)
        return found


def _unmask(opened: U64, masks: Sequence[U64]) -> Iterator[U64]:
    """Yield what an opening hides: of a difference, and of a sum with the offset of a truncation."""
    for part, mask in zip(np.split(opened.ravel(), np.cumsum([m.size for m in masks])[:-1]), masks, strict=True):
        yield part + mask.ravel()
        yield part - mask.ravel() - OFFSET


def list_words(value: Any) -> Iterator[U64]:
    """Yield every vector of words in what a party has."""
    match value:
        case np.ndarray() if value.dtype == np.uint64:
            yield value.ravel()
        case tuple() | list():
            for each in value:
                yield from list_words(each)
        case Mapping():
            yield from list_words(tuple(value.values()))
        case Message() | State():
            yield from list_words(tuple(getattr(value, f.name) for f in dataclasses.fields(value)))


def watch(federation: Federation, roots: Mapping[str, bytes] | None = None) -> tuple[Federation, BlindView]:
    """Return the federation with parties that remember, and the view that its runs will fill."""
    backend = Watched(roots=roots)
    return dataclasses.replace(federation, backend=backend), BlindView(backend.heard, federation.coordinator)


def pick_lines(vectors: Sequence[U64], size: int, brought: Sequence[U64] = ()) -> list[U64]:
    """Return all pieces of that size, each once, but for those of what was brought and those of one word."""
    own, found = _cut(brought, size), _cut(vectors, size)
    return [line for key, line in found.items() if key not in own and np.ptp(line)]


def _cut(vectors: Sequence[U64], size: int) -> dict[bytes, U64]:
    whole = [words.reshape(-1, size) for words in vectors if words.size and words.size % size == 0]
    return {line.tobytes(): line for lines in whole for line in lines}


def draw_chance(like: Sequence[U64]) -> list[U64]:
    """Return as many vectors of uniform words, of the same sizes."""
    return [np.frombuffer(secrets.token_bytes(8 * words.size), dtype=np.uint64) for words in like]


# Matrices


def read_kernel(triangle: U64, n: int) -> F64:
    """Return the kernel matrix that words could be: divided by its diagonal, which is 1."""
    whole = unpack([triangle.view(np.int64).astype(np.float64)], n)
    return np.clip(whole / max(float(np.median(np.abs(np.diag(whole)))), 1.0), LEAST, 1.0)


def read_gram(triangle: U64, n: int, gamma: float) -> F64:
    """Return the gram matrix of centred records that words could be, if they are an RBF kernel matrix."""
    apart = -np.log(read_kernel(triangle, n)) / gamma
    rows = apart.mean(axis=0)
    return np.asarray((rows[:, None] + rows[None, :] - rows.mean() - apart) / 2.0)


def read_columns(words: U64, queries: int, gamma: float) -> F64:
    """Return dot products with unit vectors that words could tell, if they are kernels with 0 and with these.

    |x|^2 - |x - e_j|^2 = 2 x_j - 1, whatever the words were multiplied with.
    """
    values = words.view(np.int64).astype(np.float64).reshape(queries, -1)
    apart = -np.log(np.clip(values / np.abs(values).max(), LEAST, 1.0)) / gamma
    return np.asarray((apart[:1] - apart[1:] + 1.0) / 2.0)


# How well it does


def best_error(matrices: Sequence[F64], attack: Attack, truth: F64, known: I64) -> float:
    """Return (1) over all matrices."""
    return min((measure(attack(each).records, truth, known) for each in matrices), default=1.0)


def measure(found: F64, truth: F64, known: I64) -> float:
    """Return the error of what was not known, for the best multiple of what was found."""
    unknown = np.setdiff1d(np.arange(len(truth)), known)
    a, b = found[unknown].ravel(), truth[unknown].ravel()
    size = float(a @ a)
    return relative(a * (float(a @ b) / size), b) if size > 0 else 1.0
