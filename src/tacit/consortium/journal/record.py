"""The journal: what a party has said, heard and kept secret in one run, so that `kill -9` at any moment costs nothing.

    sending     compute, seal, commit_outgoing, sync, publish, mark_published     on replay the stored bytes win
    receiving   commit_incoming, compute; sync, acknowledge                       other bytes under one key end the run
    keeping     secret, memo, checkpoint                                          encrypted, gone with destroy_secrets

A one-time mask on two values gives away their difference. So bytes that were committed for sending are never computed
again, and a journal older than what the others have seen is refused. NOT protected: mail is stored as it travels, so
who must not read it has to be kept out by its seal; and someone who reads the disk and the party's identity key reads
it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import msgspec

from tacit.consortium.journal.bodies import Body, InUseError, Vault, digest_of, explain_errors
from tacit.consortium.journal.mail import Mail
from tacit.consortium.journal.store import BODIES, NAME, Entries, Store
from tacit.errors import LocalError

# What a party keeps for itself in a journal, encrypted: secrets, results of slow steps, the state at a round's end

GONE = "what this run kept secret was destroyed when it ended: start a new run"


class Keepsakes(Entries):
    """Sealed entries. Memos and checkpoints are sealed too: seeds and private rows are in them."""

    def secret(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return a secret, made at the first time and the same ever after, also after a power cut."""
        with self.batch():
            found = self._store.first("SELECT sealed FROM secret WHERE name = ?", name)
            if found:
                return self._vault.open(f"secret {name}", found[0])
            fresh = make()
            self._store.run("INSERT INTO secret VALUES (?, ?)", name, self._vault.seal(f"secret {name}", fresh))
        self.sync()
        return fresh

    def memo(self, place: str) -> bytes | None:
        """Return what a slow step once gave here."""
        found = self._store.first("SELECT digest, data FROM memo WHERE place = ?", place)
        return self._unseal(f"memo {place}", found)

    def commit_memo(self, place: str, data: bytes) -> None:
        """Keep what a slow step gave, once; the same again changes nothing."""
        with self.batch():
            before = self.memo(place)
            if before is None:
                self._store.run("INSERT INTO memo VALUES (?, ?, ?)", place, *self._seal(f"memo {place}", data))
            elif before != data:
                remedy = "go on with memo(), or the replay parts from the run"
                raise LocalError(f"the step at {place} gave another result before: {remedy}")

    def checkpoint(self, base: str, t: int, data: bytes) -> None:
        """Keep the state at the end of round t in place of one of an earlier round."""
        with self.batch():
            last = self._store.first("SELECT digest, data, t FROM checkpoint WHERE base = ?", base)
            if last and last[2] >= t:
                return
            if last:
                self._store.bodies.drop(Body(*last[:2]))
            body = self._seal(f"checkpoint {t} {base}", data)
            self._store.run("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)", base, t, *body)

    def last_checkpoint(self, base: str) -> tuple[int, bytes] | None:
        """Return the latest round that ended, and the state at its end."""
        found = self._store.first("SELECT t, digest, data FROM checkpoint WHERE base = ?", base)
        t, body = (found[0], found[1:]) if found else (0, None)
        data = self._unseal(f"checkpoint {t} {base}", body)
        return None if data is None else (t, data)

    def destroy_secrets(self) -> None:
        """Delete secrets, memos and checkpoints, and the key that sealed them, from the file and its log."""
        with self.batch():
            for body in self._store.all("SELECT digest, data FROM memo UNION ALL SELECT digest, data FROM checkpoint"):
                self._store.bodies.drop(Body(*body))
            for where in ("secret", "memo", "checkpoint", "state WHERE name = 'vault'"):
                self._store.run(f"DELETE FROM {where}")  # noqa: S608 - our own tables
        self._sealer = None
        self._store.scrub()

    @property
    def _vault(self) -> Vault:
        if self._sealer is None:
            raise LocalError(GONE)
        return self._sealer

    def _seal(self, name: str, data: bytes) -> Body:
        sealed = self._vault.seal(name, data)
        return self._store.bodies.keep(sealed, digest_of(sealed))

    def _unseal(self, name: str, found: tuple[bytes, bytes | None] | None) -> bytes | None:
        vault = self._vault  # also when nothing is found: after the end nothing may look as if it had never been
        return None if found is None else vault.open(name, self._read(*found))


__all__ = ["Journal", "Opening", "purge"]


