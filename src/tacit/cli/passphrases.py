"""Passphrases of people, from the keyboard or from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from tacit.errors import LocalError

Secret = Annotated[
    Path | None,
    Option("--passphrase-file", metavar="FILE", help="A private file with the passphrase; without it you are asked."),
]


def read_passphrase(person: str, file: Path | None, *, new: bool = False) -> str:
    """Return a person's passphrase, from a file that only its owner can read, or from the keyboard."""
    if file is None:
        try:
            return str(typer.prompt(f"passphrase of {person}", hide_input=True, confirmation_prompt=new, err=True))
        except typer.Abort:
            raise LocalError(f"nobody typed the passphrase of {person}: type it, or give --passphrase-file") from None
    if not file.is_file() or file.stat().st_mode & 0o077:
        raise LocalError(f"{file} is not a file that only its owner can read: create it, and chmod 600 {file}")
    return file.read_text(encoding="utf-8").rstrip("\n")
