"""At the clearing house: start the server and coordinate jobs.

Example: tacit coordinator --config clearing.toml
"""

from __future__ import annotations

from tacit.cli.options import Config, Page
from tacit.cli.site import serve
from tacit.consortium.site.daemon import run_coordinator
from tacit.consortium.site.settings import CoordinatorSettings


def coordinator(*, config: Config = None, page: Page = None) -> None:
    """Run until told to stop."""
    serve(config, CoordinatorSettings, run_coordinator, page)
