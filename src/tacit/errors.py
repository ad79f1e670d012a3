"""Errors: whose fault it is decides the class; every text says what, where and what to do."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit


class TacitError(Exception):
    """Anything tacit refuses."""


class LocalError(TacitError, ValueError):
    """Yours: an input, a file or a setting at this very place."""


class PeerError(TacitError, RuntimeError):
    """Theirs: another party sent what the protocol does not allow, or stopped."""


def is_told(kind: str) -> bool:
    """Return whether the reason of a stop is what a protocol said to everybody; else it is the class of an error."""
    return ": " in kind


def describe_stop(place: str, kind: str) -> str:
    """Return where and why somebody stopped."""
    return f"{place}, since {kind}" if is_told(kind) else f"{place} ({kind})"


class ChoreographyError(TacitError, TypeError):
    """The protocol text itself breaks a rule of the language; raised alike at every party."""


class UndisclosedError(TacitError, RuntimeError):
    """A run came to something that the disclosure its people agreed to does not list; raised before it is told."""

    def __init__(self, place: str, facts: str) -> None:
        what = f"the run would tell at {place}: {facts}; the disclosure that was agreed to does not list that"
        super().__init__(f"{what}: nothing of it was sent; compare the sites' versions of tacit, and propose it anew")


class MissingExtraError(TacitError, ImportError):
    """A part of tacit that is installed separately."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return a command that adds an extra to this very installation, in whichever folder it is typed."""
    interpreter = shlex.quote(sys.executable)
    pip = f"{interpreter} -m pip install" if find_spec("pip") else f"uv pip install --python {interpreter}"
    return f"{pip} {_describe_source(extra)}"


def _describe_source(extra: str) -> str:
    """Return what pip is to install: from where this installation came, which a clone or a wheel tells (PEP 610)."""
    try:
        told = json.loads(distribution("tacit").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        told = {"url": Path(__file__).parents[2].as_uri(), "dir_info": {"editable": True}}
    url = str(told.get("url", ""))
    if "dir_info" not in told:
        return shlex.quote(f"tacit[{extra}] @ {url}" if url else f"tacit[{extra}]")
    folder = shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")
    return f"-e {folder}" if told["dir_info"].get("editable") else folder


def printable(text: object) -> str:
    """Return one printable line. Names come from others: control and bidi characters could redraw a terminal."""
    line = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


@contextmanager
def short_warnings() -> Iterator[None]:
    """Have a warning written as one line, without the line of code that it comes from."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, category, *_args, **_named: f"{category.__name__}: {printable(message)}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before
