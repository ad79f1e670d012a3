"""Sums in a loop that never repeat a step, log what they masked, and kill their worker or executor once."""

from __future__ import annotations

import hashlib
import os
import signal
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Fact, Frames, Holder, Message, Roster, Run, choreography, decode_as
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.protocols.sums.secure_sum import Masked, add_masked, mask, open_added, protect
from tacit.runtimes.spark.cluster import Spark

ROSTER = Roster({Holder: ("p1", "p2", "p3"), Coordinator: ("coordinator",)})
FIXED = FixedPoint(32, terms=3)
STATE, NOISE = slice(0, 4), slice(4, 8)


class Told(Message, tells=Fact("tests.the_sum", "holders", "aggregate", "all", "the sum")):
    total: F64


@choreography(
    opens={Everyone: Fact("tests.the_sum_of_every_round", "holders", "aggregate", "all", "the sum of every round")}
)
def noisy_sums(
    run: Run, x: At[Any], *, rounds: int, folder: str, victim: str, fatal: tuple[int, ...], whom: str
) -> list[F64]:
    """Each round adds 1 to what the holders keep, and sums it beside fresh noise."""
    by, s, totals = protect(run), run.carry(x=x), []
    for t in run.rounds(rounds, s):
        s.x = run.local(Holder, grown, s.x)
        noisy = run.local(Holder, disturbed, s.x)
        masked = run.local(Holder, mask, noisy, run.pads(by.seeds, run.tag()), run.who(Holder), FIXED, "noise", Z64)
        run.local(Holder, logged, masked, run.who(Holder), t, folder, victim if t in fatal else "", whom)
        total = run.local(Coordinator, unmask, run.send(Masked, Holder >> Coordinator, masked))
        totals.append(run.publish(Told, run.local(Coordinator, Told, total)).total)
    return totals


def unmask(messages: Mapping[str, Masked]) -> F64:
    return open_added(add_words(messages.values()), FIXED)


def grown(x: F64) -> F64:
    return x + 1.0


def disturbed(x: F64) -> F64:
    """Not pure, on purpose: a task that is tried again masks another value."""
    return np.concatenate([x, np.frombuffer(os.urandom(32), np.uint64) / 2.0**60])


def logged(masked: Masked, me: str, t: int, folder: str, victim: str, whom: str) -> None:
    """The sender's own audit; the victim dies after it, once in a round."""
    log = Path(folder) / f"{me}-{t}"
    log.mkdir(exist_ok=True)
    first = not any(log.iterdir())
    (log / uuid.uuid4().hex).write_text(digest(masked))
    if first and me == victim:
        os.kill(os.getpid() if whom == "worker" else parent(parent(os.getpid())), signal.SIGKILL)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def digest(masked: Masked) -> str:
    return hashlib.sha256(masked.words.tobytes()).hexdigest()


class Watched(Spark):
    """Keeps what reached the driver."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arrived: dict[tuple[str, str], list[Frames]] = {}

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        for (sender, _), frames in outbox.items():
            self.arrived.setdefault((place, sender), []).append(frames)
        return super()._exchange(place, outbox, wanted, missing)


def play(sc: Any, folder: str, *, rounds: int, fatal: tuple[int, ...], whom: str, victim: str = "p2") -> dict[str, Any]:
    """How the run came out.

    The state that was kept, and for each round what was masked at the victim and what arrived of it.
    """
    with Watched(ROSTER, ROSTER[Holder], sc=sc, job=os.urandom(16)) as run:
        x = run.hold(Holder, {p: np.full(4, float(k)) for k, p in enumerate(ROSTER[Holder])})
        totals = noisy_sums(run, x, rounds=rounds, folder=folder, victim=victim, fatal=fatal, whom=whom)
        run.finish()
    arrived = [
        f
        for (place, sender), frames in run.arrived.items()
        for f in frames
        if sender == victim and place.endswith("Masked")
    ]
    return {
        "state": [total[STATE].tolist() for total in totals],
        "noise": [total[NOISE].tolist() for total in totals],
        "arrived": [digest(decode_as(Masked, frames)) for frames in arrived],
        "masked": [sorted(f.read_text() for f in (Path(folder) / f"{victim}-{t}").iterdir()) for t in range(rounds)],
    }


def check(found: dict[str, Any], *, rounds: int, fatal: tuple[int, ...]) -> None:
    """What the holders kept survived; of each masked vector one version arrived, though more than one was made."""
    assert found["state"] == [[3.0 + 3 * (t + 1)] * 4 for t in range(rounds)]
    assert len(found["arrived"]) == rounds
    for t, (arrived, masked) in enumerate(zip(found["arrived"], found["masked"], strict=True)):
        assert arrived in masked
        assert len(set(masked)) == len(masked), "noise makes every version another"
        assert len(masked) >= (2 if t in fatal else 1)


def killed(x: F64) -> F64:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def failing(x: F64) -> F64:
    raise ValueError(f"the value was {x}")


def as_masked(x: F64) -> Masked:
    return Masked(x.astype(np.uint64), x.shape)


def add_words(messages: Iterable[Masked]) -> Masked:
    return add_masked(messages, Z64)
