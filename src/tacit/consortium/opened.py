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
    """The file: marks of records, two words each; the label, the landmark and the pool of each; what is known of every pool.

    maps, told: of each pool, the names of the maps and what they told. clusters: how many landmarks it was asked for. runs: who wrote last.
    """

    salt: bytes
    marks: U64
    label: I64
    cluster: I64
    pool: I64
    maps: tuple[tuple[str, ...], ...]
    told: tuple[F64, ...]
    clusters: tuple[int, ...]
    runs: tuple[str, ...]


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

    def begin(self, run: str, marks: Sequence[bytes]) -> Past:
        """Return what is known of these records, and let this run write from now on."""
        with self._lock:
            kept = self._read()
            rows, fresh = self._places(marks), len(kept.label)
            new = [mark for mark, at in zip(marks, rows, strict=True) if at < 0]
            pools = sorted({int(kept.pool[at]) for at in rows if at >= 0})
            kept = _with_records(kept, new)
            rows = np.where(rows < 0, np.cumsum(rows < 0) - 1 + fresh, rows)
            kept = _united(kept, pools, rows, run)
            self._write(kept)
            return _past(kept, rows)

    def check(self, run: str, marks: Sequence[bytes]) -> None:
        """Refuse to take up a run that another one has overtaken."""
        with self._lock:
            self._own(run, self._places(marks))

    def keep(self, run: str, marks: Sequence[bytes], past: Past) -> None:
        """Write down what a run has opened, before it says anything more."""
        with self._lock:
            rows = self._places(marks)
            kept, pool = self._read(), self._own(run, rows)
            after = _changed(kept, rows, past, pool)
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
            return OpenedRecords(secrets.token_bytes(32), np.empty((0, 2), np.uint64), none, none, none, (), (), (), ())
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
    words = np.frombuffer(b"".join(marks), dtype=np.uint64).reshape(-1, 2)
    return dataclasses.replace(
        kept,
        marks=np.concatenate([kept.marks, words]),
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
    maps, told, clusters, runs = [*kept.maps], [*kept.told], [*kept.clusters], [*kept.runs]
    if empty:
        maps.append(())
        told.append(np.empty(0))
        clusters.append(0)
        runs.append("")
    maps[into], told[into], runs[into] = tuple(known), np.array(list(known.values())), run
    if len(pools) > 1:
        clusters[into] = 0
    return dataclasses.replace(kept, pool=of, maps=tuple(maps), told=tuple(told), clusters=tuple(clusters), runs=tuple(runs))


def _past(kept: OpenedRecords, rows: I64) -> Past:
    """As a run begins from it; `absent` counts the rows of an atom that are known here and not among these."""
    label, pool = kept.label[rows], int(kept.pool[rows[0]]) if len(rows) else 0
    everywhere, here = Counter(kept.label.tolist()), Counter(label.tolist())
    absent = np.array([0 if own < 0 else everywhere[own] - here[own] for own in label.tolist()], dtype=np.int64)
    known = (kept.maps[pool], kept.told[pool], kept.clusters[pool]) if len(kept.runs) > pool else ((), np.empty(0), 0)
    return Past(label, absent, known[0], known[1], kept.cluster[rows], known[2], np.zeros(len(rows), bool))


def _changed(kept: OpenedRecords, rows: I64, past: Past, pool: int) -> OpenedRecords | None:
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
    same = np.array_equal(label, kept.label) and maps[pool] == kept.maps[pool] and np.array_equal(told[pool], kept.told[pool])
    if same and np.array_equal(cluster, kept.cluster):
        return None
    return dataclasses.replace(kept, label=label, cluster=cluster, maps=tuple(maps), told=tuple(told), clusters=tuple(clusters))
