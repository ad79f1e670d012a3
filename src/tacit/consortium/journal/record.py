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

from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Self

from tacit.consortium.journal.keepsakes import Keepsakes
from tacit.consortium.journal.mail import Mail
from tacit.consortium.journal.opening import Opening
from tacit.consortium.journal.store import BODIES, NAME, Store
from tacit.consortium.journal.trouble import InUseError, explain_errors
from tacit.consortium.journal.vault import Vault
from tacit.errors import LocalError

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
