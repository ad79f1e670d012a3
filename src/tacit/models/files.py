"""Model files, without pickle.

    "tacit model 1" newline, a header of one line of JSON, newline, a codec frame, SHA-256 of all before

The header is for people and for the data-protection officer: `head -2 model.tacit` says whose records the file
contains.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import msgspec

from tacit.choreo import decode, encode
from tacit.choreo.codec import VERSION
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

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
