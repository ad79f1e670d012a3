"""The configuration file that a command is about."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from typer import Option

from tacit.consortium.settings import AnalystSettings, CoordinatorSettings, PartySettings, Settings, toml_of
from tacit.errors import LocalError

Config = Annotated[
    Path | None,
    Option(metavar="FILE", help="The site's configuration; by default the only fitting one in this folder.", show_default=False),
]
S = TypeVar("S", bound=Settings)
WORDS: dict[type[Settings], str] = {PartySettings: "a party", CoordinatorSettings: "a coordinator", AnalystSettings: "an analyst"}


def settings_of(config: Path | None, kind: type[S]) -> S:
    """The settings of this kind of site."""
    found = any_settings(config, kind)
    if not isinstance(found, kind):
        raise LocalError(f"{config} is the configuration of {WORDS[type(found)]}: this command needs that of {WORDS[kind]}")
    return found


def any_settings(config: Path | None, kind: type[Settings] = Settings) -> Settings:
    """The settings of whatever site the file is of."""
    path = config or _only_one(kind)
    return _kind_of(toml_of(path, "the configuration")).from_toml(path)


def _kind_of(content: dict[str, Any]) -> type[PartySettings | CoordinatorSettings | AnalystSettings]:
    if "datasets" in content or "policy" in content:
        return PartySettings
    return CoordinatorSettings if "store_dir" in content or "listen" in content else AnalystSettings


def _only_one(kind: type[Settings]) -> Path:
    found = [
        path
        for path in sorted(Path().glob("*.toml"))
        if issubclass(_kind_of(content := _content(path)), kind) and "ca_fingerprint" in content
    ]
    if len(found) != 1:
        have = f"several configurations ({', '.join(map(str, found))})" if found else f"no configuration of {WORDS.get(kind, 'a site')}"
        raise LocalError(f"this folder has {have}: name one with --config")
    return found[0]


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
