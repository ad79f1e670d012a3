"""The text of a query: a single statement that selects."""

from __future__ import annotations

import re

from tacit.errors import LocalError

COMMENT = r"--[^\n]*|/\*.*?\*/"
QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*\""""  # texts and names
TOKENS = re.compile(f"({COMMENT})|{QUOTED}", re.DOTALL)
INNERMOST = re.compile(r"\([^()]*\)")


def check_query(query: str, where: str) -> None:
    """Refuse what is not a single statement that selects; `where` names it in an error."""
    code = _without_quoted(query)
    if not re.match(r"(select|with)\b", code, re.IGNORECASE):
        raise LocalError(f"{where} does not begin with select or with: write one statement that selects the records")
    if ";" in code:
        raise LocalError(f"{where} has more than one statement: write one that selects the records")


def bare(query: str) -> str:
    """Return a statement without comments and without the semicolon at its end: a driver may put it into another."""
    return TOKENS.sub(lambda found: " " if found[1] else found[0], query).strip().removesuffix(";").strip()


def states_order(query: str) -> bool:
    """Return whether a query says in which order its rows come; a subquery, or a window, has an order of its own."""
    code, inner = _without_quoted(query), 1
    while inner:
        code, inner = INNERMOST.subn(" ", code)
    return re.search(r"\border\s+by\b", code, re.IGNORECASE) is not None


def _without_quoted(query: str) -> str:
    return TOKENS.sub(" ", bare(query)).strip()
