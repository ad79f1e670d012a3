"""The newest version of the list of members that a site has seen, kept where it outlives the process.

    state/members.seen    {registrar: version}, each registrar by the digest of its key

Whoever can put an old list in place of the new one while a site is down could bring a revoked key back. A site that pins another
registrar begins anew with that one's versions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacit.consortium.members import Members
from tacit.errors import LocalError
from tacit.files import write_whole

FILE = "members.seen"


def refuse_older(state: Path, members: Members, what: str) -> None:
    """Raise if this site has seen a newer list of the same registrar."""
    members.refuse_older(_seen(state).get(members.registrar, 0), what)


def remember(state: Path, members: Members) -> None:
    """Write down the version of a list that is in use, unless a newer one is there."""
    seen = _seen(state)
    if members.version > seen.get(members.registrar, 0):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = msgspec.json.encode({**seen, members.registrar: members.version})
        write_whole(state / FILE, content, "the version of the list of members")


def _seen(state: Path) -> dict[str, int]:
    file = state / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LocalError(f"{file} cannot be read: {error.strerror}; correct its owner") from None
    except (ValueError, RecursionError):
        raise LocalError(f"{file} is damaged: restore it from a backup, or ask the registrar for the newest list and remove it") from None
