"""Small generated files of the names and columns that the pages of documentation speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

FOUR = ("north", "south", "east", "west")
ROWS = 240  # at each site


def make_patients(rows: int, seed: int, *, missing: float = 0.0) -> pd.DataFrame:
    """Return patients who are the more likely ill the older they are and the more it hurts."""
    draw = np.random.default_rng(seed)
    age, chol = draw.normal(55, 9, rows).round(), draw.normal(240, 45, rows).round()
    pain, thal = draw.integers(1, 5, rows), draw.choice([3, 6, 7], rows)
    risk = (age - 55) / 9 + (chol - 240) / 90 + (pain - 2.5) + (thal - 5) / 2 + draw.normal(0, 0.7, rows)
    sex, rate = draw.choice(["f", "m"], rows), draw.normal(75, 12, rows).round()
    table = pd.DataFrame({"age": age, "sex": sex, "pain": pain, "thal": thal, "chol": chol, "rate": rate})
    table = table.mask(draw.random(table.shape) < missing)
    return table.assign(ill=(risk > 0).astype(int))


def write(folder: Path, name: str, table: pd.DataFrame) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / name, index=False)


def write_rows(folder: Path, columns: Iterable[str], *, missing: float = 0.0) -> None:
    """Write patients of its own for each of four sites, and others whom it set aside."""
    for seed, site in enumerate(FOUR):
        for where, rows in (("", seed), ("set_aside/", seed + len(FOUR))):
            write(folder, f"{where}{site}.csv", make_patients(ROWS, rows, missing=missing)[[*columns, "ill"]])


def write_study(folder: Path) -> None:
    """Write raw tables of four sites: ids, dates, texts, gaps, columns in an order of its own; and new patients."""
    columns = ["patient", "visit", "age", "sex", "chol", "pain", "thal"]
    for seed, site in enumerate((*FOUR, "new")):
        table = make_patients(ROWS if site in FOUR else 20, seed, missing=0.05)
        days = np.random.default_rng(seed).integers(0, 1000, len(table))
        table = table.assign(patient=[f"{site}-{k}" for k in range(len(table))])
        table["visit"] = (np.datetime64("2023-01-01") + days).astype(str)
        own = columns[::-1] if site == "east" else columns
        write(folder, f"{site}.csv", table[[*own, "ill"] if site in FOUR else own])


def write_aligned(folder: Path) -> None:
    """Write columns of overlapping patients, in an order of its own at each of three sites."""
    whole = make_patients(150, 0).assign(patient=np.arange(150))
    for seed, (site, columns) in enumerate({"north": ["age", "ill"], "south": ["chol"], "east": ["pain"]}.items()):
        write(folder, f"{site}.csv", whole.sample(140, random_state=seed)[["patient", *columns]])


def write_shop(folder: Path) -> None:
    """Write the files of the command line's examples: columns of three companies, rows of hospitals, new records."""
    numbers = ("age", "chol", "pain", "rate", "thal")
    write_rows(folder, numbers)
    whole = make_patients(120, 9)[[*numbers, "ill"]]
    write(folder, "patients.csv", whole)
    write(folder, "new.csv", make_patients(20, 10)[[*numbers]])
    columns = {"bank": ["age", "claim"], "life": ["chol", "pain"], "motor": ["rate", "thal"]}
    for company, own in columns.items():
        write(folder, f"{company}.csv", whole.rename(columns={"ill": "claim"})[own])


def write_tumours(folder: Path) -> None:
    """Write new records with the columns of scikit-learn's breast-cancer table, as plain arrays have them."""
    X, _ = load_breast_cancer(return_X_y=True)
    write(folder, "new.csv", pd.DataFrame(X[:20], columns=[f"x{k}" for k in range(X.shape[1])]))


PAGES: dict[str, Callable[[Path], None]] = {
    "docs/quick_start.md": write_shop,
    "docs/exporting.md": write_tumours,
    "docs/study.md": write_study,
    "docs/describing.md": write_study,
    "docs/preparing.md": partial(write_rows, columns=("age", "chol", "sex", "thal"), missing=0.05),
    "docs/evaluating.md": partial(write_rows, columns=("age", "chol", "pain", "thal")),
    "docs/methods/align.md": write_aligned,
}
