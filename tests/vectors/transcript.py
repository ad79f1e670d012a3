"""Whole runs as files: what every party sent and received, byte by byte, and how a party is played against such a file.

    python tests/vectors/transcript.py          record the runs anew, after a change of the wire format

A file of `runs/` has every party's envelopes in their order, and digests of its inputs and of its result. A party that
is played against it receives the recorded envelopes and must send exactly the recorded ones. The runs compute with
whole numbers only, so that they are the same on every machine. A file `bad_*` names a run, a change to an envelope, and
the step at which the receiver must stop.
"""

from __future__ import annotations

import hashlib
import json
import queue
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.case import Case, merged, of_party
from conformance.cases import CASES
from tacit.choreo import Roster, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.apart import Apart, QueuePost, queue_posts
from vectors.record import digest

RUNS = Path(__file__).parent / "runs"
JOB = b"transcript vectors"
PARTIES = 3
RECORDED = (
    "align_count",
    "gram_intersection_vertical",
    "secure_or",
    "secure_sum_pairwise_vector",
    "ring_sum_segments",
)


class DifferentError(AssertionError):
    """A party sent something else than the file says."""


@dataclass
class Listening:
    """The post of a party, with a list of all that passes through it."""

    post: QueuePost
    passed: list[tuple[str, str, bytes]] = field(default_factory=list)

    def put(self, receiver: str, data: bytes) -> None:
        """Send, and write it down."""
        self.passed.append(("to", receiver, data))
        self.post.put(receiver, data)

    def get(self, timeout: float) -> tuple[str, bytes]:
        """Receive, and write it down."""
        sender, data = self.post.get(timeout)
        self.passed.append(("from", sender, data))
        return sender, data


@dataclass
class Recorded:
    """A post without anybody at its other end: it hands out what the file says, and compares what is sent."""

    received: list[tuple[str, bytes]]
    sent: list[tuple[str, bytes]]

    def put(self, receiver: str, data: bytes) -> None:
        """Compare with what was sent when the run was recorded."""
        if not self.sent or self.sent.pop(0) != (receiver, data):
            raise DifferentError(f"something else for {receiver}")

    def get(self, timeout: float) -> tuple[str, bytes]:
        """Hand out the next recorded envelope."""
        del timeout
        if not self.received:
            raise queue.Empty
        return self.received.pop(0)


@dataclass(frozen=True)
class Transcript:
    """One party's view of a recorded run."""

    case: Case
    party: str
    inputs: str
    passed: tuple[tuple[str, str, bytes], ...]
    result: str

    def replay(self) -> str:
        """Play the party against its recorded envelopes; return the digest of its result."""
        given = self.case.inputs(roster_of(self.case))
        if digest(of_party(given, self.party)) != self.inputs:
            raise DifferentError("other inputs")
        post = Recorded(
            [(who, data) for way, who, data in self.passed if way == "from"],
            [(who, data) for way, who, data in self.passed if way == "to"],
        )
        run = Apart(self.party, roster_of(self.case), post, job=JOB, entropy=entropy(self.party), patience=0)
        try:
            result = self.case.run(run, of_party(given, self.party))
        except Exception as error:
            error.add_note(run.place)
            raise
        if post.sent or post.received:
            raise DifferentError("envelopes are left over")
        return digest(merged({self.party: result}))


def roster_of(case: Case) -> Roster:
    """Return who takes part in a recorded run."""
    return case.roster(max(PARTIES, case.least))


def entropy(party: str) -> RootEntropy:
    """Return the secrets of a party, which are no secrets here."""
    return RootEntropy((party,), JOB, {party: hashlib.sha256(party.encode()).digest()})


def transcripts(path: Path) -> Iterator[Transcript]:
    """Yield the views of all parties of a recorded run."""
    found = json.loads(path.read_text(encoding="utf-8"))
    for party, view in found["parties"].items():
        passed = tuple((way, who, b64decode(data)) for way, who, data in view["envelopes"])
        yield Transcript(CASES[found["case"]], party, view["inputs"], passed, view["result"])


@dataclass(frozen=True)
class Bad:
    """A recorded run in which a party receives an altered envelope, and where and how it must stop."""

    run: str
    party: str
    sender: str
    envelope: int  # of those from the sender, from 0
    change: str
    place: str
    error: str
    says: str

    def replay(self) -> None:
        """Play the party, which must not come to an end."""
        view = next(each for each in transcripts(RUNS / f"{self.run}.json") if each.party == self.party)
        arrived = [i for i, (way, who, _) in enumerate(view.passed) if (way, who) == ("from", self.sender)]
        passed, at = list(view.passed), arrived[self.envelope]
        way, who, data = passed[at]
        passed[at : at + 1] = [(way, who, altered) for altered in CHANGES[self.change](data)]
        replace(view, passed=tuple(passed)).replay()


def _flip(data: bytes, at: int) -> bytes:
    altered = bytearray(data)
    altered[at] ^= 1
    return bytes(altered)


# what becomes of an envelope: none, one or several
CHANGES: dict[str, Callable[[bytes], list[bytes]]] = {
    "lost": lambda _: [],
    "twice": lambda data: [data, data],
    "cut short": lambda data: [data[:-1]],
    "longer": lambda data: [data + bytes(1)],
    "last word altered": lambda data: [_flip(data, -8)],
    "other version": lambda data: [_flip(data, 4)],
    "body of another version": lambda data: [_flip(data, data.rindex(b"TACT") + 4)],
    "stop": lambda _: [encode(("stop", "p2", "/somewhere", "MemoryError")).join()],
}


def record(name: str) -> None:
    """Play a run in threads, and write all that passed."""
    case = CASES[name]
    roster = roster_of(case)
    given, posts = case.inputs(roster), {p: Listening(post) for p, post in queue_posts(roster.parties).items()}

    def play(me: str) -> str:
        run = Apart(me, roster, posts[me], job=JOB, entropy=entropy(me))
        return digest(merged({me: case.run(run, of_party(given, me))}))

    with ThreadPoolExecutor(len(posts)) as pool:
        results = dict(zip(posts, pool.map(play, posts), strict=True))
    views = {
        party: {
            "inputs": digest(of_party(given, party)),
            "envelopes": [[way, who, b64encode(data).decode()] for way, who, data in post.passed],
            "result": results[party],
        }
        for party, post in posts.items()
    }
    text = json.dumps({"case": name, "parties": views}, indent=1)
    (RUNS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in RECORDED:
        record(each)
