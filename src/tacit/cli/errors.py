"""A refusal is one line on stderr and exit code 2; only what nobody foresaw shows a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from tacit.errors import TacitError, printable, short_warnings

REFUSED = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells expect
USAGE: Any = typer.BadParameter.__base__  # typer carries its own click, and exports only this subclass of UsageError

# remedies are worded for Python; these have an option here
WORDS = (
    (r"correct the name, or pass label=None for records without labels", "name the label column with --label"),
    (r"name it with label=, or pass label=None for records without labels", "name it with --label"),
    (r"allow_two_parties=True", "--allow-two-parties"),
    (r"leave the column out \(drop=\['([^']*)'\] of a file\)", r"leave it out with --drop \1"),
    (r" of drop=", " of --drop"),
    (r" \(raw=True lets a TableVectorizer do it[^)]*\)", " (tacit train --prepare does it)"),
    (r" \(allow_missing=True lets FederatedImputer do it\)", " (tacit train --prepare does it)"),
    (r"let it join another site, or lower min_rows", "let it join another site, or train with --no-prepare"),
    (r"give each party its own name with names=", "a file's name names its party, so rename one of them"),
    (r"labeller='([^']*)'", r"--labeller \1"),
    (r"labeller=", "--labeller"),
    (r"accept_risk=True", "--accept-risk"),
    (r"a smaller min_records", "a smaller --min-records"),
    (r"(leave it out with --drop (\S+))", r"\1, or align the files of several parties by it with --id \2"),
)


@contextmanager
def one_line() -> Iterator[None]:
    """Turn a refusal into its line and its exit code, and a warning into its line."""
    try:
        with short_warnings():
            yield
    except KeyboardInterrupt as stopped:
        _end(str(stopped) or "stopped", INTERRUPTED)
    except TacitError as error:
        _end(f"error: {in_options(str(error))}", REFUSED)
    except USAGE as error:
        command = error.ctx.command_path if error.ctx else "tacit"
        _end(f"error: {error.format_message()} (see: {command} --help)", REFUSED)


def in_options(text: str) -> str:
    """Return a library's error in one line, its remedies as options of the command line."""
    line = printable(text)  # it may quote a file that somebody else wrote
    for said, option in WORDS:
        line = re.sub(said, option, line)
    return line


def _end(text: str, code: int) -> NoReturn:
    typer.echo(f"tacit: {text}", err=True)
    raise typer.Exit(code)
