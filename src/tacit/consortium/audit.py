"""The audit: each party's ledger as a signed hash chain, written as the run goes on; `verify` and `compare` read it.

    chain = Chain.open("audit.jsonl", run=..., party="north", about={"job": ...})
    chain.append(canonical(row))        for each row of the ledger, in order
    chain.sync()                        at the end of a round
    chain.sign(identity_key.sign)       when the run is over, however it ended

The file only grows. A party that was killed walks the run again: rows that are there already must come out the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from tacit.consortium.bodies import sync_folder
from tacit.consortium.chain import Begin, Entry, Reading, Signature, Step, canonical, first_hash, next_hash, signed_bytes
from tacit.consortium.comparison import Difference, compare, verify
from tacit.errors import LocalError
from tacit.files import write_whole

__all__ = ["Chain", "Difference", "canonical", "compare", "verify"]


class Chain:
    """The file of one party, while the run goes on; for one thread."""

    def __init__(self, path: Path, begin: Begin, reading: Reading) -> None:
        self._begin = begin
        self._known = reading.hashes[1 : reading.good + 1]
        self._head = first_hash(begin)
        self._signed = reading.signature is not None
        self._pending: list[bytes] = []
        self._length = reading.whole
        self._file = path.open("r+b", buffering=0)
        self._cut()  # what a crash left of a line
        self.rows = 0

    @classmethod
    def open(cls, path: str | Path, *, run: str, party: str, about: Mapping[str, str]) -> Self:
        """Begin a file, or walk along the rows it has; `about` is what all parties must agree on."""
        target, begin = Path(path), Begin(run, party, dict(about))
        if not target.exists():
            write_whole(target, _line(begin), "the audit")  # so that no file without an opening can be ours
            sync_folder(target.parent)
        reading = Reading.of(target)
        if reading.begin != begin:
            raise LocalError(f"the audit {path} is not of this run, party and job: name another file")
        if reading.breaks and _has_signature(target.read_bytes()):
            raise LocalError(f"the audit {path} was altered after it was signed ({reading.breaks[0]}): keep it and name another file")
        return cls(target, begin, reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, entry: bytes) -> None:
        """The next row, in `canonical` form."""
        self._head = next_hash(self._head, entry)
        if self.rows >= len(self._known):
            self._add(_line(Step(msgspec.json.decode(entry, type=Entry), self._head)))
            self._known.append(self._head)
        elif self._known[self.rows] != self._head:
            raise LocalError(f"row {self.rows + 1} of the audit {self._file.name} was another one before: a replay must walk the same run")
        self.rows += 1

    def sync(self) -> None:
        """Bring the rows to the disk; when that fails none of them is there, and the next call tries again."""
        data = memoryview(b"".join(self._pending))
        if not data:
            return
        try:
            self._write(data)
        except OSError as error:
            self._cut()
            raise LocalError(
                f"the audit {self._file.name} cannot be written ({error.strerror}): free some space and start again"
            ) from error
        self._length += len(data)
        self._pending = []

    def sign(self, sign: Callable[[bytes], bytes]) -> None:
        """Put the party's name to all rows: `sign` is its Ed25519 key's."""
        if self.rows < len(self._known):
            raise LocalError(
                f"the audit {self._file.name} has {len(self._known)} rows, this walk only {self.rows}: finish the replay first"
            )
        if not self._signed:
            signature = sign(signed_bytes(self._begin, self.rows, self._head)).hex()
            self._add(_line(Signature(self.rows, self._head, signature)))
            self._signed = True
        self.sync()

    def close(self) -> None:
        """Let go of the file; rows that were not synced are not in it."""
        self._file.close()

    def _add(self, line: bytes) -> None:
        if self._signed:
            raise LocalError(f"the audit {self._file.name} is signed with {len(self._known)} rows, so no row can follow: the run is over")
        self._pending.append(line)

    def _cut(self) -> None:
        """Back to the last whole line."""
        self._file.truncate(self._length)
        self._file.seek(self._length)

    def _write(self, data: memoryview) -> None:
        while data:
            data = data[self._file.write(data) :]
        os.fsync(self._file.fileno())


def _has_signature(data: bytes) -> bool:
    """Whether any whole line is one; half a line is what a power cut leaves."""
    return any(line.startswith(b'{"line":"signature"') and line.endswith(b"}\n") for line in data.splitlines(keepends=True))


def _line(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content, order="deterministic") + b"\n"
