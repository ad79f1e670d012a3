"""Files that are whole or not there: readers see the old content or the new one, never a half."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from tacit.errors import LocalError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def write_whole(path: str | os.PathLike[str], content: bytes, what: str, *, private: bool = False) -> Path:
    """Write a new file beside the target, then put it in its place.

    `what` names it in an error, `private` keeps others out.
    """
    target = Path(path)
    # not tempfile: its files are private to the writer, and these are meant to be shared as the umask says
    draft = target.parent / f".{target.name}.{secrets.token_hex(4)}.tmp"
    try:
        with open(draft, "xb", opener=_private if private else None) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        remedy = (
            "free some space" if error.errno in FULL else "name a file in a directory that exists and is yours to write"
        )
        raise LocalError(f"{what} cannot be written to {target}: {error.strerror}; {remedy}") from error
    finally:
        draft.unlink(missing_ok=True)
    return target


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
