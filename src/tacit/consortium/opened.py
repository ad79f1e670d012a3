"""What was ever opened of a site's records: atoms, and how many numbers, from run to run, whatever dataset and job they were under.

`protocols.atoms` says what is kept. Here it is kept by record: under a salted hash of its id, or of its content where it has none, so that
the labels follow the records into a new file, a longer one, or one of another name. Records that were in one run share a *pool*, for
which the maps that were opened are counted; runs over records of two pools unite them.

The file is written whole before a sum leaves the site, and never shrinks. One run at a time writes: the latest one that began. A run that
another one has overtaken stops at its next sum, and is refused when it is taken up again, since its groups may no longer be whole.
"""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tacit.choreo import F64, I64, U64, State, decode, encode
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole
from tacit.numeric.atoms import OUT
from tacit.protocols.atoms import Past

FILE = "opened.atoms"


class OpenedRecords(State):
    """The file: marks of records and of what was in them when they were summed; the label, the landmark and the pool of each.

    Of each pool maps, told: the names of the maps and what they told. clusters: how many landmarks were asked for. runs: who wrote last.
    seen: a digest of the columns and cells that sums were taken of.
    """

    salt: bytes
    marks: U64
    contents: U64
    label: I64
    cluster: I64
    pool: I64
    maps: tuple[tuple[str, ...], ...]
    told: tuple[F64, ...]
    clusters: tuple[int, ...]
    runs: tuple[str, ...]
    seen: tuple[str, ...]


