"""A consortium that several modules disturb; each of their tests leaves it whole."""

from __future__ import annotations

import pytest

from organisations.forwarder import Forwarder
from organisations.sites import Sites


@pytest.fixture(scope="session")
def line():
    """What h2 dials through."""
    with Forwarder() as line:
        yield line


@pytest.fixture(scope="session")
def sites(tmp_path_factory, line):
    """All sites, as processes; a party is away after more than one heartbeat."""
    sites = Sites(tmp_path_factory.mktemp("sites"), dials={"h2": line.port}, options=("--pace", "0.015"))
    line.target = sites.port
    with sites:
        yield sites


@pytest.fixture(scope="session")
def undisturbed(sites):
    """What a run leaves at every site when nothing happens."""
    return sites.model(sites.run())


@pytest.fixture
def analyst(sites, undisturbed):
    """Who submits."""
    del undisturbed
    with sites.analyst() as analyst:
        yield analyst
