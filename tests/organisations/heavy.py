"""A large array from one process to another through the courier, and what it costs each of them."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from organisations.relay import COORDINATOR, Meeting, Relay
from tacit.arrays import F64
from tacit.choreo import Coordinator, Fact, Holder, Message, Roster, Run, entries_of
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.registrar import Registrar
from tacit.crypto.pads.agreement import public_key
from tacit.runtimes.nats.network import Broker

NAMES = {"sent": "p1", "received": COORDINATOR}


class Load(Message, tells=Fact("tests.all_of_it", "holders", "aggregate", "all", "all of it")):
    """An array."""

    values: F64


def transfer(folder: Path, megabytes: int, pause: float = 0.0) -> dict[str, dict[str, Any]]:
    """Seconds, digest and growth of memory at both ends; a receiver can be slow."""
    with Relay(folder, ["p1"]) as relay:
        meeting = Meeting(relay, Roster({Holder: ("p1",), Coordinator: (COORDINATOR,)}))
        order = {
            "folder": str(folder),
            "url": relay.server.url,
            "run": meeting.run,
            "megabytes": megabytes,
            "pause": pause,
        }
        order["keys"] = {p: key.hex() for p, key in meeting.private.items()}
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        children = {
            side: subprocess.Popen(  # noqa: S603 - our own
                [sys.executable, __file__, json.dumps({**order, "me": me})], stdout=subprocess.PIPE, text=True, env=env
            )
            for side, me in NAMES.items()
        }
        told = {side: json.loads(child.communicate(timeout=120)[0]) for side, child in children.items()}
        meeting.close()
    return told


def load(run: Run, megabytes: int) -> Any:
    """One message."""
    made = run.local(Holder, lambda: Load(np.random.default_rng(1).normal(size=megabytes << 17)))
    return run.send(Load, Holder >> Coordinator, made)


def main() -> None:
    """One end of it."""
    order = json.loads(sys.argv[1])
    me, folder = order["me"], Path(order["folder"])
    meeting = Meeting(_Dialled(folder, order["url"], me), Roster({Holder: ("p1",), Coordinator: (COORDINATOR,)}))
    meeting.run, meeting.private = order["run"], {p: bytes.fromhex(key) for p, key in order["keys"].items()}
    meeting.public = {p: public_key(key) for p, key in meeting.private.items()}
    before, start = _peak(), time.monotonic()
    with meeting.relay.brokers[me], meeting.seat(me) as (run, courier, _):
        if me == COORDINATOR:
            time.sleep(order["pause"])
        made = entries_of(load(run, order["megabytes"]))
        seconds, grew = time.monotonic() - start, _peak() - before
        array = (
            made[COORDINATOR]["p1"].values
            if me == COORDINATOR
            else np.random.default_rng(1).normal(size=order["megabytes"] << 17)
        )
        courier.finish(60)
    sys.stdout.write(
        json.dumps({"digest": hashlib.sha256(array.tobytes()).hexdigest(), "grew_mb": grew, "seconds": seconds})
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class _Dialled:
    """As much of a relay as one party sees of it."""

    def __init__(self, folder: Path, url: str, me: str) -> None:
        registrar = Registrar.load(folder / "c" / "registrar")
        self.folder, members = folder, registrar.members
        self.tokens = {p: members.token(p) for p in NAMES.values()}
        identity = Identity.load(folder / "c" / me / "first" / f"{me}.key")
        self.brokers = {me: Broker([url], identity.tls(members.authority), self.tokens[me])}


if __name__ == "__main__":
    main()
