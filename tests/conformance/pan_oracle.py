"""PAN-SVM and its cutting planes as conformance cases: the pooled linear SVM on the same features is the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leaks.planes import bracket, objective
from tacit.choreo import At, Coordinator, Holder, Run
from tacit.data.part import Part
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.cutting_plane import Solution, cutting_plane
from tacit.protocols.feature_map import FeatureMap, map_records
from tacit.protocols.pan_svm import pan_svm
from tacit.protocols.plane_rows import Rows
from tacit.protocols.row_problems import problems, signs_of
from tacit.protocols.secure_sum import protect

C, TOL = 1.0, 0.02
FIGURES = ("w", "b", "objective", "bound")
SHAPE = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "C": C, "tol": TOL, "min_count": 3, "min_cluster": 3}


def labelled(classes: int) -> tuple[Any, Any]:
    """Records that a plane separates not quite."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(75, 3))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=75)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def split(parties: Sequence[str]) -> dict[str, Any]:
    """Unequal shares."""
    cuts = np.cumsum(np.arange(1, len(parties)) * 75 // (len(parties) * (len(parties) + 1) // 2))
    return dict(zip(parties, np.split(np.arange(75), cuts), strict=True))


def rows_at(parties: Sequence[str], classes: int, multi_class: str) -> dict[str, Rows]:
    """What `cutting_plane` is given."""
    X, y = labelled(classes)
    signs = signs_of(y, problems(classes, multi_class))
    return {p: Rows(X[i], signs[i], np.ones(len(i))) for p, i in split(parties).items()}


def parts_at(parties: Sequence[str], classes: int) -> dict[str, Part]:
    """What `pan_svm` is given."""
    X, y = labelled(classes)
    return {p: Part(X[i], y[i], None, ("a", "b", "c"), None) for p, i in split(parties).items()}


def figures(found: Solution) -> dict[str, Any]:
    """As plain arrays."""
    return {name: getattr(found, name) for name in FIGURES}


def play_planes(run: Run, rows: At[Any], **params: Any) -> Any:
    fixed = FixedPoint(32, terms=len(run.roster[Holder]))
    by = protect(run, to=Coordinator)
    return figures(cutting_plane(run, rows, by=by, fixed=fixed, C=C, tol=TOL, min_count=3, **params))


def play_pan(run: Run, data: At[Any], **params: Any) -> Any:
    found = pan_svm(run, data, **{**SHAPE, **params})
    the_map = found["map"]
    return {**figures(found["solution"]), **{name: getattr(the_map, name) for name in the_map.field_names()}}


def check_models(result: Any, F: Any, classes: int, multi_class: str) -> None:
    """The bound is below the optimum, the objective, which is the model's own, not far above it."""
    _, y = labelled(classes)
    signs = signs_of(y, problems(classes, multi_class))
    rows = Rows(F, signs, np.ones(75))
    assert result["w"].shape == (signs.shape[1], F.shape[1])
    for k in range(signs.shape[1]):
        dual, primal = bracket(rows, C, k, tol=1e-4)
        told = float(result["objective"][k])
        np.testing.assert_allclose(objective(rows, result["w"][k], float(result["b"][k]), C, k), told, rtol=1e-7)
        assert dual * (1 - 1e-6) <= told <= primal * 1.1
        assert result["bound"][k] <= primal * (1 + 1e-6)


def check_planes(result: Any, inputs: Any, *, classes: int, multi_class: str) -> None:
    del inputs
    check_models(result, labelled(classes)[0], classes, multi_class)


def check_pan(result: Any, inputs: Any, *, classes: int, multi_class: str, source: str) -> None:
    del inputs
    the_map = FeatureMap(**{name: result[name] for name in FeatureMap.field_names()})
    assert the_map.source == source
    check_models(result, map_records(the_map, labelled(classes)[0]), classes, multi_class)
