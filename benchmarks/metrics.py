"""Metrics and probabilities across parties, against scikit-learn on the pooled records: wdbc, heart, four hospitals."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import _sigmoid_calibration, calibration_curve
from sklearn.impute import SimpleImputer
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Table, dataset
from tacit.choreo import Coordinator, Holder
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.scores.platt import probabilities, sigmoids
from tacit.protocols.scores.platt import Scores, platt
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice
from tacit.runtimes.together import Together

SETS = ("wdbc", "heart", "heart-disease-4sites")
BINS = 256
CLOSE = 1e-6
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Halves:
    """Records to learn from and records to judge by, two classes, and where each record is."""

    X: F64
    y: NDArray[np.int64]
    site: NDArray[np.str_]
    test: NDArray[np.bool_]

    def federation(self, *, test: bool, partition: str) -> tacit.Federation:
        """Return one half, at the hospitals it is from, or at four; by columns at four."""
        rows = self.test == test
        if partition == "vertical":
            return tacit.Federation.simulate(self.X[rows], self.y[rows], parties=4, partition="vertical")
        names = sorted(set(self.site))
        parts = [(self.X[rows & (self.site == name)], self.y[rows & (self.site == name)]) for name in names]
        return tacit.Federation.from_parts(parts, partition="horizontal", names=names)


def figures(quick: bool) -> Iterator[Figure | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure how far figures, areas and probabilities are from scikit-learn's on the pooled records."""
    del quick
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small class, a gap of the training
        found = [(name, kind, *_judge(_halves(name), model)) for name in SETS for kind, model in _models()]
    rows = tuple(
        (name, kind, f"{e.accuracy:.4f}", f"{off:.0e}", _area(e.roc_auc_bounds), _area(e.average_precision_bounds),
         f"{1e3 * seconds:.0f} ms")
        for name, kind, e, off, _, seconds in found
    )  # fmt: skip
    yield Table(
        f"Half of the records judged by a model of the other half; areas from {BINS} bins by rows, exact by columns",
        ("dataset", "model", "accuracy", "largest gap", "area under ROC", "average precision", "time"),
        rows,
    )
    worst = max(off for _, _, _, off, _, _ in found)
    yield Figure(
        "counts, rates, F1, calibration, Brier score: largest gap to scikit-learn",
        f"{worst:.0e}",
        f"{CLOSE:g}",
        worst <= CLOSE,
    )
    inside = [ok for *_, ok, _ in found]
    yield Figure("areas of scikit-learn within the bounds told", f"{sum(inside)} of {len(inside)}", "all", all(inside))
    wide = max(max(np.ptp(e.roc_auc_bounds), np.ptp(e.average_precision_bounds)) for _, _, e, *_ in found)
    yield Figure(f"widest bounds, {BINS} bins", f"{wide:.4f}")
    yield from _probabilities()


def _models() -> tuple[tuple[str, Any], ...]:
    return (
        ("PanSVC", tacit.PanSVC(probability=True)),
        ("GramSVC", tacit.GramSVC(probability=True)),
        ("ELM by rows", tacit.SecureELMClassifier()),
    )


def _halves(name: str) -> Halves:
    data = dataset(name)
    y = (
        (data.y != "0").astype(np.int64)
        if name.endswith("sites")
        else (data.y == np.unique(data.y)[1]).astype(np.int64)
    )
    site = (
        dataset(name, label="site").y if name.endswith("sites") else np.array([f"site-{i % 4}" for i in range(len(y))])
    )
    test = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    X = make_pipeline(SimpleImputer(), StandardScaler()).fit(data.X[~test]).transform(data.X)
    return Halves(X, y, site, test)


def _judge(data: Halves, model: Any) -> tuple[tacit.Evaluation, float, bool, float]:
    """Return the evaluation, its largest gap to scikit-learn, whether both areas are within bounds, and its time."""
    partition = model.partition_
    model.fit(data.federation(test=False, partition=partition))
    fed = data.federation(test=True, partition=partition)
    start = time.perf_counter()
    found = tacit.evaluate(model, fed)
    seconds = time.perf_counter() - start
    Z, z, _ = fed.pooled()
    chosen, values = model.predict(Z), model.decision_function(Z)
    gaps = [abs(a - b) for a, b in _pairs(found, np.asarray(z), chosen)]
    if found.brier_score is not None:
        gaps += _of_probabilities(found, np.asarray(z), model.predict_proba(Z)[:, 1])
    areas = (
        (found.roc_auc_bounds, roc_auc_score(z, values)),
        (found.average_precision_bounds, average_precision_score(z, values)),
    )
    return found, float(max(gaps)), all(low - CLOSE <= area <= high + CLOSE for (low, high), area in areas), seconds


def _pairs(found: tacit.Evaluation, z: NDArray[np.int64], chosen: NDArray[np.int64]) -> Iterator[tuple[float, float]]:
    yield found.accuracy, accuracy_score(z, chosen)
    yield found.balanced_accuracy, balanced_accuracy_score(z, chosen)
    yield found.sensitivity, recall_score(z, chosen)
    yield found.specificity, recall_score(z, chosen, pos_label=0)
    yield found.f1, f1_score(z, chosen)
    yield float(np.abs(found.confusion_matrix - confusion_matrix(z, chosen)).max()), 0.0


def _of_probabilities(found: tacit.Evaluation, z: NDArray[np.int64], p: F64) -> list[float]:
    """Return the Brier score, and the bins of the calibration curve that are shown."""
    true, predicted = calibration_curve(z, p, n_bins=10)
    share, said = found.curves[0].calibration_curve
    nearest = [int(np.abs(predicted - each).argmin()) for each in said]
    return [
        abs((found.brier_score or 0.0) - brier_score_loss(z, p)),
        *np.abs(said - predicted[nearest]),
        *np.abs(share - true[nearest]),
    ]


def _probabilities() -> Iterator[Figure]:
    """Fit Platt's sigmoids by secure sums, at the same scores."""
    data = _halves("wdbc")
    fed = data.federation(test=False, partition="horizontal")
    f = np.concatenate([part.X[:, :3].sum(axis=1) for part in fed.parts.values()])
    y = np.concatenate([part.y for part in fed.parts.values() if part.y is not None])
    reference = np.array([_sigmoid_calibration(f, y.astype(float))])
    held = {p: Scores(part.X[:, :3].sum(axis=1)[:, None], np.asarray(part.y)) for p, part in fed.parts.items()}
    with Together(fed.roster, job=b"platt", entropy=RootEntropy(fed.roster.parties, b"platt")) as run:
        voice = Voice(run, protect(run, to=Coordinator), FixedPoint(32, terms=len(held)))
        found = platt(run, run.hold(Holder, held), voice=voice, sizes=np.bincount(y).astype(float))
        tried = sum(row.type == "Masked" for row in run.ledger) // len(held)
    gap = np.abs(probabilities(f[:, None], found) - probabilities(f[:, None], reference)).max()
    yield Figure(
        "probabilities by secure sums, largest gap to scikit-learn's sigmoid",
        f"{gap:.0e}",
        f"{CLOSE:g}",
        bool(gap <= CLOSE),
    )
    alone = np.abs(probabilities(f[:, None], sigmoids(f[:, None], y)) - probabilities(f[:, None], reference)).max()
    yield Figure(
        "the same where one party has all scores; secure sums that were opened before", f"{alone:.0e}, {tried}"
    )


def _area(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return f"{(low + high) / 2:.4f} ± {(high - low) / 2:.4f}"
