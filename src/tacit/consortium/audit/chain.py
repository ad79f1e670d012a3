"""The ledger of one party as a signed hash chain, in a file of JSON lines.

    h_0 = SHA-256("tacit audit 1" opening)        opening: run, party, and what all parties must agree on
    h_i = SHA-256(h_{i-1} row_i)                  a line for each row, with its h_i, in hex as it is hashed
    Ed25519 over run, party, number of rows, h_n  the last line

A file is written whole and signed when its run is over, however that ended. A party that was killed before it said so
walks the run again, and must come to the same rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Self

import msgspec

from tacit.choreo.ledger import Row
from tacit.consortium.journal.bodies import sync_folder
from tacit.errors import LocalError
from tacit.files import write_whole

FORMAT = b"tacit audit 1 "
LINE_LIMIT = 1 << 20


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ledger row; `tells` names facts by their identifiers, and `digest` is what a party saw of a published message.

    Only of a published one: the digest of a private value that can be guessed gives it away to every reader of the
    audit.
    """

    place: str
    sender: str
    receiver: str
    sender_role: str
    receiver_role: str
    type: str
    tells: str
    shapes: tuple[tuple[int, ...], ...] | None
    bytes: int | None
    digest: str | None = None


class Begin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="opening"):
    """The first line of an audit file: of which job and site it is."""

    run: str
    party: str
    about: dict[str, str]


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="row"):
    """A line for each row."""

    row: Entry
    hash: str


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="signature"):
    """The last line of an audit file: the site's signature over the chain."""

    rows: int
    head: str
    signature: str


Line = Begin | Step | Signature
LINES: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def canonical(row: Row) -> bytes:
    """Return the one way to write a row."""
    return msgspec.json.encode(Entry(*row.plain()))


def first_hash(begin: Begin) -> str:
    """Return the hash of an opening, h_0."""
    return hashlib.sha256(FORMAT + msgspec.json.encode(begin, order="deterministic")).hexdigest()


def next_hash(head: str, entry: bytes) -> str:
    """Return the hash of a row after the one before, h_i."""
    return hashlib.sha256(head.encode() + entry).hexdigest()


def signed_bytes(begin: Begin, rows: int, head: str) -> bytes:
    """Return what the party puts its name to."""
    return FORMAT + msgspec.json.encode((begin.run, begin.party, rows, head))


@dataclass
class Reading:
    """What a file says, and where it stops making sense."""

    begin: Begin | None = None
    entries: list[Entry] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)  # h_0, h_1, ...
    signature: Signature | None = None
    breaks: list[str] = field(default_factory=list)
    lines: int = 0  # lines before the first break

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the chain that an audit file holds."""
        with path.open("rb") as file:
            return cls.of_lines(iter(partial(file.readline, LINE_LIMIT), b""))

    @classmethod
    def of_lines(cls, lines: Iterable[bytes]) -> Self:
        """Read lines, also behind a broken link, to see what the rows there say, but not behind a foreign line."""
        reading = cls()
        for line in lines:
            if not reading.take(line):
                break
        return reading

    def take(self, line: bytes) -> bool:
        """Take the next line; return False when it does not belong there."""
        try:
            found = LINES.decode(line if line.endswith(b"\n") else b"")
        except (ValueError, RecursionError):  # text that is not UTF-8 is a ValueError of its own
            found = None
        misplaced = self._find_misplaced(found)
        self.breaks += misplaced or self._follow(found)
        if not self.breaks:
            self.lines += 1
        return not misplaced

    def _find_misplaced(self, found: Line | None) -> list[str]:
        if found is None:
            return [f"after row {len(self.entries)} comes a line that is cut short or not of an audit file"]
        if isinstance(found, Begin) is (self.begin is not None):
            return ["it does not begin with its one opening line"]
        return [f"it goes on after its signature, behind row {len(self.entries)}"] if self.signature else []

    def _follow(self, found: Line | None) -> list[str]:
        if isinstance(found, Begin):
            self.begin, self.hashes = found, [first_hash(found)]
        elif isinstance(found, Signature):
            self.signature = found
        elif found:
            return self._link(found)
        return []

    def _link(self, step: Step) -> list[str]:
        fits = next_hash(self.hashes[-1], msgspec.json.encode(step.row)) == step.hash
        self.entries.append(step.row)
        self.hashes.append(step.hash)  # as written, so that one alteration is one break
        if fits:
            return []
        broken = f"row {len(self.entries)} does not follow from the one before"
        return [f"{broken}: it was altered or moved, or one was removed"]


def write_audit(path: Path, begin: Begin, rows: Iterable[bytes], sign: Callable[[bytes], bytes]) -> None:
    """Write the signed file of a run, unless it is there; one that is must tell of the same run, row for row."""
    head, lines = first_hash(begin), [_line(begin)]
    for row in rows:
        head = next_hash(head, row)
        lines.append(_line(Step(msgspec.json.decode(row, type=Entry), head)))
    if path.exists() and _is_signed(path, begin, lines):
        return
    count = len(lines) - 1
    lines.append(_line(Signature(count, head, sign(signed_bytes(begin, count, head)).hex())))
    write_whole(path, b"".join(lines), "the audit")
    sync_folder(path.parent)


def _is_signed(path: Path, begin: Begin, lines: list[bytes]) -> bool:
    """Return whether a file is whole; raise unless it holds these lines, or, without a signature, the first of them."""
    reading, before = Reading.of(path), path.read_bytes().splitlines(keepends=True)
    if reading.begin != begin:
        raise LocalError(f"the audit {path} is not of this run, party and job: name another file")
    if reading.breaks and any(line.startswith(b'{"line":"signature"') and line.endswith(b"}\n") for line in before):
        altered = f"the audit {path} was altered after it was signed ({reading.breaks[0]})"
        raise LocalError(f"{altered}: keep it and name another file")
    signed = reading.signature is not None
    walked = before[: reading.lines - signed]
    for row, (old, new) in enumerate(zip_longest(walked, lines if signed else lines[: len(walked)])):
        if old != new:
            raise LocalError(
                f"row {row} of the audit {path} differs from the one written before: a replay must repeat the same run"
            )
    return signed


def _line(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content, order="deterministic") + b"\n"
