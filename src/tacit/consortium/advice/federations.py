"""A federation of parties that nobody has named yet, with invented records, to be advised about."""

from __future__ import annotations

import numpy as np

from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.plan import Partition

ROWS = 20  # invented records for each party: methods are asked whether they fit, and none is trained


def invent(partition: Partition, parties: int, columns: int) -> Federation:
    """Return so many parties that split invented records of so many columns."""
    if partition == "vertical" and columns < parties:
        raise LocalError(f"{parties} parties cannot split {columns} columns: name as many columns as parties at least")
    records = ROWS * parties
    cells = np.random.default_rng(0).normal(size=(records, columns))
    return Federation.simulate(cells, np.arange(records) % 2, parties=parties, partition=partition, seed=0)
