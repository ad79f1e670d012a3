"""What a notebook shows of an object: a small card of HTML, without script and without anything to fetch.

Colours are those of the page around it, thinned, so that it reads on light and on dark ones. Everything that is not
this module's own text is escaped: names come from others.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

# what notebooks say of tables, such as numbers to the right, is overruled where it would make prose hard to read
STYLE = """<style>
.tacit-card { color: inherit; background: transparent; font: 13px/1.45 system-ui, sans-serif; max-width: 60rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; padding: .6em .9em }
.tacit-card .tacit-card { border: 0; padding: .4em 0 }
.tacit-card .head { font-weight: 600; font-size: 14px }
.tacit-card .sub { opacity: .75; margin-bottom: .4em }
.tacit-card table { border-collapse: collapse; margin: .2em 0 .6em; background: transparent; color: inherit }
.tacit-card th, .tacit-card td { text-align: left !important; vertical-align: top !important; max-width: 40rem;
  padding: .15em 1em .15em 0; background: transparent; color: inherit; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent) }
.tacit-card thead th { opacity: .75 }
.tacit-card tbody th { white-space: nowrap }
.tacit-card summary { cursor: pointer; opacity: .85 }
.tacit-card .warn { border-left: 3px solid #d97706; padding-left: .6em; margin: .3em 0 }
</style>"""


class Made(str):
    """HTML that was made here, of escaped parts, and is put into a table as it is."""

    __slots__ = ()


def make_card(title: str, subtitle: str, *parts: str) -> str:
    """Return a card; its parts are made by the functions below."""
    head = f'<div class="head">{escape(title)}</div><div class="sub">{escape(subtitle)}</div>'
    return f'{STYLE}<div class="tacit-card">{head}{"".join(parts)}</div>'


def make_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose first column names its rows; nothing, if there are none."""
    body = "".join(f'<tr><th scope="row">{escape(first)}</th>{_cells(rest)}</tr>' for first, *rest in rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def fold_away(summary: str, inside: str) -> str:
    """Return a part that opens when it is clicked; nothing, if nothing is inside."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>" if inside else ""


def list_warnings(lines: Iterable[str]) -> str:
    """Return a line for each warning."""
    return "".join(f'<div class="warn">{escape(line)}</div>' for line in lines)


def list_lines(lines: Iterable[str]) -> str:
    """Return lines as a list; nothing, if there are none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def escape(text: object) -> str:
    """Return one printable line, as HTML."""
    line = " ".join(str(text).split())
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in line))


def _cells(values: Iterable[object]) -> str:
    return "".join(f"<td>{value if isinstance(value, Made) else escape(value)}</td>" for value in values)
