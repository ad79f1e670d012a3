"""What was ever opened of a site's records: atoms, and how many numbers, whatever dataset and job they were under.

`protocols.sums.atoms` says what is kept. Here it is kept by record: under a salted hash of its id, or of its content
where it has none, so that the labels follow the records into a new file, a longer one, or one of another name. Records
that were in one run share a *pool*, for which the maps that were opened are counted; runs over records of two pools
unite them.

The file is written whole before a sum leaves the site, and never shrinks. One run at a time writes: the latest one that
began. A run that another one has overtaken stops at its next sum, and is refused when it is taken up again, since its
groups may no longer be whole.
"""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import State, decode, encode
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole
from tacit.numeric.groups.atoms import count_absent, merge_labels, refine_cells, smallest_cell
from tacit.numeric.groups.numbering import OUT
from tacit.protocols.sums.atoms import Past, leave_out_small

FILE = "opened.atoms"


class OpenedRecords(State):
    """The file: of each record marks of it and of what was in it when it was summed, its label, landmark and pool.

    frame: of each record, the run in which records of its pool were summed first; small groups are put together in runs
        on exactly these records only, as `sums.atoms.leave_out_small` says. OUT in files that knew no frames.
    layered: of each record, its cell: records that were in the same runs of those that opened hidden layers.
    Of each pool:
    maps, told: the names of the maps and what they told.
    clusters: how many landmarks were asked for.
    runs: who wrote last.
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
    frame: I64 = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))
    layered: I64 = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))


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
        """Return what is known of these records, and let this run write from now on.

        `contents` mark what is in them now.
        """
        with self._lock:
            kept = self._read()
            rows, fresh = self._places(marks), len(kept.label)
            new = [mark for mark, at in zip(marks, rows, strict=True) if at < 0]
            pools = sorted({int(kept.pool[at]) for at in rows if at >= 0})
            kept = _with_records(kept, new)
            rows = np.where(rows < 0, np.cumsum(rows < 0) - 1 + fresh, rows)
            kept = _unite(kept, pools, rows, run)
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
            after = _change(kept, rows, past, pool, _words(contents or marks))
            if after is not None:
                self._write(after)

    def _own(self, run: str, rows: I64) -> int:
        kept = self._read()
        pools = {int(kept.pool[at]) for at in rows}
        if rows.min(initial=0) < 0 or any(kept.runs[pool] != run for pool in pools):
            raise LocalError("another job has begun to sum these records since: propose this one again")
        return next(iter(pools), 0)

    def _places(self, marks: Sequence[bytes]) -> I64:
        self._read()
        return np.array([self._at.get(mark, -1) for mark in marks], dtype=np.int64)

    def _read(self) -> OpenedRecords:
        if self._kept is None:
            self._kept = self._load()
            self._at = _places(self._kept)
        return self._kept

    def _load(self) -> OpenedRecords:
        none = np.empty(0, dtype=np.int64)
        if not self.path.exists():
            words = np.empty((0, 2), np.uint64)
            return OpenedRecords(secrets.token_bytes(32), words, words, none, none, none, (), (), (), (), ())
        try:
            found = decode(self.path.read_bytes())
        except PeerError as error:
            raise LocalError(f"{self.path} is damaged: restore it from a backup") from error
        if not isinstance(found, OpenedRecords):
            raise LocalError(f"{self.path} does not hold the records that were opened: restore it from a backup")
        return _complete(found)

    def _write(self, kept: OpenedRecords) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, encode(kept).join(), "what was opened of this site's records", private=True)
        if self._kept is None or len(kept.label) != len(self._kept.label):
            self._at = _places(kept)
        self._kept = kept


def _complete(kept: OpenedRecords) -> OpenedRecords:
    """Return what an older version wrote, in which no record has a frame or a cell."""
    none = np.full(len(kept.label), OUT, dtype=np.int64)
    lacking: Any = {name: none for name in ("frame", "layered") if len(getattr(kept, name)) != len(none)}
    return dataclasses.replace(kept, **lacking)


def _places(kept: OpenedRecords) -> dict[bytes, int]:
    """Return where each mark stands."""
    words = kept.marks.tobytes()
    return {words[16 * i : 16 * i + 16]: i for i in range(len(kept.label))}


def _with_records(kept: OpenedRecords, marks: Sequence[bytes]) -> OpenedRecords:
    """Add records that never were in a sum, in no pool yet."""
    words, none = _words(marks), np.full(len(marks), OUT, dtype=np.int64)
    added: dict[str, Any] = {"marks": words, "contents": np.zeros_like(words)}
    added |= dict.fromkeys(("label", "cluster", "pool", "frame", "layered"), none)
    fields: Any = {name: np.concatenate([getattr(kept, name), new]) for name, new in added.items()}
    return dataclasses.replace(kept, **fields)


def _unite(kept: OpenedRecords, pools: Sequence[int], rows: I64, run: str) -> OpenedRecords:
    """Make one pool of these rows and all that share a pool with one of them: it knows what each of them knows."""
    into = pools[0] if pools else len(kept.runs)
    known: dict[str, float] = {}
    for pool in pools:
        for name, told in zip(kept.maps[pool], kept.told[pool], strict=True):
            known[name] = max(known.get(name, 0.0), float(told))
    of = np.where(np.isin(kept.pool, list(pools)), into, kept.pool)
    of[rows] = into
    alone = len(pools) == 1  # what one pool knows of landmarks and cells goes on; of several it is not the same
    changes = {
        "maps": tuple(known),
        "told": np.array(list(known.values())),
        "clusters": kept.clusters[into] if alone else 0,
        "runs": run,
        "seen": kept.seen[into] if alone else "",
    }
    return _replace_pool(kept, into, changes, pool=of)


def _replace_pool(kept: OpenedRecords, at: int, known: Mapping[str, Any], **records: I64 | U64) -> OpenedRecords:
    """Return the file with what is now known of a pool, which may be a new one, and of its records."""
    pools = {name: getattr(kept, name) for name in known}
    fields: Any = {name: (*of[:at], known[name], *of[at + 1 :]) for name, of in pools.items()} | records
    return dataclasses.replace(kept, **fields)


def _past(kept: OpenedRecords, rows: I64, contents: U64) -> Past:
    """Return what a run begins from; `absent` counts the rows of an atom that are gone, or no longer what they were."""
    label, pool = kept.label[rows], int(kept.pool[rows[0]]) if len(rows) else 0
    gone, here = count_absent(kept.label, rows), Counter(label.tolist())
    other = Counter(label[np.any(kept.contents[rows] != contents, axis=1)].tolist())
    lacking = [_count_lacking(own, int(n), other[own], here[own]) for own, n in zip(label.tolist(), gone, strict=True)]
    known: tuple[tuple[str, ...], F64, int, str] = ((), np.empty(0), 0, "")
    if len(kept.runs) > pool:
        known = kept.maps[pool], kept.told[pool], kept.clusters[pool], kept.seen[pool]
    maps, told, clusters, seen = known
    absent, summed = np.array(lacking, dtype=np.int64), np.zeros(len(rows), bool)
    if not _is_whole(kept, rows, pool, absent):
        absent = leave_out_small(label, absent, len(kept.label))
    fewest = smallest_cell(np.where(kept.pool == pool, kept.layered, OUT), rows)
    return Past(label, absent, maps, told, kept.cluster[rows], clusters, summed, seen, fewest)


def _is_whole(kept: OpenedRecords, rows: I64, pool: int, absent: I64) -> bool:
    """Return whether a run takes the records of its pool that were summed first, all of them as they were."""
    if not np.any(kept.label[kept.pool == pool] >= 0):
        return True
    first = kept.frame[rows[0]] if len(rows) else OUT
    same = first >= 0 and np.all(kept.frame[rows] == first) and np.count_nonzero(kept.frame == first) == len(rows)
    return bool(same) and not absent.any()


def _count_lacking(label: int, gone: int, changed: int, here: int) -> int:
    """Count the rows of an atom that would show: the fewer of those that are gone and those that changed in part."""
    counts = [count for count, partly in ((gone, gone > 0), (changed, 0 < changed < here)) if partly]
    return min(counts, default=0) if label >= 0 else 0


def _words(marks: Sequence[bytes]) -> U64:
    return np.frombuffer(b"".join(marks), dtype=np.uint64).reshape(-1, 2)


def _change(kept: OpenedRecords, rows: I64, past: Past, pool: int, contents: U64) -> OpenedRecords | None:
    """Return the file with what a run opened; None if that is known already.

    An atom that is told apart from rows elsewhere gets a label of its own.
    """
    label = merge_labels(kept.label, rows, past.label, past.summed)
    cluster, held = kept.cluster.copy(), kept.contents.copy()
    cluster[rows] = past.cluster
    held[rows[past.summed]] = contents[past.summed]
    frame = _framed(kept, rows, past, pool)
    layered = refine_cells(kept.layered, rows) if past.layered else kept.layered
    alike = [(label, kept.label), (cluster, kept.cluster), (frame, kept.frame), (layered, kept.layered)]
    told = np.array_equal(held, kept.contents) and np.array_equal(past.told, kept.told[pool])
    same = (past.maps, past.seen) == (kept.maps[pool], kept.seen[pool])
    if same and told and all(np.array_equal(now, before) for now, before in alike):
        return None
    changes = {"maps": past.maps, "told": past.told, "clusters": past.clusters, "seen": past.seen}
    now: Any = {"label": label, "cluster": cluster, "contents": held, "frame": frame, "layered": layered}
    return _replace_pool(kept, pool, changes, **now)


def _framed(kept: OpenedRecords, rows: I64, past: Past, pool: int) -> I64:
    """Return the frames after a run has summed rows: these are one if nothing of their pool was summed before."""
    frame = kept.frame.copy()
    if past.summed.any() and not np.any(kept.label[kept.pool == pool] >= 0):
        frame[rows] = int(frame.max(initial=OUT)) + 1
    return frame
