"""At the analyst: compose studies, follow jobs and see results in a browser.

Parties and coordinators have their page beside them: tacit party --page 127.0.0.1:8010

Example: tacit page --config analyst.toml
"""

from __future__ import annotations

from typing import Annotated

from typer import Option

from tacit.cli.options import Config
from tacit.cli.site import settings_of
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.daemon import stop_on_signals
from tacit.consortium.site.logs import setup_logging
from tacit.consortium.site.settings import AnalystSettings

USUAL = "127.0.0.1:8020"


def page(
    *,
    config: Config = None,
    at: Annotated[str, Option("--at", metavar="HOST:PORT", help="Where to show it.")] = USUAL,
) -> None:
    """Show the page until told to stop."""
    from tacit.page.desk import Desk
    from tacit.page.serving import find_address, serve_page

    settings = settings_of(config, AnalystSettings)
    setup_logging(settings.log_format, site=settings.name)
    address = find_address(at, settings)
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Analyst(settings) as analyst, serve_page(Desk(settings, analyst), address):
        stop_on_signals().wait()
