"""Names: of members, consortia and hosts; and the opaque tokens that stand for members on the wire.

    data      t.<run>.<sender>.<receiver>     stream R<run>, deleted at the end of the run
    letters   c.<sender>.<receiver>           stream CONTROL: proposals, answers, starts, ends; kept until heard
    asking    q.<sender>.<receiver>           no stream: questions and their replies; who is away does not hear them
    inbox     _INBOX_<receiver>.>             replies of the server

A token is the first 16 hex digits of SHA-256 of consortium and name: a log or a stream's listing shows no names. That
hides nothing from a person who knows the names and can hash them too.
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
_LONGEST_HOST = 253


def check_name(name: str) -> str:
    """Return a member's name, or raise."""
    if not re.fullmatch(NAME, name):
        example = "use 1 to 32 of a-z, 0-9 and -, no dash first, for example north-clinic"
        raise LocalError(f"the name {name!r} is not allowed: {example}")
    return name


def check_consortium(name: str) -> str:
    """Return a consortium's name, or raise."""
    if not _CONSORTIUM.fullmatch(name):
        allowed = "use 1 to 48 letters, digits, spaces, dots, - and _, a letter or digit first"
        raise LocalError(f"the consortium's name {name!r} is not allowed: {allowed}")
    return name


def check_kind(kind: str) -> Kind:
    """Return a kind of member, or raise."""
    for known in KINDS:
        if kind == known:
            return known
    raise LocalError(f"unknown kind {kind!r}: use one of {', '.join(KINDS)}")


def check_host(host: str) -> str:
    """Return a host name or an address, or raise."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    # strict, since the server also compares the names in a certificate with its users
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        example = "give a name such as clearing.example.org, or an address such as 192.0.2.7"
        raise LocalError(f"the host {host!r} is not a host name: {example}")
    return host


def token(consortium: str, name: str) -> str:
    """Return what stands for a member on the wire; names hold no newline, so no two pairs hash alike."""
    return hashlib.sha256(f"{consortium}\n{name}".encode()).hexdigest()[:16]


def control_subject(sender: str, receiver: str) -> str:
    """Return where one member's letters for another go; both are tokens."""
    return f"c.{sender}.{receiver}"


def question_subject(sender: str, receiver: str) -> str:
    """Return where one member's questions to another, and its replies, go; both are tokens."""
    return f"q.{sender}.{receiver}"


def inbox(member: str) -> str:
    """Return the prefix of the subjects on which a member, a token, gets the server's replies."""
    return f"_INBOX_{member}"
