"""The ledger of one party as a signed hash chain, in a file of JSON lines.

    h_0 = SHA-256("tacit audit 1" opening)        opening: run, party, and what all parties must agree on
    h_i = SHA-256(h_{i-1} row_i)                  a line for each row, with its h_i, in hex as it is hashed
    Ed25519 over run, party, number of rows, h_n  the last line

The file only grows. A party that was killed walks the run again: rows that are there already must come out the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from tacit.choreo.ledger import Row

FORMAT = b"tacit audit 1 "
LINE_LIMIT = 1 << 20


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ledger row; `digest` is what a party saw of a published message.

    Only of a published one: the digest of a private value that can be guessed gives it away to every reader of the audit.
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
    """The first line."""

    run: str
    party: str
    about: dict[str, str]


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="row"):
    """A line for each row."""

    row: Entry
    hash: str


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="signature"):
    """The last line."""

    rows: int
    head: str
    signature: str


Line = Begin | Step | Signature
LINES: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def canonical(row: Row, digest: str | None = None) -> bytes:
    """The one way to write a row; `digest` for a published message that this party saw."""
    shapes = None if row.shapes is None else tuple(tuple(shape) for shape in row.shapes)
    entry = Entry(
        row.place, row.sender, row.receiver, row.sender_role, row.receiver_role, row.type, row.tells, shapes, row.bytes, digest
    )  # fmt: skip
    return msgspec.json.encode(entry)


def first_hash(begin: Begin) -> str:
    """h_0."""
    return hashlib.sha256(FORMAT + msgspec.json.encode(begin, order="deterministic")).hexdigest()


def next_hash(head: str, entry: bytes) -> str:
    """h_i."""
    return hashlib.sha256(head.encode() + entry).hexdigest()


def signed_bytes(begin: Begin, rows: int, head: str) -> bytes:
    """What the party puts its name to."""
    return FORMAT + msgspec.json.encode((begin.run, begin.party, rows, head))


@dataclass
class Reading:
    """What a file says, and where it stops making sense."""

    begin: Begin | None = None
    entries: list[Entry] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)  # h_0, h_1, ...
    signature: Signature | None = None
    breaks: list[str] = field(default_factory=list)
    good: int = 0  # rows before the first break
    whole: int = 0  # bytes before the first break

    @classmethod
    def of(cls, path: Path) -> Self:
        """Reads on behind a broken link, to see what the rows there say, but not behind a line that does not belong."""
        reading = cls()
        with path.open("rb") as file:
            for line in iter(partial(file.readline, LINE_LIMIT), b""):
                if not reading.take(line):
                    break
        return reading

    def take(self, line: bytes) -> bool:
        """The next line; False when it does not belong there."""
        try:
            found = LINES.decode(line if line.endswith(b"\n") else b"")
        except (ValueError, RecursionError):  # text that is not UTF-8 is a ValueError of its own
            found = None
        misplaced = self._misplaced(found)
        self.breaks += misplaced or self._followed(found)
        if not self.breaks:
            self.good, self.whole = len(self.entries), self.whole + len(line)
        return not misplaced

    def _misplaced(self, found: Line | None) -> list[str]:
        if found is None:
            return [f"after row {len(self.entries)} comes a line that is cut short or not of an audit file"]
        if isinstance(found, Begin) is (self.begin is not None):
            return ["it does not begin with its one opening line"]
        return [f"it goes on after its signature, behind row {len(self.entries)}"] if self.signature else []

    def _followed(self, found: Line | None) -> list[str]:
        if isinstance(found, Begin):
            self.begin, self.hashes = found, [first_hash(found)]
        elif isinstance(found, Signature):
            self.signature = found
        elif found:
            return self._linked(found)
        return []

    def _linked(self, step: Step) -> list[str]:
        fits = next_hash(self.hashes[-1], msgspec.json.encode(step.row)) == step.hash
        self.entries.append(step.row)
        self.hashes.append(step.hash)  # as written, so that one alteration is one break
        return [] if fits else [f"row {len(self.entries)} does not follow from the one before: it was altered or moved, or one was removed"]
