"""The study of examples/06_heart_disease.py: each of four hospitals alone, all together, all records in one place."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import tacit
from figures import DATA, Figure, MissingDataError, Step, Table

EXAMPLE = Path(__file__).parent.parent / "examples" / "06_heart_disease.py"
FAR = 0.01  # of a Brier score
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
    together, pooled = (np.array([getattr(each, name) for each in splits]) for name in ("together", "pooled"))
    alone = {site: np.array([each.alone[site] for each in splits]) for site in example.SITES}
    best = max(alone, key=lambda site: alone[site].mean())
    below = 100 * float((pooled - together).mean())
    yield Figure("points below all records in one place", f"{below:.1f}", "at most 1", below <= 1)
    above = [100 * float((found - alone[best]).mean()) for found in (together, pooled)]
    told = f"{above[0]:.1f}, pooled {above[1]:.1f}"
    yield Figure(
        f"points above the best site alone ({best})", told, "as much as pooled, but for 1", above[1] - above[0] <= 1
    )
    yield from _probabilities(example, 4 if quick else 40)
    gain, error = example.margin(splits)
    told = f"{100 * gain:.1f} ± {100 * error:.1f} points"
    yield Figure(
        "together beats the mean of the sites alone, on the records of all", told, "a margin", gain > 2 * error
    )


def _probabilities(example: Any, total: int) -> Iterator[Figure | Step]:
    """Measure on generated records whether probabilities have the right sign, beside scikit-learn's on all records."""
    wrong, gaps = 0, []
    for seed in range(total):
        yield Step("probabilities", seed, total)
        learn, judge = example.halves(example.generated(seed), seed)
        model = example.prepared("horizontal", tacit.SVC(probability=True, random_state=seed)).fit(learn.federation())
        new = example._frame(judge.X)  # noqa: SLF001 - of the example
        found = model.predict_proba(new)[:, 1]
        wrong += bool(np.corrcoef(found, model.decision_function(new))[0, 1] <= 0)
        steps = [step for _, step in example.plain().steps[:-1]]
        pooled = make_pipeline(*steps, CalibratedClassifierCV(SVC(**example.SVM), ensemble=False))
        beside = pooled.fit(learn.X, learn.y).predict_proba(judge.X)[:, 1]
        gaps.append(float(np.mean((found - judge.y) ** 2) - np.mean((beside - judge.y) ** 2)))
    yield Figure(f"of {total} generated studies, probabilities of the wrong sign", f"{wrong}", "0", wrong == 0)
    yield Figure(
        "Brier score above scikit-learn's calibration on all records, at most",
        f"{max(gaps):.4f}",
        "0.01",
        max(gaps) <= 0.01,
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
