"""A process that forks workers to be killed: each goes on with the journal and says what it believes to be kept."""

import itertools
import os
import sys

from journals import LARGE, SMALL, content, opened


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def size(i):
    return LARGE if i % 3 == 0 else SMALL


def step(journal, i):
    with journal.batch():
        for receiver in ("south", "hub"):
            journal.commit_outgoing(f"/{i}", receiver, [content(f"out {i} {receiver} {c}", size(i)) for c in range(2)])
        journal.append_row(str(i).encode())
    say("sent", i)
    for c in range(3):
        journal.commit_incoming(f"/{i}", "south", c, 3, content(f"in {i} {c}", size(i)))
        say("chunk", i, c)
    journal.commit_memo(f"/{i}", content(f"memo {i}", size(i)))
    journal.checkpoint("/round", i, content(f"state {i}", size(i)))
    say("kept", i)


def work(folder):
    journal = opened(folder)
    say("secret", journal.secret("root", lambda: os.urandom(32)).hex())
    for i in itertools.count(len(journal.rows())):
        step(journal, i)


def main():
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            work(sys.argv[1])
        say("pid", pid)
        os.waitpid(pid, 0)
        say("dead", pid)


if __name__ == "__main__":
    main()
