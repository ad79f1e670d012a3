"""The mail of a journal: bytes fixed before they leave, and bytes kept before they are acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tacit.consortium.journal.bodies import Vault, digest_of
from tacit.consortium.journal.store import Entries, Store
from tacit.errors import LocalError, PeerError

MAX_CHUNKS = 1 << 20
SHOWN = 120  # characters of a place that a peer may have made up
ENDS = "this ends the run"
COMMITTED = "SELECT digest FROM outgoing WHERE receiver = ? AND place = ? ORDER BY chunk"
CHUNKS = "SELECT seq, place, receiver, chunk, digest, data FROM outgoing"
UNPUBLISHED = f"{CHUNKS} WHERE NOT published AND seq > ? ORDER BY seq LIMIT ?"
RECEIVED = "SELECT of, digest, data FROM incoming WHERE sender = ? AND place = ? ORDER BY chunk"
Unsent = tuple[int, str, str, int, bytes]


class Mail(Entries):
    """What went out to whom, and what came in from whom; a message is known by its place and its other end."""

    def __init__(self, store: Store, vault: Vault | None = None) -> None:
        super().__init__(store, vault)
        self._marks: deque[tuple[str, str, int]] = deque()
        store.before_commit = self._write_marks

    # Sending

    def outgoing(self, place: str, receiver: str) -> list[bytes] | None:
        """Return the chunks committed for sending, which win over whatever a replay computes.

        They may leave after `sync`.
        """
        sql = "SELECT digest, data FROM outgoing WHERE receiver = ? AND place = ? ORDER BY chunk"
        return [self._read(*row) for row in self._store.all(sql, receiver, place)] or None

    def commit_outgoing(self, place: str, receiver: str, chunks: Sequence[bytes]) -> None:
        """Fix the final bytes of a message before any of them leaves; the same again changes nothing."""
        if not chunks:
            raise LocalError(f"the message to {receiver} at {place} has no chunks: send at least an empty one")
        with self.batch():
            digests = [digest_of(chunk) for chunk in chunks]
            before = [digest for (digest,) in self._store.all(COMMITTED, receiver, place)]
            if before and before != digests:
                other = f"other bytes were already committed to {receiver} at {place}"
                raise LocalError(f"{other}, and no mask may be put on two values: send outgoing()")
            if not before:
                self._insert(place, receiver, chunks, digests)

    def mark_published(self, place: str, receiver: str, chunk: int) -> None:
        """Mark a chunk that the broker has, with the next commit: without the mark the same bytes leave twice."""
        self._marks.append((receiver, place, chunk))

    def unpublished(self, after: int, most: int) -> list[Unsent]:
        """Return what perhaps never left: at most so many chunks after a number, each with its own number, in order.

        They are on the disk by then, and may leave.
        """
        found = self._store.all(UNPUBLISHED, after, most)
        self.sync()
        return [(seq, place, receiver, chunk, self._read(*body)) for seq, place, receiver, chunk, *body in found]

    # Receiving

    def commit_incoming(self, place: str, sender: str, chunk: int, of: int, data: bytes) -> bool:
        """Keep a chunk before it is acknowledged; True when it is new."""
        if not 0 <= chunk < of <= MAX_CHUNKS:
            raise PeerError(f"{sender} sent chunk {chunk} of {of} at {place[:SHOWN]}, which cannot be: {ENDS}")
        digest = digest_of(data)
        with self.batch():
            if self._is_known(place, sender, chunk, of, digest):
                return False
            body = self._store.bodies.keep(data, digest)
            self._store.run("INSERT INTO incoming VALUES (?, ?, ?, ?, ?, ?)", sender, place, chunk, of, *body)
        return True

    def incoming(self, place: str, sender: str) -> list[bytes] | None:
        """Return all chunks of a message, once all are here."""
        here = self._store.all(RECEIVED, sender, place)
        if not here or len(here) < here[0][0]:
            return None
        return [self._read(*body) for _, *body in here]

    def moved(self) -> list[tuple[str, str, bool]]:
        """(place, other end, whether it was sent) of every message of which anything left or arrived, in order."""
        sent = self._store.all("SELECT place, receiver FROM outgoing WHERE chunk = 0 ORDER BY seq")
        heard = self._store.all("SELECT place, sender FROM incoming GROUP BY place, sender ORDER BY MIN(rowid)")
        return [*((place, peer, True) for place, peer in sent), *((place, peer, False) for place, peer in heard)]

    # High-water marks: each party tells the others what it has of theirs, before anything is sent

    def received(self) -> dict[str, int]:
        """Return from how many messages of each sender anything is here: what to tell that sender."""
        return dict(self._store.all("SELECT sender, COUNT(DISTINCT place) FROM incoming GROUP BY sender"))

    def seen(self, peer: str, n: int) -> None:
        """Refuse this journal if a peer has n messages from here and it knows fewer."""
        (sent,) = self._store.first("SELECT COUNT(DISTINCT place) FROM outgoing WHERE receiver = ?", peer)
        if n > sent:
            older = f"this journal is older than what {peer} has seen ({n} messages, {sent} here)"
            remedy = "bring back the newest copy, or start a new run"
            raise LocalError(f"{older}: restoring it would reuse masks; {remedy}")

    def _insert(self, place: str, receiver: str, chunks: Sequence[bytes], digests: Sequence[bytes]) -> None:
        for i, (chunk, digest) in enumerate(zip(chunks, digests, strict=True)):
            body = self._store.bodies.keep(chunk, digest)
            sql = "INSERT INTO outgoing (receiver, place, chunk, digest, data) VALUES (?, ?, ?, ?, ?)"
            self._store.run(sql, receiver, place, i, *body)

    def _write_marks(self) -> None:
        while self._marks:
            sql = "UPDATE outgoing SET published = 1 WHERE receiver = ? AND place = ? AND chunk = ?"
            self._store.run(sql, *self._marks.popleft())

    def _is_known(self, place: str, sender: str, chunk: int, of: int, digest: bytes) -> bool:
        cut = self._store.first("SELECT of FROM incoming WHERE sender = ? AND place = ? LIMIT 1", sender, place)
        if cut is None:
            return False
        if cut[0] != of:
            raise PeerError(f"{sender} cut one message at {place[:SHOWN]} into {cut[0]} and into {of} chunks: {ENDS}")
        sql = "SELECT digest FROM incoming WHERE sender = ? AND place = ? AND chunk = ?"
        before = self._store.first(sql, sender, place, chunk)
        if before and before[0] != digest:
            raise PeerError(f"{sender} sent other bytes than before at {place[:SHOWN]} (chunk {chunk}): {ENDS}")
        return before is not None
