"""Fitted estimators as model files, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast, get_type_hints

import numpy as np

from tacit.choreo import I64, State
from tacit.choreo.message import Record, fits
from tacit.data import Federation
from tacit.data.part import part_of
from tacit.data.plan import SPLITS, Partition
from tacit.errors import LocalError, TacitError
from tacit.estimators.parameters import check
from tacit.models import files
from tacit.models.gram import GramModel
from tacit.models.shapes import MisfitError, Shapes, among, below
from tacit.report import Report
from tacit.report.words import clean

# what a file keeps of a fitted estimator beside classes, model and report
KEPT = {
    "ConsensusSVC": "n_iter_",
    "GramSVC": "support_",
    "GramSVR": "support_",
    "PanSVC": "n_iter_",
    "ShiftSVC": "n_iter_",
    "SecureELMClassifier": "n_features_in_",
    "SecureELMRegressor": "n_features_in_",
    "FederatedScaler": "n_features_in_",
    "FederatedImputer": "n_features_in_",
    "FederatedEncoder": "n_features_in_",
}
WRONG = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)  # what odd values make other code raise


class Saved(State):
    """What a model file holds: parameters, the model, who holds which features, the report; `kept` is the attribute that `KEPT` names."""

    estimator: str
    params: dict[str, Any]
    classes: tuple[bool | int | float | str, ...]
    kept: Any
    model: Any
    partition: str
    holders: dict[str, tuple[str, ...]]
    columns: dict[str, I64]
    features: tuple[str, ...]
    named: bool
    labeller: str | None
    coordinator: str
    report: str


class SavedPipeline(State):
    """A pipeline's steps by name, each as a file of its own would hold it."""

    names: tuple[str, ...]
    steps: tuple[Saved, ...]


def save(estimator: Any, path: str | Path) -> Path:
    """Write a fitted estimator. The header names everyone whose records the file contains."""
    saved = _saved(estimator)
    return files.write(path, _header(saved.estimator, [estimator], saved), saved)


def save_pipeline(steps: Mapping[str, Any], path: str | Path) -> Path:
    """Write the steps of a fitted pipeline, all of which have model files."""
    saved = SavedPipeline(tuple(steps), tuple(_saved(step) for step in steps.values()))
    return files.write(path, _header("Pipeline", steps.values(), saved.steps[-1]), saved)


def _header(name: str, steps: Iterable[Any], last: Saved) -> dict[str, Any]:
    records = {party: what for step in steps for party, what in step.model_.records_of().items()}
    return {
        "estimator": name,
        "tacit": version("tacit"),
        "contains_records_of": records,
        "classes": list(last.classes),
        "parties": list(last.holders),
    }


def _saved(estimator: Any) -> Saved:
    name = type(estimator).__name__
    if name not in KEPT:
        raise LocalError(f"a {name} has no model file: save one of {', '.join(KEPT)}")
    fed = estimator.federation_
    params = {**estimator.get_params(), "random_state": None}  # a seed's object has no wire form, and no fitted model needs it
    return Saved(
        estimator=name,
        params=_wire(params),
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


def _wire(value: Any) -> Any:
    """Lists as tuples and numpy's numbers as Python's, as the codec has them."""
    if isinstance(value, Mapping):
        return {key: _wire(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_wire(inner) for inner in value)
    return value.item() if isinstance(value, np.generic) else value


def load(path: str | Path) -> Any:
    """The fitted estimator, or pipeline, of a model file; whatever bytes the file has, the only error is a `LocalError`."""
    header, saved = files.read(path)
    steps = saved.steps if isinstance(saved, SavedPipeline) else (saved,)
    if not steps or not all(isinstance(step, Saved) and step.estimator in KEPT for step in steps):
        raise LocalError(f"{path} holds a {clean(header.get('estimator', 'thing'))} that this version does not know: upgrade tacit")
    try:
        return _pipeline(saved) if isinstance(saved, SavedPipeline) else _loaded(saved)
    except (*WRONG, TacitError):
        raise files.unreadable(path) from None


def _pipeline(saved: SavedPipeline) -> Any:
    from tacit import estimators  # noqa: PLC0415 - their `save` needs this module

    pipeline = estimators.Pipeline([(name, _loaded(step)) for name, step in zip(saved.names, saved.steps, strict=True)])
    pipeline.tell()
    return pipeline


def _loaded(saved: Saved) -> Any:
    from tacit import estimators  # noqa: PLC0415 - as above

    kind = getattr(estimators, saved.estimator)
    _check(saved, kind)
    estimator = kind(**saved.params)
    check(estimator, kind.RULES)
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
    if isinstance(estimator, estimators.FederatedTransformer):
        if not vars(estimator).keys().isdisjoint(getattr(saved.model, "learnt", {})):
            raise MisfitError("a statistic has the name of something else")
        estimator.restore()
    return estimator


def _check(saved: Saved, kind: type) -> None:
    """Raise unless all that a file says fits together, before anything is made of it."""
    hints = get_type_hints(kind)
    if not fits(saved.model, hints["model_"]) or not fits(saved.kept, hints.get(KEPT[saved.estimator], int)):
        raise MisfitError(f"this is no model of a {saved.estimator}")
    if len({*saved.features}) != len(saved.features) or len({*saved.classes}) != len(saved.classes):
        raise MisfitError("features and classes need names of their own")
    among(saved.partition, SPLITS, "partition")
    shapes = Shapes({party: len(names) for party, names in saved.holders.items()}, len(saved.features), len(saved.classes))
    shapes.same("columns", len(saved.features))
    shapes.of_holders(saved.columns)
    for party, names in saved.holders.items():
        shapes.fit(saved.columns[party], len(names))
        below(saved.columns[party].tolist(), len(saved.features))
        if tuple(saved.features[j] for j in saved.columns[party]) != names:
            raise MisfitError("a party's features are not those of its columns")
    saved.model.check(shapes)
    if isinstance(saved.kept, np.ndarray):
        shapes.fit(saved.kept, "support")


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
