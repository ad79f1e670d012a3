"""What leak tests share."""

import pytest

from tacit.protocols.shares import gates


@pytest.fixture(autouse=True)
def open_whole(monkeypatch):
    """Open vectors of all masks as a whole, as runs open few words: `test_opening_leaks` is about those in parts."""
    monkeypatch.setattr(gates, "MANY", 1 << 62)
