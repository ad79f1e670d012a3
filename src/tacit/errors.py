"""Errors: whose fault it is decides the class; every text says what, where and what to do."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

INSIDE = ("tacit", "sklearn", "joblib")  # packages whose lines are not those of a caller


class TacitError(Exception):
    """The base class of everything that tacit refuses."""


class LocalError(TacitError, ValueError):
    """An error on your side: an input, a file or a setting here."""


class PeerError(TacitError, RuntimeError):
    """An error on another side: another party sent what the protocol does not allow, or stopped."""


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
        super().__init__(
            f"{what}: nothing of it was sent; compare the sites' versions of tacit, and propose the job again"
        )


class MissingExtraError(TacitError, ImportError):
    """A part of tacit that is installed separately."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return a command that adds an extra to this very installation, in whichever folder it is typed."""
    source, interpreter = " ".join(_describe_source(extra)), _quote(sys.executable)
    if _is_managed():  # pip refuses to change such a Python (PEP 668): an environment on top of it sees what is there
        above = f"{interpreter} -m venv --system-site-packages tacit-{extra}"
        return f"{above} && tacit-{extra}/bin/python -m pip install {source}"
    pip = f"{interpreter} -m pip install" if find_spec("pip") else f"uv pip install --python {interpreter}"
    return f"{pip} {source}"


def _describe_source(extra: str) -> list[str]:
    """Return what pip is to install: from where this installation came, which a clone or a wheel tells (PEP 610).

    One that does not tell came from a system's package, or an index of its own. There the parts of the extra are named,
    and never tacit: on the public index another project has that name.
    """
    try:
        told = json.loads(distribution("tacit").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        told = {"url": Path(__file__).parents[2].as_uri(), "dir_info": {"editable": True}}
    url = str(told.get("url", ""))
    if not url:
        return [_quote(each) for each in _list_parts(extra)]
    if "dir_info" not in told:
        return [_quote(f"tacit[{extra}] @ {url}")]
    from urllib.request import url2pathname  # noqa: PLC0415 - takes long, and only who lacks an extra needs it

    folder = _quote(f"{url2pathname(urlsplit(url).path)}[{extra}]")
    return ["-e", folder] if told["dir_info"].get("editable") else [folder]


def _list_parts(extra: str) -> list[str]:
    """Return the requirements of an extra, as the metadata of this installation has them."""
    condition = re.compile(rf"""\s*(?:and\s+)?extra\s*==\s*['"]{extra}['"]""")
    found = [each for each in distribution("tacit").requires or () if condition.search(each)]
    return [condition.sub("", each).rstrip("; ").replace("'", '"') for each in found]


def _is_managed() -> bool:
    """Return whether the system's packages own this Python, and no environment stands on it."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    return sys.prefix == sys.base_prefix and (stdlib / "EXTERNALLY-MANAGED").is_file()


def _quote(word: str) -> str:
    """Return a word as the shell of this system takes it."""
    if sys.platform != "win32":
        return shlex.quote(word)
    return '"' + word.replace('"', "'") + '"' if re.search(r"[\s<>&|^;,()]", word) else word


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


def warn_caller(concern: str | Warning) -> None:
    """Warn at the line that called this package, however deep inside the concern is found."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(concern, stacklevel=level)
