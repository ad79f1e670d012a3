"""Audit files against their keys, and against each other: where they differ and who says what.

Every party walks the whole text, so all files have the same rows in the same order; what both ends of a message saw of
it is equal; and a published message is the same for everyone. A party has one key or, where it was given a new one,
several: any of them may have signed, and `signer` says which. A file of an attempt that stopped says so in its opening:
it may end earlier than the others. NOT found: what all parties agree to leave out, and a receiver that leaves a message
blank, which cannot be told from one that stayed away in a `gather`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit.choreo.fact import UNKNOWN, Fact, declare_facts, prose_of, read_names
from tacit.consortium.audit.chain import Entry, Reading, signed_bytes
from tacit.report.words import clean

SHOWN = 100  # characters of a text that another party wrote
WALKED = ("place", "sender", "receiver", "sender_role", "receiver_role", "type", "tells")
SEEN = ("shapes", "bytes")
STOPPED = {"ended": "stopped"}  # in the opening of a file whose run stopped
_PROSE = "left or arrived before the run stopped; its exchange was not over"
UNCONFIRMED = Fact("audit.unconfirmed", UNKNOWN, UNKNOWN, UNKNOWN, _PROSE)
declare_facts(UNCONFIRMED, __name__)


@dataclass(frozen=True)
class Difference:
    """One finding: where, what is wrong, and what each party says there."""

    where: str
    what: str
    says: tuple[tuple[tuple[str, ...], str], ...] = ()

    def __str__(self) -> str:
        told = "; ".join(f"{' and '.join(who)} {'say' if len(who) > 1 else 'says'} {said}" for who, said in self.says)
        return f"{self.where}: {self.what}" + (f": {told}" if told else "")


def signer(reading: Reading, public_keys: Sequence[bytes]) -> bytes | None:
    """Return the key that signed a file as it is; None if none of these did."""
    return next((key for key in public_keys if _signed_by(reading, key)), None)


def compare(paths: Sequence[str | Path], keys: Mapping[str, Sequence[bytes]]) -> list[Difference]:
    """Verify each file under its party's keys, then all against each other."""
    found: list[Difference] = []
    readings: dict[str, Reading] = {}
    for path in paths:
        reading, problems = _read(path)
        found += problems
        if reading and reading.begin:
            found += _enter(path, reading, readings, keys)
    return found + list(_against_each_other(readings))


def _read(path: str | Path) -> tuple[Reading | None, list[Difference]]:
    try:
        reading = Reading.of(Path(path))
    except OSError as error:
        return None, [Difference(str(path), f"cannot be read ({error.strerror})")]
    if reading.begin is None and not reading.breaks:
        return reading, [Difference(str(path), "is empty")]
    return reading, [Difference(str(path), text) for text in reading.breaks]


def _enter(
    path: str | Path, reading: Reading, readings: dict[str, Reading], keys: Mapping[str, Sequence[bytes]]
) -> list[Difference]:
    """Enter a file under the party it claims to be of, and check its claim."""
    party = reading.begin.party if reading.begin else ""
    if party in readings:
        return [Difference(str(path), f"is a second file of {shown(party)}")]
    readings[party] = reading
    if party not in keys:
        return [Difference(str(path), f"claims to be of {shown(party)}, of which no key was given")]
    return _check_signature(str(path), reading, keys[party])


def _check_signature(path: str, reading: Reading, public_keys: Sequence[bytes]) -> list[Difference]:
    begin, signature, rows = reading.begin, reading.signature, len(reading.entries)
    if begin is None or signature is None:
        fault = f"ends after row {rows} without a signature: it was cut short, or the run is not over"
    elif (signature.rows, signature.head) != (rows, reading.hashes[-1]):
        other = f"its signature is for {signature.rows} other rows than the {rows} of the file"
        fault = f"{other}: they were rewritten after it was signed"
    elif signer(reading, public_keys) is None:
        fault = f"its signature is not by the key of {shown(begin.party)}"
    else:
        return []
    return [Difference(path, fault)]


def _signed_by(reading: Reading, public_key: bytes) -> bool:
    begin, signature = reading.begin, reading.signature
    if begin is None or signature is None:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(bytes.fromhex(signature.signature), signed_bytes(begin, len(reading.entries), signature.head))
    except (InvalidSignature, ValueError):
        return False
    return True


