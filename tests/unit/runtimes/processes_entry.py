"""What the parties of `test_runtime_processes` do, each in a process of its own."""

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Coordinator, Everyone, Fact, Holder, LocalError, Message, choreography, encode, entries_of

LARGE = 8 << 20
SECRET = "the patient is 47"  # noqa: S105 - no password


class Vector(Message, tells=Fact("tests.a_vector", "holders", "aggregate", "all", "a vector")):
    values: F64


def large(sender, receiver):
    """8 MB that only this pair has."""
    return (f"{sender}>{receiver};".encode() * LARGE)[:LARGE]


def swap(run, _payload):
    """Everybody posts to everybody before anybody reads, in three waves."""
    others = [p for p in run.roster.parties if p != run.me]
    for _ in range(3):
        for other in others:
            run.post.put(other, large(run.me, other))
    got = [run.post.get(30.0) for _ in range(3 * len(others))]
    ok = all(data == large(sender, run.me) for sender, data in got)
    return encode((ok, tuple(sorted(sender for sender, _ in got)))).join()


@choreography(opens={Everyone: Fact("tests.sums", "holders", "aggregate", "all", "sums")})
def exchanged(run):
    """All holders send each other 8 MB in one round; the coordinator stands by."""
    mine = run.local(Holder, lambda me: Vector(np.full(LARGE // 8, float(ord(me[0])))), run.who(Holder))
    arrived = run.send(Vector, Holder >> Holder, mine)
    return run.local(
        Holder, lambda inbox: tuple((s, float(m.values.mean()), m.values.size) for s, m in inbox.items()), arrived
    )


def exchange(run, _payload):
    return encode(dict(entries_of(exchanged(run)))).join()


def echo(run, payload):
    return run.me.encode() + b" " + payload


def failing(error):
    def step(me):
        if me == "ann":
            raise error(SECRET)
        return Vector(np.zeros(1))

    def play(run, _payload):
        run.send(Vector, Holder >> Coordinator, run.local(Holder, step, run.who(Holder)))
        run.publish(Vector, run.local(Coordinator, lambda: Vector(np.zeros(1))))
        return b""

    return play


local_error = failing(LocalError)
any_error = failing(ZeroDivisionError)
