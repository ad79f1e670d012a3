"""A refusal is one line on stderr and exit code 2; only what nobody foresaw shows a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from tacit.errors import TacitError

REFUSED = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells expect
USAGE: Any = typer.BadParameter.__base__  # typer carries its own click, and exports only this subclass of UsageError

# remedies are worded for Python; these have an option here
WORDS = (
    (r"correct the name, or pass label=None for records without labels", "name the label column with --label"),
    (r"name it with label=, or pass label=None for records without labels", "name it with --label"),
    (r"allow_two_parties=True", "--allow-two-parties"),
    (r"drop=\['([^']*)'\]", r"--drop \1"),
    (r" of drop=", " of --drop"),
    (r" \(or declare its texts in categories=\)", ""),
    (r" \(allow_missing=True lets FederatedImputer do it\)", ""),
    (r"give each party its own name with names=", "a file's name names its party, so rename one of them"),
    (r"labeller='([^']*)'", r"--labeller \1"),
    (r"labeller=", "--labeller"),
    (r"accept_risk=True", "--accept-risk"),
    (r"a smaller min_records", "a smaller --min-records"),
    (r"(leave it out with --drop (\S+))", r"\1, or align the files of all parties by it with --id \2"),
)


class Commands(TyperGroup):
    """The group of all commands; whatever they refuse ends here."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse unknown options of `tacit` itself in one line."""
        with one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with one_line():
            return super().invoke(ctx)


@contextmanager
def one_line() -> Iterator[None]:
    """Turn a refusal into its line and its exit code."""
    try:
        yield
    except KeyboardInterrupt:
        _end("stopped", INTERRUPTED)
    except TacitError as error:
        _end(f"error: {in_options(str(error))}", REFUSED)
    except USAGE as error:
        _end(f"error: {error.format_message()}{_hint(error)}", REFUSED)


def in_options(text: str) -> str:
    """A library's error in one line, its remedies as options of the command line."""
    from tacit.report.words import clean  # noqa: PLC0415 - takes time to import: only who is refused waits

    line = clean(text)  # it may quote a file that somebody else wrote
    for said, option in WORDS:
        line = re.sub(said, option, line)
    return line


def _hint(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "tacit"
    return f" (see: {command} --help)"


def _end(text: str, code: int) -> NoReturn:
    typer.echo(f"tacit: {text}", err=True)
    raise typer.Exit(code)
