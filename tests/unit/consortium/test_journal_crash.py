"""The journal under `kill -9` and on a disk without room."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from crashing import size
from journals import content, opened

HERE = Path(__file__).parent
KILLS = 15


@contextmanager
def workers(folder):
    """The process that forks the ones to be killed."""
    command = [sys.executable, str(HERE / "crashing.py"), str(folder)]
    # our own script
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        yield process
        process.stdin.close()


def killed(process, seconds):
    """Let a worker run for a while, kill it, and give what it said."""
    process.stdin.write("go\n")
    process.stdin.flush()
    said = [process.stdout.readline().split() for _ in range(2)]  # its pid and its secret, in whatever order
    (pid,) = [int(words[1]) for words in said if words[0] == "pid"]
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    for line in process.stdout:
        if line.split()[0] == "dead":
            return said
        said.append(line.split())
    pytest.fail("the worker's parent is gone")


def check(journal, said):
    """All that was said is there; what was not said is there as a whole or not at all."""
    rows = len(journal.rows())
    for kind, *what in said:
        if kind == "sent":
            assert int(what[0]) < rows
        elif kind == "kept":
            assert journal.memo(f"/{what[0]}") == content(f"memo {what[0]}", size(int(what[0])))
            assert journal.last_checkpoint("/round")[0] >= int(what[0])
        elif kind == "chunk":
            i, c = what
            assert not journal.commit_incoming(f"/{i}", "south", int(c), 3, content(f"in {i} {c}", size(int(i))))
    for i in range(rows + 2):
        check_step(journal, i, there=i < rows)


def check_step(journal, i, *, there):
    for receiver in ("south", "hub"):
        chunks = [content(f"out {i} {receiver} {c}", size(i)) for c in range(2)]
        assert journal.outgoing(f"/{i}", receiver) == (chunks if there else None)
    assert journal.incoming(f"/{i}", "south") in (None, [content(f"in {i} {c}", size(i)) for c in range(3)])
    assert journal.memo(f"/{i}") in (None, content(f"memo {i}", size(i)))


@pytest.mark.slow
def test_what_was_committed_survives_kill_9_at_any_moment(tmp_path):
    folder, roots, kills, rows = tmp_path / "journal", set(), 0, 0
    with workers(folder) as process:
        while (
            kills < KILLS or rows <= KILLS
        ):  # a busy machine needs more of them to get anywhere; the suite's limit of time ends it
            kills += 1
            said = killed(process, random.uniform(0.0, 0.1))  # noqa: S311 - when to kill is no secret
            roots |= {what[0] for kind, *what in said if kind == "secret"}
            with opened(folder) as journal:
                check(journal, said)
                t, state = journal.last_checkpoint("/round") or (0, content("state 0", size(0)))
                assert state == content(f"state {t}", size(t))
                assert not list((folder / "bodies").glob("*.draft"))
                rows = len(journal.rows())
    assert len(roots) == 1


def filled(mode, folder, kind):
    command = [sys.executable, str(HERE / "filling.py"), mode, str(folder), kind]
    if mode == "disk":
        command = ["unshare", "--mount", *command]  # a mount that no other process sees and that ends with this one
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own script
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def may_mount(folder):
    try:
        trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
        return subprocess.run(trial, capture_output=True, check=False).returncode == 0  # noqa: S603 - our own words
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("kind", ["small", "large"])
def test_a_full_disk_is_one_line_and_the_journal_goes_on_when_there_is_room(tmp_path, kind):
    if not may_mount(tmp_path):
        pytest.skip("this user may not mount a small disk; the next test limits the size of files instead")
    error, went_on = filled("disk", tmp_path, kind)
    assert error.endswith(
        "has no room left on its disk: free some space and start again; what was committed before is safe"
    )
    assert went_on.startswith("went on after")


@pytest.mark.parametrize("kind", ["small", "large"])
def test_a_file_that_may_not_grow_is_one_line_and_the_journal_goes_on_when_it_may(tmp_path, kind):
    error, went_on = filled("limit", tmp_path, kind)
    assert "start again; what was committed before is safe" in error
    assert went_on.startswith("went on after")
