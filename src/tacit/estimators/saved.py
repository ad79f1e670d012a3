"""Fitted estimators as model files, and back."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from tacit.choreo import State
from tacit.choreo.message import Record
from tacit.data import Federation
from tacit.data.part import part_of
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.models import files
from tacit.models.gram import GramModel
from tacit.report import Report

# what a file keeps of a fitted estimator beside classes, model and report
KEPT = {
    "GramSVC": "support_",
    "PanSVC": "n_iter_",
    "ShiftSVC": "n_iter_",
    "SecureELMClassifier": "n_features_in_",
    "SecureELMRegressor": "n_features_in_",
}


class Saved(State):
    """What a model file holds: parameters, the model, who holds which features, the report; `kept` is the attribute that `KEPT` names."""

    estimator: str
    params: dict[str, Any]
    classes: tuple[bool | int | float | str, ...]
    kept: Any
    model: Any
    partition: str
    holders: dict[str, tuple[str, ...]]
    columns: dict[str, Any]
    features: tuple[str, ...]
    named: bool
    labeller: str | None
    coordinator: str
    report: str


def save(estimator: Any, path: str | Path) -> Path:
    """Write a fitted estimator. The header names everyone whose records the file contains."""
    fed, name = estimator.federation_, type(estimator).__name__
    if name not in KEPT:
        raise LocalError(f"a {name} has no model file: save one of {', '.join(KEPT)}")
    params = {**estimator.get_params(), "random_state": None}  # a seed's object has no wire form, and no fitted model needs it
    saved = Saved(
        estimator=name,
        params=params,
        classes=tuple(getattr(estimator, "classes_", np.empty(0)).tolist()),  # a regression has none
        kept=getattr(estimator, KEPT[name]),
        model=estimator.model_,
        partition=fed.partition,
        holders={p: part.features for p, part in fed.parts.items()},
        columns=dict(fed.columns),
        features=fed.features,
        named=fed.named,
        labeller=fed.labeller,
        coordinator=fed.coordinator,
        report=json.dumps(estimator.report_.to_dict()),
    )
    header = {
        "estimator": saved.estimator,
        "tacit": version("tacit"),
        "contains_records_of": estimator.model_.records_of(),
        "classes": list(saved.classes),
        "parties": list(saved.holders),
    }
    return files.write(path, header, saved)


def load(path: str | Path) -> Any:
    """The fitted estimator of a model file."""
    from tacit import estimators  # noqa: PLC0415 - their `save` needs this module

    header, saved = files.read(path)
    if not isinstance(saved, Saved) or saved.estimator not in KEPT:
        raise LocalError(f"{path} holds a {header.get('estimator', 'thing')} that this version does not know: upgrade tacit")
    estimator = getattr(estimators, saved.estimator)(**saved.params)
    estimator.federation_ = _federation(saved)
    estimator.model_ = _aligned(saved.model)
    if saved.classes:
        estimator.classes_ = np.array(saved.classes)
    setattr(estimator, KEPT[saved.estimator], saved.kept)
    if isinstance(saved.model, GramModel):
        estimator.n_iter_ = saved.model.dual.iterations
    estimator.n_features_in_ = len(saved.features)
    if saved.named:
        estimator.feature_names_in_ = np.array(saved.features, dtype=object)
    estimator.report_ = Report.from_dict(json.loads(saved.report))
    return estimator


def _aligned(value: Any) -> Any:
    """With every array at an even address: a product of others is slower, and may differ in the last bit from before it was saved."""
    if isinstance(value, Record):
        return type(value)(*(_aligned(getattr(value, name)) for name in value.field_names()))
    if isinstance(value, dict):
        return {key: _aligned(part) for key, part in value.items()}
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


def _federation(saved: Saved) -> Federation:
    parts = {p: part_of(np.empty((0, len(names))), None, None, names) for p, names in saved.holders.items()}
    rows = {p: np.empty(0, dtype=np.int64) for p in parts}
    return Federation(
        cast("Partition", saved.partition), parts, rows, saved.columns, saved.features, saved.named, saved.labeller, saved.coordinator
    )