class Opened:
    """The memory of one site, in a folder of its state."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._kept: OpenedRecords | None = None
        self._at: dict[bytes, int] = {}

    @property
    def salt(self) -> bytes:
        """Under which records are hashed."""
        with self._lock:
            return self._read().salt

    def begin(self, run: str, marks: Sequence[bytes], contents: Sequence[bytes] | None = None) -> Past:
        """Return what is known of these records, and let this run write from now on. `contents` mark what is in them now."""
        with self._lock:
            kept = self._read()
            rows, fresh = self._places(marks), len(kept.label)
            new = [mark for mark, at in zip(marks, rows, strict=True) if at < 0]
            pools = sorted({int(kept.pool[at]) for at in rows if at >= 0})
            kept = _with_records(kept, new)
            rows = np.where(rows < 0, np.cumsum(rows < 0) - 1 + fresh, rows)
            kept = _united(kept, pools, rows, run)
            self._write(kept)
            return _past(kept, rows, _words(contents or marks))

    def check(self, run: str, marks: Sequence[bytes]) -> None:
        """Refuse to take up a run that another one has overtaken."""
        with self._lock:
            self._own(run, self._places(marks))

    def keep(self, run: str, marks: Sequence[bytes], past: Past, contents: Sequence[bytes] | None = None) -> None:
        """Write down what a run has opened, before it says anything more."""
        with self._lock:
            rows = self._places(marks)
            kept, pool = self._read(), self._own(run, rows)
            after = _changed(kept, rows, past, pool, _words(contents or marks))
            if after is not None:
                self._write(after)

    def _own(self, run: str, rows: I64) -> int:
        kept = self._read()
        pools = {int(kept.pool[at]) for at in rows}
        if rows.min(initial=0) < 0 or any(kept.runs[pool] != run for pool in pools):
            raise LocalError("another job has begun to sum these records since: propose this one anew")
        return next(iter(pools), 0)

    def _places(self, marks: Sequence[bytes]) -> I64:
        self._read()
        return np.array([self._at.get(mark, -1) for mark in marks], dtype=np.int64)

    def _read(self) -> OpenedRecords:
        if self._kept is None:
            self._kept = self._loaded()
            words = self._kept.marks.tobytes()
            self._at = {words[16 * i : 16 * i + 16]: i for i in range(len(self._kept.label))}
        return self._kept

    def _loaded(self) -> OpenedRecords:
        none = np.empty(0, dtype=np.int64)
        if not self.path.exists():
            words = np.empty((0, 2), np.uint64)
            return OpenedRecords(secrets.token_bytes(32), words, words, none, none, none, (), (), (), (), ())
        try:
            found = decode(self.path.read_bytes())
        except PeerError as error:
            raise LocalError(f"{self.path} is damaged: restore it from a backup") from error
        if not isinstance(found, OpenedRecords):
            raise LocalError(f"{self.path} is something else: restore it from a backup")
        return found

    def _write(self, kept: OpenedRecords) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, encode(kept).join(), "what was opened of this site's records", private=True)
        if self._kept is None or len(kept.label) != len(self._kept.label):
            words = kept.marks.tobytes()
            self._at = {words[16 * i : 16 * i + 16]: i for i in range(len(kept.label))}
        self._kept = kept


def _with_records(kept: OpenedRecords, marks: Sequence[bytes]) -> OpenedRecords:
    """Records that never were in a sum, in no pool yet."""
    none = np.full(len(marks), OUT, dtype=np.int64)
    words = _words(marks)
    return dataclasses.replace(
        kept,
        marks=np.concatenate([kept.marks, words]),
        contents=np.concatenate([kept.contents, np.zeros_like(words)]),
        label=np.append(kept.label, none),
        cluster=np.append(kept.cluster, none),
        pool=np.append(kept.pool, none),
    )


def _united(kept: OpenedRecords, pools: Sequence[int], rows: I64, run: str) -> OpenedRecords:
    """One pool for these rows and all that share a pool with one of them: it knows what each of them knows."""
    into = pools[0] if pools else len(kept.runs)
    known: dict[str, float] = {}
    for pool in pools:
        for name, told in zip(kept.maps[pool], kept.told[pool], strict=True):
            known[name] = max(known.get(name, 0.0), float(told))
    of = np.where(np.isin(kept.pool, list(pools)), into, kept.pool)
    of[rows] = into
    empty = into == len(kept.runs)
    maps, told, clusters, runs, seen = [*kept.maps], [*kept.told], [*kept.clusters], [*kept.runs], [*kept.seen]
    if empty:
        maps.append(())
        told.append(np.empty(0))
        clusters.append(0)
        runs.append("")
        seen.append("")
    maps[into], told[into], runs[into] = tuple(known), np.array(list(known.values())), run
    if len(pools) > 1:
        clusters[into], seen[into] = 0, ""
    return dataclasses.replace(
        kept, pool=of, maps=tuple(maps), told=tuple(told), clusters=tuple(clusters), runs=tuple(runs), seen=tuple(seen)
    )  # fmt: skip


def _past(kept: OpenedRecords, rows: I64, contents: U64) -> Past:
    """As a run begins from it; `absent` counts the rows of an atom that are not among these, or are no longer what they were."""
    label, pool = kept.label[rows], int(kept.pool[rows[0]]) if len(rows) else 0
    everywhere, here = Counter(kept.label.tolist()), Counter(label.tolist())
    other = Counter(label[np.any(kept.contents[rows] != contents, axis=1)].tolist())
    absent = np.array([_lacking(own, everywhere[own] - here[own], other[own], here[own]) for own in label.tolist()], dtype=np.int64)
    known = (kept.maps[pool], kept.told[pool], kept.clusters[pool], kept.seen[pool]) if len(kept.runs) > pool else ((), np.empty(0), 0, "")
    return Past(label, absent, known[0], known[1], kept.cluster[rows], known[2], np.zeros(len(rows), bool), known[3])


def _lacking(label: int, gone: int, changed: int, here: int) -> int:
    """How many rows of an atom would show: the fewer of those that are gone and those that changed, where some did and others did not."""
    counts = [count for count, partly in ((gone, gone > 0), (changed, 0 < changed < here)) if partly]
    return min(counts, default=0) if label >= 0 else 0


def _words(marks: Sequence[bytes]) -> U64:
    return np.frombuffer(b"".join(marks), dtype=np.uint64).reshape(-1, 2)


def _changed(kept: OpenedRecords, rows: I64, past: Past, pool: int, contents: U64) -> OpenedRecords | None:
    """With what a run opened; None if that is known already. An atom that is told apart from rows elsewhere gets a label of its own."""
    before = kept.label[rows]
    own, sizes = np.unique(before, return_inverse=True, return_counts=True)[1:]
    pieces = np.unique(np.stack([before, past.label]), axis=1)[0]
    everywhere = Counter(kept.label.tolist())
    split = np.array([np.sum(pieces == label) > 1 for label in np.unique(before)])
    elsewhere = np.array([everywhere[int(label)] for label in np.unique(before)]) > sizes
    apart = (before < 0) | split[own] | (elsewhere[own] & past.summed)
    part = np.zeros(len(kept.label), dtype=np.int64)
    part[rows] = np.where(apart, past.label + 1, 0)
    ever = (kept.label >= 0) | (part > 0)
    label = np.full(len(kept.label), OUT, dtype=np.int64)
    label[ever] = np.unique(np.stack([kept.label, part])[:, ever], axis=1, return_inverse=True)[1].ravel()  # in the order of before
    cluster, maps, told, clusters = kept.cluster.copy(), list(kept.maps), list(kept.told), list(kept.clusters)
    cluster[rows] = past.cluster
    maps[pool], told[pool], clusters[pool] = past.maps, past.told, past.clusters
    held, seen = kept.contents.copy(), list(kept.seen)
    held[rows[past.summed]], seen[pool] = contents[past.summed], past.seen
    same = maps[pool] == kept.maps[pool] and np.array_equal(told[pool], kept.told[pool]) and seen[pool] == kept.seen[pool]
    if same and all(np.array_equal(a, b) for a, b in ((label, kept.label), (cluster, kept.cluster), (held, kept.contents))):
        return None
    return dataclasses.replace(
        kept, label=label, cluster=cluster, contents=held, maps=tuple(maps), told=tuple(told), clusters=tuple(clusters), seen=tuple(seen)
    )  # fmt: skip
