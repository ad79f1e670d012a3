"""Helpers of the suite import each other as `conformance.cases`, `leaks.enumeration`; child processes inherit the path."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("any machine", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("any machine")


LONG = ("organisations", "spark", "conformance")  # first, so that no worker has minutes of them left when the other is through
SLOW = ("organisations", "spark")  # left to `make test-all`, but for what shows that jobs run at all
ALWAYS = ("test_rows.py", "test_spark_federation.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Mark slow tests; folders of long ones before the others, in random order within each."""
    for item in items:
        if item.path.parent.name in SLOW and item.path.name not in ALWAYS:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.path.parent.name not in LONG)
