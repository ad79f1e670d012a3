"""Files that are whole or not there: readers see the old content or the new one, never a half."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from tacit.errors import LocalError


def write_whole(path: str | os.PathLike[str], content: bytes, what: str) -> Path:
    """Write a new file beside the target, then put it in its place; `what` names it in an error."""
    target = Path(path)
    # not tempfile: its files are private to the writer, and these are meant to be shared as the umask says
    draft = target.parent / f".{target.name}.{secrets.token_hex(4)}.tmp"
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise LocalError(
            f"{what} cannot be written to {target}: {error.strerror}; name a file in a directory that exists and is yours to write"
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return target
