"""Helpers of the suite import each other as `conformance.cases`, `leaks.enumeration`; child processes inherit the path."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("any machine", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("any machine")


LONG = ("organisations", "spark", "conformance")  # first, so that no worker has minutes of them left when the other is through
SLOW = ("organisations", "spark")  # left to `make test-all`, but for what shows that jobs run between organisations at all
ALWAYS = ("test_rows.py",)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    """Mark the tests of slow folders; single ones elsewhere say so themselves."""
    if item.path.parent.name in SLOW and item.path.name not in ALWAYS:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Folders of long tests before the others, in random order within each."""
    items.sort(key=lambda item: item.path.parent.name not in LONG)
