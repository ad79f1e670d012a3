"""Templates: everything that is not our own text becomes one printable line, and is escaped."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tacit.report.words import clean, human_bytes, human_seconds

SHORT = 8  # letters of a job's id that people read


def make_environment() -> Environment:
    """Return where the templates are, and what they may call."""
    made = Environment(
        loader=PackageLoader("tacit.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"moment": show_moment, "short": lambda text: text[:SHORT]}
    made.filters |= {"several": keep_lines, "size": human_bytes, "seconds": human_seconds}
    return made


def show_moment(at: datetime) -> str:
    """Return a time as people read it."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def keep_lines(text: str) -> Markup:
    """Return a text of several lines, each of them printable and escaped."""
    return Markup("\n").join(clean(line) for line in text.splitlines())


def _finalize(value: Any) -> Any:
    """Return one printable line of a name or a text that others wrote; what was made here stays as it is."""
    return value if isinstance(value, Markup | int | float) else clean(value)
