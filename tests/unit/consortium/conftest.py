"""A consortium at work, for the tests of whole lives of jobs."""

import pytest
from consortium_study import PARTIES


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from living_sites import House  # noqa: PLC0415 - needs the extra 'nats'

    with House(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture
def house(shared):
    """The consortium as it was founded, whatever the test before did to its files."""
    for name in PARTIES:
        shared.restore(name)
    return shared


@pytest.fixture
def lying(house):
    """The consortium while somebody else holds the coordinator's key: the test writes its letters."""
    house.close_site("clearing")
    yield house
    house.open_site("clearing")
