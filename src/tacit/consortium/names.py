"""Names: of members, consortia and hosts; and the opaque tokens that stand for members on the wire.

    data      t.<run>.<sender>.<receiver>     stream R<run>, deleted at the end of the run
    letters   c.<sender>.<receiver>           stream CONTROL: proposals, answers, starts, ends; kept until they are heard
    asking    q.<sender>.<receiver>           no stream: questions and their replies; who is away does not hear them
    inbox     _INBOX_<receiver>.>             replies of the server

A token is the first 16 hex digits of SHA-256 of consortium and name: a log or a stream's listing shows no names. That hides
nothing from a person who knows the names and can hash them too.
"""

from __future__ import annotations

import hashlib
import re
from ipaddress import ip_address
from typing import Literal, get_args

from tacit.errors import LocalError

Kind = Literal["party", "coordinator", "analyst"]
KINDS: tuple[Kind, ...] = get_args(Kind)

CONTROL_STREAM = "CONTROL"
LETTERED: tuple[Kind, ...] = ("party", "coordinator")  # who gets letters
SPOKEN_TO: tuple[Kind, ...] = ("coordinator", "analyst")  # who hears questions or replies

NAME = "[a-z0-9][a-z0-9-]{0,31}"  # no dash first: it would read as an option
_CONSORTIUM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,47}")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_RUN = re.compile(r"[A-Za-z0-9]{1,64}")
_LONGEST_HOST = 253


def check_name(name: str) -> str:
    """A member's name, or an error."""
    if not re.fullmatch(NAME, name):
        raise LocalError(f"the name {name!r} is not allowed: use 1 to 32 of a-z, 0-9 and -, no dash first, for example north-clinic")
    return name


def check_consortium(name: str) -> str:
    """A consortium's name, or an error."""
    if not _CONSORTIUM.fullmatch(name):
        raise LocalError(
            f"the consortium's name {name!r} is not allowed: use 1 to 48 letters, digits, spaces, dots, - and _, a letter or digit first"
        )
    return name


def check_kind(kind: str) -> Kind:
    """A kind of member, or an error."""
    for known in KINDS:
        if kind == known:
            return known
    raise LocalError(f"unknown kind {kind!r}: use one of {', '.join(KINDS)}")


def check_host(host: str) -> str:
    """A host name or an address, or an error."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    # strict, since the server also compares the names in a certificate with its users
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise LocalError(f"the host {host!r} is no host name: give a name such as clearing.example.org, or an address such as 192.0.2.7")
    return host


def token(consortium: str, name: str) -> str:
    """What stands for a member on the wire; names hold no newline, so no two pairs hash alike."""
    return hashlib.sha256(f"{consortium}\n{name}".encode()).hexdigest()[:16]


def stream(run: str) -> str:
    """The stream of a run."""
    return f"R{_check_run(run)}"


def run_subjects(run: str) -> str:
    """All subjects of a run."""
    return f"t.{_check_run(run)}.>"


def data_subject(run: str, sender: str, receiver: str) -> str:
    """Where one member's data for another goes; both are tokens, `*` as sender stands for all."""
    return f"t.{_check_run(run)}.{sender}.{receiver}"


def control_subject(sender: str, receiver: str) -> str:
    """Where one member's letters for another go; both are tokens."""
    return f"c.{sender}.{receiver}"


def question_subject(sender: str, receiver: str) -> str:
    """Where one member's questions to another, and its replies, go; both are tokens."""
    return f"q.{sender}.{receiver}"


def inbox(member: str) -> str:
    """The prefix of the subjects on which a member, a token, gets the server's replies."""
    return f"_INBOX_{member}"


def _check_run(run: str) -> str:
    if not _RUN.fullmatch(run):
        raise LocalError(f"the run {run!r} is no token: use 1 to 64 letters and digits")
    return run
