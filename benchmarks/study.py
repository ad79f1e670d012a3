"""The study of examples/06_heart_disease.py: each of four hospitals alone, all together, all records in one place."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from figures import DATA, Figure, MissingDataError, Step, Table

EXAMPLE = Path(__file__).parent.parent / "examples" / "06_heart_disease.py"
FILE = DATA / "heart-disease-4sites.parquet"


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure by how much together beats alone."""
    if not FILE.exists():
        raise MissingDataError(f"{FILE.name} is not in {DATA}: set TACIT_DATA to the folder that has it")
    example, splits, total = load_example(), [], 3 if quick else 20
    cohort = example.load(FILE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the example shows them
        for seed in range(total):
            yield Step("splits", seed, total)
            splits.append(example.compare(cohort, seed))
    yield Table(
        f"accuracy in %, mean and standard error of {total} splits",
        ("", "accuracy"),
        tuple(_rows(example.rows(splits))),
    )
    gain, error = example.margin(splits)
    told = f"{100 * gain:.1f} ± {100 * error:.1f} points"
    yield Figure(
        "together beats the mean of the sites alone, on the records of all", told, "a margin", gain > 2 * error
    )


def _rows(found: dict[str, list[float]]) -> Iterator[tuple[str, str]]:
    for name, values in found.items():
        yield name, f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"


def load_example() -> Any:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("heart_disease", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["heart_disease"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module
