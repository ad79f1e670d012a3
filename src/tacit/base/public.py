"""What a fitted estimator shows of its model, where that is public: coefficients, and files for other programs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64
from tacit.base.release import Releasable
from tacit.errors import LocalError
from tacit.models.mapped import MappedModel


class Public(Releasable):
    """An estimator whose model may be public; `coef_` and `intercept_` are scikit-learn's, of a linear one."""

    n_features_in_: int

    @property
    def makes_public_model(self) -> bool:
        """Whether its model will be public once it is trained by rows; what prepares a table makes none."""
        return type(self).public_model is not Public.public_model

    def public_model(self) -> MappedModel | None:
        """Return the model, if it is public: whoever has it needs nobody else. None if its parties keep parts of it."""
        return None

    @property
    def coef_(self) -> F64:
        """The weights of the columns, one row per problem; only of a public linear model."""
        return np.array(self._linear("coef_")[0])

    @property
    def intercept_(self) -> F64:
        """The intercepts, one for each problem; only of a public linear model."""
        return np.array(self._linear("intercept_")[1])

    def to_sklearn(self) -> Pipeline:
        """Return the same model as a fitted pipeline of scikit-learn's own classes."""
        model, (classes, _, names) = self._shown(), self._described()
        return _exports().to_sklearn(model, classes, names)

    def export(self, path: str | Path) -> Path:
        """Write the model for other programs, `model.onnx` or `model.skops`, unless the release gate refuses it."""
        model, (classes, columns, names) = self._shown(), self._described()
        self._check_export()
        written: Path = _exports().export(model, classes, columns, path, names)
        return written

    def _described(self) -> tuple[Any, int, Any]:
        return getattr(self, "classes_", None), self.n_features_in_, getattr(self, "feature_names_in_", None)

    def _shown(self) -> MappedModel:
        check_is_fitted(self)
        model = self.public_model()
        if model is None:
            raise LocalError(
                f"this {type(self).__name__} is not public, its parties keep parts of it: use tacit's own"
                " file (save), or train SVC with landmarks, whose model is public"
            )
        return model

    def _linear(self, name: str) -> tuple[F64, F64]:
        model = self.public_model() if hasattr(self, "model_") else None
        found: tuple[F64, F64] | None = getattr(model, "linear", None)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has {name} only if it is fitted with a public linear model")
        return found


def _exports() -> Any:
    """Return what exports models; it needs much of scikit-learn, for which no training has to wait."""
    return import_module("tacit.models.export")
