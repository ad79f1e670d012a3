"""The file of a register: a line for every job that may have opened something, each chained to the one before.

    site.register    lines `chain JSON`; chain = SHA-256 of the chain before and of the line
                     one for each job, and one more for how much a model told, once that is known

A line is appended and synced BEFORE its run starts, since a run that fails half-way may have opened something. A last
line without its end was torn by a crash before its job began, and is dropped. One process writes: the party's daemon.
A line that is changed, dropped or moved breaks the chain. That the last lines are gone, as in a file from a backup, no
file can tell: sites remember how far the registers of others were (`Heads`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from tacit.consortium.disk import append_line, whole_lines
from tacit.consortium.jobs.job import Columns
from tacit.errors import LocalError
from tacit.files import write_whole

LINES, HEADS = "site.register", "seen.json"
START = "0" * 32
RESTORE = "restore the file from a backup of today, or begin anew with other records"


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job's line.

    job: its digest. question: a digest of what it asks, of whom. plays: the protocols that a study played. dataset:
    under which name the records were offered. edition: a digest of the records, and of their dealing. rows: how many
    records these are. model: of a question, the dataset that the model was trained on. asked: about how many new
    records it is. voids: the digests of earlier lines whose runs ended before anything was opened, since this one began
    instead. cost: mu^2 of its differential privacy; 0 of a job without noise. people: a digest of whose records these
    are. points: a digest of what the noise on landmarks follows from beside these records; empty of a job without.
    groups: a digest of the groups that it is judged by; empty of one without.
    told: mu^2 of the rounding noise on its models (`learners.rounding`); 0 as long as it has told none.
    """

    job: str
    question: str
    id: str
    protocol: str
    plays: tuple[str, ...]
    parties: tuple[str, ...]
    partition: str
    dataset: str
    edition: str
    rows: int
    columns: dict[str, Columns]
    opens: str
    at: datetime
    model: str = ""
    asked: int = 0
    voids: tuple[str, ...] = ()
    cost: float = 0.0
    weights: int = 0
    people: str = ""
    points: str = ""
    groups: str = ""
    told: float = 0.0


class Told(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A later line about a job: mu^2 of the rounding noise on the models that it revealed."""

    of: str
    mu2: float


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a register is: how many lines it has, and the chain of the last one.

    at: when its site said so, by its own clock; None of what a site says now.
    """

    lines: int = 0
    chain: str = START
    at: datetime | None = None

    def contradicts(self, seen: Head, now: datetime) -> bool:
        """Return whether this one, as its site says now, cannot be what was as far as `seen` before."""
        if seen.at is not None and now < seen.at:  # said before that, and read later
            return False
        return seen.lines > self.lines or (seen.lines == self.lines and seen.chain != self.chain)


class RegisterFile:
    """The file of one site, in a folder of its state."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LINES
        self._refuse_older(folder)

    def entries(self) -> list[Entry]:
        """Return all jobs, in the order they were written; none if there is no file yet."""
        lines, _ = self._read()
        told = {line.of: line.mu2 for line in lines if isinstance(line, Told)}
        entries = (line for line in lines if isinstance(line, Entry))
        return [msgspec.structs.replace(entry, told=told.get(entry.job, 0.0)) for entry in entries]

    def head(self) -> Head:
        """Return how far the register is."""
        lines, chain = self._read()
        return Head(lines=len(lines), chain=chain)

    def append(self, entry: Entry | Told) -> None:
        """Write a job down, where a torn line may have been."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.encode(entry, order="sorted")
        append_line(self.path, _chain(self._read()[1], text).encode() + b" " + text, "the register")

    def _read(self) -> tuple[list[Entry | Told], str]:
        lines: list[Entry | Told] = []
        chain = START
        for number, line in enumerate(whole_lines(self.path, "the register"), 1):
            said, _, text = line.partition(b" ")
            chain = _chain(chain, text)
            found = _read_line(text) if said == chain.encode() else None
            if found is None:
                raise LocalError(f"line {number} of the register {self.path} is damaged: {RESTORE}")
            lines.append(found)
        return lines, chain

    @staticmethod
    def _refuse_older(folder: Path) -> None:
        """Refuse what version 0.2 wrote: it knew no persons, so no new set can be compared with its sets."""
        older = [*folder.glob("*.records"), *folder.glob("opened.atoms")]
        if older:
            raise LocalError(
                f"{folder} has the register of tacit 0.2 ({older[0].name}), which this version cannot compare with:"
                " offer other records, or move that folder away if nobody keeps a result of 0.2"
            )


class Heads:
    """How far the registers of other sites were when this site saw them last; its own is judged by theirs."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / HEADS

    def read(self) -> dict[str, Head]:
        """Return what was seen of each site."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Head]) if self._path.exists() else {}
        except msgspec.MsgspecError:
            raise LocalError(f"{self._path} is damaged: restore it from a backup, or remove it") from None

    def note(self, heads: Mapping[str, Head]) -> None:
        """Write down how far registers are now."""
        known = self.read()
        later = {site: head for site, head in heads.items() if head.lines > known.get(site, Head()).lines}
        if later:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, msgspec.json.encode({**known, **later}, order="sorted"), "heads of registers")


def _read_line(text: bytes) -> Entry | Told | None:
    """Return what a line says; None of another version's."""
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return msgspec.json.decode(text, type=Entry)
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return msgspec.json.decode(text, type=Told)
    return None


def _chain(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + b" " + text).hexdigest()[:32]
