"""Fitted estimators as model files, and back."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from tacit.choreo import State
from tacit.data import Federation
from tacit.data.part import part_of
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.models import files
from tacit.models.gram import GramModel
from tacit.report import Report


class Saved(State):
    """What a model file holds beside the shares: parameters, who holds which features, the report."""

    estimator: str
    params: dict[str, Any]
    classes: tuple[bool | int | float | str, ...]
    support: Any
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
    fed = estimator.federation_
    params = {**estimator.get_params(), "random_state": None}  # a seed's object has no wire form, and only splits plain arrays
    saved = Saved(
        estimator=type(estimator).__name__,
        params=params,
        classes=tuple(estimator.classes_.tolist()),
        support=estimator.support_,
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
    from tacit.estimators.gram import GramSVC  # noqa: PLC0415 - GramSVC.save needs this module

    known = {cls.__name__: cls for cls in (GramSVC,)}
    header, saved = files.read(path)
    if not isinstance(saved, Saved) or saved.estimator not in known:
        raise LocalError(f"{path} holds a {header.get('estimator', 'thing')} that this version does not know: upgrade tacit")
    estimator = known[saved.estimator](**saved.params)
    estimator.federation_ = _federation(saved)
    estimator.classes_, estimator.support_, estimator.model_ = np.array(saved.classes), saved.support, saved.model
    if isinstance(saved.model, GramModel):
        estimator.n_iter_ = saved.model.dual.iterations
    estimator.n_features_in_ = len(saved.features)
    if saved.named:
        estimator.feature_names_in_ = np.array(saved.features, dtype=object)
    estimator.report_ = Report.from_dict(json.loads(saved.report))
    return estimator


def _federation(saved: Saved) -> Federation:
    parts = {p: part_of(np.empty((0, len(names))), None, None, names) for p, names in saved.holders.items()}
    rows = {p: np.empty(0, dtype=np.int64) for p in parts}
    return Federation(
        cast("Partition", saved.partition), parts, rows, saved.columns, saved.features, saved.named, saved.labeller, saved.coordinator
    )
