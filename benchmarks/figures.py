"""A figure: what was measured beside what is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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


def dataset(name: str) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Features f0, f1, ... and the column label of NAME.parquet in the data folder."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        raise MissingDataError(
            f"{path.name} is not in {DATA}: set TACIT_DATA to a folder of Parquet files with columns f0, f1, ... and label"
        )
    table = pq.read_table(path).to_pandas()
    features = [c for c in table if c[0] == "f" and c[1:].isdigit()]
    return table[features].to_numpy(float), table["label"].to_numpy().astype(str)
