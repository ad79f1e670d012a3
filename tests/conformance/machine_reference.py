"""What the machines of the core must equal: least squares on the features of the pooled records, by the public map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from tacit.federation.part import Part
from tacit.federation.plan import by_cells, by_columns, by_rows
from tacit.federation.table import Table, as_table
from tacit.protocols.features.maps import PublicMap, features_of
from tacit.protocols.learners.hinge_search import COSTS
from tacit.protocols.learners.targets import signs_of

NOISE = 10.0  # steps; of two parties the noise of a weight has a deviation of 1.4 steps, of more it has less


RECORDS, COLUMNS = 200, 6  # so many that landmarks are found in shares, by five parties too


def table(target: str) -> Table:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(RECORDS, COLUMNS))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * X[:, 3] ** 2
    if target == "number":
        return as_table(X, y=score)
    classes = 3 if target == "3" else 2
    return as_table(X, y=np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)))


def parts(parties: Sequence[str], partition: str, target: str) -> dict[str, Part]:
    """Return the table between some parties, of which the first one has labels unless all have their own rows."""
    names = list(parties)
    if partition == "horizontal":
        plan = by_rows(dict(zip(names, np.array_split(np.arange(RECORDS), len(names)), strict=True)), COLUMNS)
    elif partition == "vertical":
        plan = by_columns(dict(zip(names, np.array_split(np.arange(COLUMNS), len(names)), strict=True)), RECORDS)
    else:
        owner = np.random.default_rng(2).integers(0, len(names), (RECORDS, COLUMNS))
        plan = by_cells({p: owner == k for k, p in enumerate(names)})
    return plan.cut(table(target), None if partition == "horizontal" else names[0])


def pool(held: Mapping[str, Any], partition: str) -> tuple[Any, Any]:
    """Return the records of all parties, with columns in the order of the parties, and labels where they are."""
    parts = list(held.values())
    if partition == "horizontal":
        return np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts])
    y = next(p.y for p in parts if p.y is not None)
    cells = [p.X for p in parts]
    return (np.sum(cells, axis=0) if partition == "arbitrary" else np.concatenate(cells, axis=1)), y


def targets_of(result: Any, y: Any) -> Any:
    """Return targets, a column for each problem."""
    names = np.array(result["classes"])
    if not names.size:
        return np.clip((y - result["middle"]) / result["reach"], -1.0, 1.0)[:, None]
    return signs_of(np.searchsorted(names, y), len(names))


def solve(the_map: PublicMap, X: Any, T: Any, q: Any, alpha: float, *, shorten: bool) -> Any:
    """Return the weights of least squares."""
    Z = features_of(the_map, X, shorten=shorten)
    weighted = Z * q[:, None]
    return np.linalg.solve(weighted.T @ Z + alpha * np.eye(Z.shape[1]), weighted.T @ T)


def check_machine(
    result: Any, held: Mapping[str, Any], *, partition: str, atol: float = 1e-3, weights: Any = None
) -> None:
    """Weights equal those of the pooled records, up to rounding and noise of a step."""
    X, y = pool(held, partition)
    T = targets_of(result, y)
    q = np.ones(len(y)) if weights is None else weights(y)
    reference = solve(result["map"], X, T, q, result["alpha"], shorten=partition == "horizontal")
    found = result["weights"]
    assert found.shape == reference.shape
    off = np.abs(found - reference)
    assert off.max() <= NOISE * result["step"] + atol, (off.max(), result["step"])
    size = np.sqrt(np.square(reference).mean())
    assert result["step"] <= size / 16, "rounding is fine beside the weights"
    assert np.isclose(np.round(found / result["step"]), found / result["step"]).all(), "whole steps"


def check_hinge(result: Any, held: Mapping[str, Any], *, partition: str, weights: Any = None) -> None:
    """The objective of every class is near that of LIBLINEAR on the same features."""
    X, y = pool(held, partition)
    Z, T = features_of(result["map"], X, shorten=partition == "horizontal"), targets_of(result, y)
    q, C = np.ones(len(y)) if weights is None else weights(y), result["C"]
    assert C in {1.0, *COSTS}
    for w, t in zip(result["weights"].T, T.T, strict=True):
        solver = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-5, max_iter=10**6)
        best = solver.fit(Z, t, sample_weight=q).coef_[0]
        mine, least = (0.5 * v @ v + C * (q * np.maximum(0.0, 1.0 - t * (Z @ v))).sum() for v in (w, best))
        # 0.5: noise of a step lies on every weight
        assert least - 1e-6 <= mine <= 1.05 * least + 0.5, (mine, least, C, result["step"])


def check_hinge_of_numbers(result: Any, held: Mapping[str, Any], tube: float) -> None:
    """The objective is near that of LIBLINEAR's regression on the same features, by rows."""
    X, y = pool(held, "horizontal")
    Z, t = features_of(result["map"], X, shorten=True), targets_of(result, y)[:, 0]
    C, tube = result["C"] / result["reach"], tube / result["reach"]
    solver = LinearSVR(C=C, epsilon=tube, fit_intercept=False, tol=1e-6, max_iter=10**6)
    mine, least = (
        0.5 * w @ w + C * np.maximum(0.0, np.abs(t - Z @ w) - tube).sum()
        for w in (result["weights"][:, 0], solver.fit(Z, t).coef_)
    )
    # 0.5: noise of a step lies on every weight
    assert least - 1e-6 <= mine <= 1.05 * least + 0.5, (mine, least, C, result["step"])


def check_answers(result: Any, held: Mapping[str, Any], *, partition: str) -> None:
    """Answers about split records equal those of the public model."""
    X, _ = pool(held, partition)
    Z = features_of(result["map"], X, shorten=False)
    np.testing.assert_allclose(result["answers"]["p1"], Z @ result["weights"], atol=0.05, rtol=0.1)
