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
    """One line of the table.

    `met` is None where nothing is asked, `paper` is what the paper prints, and where, `before` what 0.1.0 had.
    """

    name: str
    measured: str
    asked: str = ""
    met: bool | None = None
    paper: str = ""
    before: str = ""


@dataclass(frozen=True)
class Step:
    """How far a figure is that takes long; no line of the table."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Table:
    """Figures that are read together, such as a table of a paper; printed as it stands, nothing is asked of it.

    paper: the heads of the columns, or the labels of the rows, that hold what the paper prints.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    paper: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A drawing of what was measured: the name of its file, what it shows, and the file's bytes."""

    file: str
    title: str
    image: bytes = field(repr=False)


Found = Figure | Step | Table | Picture
Figures = Callable[[bool], Iterator[Found]]


class MissingDataError(Exception):
    """A dataset is not in the data folder."""


@dataclass(frozen=True)
class Data:
    """Records to learn from, X and y, and records to be judged by, Z and z."""

    X: NDArray[np.float64]
    y: NDArray[np.str_]
    Z: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    z: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, str))

    def sample(self, rows: int | None) -> Data:
        """Return the first so many records to learn from, of a fixed shuffle."""
        if rows is None:
            return self
        kept = np.random.default_rng(0).permutation(len(self.X))[:rows]
        return Data(self.X[kept], self.y[kept], self.Z, self.z)


def dataset(name: str, *, split: str | None = None, label: str = "label") -> Data:
    """Return features f0, f1, ... and labels of NAME.parquet in the data folder, or of one part of its split."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        raise MissingDataError(
            f"{path.name} is not in {DATA}: set TACIT_DATA to a folder of Parquet files with columns f0, f1, ... and"
            " label"
        )
    table = pq.read_table(path).to_pandas()
    table = table if split is None else table[table["split"] == split]
    features = [c for c in table if c[0] == "f" and c[1:].isdigit()]
    return Data(table[features].to_numpy(float), table[label].to_numpy().astype(str))