def _against_each_other(readings: Mapping[str, Reading]) -> Iterator[Difference]:
    for name in ("run", "job"):
        told = {p: shown(_opening_of(r, name)) for p, r in readings.items()}
        if len(set(told.values())) > 1:
            yield Difference("opening", f"the files are not of one {name}", _group(told))
    walks = list(zip_longest(*(_confirmed_rows(r) for r in readings.values())))
    walks = walks[: min((len(_confirmed_rows(r)) for r in readings.values() if _has_stopped(r)), default=len(walks))]
    parted = next((i for i, row in enumerate(walks) if len({_walk_of(e) for e in row}) > 1), len(walks))
    together = [dict(zip(readings, row, strict=True)) for row in walks[: parted + 1]]
    yield from _unequally_seen(together[:parted])
    yield from _equivocations(together[:parted])
    if parted < len(walks):
        yield _describe_parting(parted, together[parted])


def _opening_of(reading: Reading, name: str) -> object:
    """Return the run; or all that the parties must agree on, without how far each of them came in it."""
    if reading.begin is None or name == "run":
        return reading.begin.run if reading.begin else None
    return {key: value for key, value in reading.begin.about.items() if key not in {"attempt", *STOPPED}}


def _has_stopped(reading: Reading) -> bool:
    return reading.begin is not None and reading.begin.about.items() >= STOPPED.items()


def _confirmed_rows(reading: Reading) -> list[Entry]:
    """Return the rows of exchanges that were over, which all parties can lay side by side."""
    if not _has_stopped(reading):
        return reading.entries
    return [entry for entry in reading.entries if entry.tells != UNCONFIRMED.identifier]


def _walk_of(entry: Entry | None) -> tuple[str, ...] | None:
    return None if entry is None else tuple(getattr(entry, name) for name in WALKED)


def _describe_parting(i: int, row: Mapping[str, Entry | None]) -> Difference:
    """Describe the first row that is not the same for all; rows behind it cannot be laid side by side."""
    there = [e for e in row.values() if e is not None]
    fields = [name for name in WALKED if len({getattr(e, name) for e in there}) > 1] or ["place", "sender", "receiver"]
    told = {p: "nothing more" if e is None else _describe(e, fields) for p, e in row.items()}
    return Difference(f"row {i + 1}", "from here on the parties tell of different runs", _group(told))


def _unequally_seen(rows: Sequence[Mapping[str, Entry | None]]) -> Iterator[Difference]:
    """Messages of which two parties saw different sizes; the first for each sender and receiver."""
    known: set[tuple[str, str]] = set()
    for i, row in enumerate(rows):
        saw = {p: e for p, e in row.items() if e is not None and (e.shapes, e.bytes) != (None, None)}
        entry = next(iter(saw.values()), None)
        fields = [name for name in SEEN if len({getattr(e, name) for e in saw.values()}) > 1]
        if entry is not None and fields and (entry.sender, entry.receiver) not in known:
            known.add((entry.sender, entry.receiver))
            says = _group({p: _describe(e, fields) for p, e in saw.items()})
            yield Difference(_where(i, entry), "it was seen differently", says)


def _equivocations(rows: Sequence[Mapping[str, Entry | None]]) -> Iterator[Difference]:
    """Published messages that were not the same for everyone; the first for each author."""
    told: dict[tuple[str, str], dict[str, str]] = {}
    for party, entry in (pair for row in rows for pair in row.items()):
        if entry is not None and entry.digest is not None:
            who = party if party != entry.sender else f"{party} to {entry.receiver}"
            told.setdefault((entry.place, entry.sender), {})[who] = entry.digest
    known: set[str] = set()
    for (place, author), digests in told.items():
        if len(set(digests.values())) > 1 and author not in known:
            known.add(author)
            says = _group({who: f"digest {shown(digest[:16])}" for who, digest in digests.items()})
            yield Difference(shown(place), f"{shown(author)} published different things", says)


def _where(i: int, entry: Entry) -> str:
    return f"row {i + 1}, {shown(entry.place)}, {shown(entry.sender)} > {shown(entry.receiver)}"


def _describe(entry: Entry, fields: Sequence[str]) -> str:
    return ", ".join(f"{name} {_value(entry, name)}" for name in fields)


def _value(entry: Entry, name: str) -> str:
    """Return a field for people: facts by their names, with what they say as far as that is known here."""
    if name != "tells":
        return shown(getattr(entry, name))
    known = [fact for fact in read_names(entry.tells) if fact.prose != fact.identifier]
    return shown(entry.tells) + (f" ({shown(prose_of(known))})" if known else "")


def _group(told: Mapping[str, str]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Group parties by what they say."""
    groups: dict[str, list[str]] = {}
    for party, said in told.items():
        groups.setdefault(said, []).append(shown(party))
    return tuple((tuple(parties), said) for said, parties in groups.items())


def shown(value: object) -> str:
    """Return a text of another party on one line, without escape sequences for a terminal, and not endless."""
    text = clean(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
