"""A process that fills its disk under a journal, makes room, and goes on with the same journal."""

import itertools
import resource
import subprocess
import sys
from pathlib import Path

from journals import LARGE, SMALL, content, everything_in, opened

from tacit.errors import LocalError


class SmallDisk:
    """A file system of 2 MB of its own, where the process may mount one."""

    def __init__(self, folder) -> None:
        command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
        subprocess.run(command, check=True)  # noqa: S603 - our own words and a folder of the test
        self.ballast = folder / "ballast"
        self.ballast.write_bytes(bytes(1 << 20))

    def make_room(self):
        self.ballast.unlink()


class SmallFiles:
    """No file may grow beyond what both a body and the log need for a while."""

    def __init__(self, _folder) -> None:
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, self.limits[1]))

    def make_room(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)


def fill(journal, size):
    """Write until it is refused; gives how many were kept, and the refusal."""
    kept = 0
    try:
        for kept in itertools.count():
            journal.commit_outgoing(f"/{size}/{kept}", "hub", [content(f"{size} {kept} {c}", size) for c in range(2)])
    except LocalError as error:
        return kept, str(error)


def check(journal, size, kept):
    for i in range(kept):
        assert journal.outgoing(f"/{size}/{i}", "hub") == [content(f"{size} {i} {c}", size) for c in range(2)]
    assert journal.outgoing(f"/{size}/{kept}", "hub") is None


def main(mode, folder, size):
    disk = {"disk": SmallDisk, "limit": SmallFiles}[mode](folder)
    home = folder / "journal"
    journal = opened(home)
    secret = journal.secret("root", lambda: b"x" * 32)
    kept, error = fill(journal, size)
    sys.stdout.write(f"{error}\n")
    check(journal, size, kept)
    assert b".draft" not in everything_in(home)
    disk.make_room()
    journal.commit_outgoing(f"/{size}/{kept}", "hub", [content(f"{size} {kept} {c}", size) for c in range(2)])
    for again in range(2):
        check(journal, size, kept + 1)
        assert journal.secret("root", bytes) == secret
        journal.close()
        journal = opened(home) if not again else journal
    sys.stdout.write(f"went on after {kept}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), {"small": SMALL * 40, "large": LARGE * 5}[sys.argv[3]])
