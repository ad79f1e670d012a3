"""Pipeline: scikit-learn's, for federations: fitted, reported, saved and exported as one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn import pipeline as sklearn_pipeline
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tacit.errors import LocalError
from tacit.estimators.pan import PanSVC
from tacit.estimators.saved import save_pipeline
from tacit.models.export import export
from tacit.models.prepared import Kept
from tacit.report import Report
from tacit.report.combined import combined


class Pipeline(sklearn_pipeline.Pipeline):  # type: ignore[misc]  # scikit-learn is untyped
    """scikit-learn's Pipeline, with a report of all its steps and a model file.

    A `Federation` passes from step to step, transformed at each of its parties; plain arrays do as in scikit-learn. Every step is a run
    of its own.

    Attributes:
        report_: what all steps together opened and cost.
    """

    report_: Report

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps, one on what the one before makes of X, a `Federation` or plain records."""
        super().fit(X, y, **params)
        self.tell()
        return self

    def tell(self) -> None:
        """Put the reports of the steps together."""
        reports = {name: step.report_ for name, step in self.steps if hasattr(step, "report_")}
        if reports:
            self.report_ = combined(type(self).__name__, reports)

    def prepared(self, X: Any) -> Any:
        """Records, or a `Federation`, as the last step gets them."""
        check_is_fitted(self)
        for _, step in list(self._steps())[:-1]:
            X = step.transform(X)
        return X

    def save(self, path: str | Path) -> Path:
        """Write all steps into one model file; its header says whose records it contains."""
        check_is_fitted(self)
        return save_pipeline(dict(self._steps()), path)

    def to_sklearn(self) -> Any:
        """The same as a fitted pipeline of scikit-learn's own classes."""
        check_is_fitted(self)
        return sklearn_pipeline.Pipeline([(name, _as_sklearn(name, step)) for name, step in self._steps()])

    def export(self, path: str | Path) -> Path:
        """Write it for other programs: `model.onnx` or `model.skops`; the last step is a PanSVC."""
        check_is_fitted(self)
        *before, (name, last) = self._steps()
        if not isinstance(last, PanSVC):
            raise LocalError(
                f"step '{name}' is a {type(last).__name__}, which is not one public model: export a pipeline that ends in PanSVC"
            )
        made = self.to_sklearn() if Path(path).suffix.lower() == ".skops" else None
        names = getattr(self, "feature_names_in_", None)
        steps = [_prepared(name, step) for name, step in before]
        return export(last.model_, last.classes_, self.n_features_in_, path, names, before=steps, pipeline=made)

    def _steps(self) -> Iterator[tuple[str, Any]]:
        """Those that do something; of a search the model that it found."""
        return ((name, getattr(step, "best_estimator_", step)) for name, step in self.steps if step not in (None, "passthrough"))


def _as_sklearn(name: str, step: Any) -> Any:
    if hasattr(step, "to_sklearn"):
        return step.to_sklearn()
    if type(step).__module__.startswith("sklearn."):
        return step
    if isinstance(step, SelectorMixin):
        kept = np.flatnonzero(step.get_support())
        return ColumnTransformer([("kept", "passthrough", kept.tolist())]).fit(np.zeros((1, step.n_features_in_)))
    raise LocalError(f"step '{name}' is a {type(step).__name__}, which is nothing that scikit-learn has: keep it in tacit's model file")


def _prepared(name: str, step: Any) -> Any:
    if isinstance(step, SelectorMixin):
        return Kept(np.flatnonzero(step.get_support()))
    if not hasattr(step, "federation_"):
        raise LocalError(f"step '{name}' is a {type(step).__name__}, which has no ONNX form here: use tacit's own, or export to .skops")
    return step.model_
