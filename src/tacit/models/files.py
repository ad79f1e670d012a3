"""Model files, without pickle.

    "tacit model 1" newline, a header of one line of JSON, newline, a codec frame, SHA-256 of all before

The header is for people and for the data-protection officer: `head -2 model.tacit` says whose records the file
contains.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tacit.arrays import Array
from tacit.choreo import decode, encode
from tacit.choreo.codec import VERSION
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole
from tacit.numeric.svm.kernels import OVO, OVR, count_problems

MAGIC = b"tacit model 1\n"
FRAMES = (1, VERSION)  # a frame of 0.1.0 has the same form; its number told messages apart
DIGEST = hashlib.sha256().digest_size


def write(path: str | Path, header: dict[str, Any], content: Any) -> Path:
    """Write a header that people can read and any wire-form content."""
    line = json.dumps(header, ensure_ascii=True, sort_keys=True).encode() + b"\n"
    body = MAGIC + line + encode(content).join()
    return write_whole(path, body + hashlib.sha256(body).digest(), "the model")


def read(path: str | Path) -> tuple[dict[str, Any], Any]:
    """Return header and content; refuse what is not a whole, unaltered model file."""
    data = _bytes(Path(path))
    if not data.startswith(MAGIC):
        raise LocalError(
            f"{path} is not a tacit model file of this version: give a file that `tacit train --out` or save() wrote"
        )
    body, digest = data[:-DIGEST], data[-DIGEST:]
    if not hmac.compare_digest(hashlib.sha256(body).digest(), digest):
        raise LocalError(f"{path} is damaged or truncated (its checksum does not match): copy it again or train again")
    try:
        end = body.index(b"\n", len(MAGIC))
        return msgspec.json.decode(body[len(MAGIC) : end], type=dict[str, Any]), decode(
            body[end + 1 :], versions=FRAMES
        )
    except (ValueError, RecursionError, PeerError):
        raise unreadable(path) from None


def unreadable(path: str | Path) -> LocalError:
    """Return the error for a whole file with something else in it."""
    return LocalError(
        f"{path} does not hold a model that this version reads: train again with this one, or use the version"
        " that wrote it (version 0.2 for models of 0.1 and 0.2)"
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LocalError(f"the model {path} cannot be read: {error.strerror}; correct the path") from None


# Shapes that must agree with each other, so that a model from a file computes or is refused.
#
# A file can declare any shape for an array without entries, and any number where a size is meant. What is made of them
# later would be of that size too: so each dimension of a model is one that its features, its parties or the entries of
# its arrays have.


NEVER_NONE = frozenset({"columns", "decisions", "problems", "size", "nodes"})
TWO = 2  # classes that one decision value tells apart


class MisfitError(LocalError):
    """Parts of a model that do not belong together."""


class Shapes:
    """Sizes by name: of the columns, each holder's columns and decision values, as given.

    Of others, as the first array has them.
    """

    def __init__(self, held: Mapping[str, int], columns: int, classes: int) -> None:
        self.held = held
        self.columns = columns
        self.classes = classes
        self._sizes = {"columns": columns, **({"decisions": 1 if classes == TWO else classes} if classes else {})}

    def fit(self, array: Array | None, *sizes: str | int) -> None:
        """Raise unless the array is there in this shape; a size is a number, or the name of one."""
        if array is None or array.ndim != len(sizes):
            raise MisfitError(f"an array does not have {len(sizes)} dimensions")
        for found, size in zip(array.shape, sizes, strict=True):
            self.same(size, found)

    def same(self, size: str | int, found: int) -> None:
        """Raise unless a size is what others of that name are."""
        if found != (self._sizes.setdefault(size, found) if isinstance(size, str) else size) or (
            size in NEVER_NONE and found < 1
        ):
            raise MisfitError(f"there are {found} {size}, and other parts have another number of them")

    def told_apart(self, multi_class: str) -> None:
        """Take as many problems as the classes are when they are told apart in this way; refuse another way."""
        among(multi_class, (OVR, OVO), "way to tell classes apart")
        if self.classes:
            self.same("problems", count_problems(self.classes, multi_class))

    def of_holders(self, names: Iterable[str]) -> None:
        """Raise unless these are the holders."""
        if {*names} != {*self.held}:
            raise MisfitError("the parties of a model are not those that hold its features")

    def fit_sigmoids(self, sigmoids: Array | None) -> None:
        """Raise unless there are none, or an A and a B for every decision value."""
        if sigmoids is not None:
            self.fit(sigmoids, "decisions", 2)


def among(value: object, known: Iterable[object], what: str) -> None:
    """Raise unless a value is one of those that are known."""
    if value not in known:
        raise MisfitError(f"there is no {what} of that name")


def below(numbers: Iterable[int], end: int) -> None:
    """Raise unless all are numbers of one of so many things."""
    if any(not 0 <= number < end for number in numbers):
        raise MisfitError(f"a number is not one of {end}")
