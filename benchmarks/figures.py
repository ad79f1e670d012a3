"""A figure: what was measured beside what is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

DATA = Path(os.environ.get("TACIT_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


@dataclass(frozen=True)
class Figure:
    """One line of the table; `met` is None where nothing is asked."""

    name: str
    measured: str
    asked: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Step:
    """How far a figure is that takes long; no line of the table."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Table:
    """Figures that are read together, such as a table of a paper; printed as it stands, nothing is asked of it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Figures = Callable[[bool], Iterator[Figure | Step | Table]]


class MissingDataError(Exception):
    """A dataset is not there."""


@dataclass(frozen=True)
class Data:
    """Records to learn from, X and y, and records to be judged by, Z and z."""

    X: NDArray[np.float64]
    y: NDArray[np.str_]
    Z: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    z: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, str))

    def sample(self, rows: int | None) -> Data:
        """The first so many records to learn from, of a fixed shuffle."""
        if rows is None:
            return self
        kept = np.random.default_rng(0).permutation(len(self.X))[:rows]
        return Data(self.X[kept], self.y[kept], self.Z, self.z)


def dataset(name: str, *, split: str | None = None, label: str = "label") -> Data:
    """Features f0, f1, ... and the labels of NAME.parquet in the data folder; of one part of the publisher's split, if asked."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        raise MissingDataError(
            f"{path.name} is not in {DATA}: set TACIT_DATA to a folder of Parquet files with columns f0, f1, ... and label"
        )
    table = pq.read_table(path).to_pandas()
    table = table if split is None else table[table["split"] == split]
    features = [c for c in table if c[0] == "f" and c[1:].isdigit()]
    return Data(table[features].to_numpy(float), table[label].to_numpy().astype(str))
