"""Three hospitals with rows of one table, an analyst and a clearing house, as processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.datasets import make_classification

from tacit.cli.one_machine import one_machine


def rows_of_three() -> dict[str, Any]:
    """Return records and labels by hospital."""
    X, y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=3)
    return {f"h{i + 1}": (X[i::3], y[i::3]) for i in range(3)}


@contextmanager
def started(rows: dict[str, Any], folder: Path) -> Iterator[Any]:
    """All sites, which have met no job yet."""
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    with one_machine(folder, records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made
