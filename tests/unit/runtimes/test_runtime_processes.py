"""Every party in a process of its own, over sockets."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import processes_entry as entry
import pytest

from tacit.choreo import LocalError, Roster, decode
from tacit.choreo.role import Holder
from tacit.runtimes.processes import LENGTH, SocketPost, in_processes

TWO = Roster({Holder: ("ann", "ben")})


def played(roster, name, payload=b""):
    return in_processes(roster, f"{entry.__name__}:{name}", dict.fromkeys(roster.parties, payload), job=b"job")


@pytest.fixture
def posts():
    """Two posts of this process and the bare ends of their link."""
    ends = socket.socketpair()
    made = [SocketPost({other: end}) for other, end in zip(("ben", "ann"), ends, strict=True)]
    yield *made, *ends
    for post in made:
        post.close()
    for end in ends:
        end.close()


def test_every_party_gets_its_own_payload_and_gives_its_own_answer(roster):
    payloads = {p: p.upper().encode() for p in roster.parties}
    answers = in_processes(roster, f"{entry.__name__}:echo", payloads, job=b"job")
    assert answers == {p: f"{p} {p.upper()}".encode() for p in roster.parties}


def test_two_posts_exchange_8_megabytes_in_both_directions_at_once():
    answers = {p: decode(answer) for p, answer in played(TWO, "swap").items()}
    assert answers == {"ann": (True, ("ben",) * 3), "ben": (True, ("ann",) * 3)}


def test_four_posts_exchange_8_megabytes_each_way_at_once(roster):
    answers = {p: decode(answer) for p, answer in played(roster, "swap").items()}
    assert answers == {p: (True, tuple(q for q in roster.parties for _ in range(3) if q != p)) for p in roster.parties}


def test_holders_send_each_other_8_megabytes_in_one_round(roster):
    answers = {p: decode(answer) for p, answer in played(roster, "exchange").items()}
    words = entry.LARGE // 8
    holders = ("ann", "ben", "cat")
    assert answers == {"hub": {}} | {
        p: {p: tuple((q, float(ord(q[0])), words) for q in holders if q != p)} for p in holders
    }


def test_the_error_of_a_party_comes_out_as_its_own_class_and_not_as_an_echo(roster):
    with pytest.raises(LocalError, match=rf"^ann: {entry.SECRET}$"):
        played(roster, "local_error")


def test_a_party_that_fails_in_any_way_is_found_out_soon():
    """In a process group of its own, so that what hangs can be ended."""
    code = f"""if True:
        from tacit.choreo.role import Coordinator, Holder, Roster
        from tacit.runtimes.processes import in_processes
        roster = Roster({{Holder: ("ann", "ben", "cat"), Coordinator: ("hub",)}})
        in_processes(roster, "{entry.__name__}:any_error", {{p: b"" for p in roster.parties}}, job=b"job")
    """
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    child = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code],
        env=path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, told = child.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        pytest.fail("the parties wait for ann, who is out")
    assert child.returncode
    assert b"ann" in told
    assert b"nothing came" not in told


def test_a_post_delivers_in_order_whatever_the_sizes(posts):
    ann, ben, *_ = posts
    sent = [bytes([n % 256]) * size for n, size in enumerate((0, 1, 7, 8, 9, 1 << 16, 1 << 20, 0, 3))]
    for data in sent:
        ann.put("ben", data)
        ben.put("ann", data[::-1])
    assert [ben.get(5.0) for _ in sent] == [("ann", data) for data in sent]
    assert [ann.get(5.0) for _ in sent] == [("ben", data) for data in sent]


def test_put_does_not_wait_for_the_receiver():
    with ExitStack() as stack:
        mine, theirs = (stack.enter_context(s) for s in socket.socketpair())
        post = SocketPost({"ben": mine})
        start = time.monotonic()
        post.put("ben", bytes(entry.LARGE))
        assert time.monotonic() - start < 1.0
        drain = threading.Thread(target=lambda: [None for _ in iter(lambda: theirs.recv(1 << 16), b"")])
        drain.start()
        post.close()  # sends what is queued, and then says that no more will come
        drain.join(10.0)
        assert not drain.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_envelope_over_the_limit_is_not_even_made_room_for():
    failed = []
    hook, threading.excepthook = threading.excepthook, lambda args: failed.append(args.exc_type)
    try:
        mine, theirs = socket.socketpair()
        post = SocketPost({"ben": mine})
        with theirs:
            theirs.sendall(LENGTH.pack((1 << 64) - 1) + b"x")
        time.sleep(0.2)
        post.close()
        mine.close()
    finally:
        threading.excepthook = hook
    assert failed == []