class Journal(Mail, Keepsakes, AbstractContextManager["Journal"]):
    """One party's journal of one run, for all threads of the one process that plays the party."""

    def __init__(self, store: Store, vault: Vault | None, *, resumed: bool) -> None:
        super().__init__(store, vault)
        self.resumed = resumed

    @classmethod
    def open(cls, folder: str | Path, opening: Opening, key: bytes) -> Self:
        """Begin, or go on with the very same run; `key` is 32 bytes that only this party can derive."""
        outer, store = Vault(key), Store(Path(folder))
        try:
            before = _state(store, "opening")
            if before is None:
                _begin(store, opening, outer)
            else:
                opening.check(before, folder)
            return cls(store, _inner(store, opening, outer), resumed=before is not None)
        except BaseException:
            store.close()
            raise

    @classmethod
    def look(cls, folder: str | Path) -> Self:
        """Open a journal that is there without its key: what was sealed in it stays sealed."""
        return cls(Store(Path(folder)), None, resumed=True)

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({self._store.folder})"

    def close(self) -> None:
        """Let go of the folder; closing twice does nothing."""
        with suppress(LocalError), self.batch():  # marks that a full disk cannot take only cost a second publishing
            pass
        self._store.close()

    # The ledger

    def append_row(self, row: bytes) -> None:
        """Append a row of this party's ledger."""
        with self.batch():
            self._store.run("INSERT INTO row (n, data) SELECT COALESCE(MAX(n) + 1, 0), ? FROM row", row)

    def rows(self) -> list[bytes]:
        """Return all rows, in order."""
        return [row for (row,) in self._store.all("SELECT data FROM row ORDER BY n")]


def purge(folder: str | Path) -> None:
    """Remove a journal: its key first, then its bodies and its file; what else lies in the folder stays."""
    root = Path(folder)
    if not (root / NAME).is_file():
        raise LocalError(f"{folder} holds no journal: name the folder of one party and run")
    _shred(root)
    with explain_errors(root):
        for path in (root / BODIES).iterdir():
            path.unlink()
        (root / BODIES).rmdir()
        for name in (f"{NAME}-wal", f"{NAME}-shm", NAME):  # the file last: a purge cut short can be repeated
            (root / name).unlink(missing_ok=True)
        if not any(root.iterdir()):
            root.rmdir()


def _shred(root: Path) -> None:
    """Destroy the secrets; a journal in use is refused, one that is damaged or has no room goes as it is."""
    try:
        with closing(Store(root)) as store:
            Keepsakes(store).destroy_secrets()
    except LocalError as error:
        if isinstance(error, InUseError):
            raise


def _state(store: Store, name: str) -> bytes | None:
    found = store.first("SELECT value FROM state WHERE name = ?", name)
    return bytes(found[0]) if found else None


def _begin(store: Store, opening: Opening, outer: Vault) -> None:
    """Opening and key in one: there is no journal that has only one of them."""
    wrapped = outer.seal(_label(opening), Vault.fresh())
    with store.batch():
        for entry in (("opening", opening.dump()), ("vault", wrapped)):
            store.run("INSERT INTO state VALUES (?, ?)", *entry)
    store.sync()


def _inner(store: Store, opening: Opening, outer: Vault) -> Vault | None:
    """Return the journal's own key, unless it was destroyed."""
    wrapped = _state(store, "vault")
    return Vault(outer.open(_label(opening), wrapped)) if wrapped else None


def _label(opening: Opening) -> str:
    return f"key of {opening.party} in {opening.run}"


# The opening of a journal: all that must be the same for a replay to end with the same bits


FOLDER = "give every party and run a folder of its own"
INSTALL = "install what the run began with, or start a new run"
JOB = "a changed job is a new run: give it a new id"
BY_DATE = "let a query select by what does not change, such as a date that has passed"
SHOWN = 24  # characters of a digest that tell two apart


@dataclass(frozen=True)
class Opening:
    """What a run began with at one party.

    `roster`, `source` (of the protocol), `data` and `job` are digests, as text.
    """

    run: Annotated[str, FOLDER]
    party: Annotated[str, FOLDER]
    roster: Annotated[str, "use the roster that all parties agreed on, or start a new run"]
    protocol: Annotated[str, JOB]
    source: Annotated[str, INSTALL]
    data: Annotated[str, f"restore the data the run began with, or start a new run; {BY_DATE}"]
    versions: Annotated[dict[str, str], INSTALL]
    blas_threads: Annotated[int, "pin BLAS to as many threads as before, or start a new run"]
    job: Annotated[str, JOB]

    def dump(self) -> bytes:
        """For the journal's first entry."""
        return msgspec.json.encode(self, order="deterministic")

    def check(self, stored: bytes, folder: object) -> None:
        """Refuse to replay under anything else than the run began with."""
        before = msgspec.json.decode(stored, type=Opening)
        for field, kind in get_type_hints(Opening, include_extras=True).items():
            for name, old, new in _unequal(field, getattr(before, field), getattr(self, field)):
                (remedy,) = kind.__metadata__
                raise LocalError(f"the journal {folder} began with {name} {old}, this start has {new}: {remedy}")


def _unequal(name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the first entries that differ, by name and as shown to a person."""
    if isinstance(old, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _unequal(f"{name}[{key}]", old.get(key), new.get(key))
    elif old != new:
        yield name, _show(old), _show(new)


def _show(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
