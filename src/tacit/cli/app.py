"""The command `tacit`: every module of the folders `local` and `organisations` is one of its commands.

A module `NAME.py` defines `NAME`, a function whose parameters are the options, or a typer of several commands. The
paragraphs of its docstring are the help; the last one shows an example. A module is imported only when its command is
called: scikit-learn takes a second to import, and nobody should wait for it to read a list of commands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from tacit.cli.options import show_help
from tacit.errors import TacitError, printable, short_warnings

FOLDERS = tuple(Path(__file__).parent / name for name in ("local", "organisations"))


class Modules(Mapping[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __init__(self) -> None:
        self.files = {file.stem: file for folder in FOLDERS for file in sorted(folder.glob("[!_]*.py"))}

    def __getitem__(self, name: str) -> Any:
        module = import_module(f"tacit.cli.{self.files[name].parent.name}.{name}")
        text, _, example = (module.__doc__ or "").strip().rpartition("\n\n")
        made, found = typer.Typer(rich_markup_mode=None), getattr(module, name)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name, help=text, epilog=example)
        else:
            made.command(name, help=text, epilog=example)(found)
        return get_group(made).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


class Commands(TyperGroup):
    """The group of all commands; whatever they refuse ends here."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Modules()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, below the heading of its folder."""
        del ctx
        for folder in FOLDERS:
            own = {name: file for name, file in self.commands.files.items() if file.parent == folder}
            with formatter.section(_first_line(folder / "__init__.py").rstrip(".")):
                formatter.write_dl([(name, _first_line(file)) for name, file in own.items()])

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse unknown options of `tacit` itself in one line."""
        with one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with one_line():
            return super().invoke(ctx)


def _first_line(file: Path) -> str:
    """Return the first line of a module's docstring, without importing the module."""
    text = ast.get_docstring(ast.parse(file.read_bytes()))
    return (text or "").partition("\n")[0]


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,  # an unexpected error keeps the traceback that a bug report needs
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if asked:
        typer.echo(f"tacit {version('tacit')}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog="Start with: tacit demo")
def root(
    ctx: typer.Context,
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Train classifiers on data that several organisations hold and may not show each other."""
    show_help(ctx)


def main() -> None:
    """Entry point of the command `tacit`."""
    app(prog_name="tacit")


# A refusal is one line on stderr and exit code 2; only what nobody foresaw shows a traceback


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
