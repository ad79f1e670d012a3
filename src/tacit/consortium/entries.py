"""What the parts of a journal share: the store they write to, and the vault that seals what must not be read there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.consortium.bodies import Body
from tacit.consortium.store import Store
from tacit.consortium.vault import Vault


class Entries:
    """Entries of one journal."""

    def __init__(self, store: Store, vault: Vault | None = None) -> None:
        self._store = store
        self._sealer = vault

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Keep all that is committed inside together, at the price of one sync; other threads wait, so wait for nothing in it.

        Publish and acknowledge after it. An error inside gives up all of it.
        """
        with self._store.batch():
            yield

    def _read(self, digest: bytes, data: bytes | None) -> bytes:
        return self._store.bodies.read(Body(digest, data))
