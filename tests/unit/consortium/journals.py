"""An opening, a key and bytes to write, for the tests of the journal and the processes they kill."""

import hashlib

from tacit.consortium.journal.record import Journal, Opening

KEY = bytes(range(32))
OPENING = Opening(
    run="run-7", party="north", roster="r" * 64, protocol="gram", source="s" * 64, data="d" * 64,
    versions={"tacit": "0.1.0", "numpy": "2.4.6"}, blas_threads=1, job="j" * 64,
)  # fmt: skip
LARGE = 70_000  # stands in a file
SMALL = 100  # stands in its row


def opened(folder):
    return Journal.open(folder, OPENING, KEY)


def content(name, size):
    """Bytes that only this name has."""
    return hashlib.shake_128(name.encode()).digest(size)


def everything_in(folder):
    """All bytes of a folder, file names too."""
    return b"".join(p.name.encode() + p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())
