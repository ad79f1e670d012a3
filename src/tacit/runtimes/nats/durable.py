"""The run of one party on its own host: whatever moves is in its journal first, so that no crash can lose or change it.

Sending: compute, seal, write the final bytes, sync, publish, mark as published. When a run is played again after a
crash the stored bytes win over recomputation: one mask on two values would give away their difference.
Receiving: write, then compute; sync, then acknowledge. One sync before a message leaves covers all that it was computed
from, so that a round costs each party one. A receiver that waits too long says `want`, and the sender resends its
stored bytes, so that even a wiped broker loses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.choreo.at import At, Carry, Scope, Work, carried_values, entries_of
from tacit.choreo.codec import Frames, decode, encode
from tacit.choreo.fact import read_names, write_names
from tacit.choreo.ledger import Opened, read_rows, write_rows
from tacit.choreo.message import Message
from tacit.choreo.progress import Listener
from tacit.choreo.randomness import Entropy
from tacit.choreo.role import Roster
from tacit.choreo.run import Pair, Run, Seen
from tacit.errors import PeerError
from tacit.runtimes.apart import StoppedError

SLOW = 0.2  # seconds from which a step's result is kept
WANT = 3.0  # seconds of waiting before the sender is asked again
LOOK = 0.5  # seconds between looks at the clock while waiting
OF_RECORDS = "something of records"  # the memo of a run in which it may have moved
SILENT = "silent for over"  # how the kind of a `SilentError` begins


class Memory(Protocol):
    """What a run remembers on disk (`consortium.journal.record`)."""

    resumed: bool

    def batch(self) -> Any: ...  # noqa: D102 - see Journal
    def outgoing(self, place: str, receiver: str) -> list[bytes] | None: ...  # noqa: D102
    def commit_outgoing(self, place: str, receiver: str, chunks: Sequence[bytes]) -> None: ...  # noqa: D102
    def memo(self, place: str) -> bytes | None: ...  # noqa: D102
    def commit_memo(self, place: str, data: bytes) -> None: ...  # noqa: D102
    def checkpoint(self, base: str, t: int, data: bytes) -> None: ...  # noqa: D102
    def append_row(self, row: bytes) -> None: ...  # noqa: D102
    def rows(self) -> list[bytes]: ...  # noqa: D102
    def last_checkpoint(self, base: str) -> tuple[int, bytes] | None: ...  # noqa: D102


class Courier(Protocol):
    """What carries committed chunks (`runtimes.nats.courier`); it also hears stops and heartbeats."""

    def seal(self, place: str, receiver: str, frames: Frames) -> list[bytes]: ...  # noqa: D102 - see NatsCourier
    def unseal(self, sender: str, receiver: str, chunks: Sequence[bytes]) -> Frames: ...  # noqa: D102
    def publish(self) -> None: ...  # noqa: D102
    def collect(self, place: str, senders: Sequence[str]) -> dict[str, Frames]: ...  # noqa: D102
    def wait(self, place: str, senders: Sequence[str], seconds: float) -> None: ...  # noqa: D102
    def want(self, place: str, sender: str) -> None: ...  # noqa: D102
    def silence(self, party: str) -> float: ...  # noqa: D102
    def stalled(self, party: str) -> float: ...  # noqa: D102
    def here(self, place: str) -> None: ...  # noqa: D102

    @property
    def ungreeted(self) -> set[str]: ...  # noqa: D102

    @property
    def failure(self) -> Exception | None: ...  # noqa: D102


@dataclass(frozen=True)
class Limits:
    """How long a party waits: for one that is silent, for one that makes no progress, for stragglers of a gather."""

    silence: float = 600.0
    progress: float = 3600.0
    grace: float = 5.0
    quiet: float = 15.0  # three heartbeats: whoever missed them is not waited for where others suffice


class SilentError(StoppedError):
    """A party is away: every site is told which one, and where it was missed."""

    def __init__(self, party: str, place: str, seconds: float) -> None:
        super().__init__(party, place, f"{SILENT} {seconds:.0f} s")
        self.args = (f"{party} has been silent for over {seconds:.0f} s at {place}: is it running?",)


class Durable(Run):
    """One party's run over a journal and a courier."""

    def __init__(
        self,
        me: str,
        roster: Roster,
        memory: Memory,
        courier: Courier,
        *,
        job: bytes,
        entropy: Entropy,
        limits: Limits | None = None,
        progress: Listener | None = None,
        disclosure: str | None = None,
    ) -> None:
        watched: Any = {"progress": progress, "disclosure": disclosure}
        super().__init__(roster, present=(me,), job=job, entropy=entropy, **watched)
        self.me = me
        self._memory = memory
        self._courier = courier
        self._limits = limits or Limits()
        self._written = (0, 0)  # ledger rows and notes that are in the journal
        self._pages = 0
        self._reached = False  # whether anything that holds something of records has moved, in this process
        self._gone: set[str] = set()  # receivers that a resumed run must do without

    def _each(self, place: str, work: Mapping[str, Work]) -> dict[str, Any]:
        return {party: self._remembered(place, do) for party, do in work.items()}

    def _remembered(self, place: str, do: Work) -> Any:
        """Play a step; remember the result of a slow one, and of one that must not be played twice."""
        if (kept := self._memory.memo(place)) is not None:
            return decode(kept)
        self._courier.here(place)
        start = time.monotonic()
        with self.meter.counting(self.me):
            value = do()
        if do.once or (time.monotonic() - start > SLOW and not _has_message(value)):
            self._memory.commit_memo(place, encode(value).join())
        return value

    def _reach_records(self) -> None:
        if not self._reached:
            self._memory.commit_memo(OF_RECORDS, b"reached")
            self._reached = True

    def _exchange(self, place: str, outbox: Seen, wanted: Sequence[Pair], missing: int | None) -> dict[Pair, Frames]:
        self._courier.here(place)
        seen: dict[Pair, Frames] = {}
        for _, receiver in outbox:  # outside the batch, in which what the others say could not be committed
            self._reassure(place, receiver)
        with self._memory.batch():
            for (_, receiver), frames in self._in_turn(outbox):
                seen[self.me, receiver] = self._commit(place, receiver, frames)
        if outbox:
            self._courier.publish()
        senders = [s for s, _ in wanted if s != self.me]
        return {
            **seen,
            **(self._receive(place, senders) if missing is None else self._gather(place, senders, missing)),
        }

    def _in_turn(self, outbox: Seen) -> list[tuple[Pair, Frames]]:
        """Return what is to be sent, first to the party after this one: who all send at once do not meet at one."""
        order = {party: i for i, party in enumerate(self.roster.parties)}
        return sorted(outbox.items(), key=lambda item: (order[item[0][1]] - order[self.me]) % len(order))

    def _commit(self, place: str, receiver: str, frames: Frames) -> Frames:
        """Return the frames that are really sent: those of before the crash, if there are any."""
        stored = self._memory.outgoing(place, receiver)
        if stored is not None:
            return self._courier.unseal(self.me, receiver, stored)
        if receiver in self._gone:
            return frames
        self._memory.commit_outgoing(place, receiver, self._courier.seal(place, receiver, frames))
        return frames

    def _reassure(self, place: str, receiver: str) -> None:
        """Before a resumed run sends anything new, wait until its receiver says what it has already.

        An old journal would use masks again. A receiver that never says so is sent nothing; a sum that can do without
        it goes on.
        """
        if not self._memory.resumed or self._memory.outgoing(place, receiver) is not None:
            return
        while receiver in self._courier.ungreeted and receiver not in self._gone:
            self._look_after(place, (), 0.0)
            if self._courier.silence(receiver) > self._limits.silence:
                self._gone.add(receiver)
            self._courier.wait(place, (), LOOK)

    def _gather(self, place: str, senders: Sequence[str], missing: int) -> dict[Pair, Frames]:
        """Receive from those who answer in time, and remember who did: on replay a latecomer is as late as before."""
        if (kept := self._memory.memo(f"{place} answered")) is not None:
            return self._receive(place, decode(kept))
        found = self._receive(place, senders, missing)
        self._memory.commit_memo(f"{place} answered", encode(tuple(s for s, _ in found)).join())
        return found

    def _receive(self, place: str, senders: Sequence[str], missing: int | None = None) -> dict[Pair, Frames]:
        found: dict[Pair, Frames] = {}
        start = time.monotonic()
        asked = dict.fromkeys(senders, start)
        enough: float | None = None
        while True:
            here = self._courier.collect(place, [s for s in senders if (s, self.me) not in found])
            found |= {(s, self.me): frames for s, frames in here.items()}
            late = [s for s in senders if (s, self.me) not in found]
            now = time.monotonic()
            if missing is not None and len(late) <= missing:
                enough = enough or now
            if not late or self._gives_up(late, enough, now):
                return found
            self._look_after(place, late, now - start)
            self._ask(place, late, asked)
            self._courier.wait(place, late, LOOK)

    def _gives_up(self, late: Sequence[str], enough: float | None, now: float) -> bool:
        """Whether a gather goes on without those who are late: at once without the dead, later without the slow."""
        dead = all(self._courier.silence(s) > self._limits.quiet for s in late)
        return enough is not None and (dead or now - enough > self._limits.grace)

    def _ask(self, place: str, late: Sequence[str], asked: dict[str, float]) -> None:
        """Ask those again from whom nothing has come for a while; large messages take their time."""
        now = time.monotonic()
        for sender in late:
            if now - asked[sender] > WANT and self._courier.stalled(sender) > WANT:
                asked[sender] = now
                self._courier.want(place, sender)

    def _look_after(self, place: str, late: Sequence[str], waited: float) -> None:
        """Raise if waiting makes no sense any more."""
        if self._courier.failure:
            raise self._courier.failure
        for sender in late:
            if self._courier.silence(sender) > self._limits.silence:
                raise SilentError(sender, place, self._limits.silence)
        if waited > self._limits.progress:
            raise PeerError(
                f"{', '.join(late)} lives but sent nothing at {place} for {self._limits.progress:.0f} s: see its log"
            )

    # Checkpoints

    def _finish_round(self, base: str, t: int, carry: Carry) -> None:
        """Commit at once what the round added and the state in which it ended."""
        rows, notes = self._written
        page = (write_rows(self.ledger.rows[rows:]), tuple(self.history[notes:]))
        self._written = (len(self.ledger.rows), len(self.history))
        self._pages += 1
        state = {
            "carry": {name: _entry_of(value) for name, value in carried_values(carry).items()},
            "transcript": self.transcript[self.me],
            "opens": tuple((o.protocol, o.role, write_names(o.facts)) for o in self.ledger.opens),
            "pages": self._pages,
            "absent": self.roster.absent,
        }
        with self._memory.batch():
            self._memory.append_row(encode(page).join())
            self._memory.checkpoint(base, t, encode(state).join())

    def _resume(self, base: str, carry: Carry) -> int:
        last = self._memory.last_checkpoint(base)
        if last is None:
            return 0
        t, data = last
        state = decode(data)
        for name, (owners, value) in state["carry"].items():
            setattr(carry, name, value if owners is None else self._hold_again(owners, value, self._scope))
        self.leave_out([party for party in state["absent"] if party not in self.roster.absent])
        self.transcript[self.me] = state["transcript"]
        self.ledger.opens[:] = [Opened(protocol, role, read_names(names)) for protocol, role, names in state["opens"]]
        self._pages = state["pages"]
        pages = [decode(page) for page in self._memory.rows()[: self._pages]]
        self.ledger.rows[:] = [row for rows, _ in pages for row in read_rows(rows)]
        self.history[:] = [note for _, notes in pages for note in notes]
        self._written = (len(self.ledger.rows), len(self.history))
        return t + 1

    def _hold_again(self, owners: tuple[str, ...], value: Any, scope: Scope) -> At[Any]:
        return At(owners, {self.me: value} if self.me in owners else {}, scope)


def _entry_of(value: Any) -> tuple[Any, Any]:
    """Return a carried value as (owners, own entry), or (None, plain value)."""
    if isinstance(value, At):
        return value.owners, next(iter(entries_of(value).values()), None)
    return None, value


def _has_message(value: Any) -> bool:
    """Whether a result holds a message: a receiver's type reads it back, so such a step is played again."""
    if isinstance(value, (tuple, dict)):
        return any(_has_message(v) for v in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, Message)
