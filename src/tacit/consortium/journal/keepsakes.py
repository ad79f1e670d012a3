"""What a party keeps for itself in a journal, encrypted: secrets, results of slow steps, the state at a round's end."""

from __future__ import annotations

from collections.abc import Callable

from tacit.consortium.journal.bodies import Body, digest_of
from tacit.consortium.journal.store import Entries
from tacit.consortium.journal.vault import Vault
from tacit.errors import LocalError

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
