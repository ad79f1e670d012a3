"""The configuration file that a command is about."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.consortium.site.logs import setup_logging
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings, Settings, toml_of
from tacit.errors import LocalError

if TYPE_CHECKING:
    from tacit.consortium.site.daemon import Meet

S = TypeVar("S", bound=Settings)
WORDS = {PartySettings: "a party", CoordinatorSettings: "a coordinator", AnalystSettings: "an analyst"}


def settings_of(config: Path | None, kind: type[S]) -> S:
    """Return the settings of a site of this kind."""
    found = any_settings(config, kind)
    if not isinstance(found, kind):
        is_of, needed = WORDS[type(found)], WORDS[kind]
        raise LocalError(f"{config} is the configuration of {is_of}: this command needs that of {needed}")
    return found


def any_settings(config: Path | None, kind: type[Settings] = Settings) -> Settings:
    """Return the settings of whatever site the file is of."""
    path = find_config(config, kind)
    return _kind_of(toml_of(path, "the configuration")).from_toml(path)


def find_config(config: Path | None, kind: type[Settings]) -> Path:
    """Return the file that was named, or else the only one of this kind in this folder."""
    return config or _only_one(kind)


def serve(config: Path | None, kind: type[S], run: Callable[[S, Event, Meet], None], page: str | None) -> None:
    """Run a site of this kind until it is told to stop; with its page, if an address is given."""
    from tacit.consortium.site.daemon import meet_nobody, stop_on_signals  # noqa: PLC0415 - takes a second to import: only who serves waits

    settings = settings_of(config, kind)
    setup_logging(settings.log_format, site=settings.name)
    if page is None:
        run(settings, stop_on_signals(), meet_nobody)
        return
    from tacit.page.desk import Desk  # noqa: PLC0415 - an extra, for who wants a page
    from tacit.page.serving import find_address, serve_page  # noqa: PLC0415 - likewise

    desk, address = Desk(settings), find_address(page, settings)
    with serve_page(desk, address):
        run(settings, stop_on_signals(), desk.meet)


def _kind_of(content: dict[str, Any]) -> type[PartySettings | CoordinatorSettings | AnalystSettings]:
    if "datasets" in content or "policy" in content:
        return PartySettings
    return CoordinatorSettings if "store_dir" in content or "listen" in content else AnalystSettings


def _only_one(kind: type[Settings]) -> Path:
    contents = {path: _content(path) for path in sorted(Path().glob("*.toml"))}
    found = [path for path, said in contents.items() if "ca_fingerprint" in said and issubclass(_kind_of(said), kind)]
    if len(found) == 1:
        return found[0]
    if found:
        raise LocalError(
            f"this folder has several configurations ({', '.join(map(str, found))}): name one with --config"
        )
    whose = WORDS.get(kind, "a site")
    remedy = f"name one with --config, or write one (an example: {_example_of(whose)})"
    raise LocalError(f"this folder has no configuration of {whose}: {remedy}")


def _example_of(whose: str) -> str:
    """Return a configuration file to start from; for any site, the folder of them all."""
    examples = resources.files("tacit.consortium.site") / "examples"
    named = examples / f"{whose.rpartition(' ')[2]}.toml"
    return str(named if named.is_file() else examples)


def _content(path: Path) -> dict[str, Any]:
    try:
        return toml_of(path, "the configuration")
    except LocalError:
        return {}
