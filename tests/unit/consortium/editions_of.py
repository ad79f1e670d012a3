"""Editions of invented tables, as a site makes them."""

import numpy as np

from tacit.consortium.editions.edition import Fixed, make_edition
from tacit.federation.table import as_table

OWN = ("age", "bmi")


def edition_of(register, n=60, *, first=0, drop=(), change=(), X=None, y=None, **fixed):
    """Return the edition of a table of `n` records with ids from `first`, without some and with some corrected."""
    cells = np.arange(2.0 * first, 2.0 * (first + n)).reshape(n, 2) if X is None else X
    cells = cells.copy()
    cells[list(change)] += 0.5
    keep = np.array([i for i in range(len(cells)) if i not in drop])
    table = as_table(cells[keep], None if y is None else np.asarray(y)[keep])
    return make_edition(register.memory, table, keep + first, None, Fixed(**fixed))
