"""Fitted estimators as model files, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, cast, get_type_hints

import numpy as np
import sklearn  # whose modules it imports when they are first used
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import I64
from tacit.base.by_name import estimators
from tacit.base.parameters import check
from tacit.choreo import State
from tacit.choreo.message import Record, fits
from tacit.errors import LocalError, TacitError
from tacit.federation import Federation
from tacit.federation.part import part_of
from tacit.federation.plan import SPLITS, Partition
from tacit.models import files
from tacit.models.files import MisfitError, Shapes, among, below
from tacit.report import Report
from tacit.report.words import clean

CENTRAL = "sklearn.SVC"
# what odd values make other code raise
WRONG = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


class Savable:
    """An estimator that has a model file."""

    model_: Any
    federation_: Federation
    report_: Report
    saves: ClassVar[str] = "n_features_in_"  # the attribute that its file keeps beside classes, model and report
    unsaid: ClassVar[Mapping[str, Any]] = {}  # what parameters are meant by a file from before they had a name
    gone: ClassVar[tuple[str, ...]] = ()  # parameters of earlier versions, which files may still have

    def save(self, path: str | Path) -> Path:
        """Write the fitted estimator to a model file; its header says whose records the file contains."""
        check_is_fitted(self)
        return save(self, path)

    def check_savable(self) -> None:
        """Raise if the estimator, once fitted, would have no model file."""
        name = type(self).__name__
        if estimators(Savable).get(name) is not type(self):
            raise LocalError(f"a {name} has no model file: use one of {', '.join(estimators(Savable))}")

    def describe(self) -> Saved:
        """Return what its model file holds."""
        self.check_savable()
        made: Any = self
        fed = made.federation_
        report = made.report_.to_dict() if hasattr(made, "report_") else None  # a selector of one table has none
        return Saved(
            estimator=type(self).__name__,
            params=_params(made),
            classes=tuple(getattr(made, "classes_", np.empty(0)).tolist()),  # a regression has none
            kept=getattr(made, self.saves),
            model=made.model_,
            partition=fed.partition,
            holders={p: part.features for p, part in fed.parts.items()},
            columns=dict(fed.columns),
            features=fed.features,
            named=fed.named,
            labeller=fed.labeller,
            coordinator=fed.coordinator,
            report=json.dumps(report),
            categories=dict(fed.categories),
            kinds=dict(fed.kinds),
            job=getattr(made, "job_", ""),
            until=getattr(made, "until_", ""),
        )

    def restore(self) -> None:
        """Set what follows from the model, once that was read from a file."""


class Unfitted(State):
    """An estimator that is a parameter of another one."""

    estimator: str
    params: dict[str, Any]


class Saved(State):
    """What a model file holds: parameters, the model, who holds which features, the report.

    `kept` is what `Savable.saves` names; `job` is the one between organisations that made it, whose
    sites keep what is theirs `until` then at least.
    """

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
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    job: str = ""
    until: str = ""

    def walk(self) -> Iterator[Saved]:
        """Yield the estimators in it: itself."""
        yield self


class SavedPipeline(State):
    """A pipeline's steps by name, each as a file of its own would hold it."""

    names: tuple[str, ...]
    steps: tuple[Saved | SavedPipeline, ...]

    def walk(self) -> Iterator[Saved]:
        """Yield the estimators in it, in their order."""
        for step in self.steps:
            yield from step.walk()


def save(fitted: Any, path: str | Path) -> Path:
    """Write a fitted estimator, search or pipeline; the header names everyone whose records the file contains."""
    saved = fitted.describe()
    *_, last = saved.walk()
    header = {
        "estimator": saved.estimator if isinstance(saved, Saved) else type(fitted).__name__,
        "tacit": version("tacit"),
        "contains_records_of": {p: what for step in saved.walk() for p, what in step.model.records_of().items()},
        "classes": list(last.classes),
        "parties": list(last.holders),
    }
    return files.write(path, header, saved)


def check_steps(steps: Iterable[tuple[str, Any]]) -> None:
    """Raise if one of these steps, once fitted, would have no model file."""
    for name, step in steps:
        if not hasattr(step, "check_savable"):
            raise LocalError(
                f"step '{name}' is a {type(step).__name__}, which has no model file: use one of"
                f" {', '.join(estimators(Savable))}, or say savable=False for a pipeline that is never saved"
            )
        step.check_savable()


def _wire(value: Any) -> Any:
    """Return a parameter as the codec has it: lists as tuples, NumPy's numbers as Python's, estimators as records."""
    if isinstance(value, BaseEstimator):
        return Unfitted(_name_of(value), _params(value))
    if isinstance(value, Mapping):
        return {_wire(key): _wire(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, range, set, frozenset)):
        return tuple(_wire(inner) for inner in value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":  # texts have no array on the wire
        return _wire(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def _name_of(estimator: BaseEstimator) -> str:
    """Return the name by which an estimator that is a parameter is made again; scikit-learn's SVC is not tacit's."""
    name = type(estimator).__name__
    return CENTRAL if type(estimator) is sklearn.svm.SVC else name


def _params(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator; a random state may have no wire form, and no fitted model needs it."""
    given = estimator.get_params(deep=False)
    return {name: None if name == "random_state" else _wire(value) for name, value in given.items()}


def _unwire(value: Any) -> Any:
    """Return a parameter as an estimator takes it."""
    return _make(value) if isinstance(value, Unfitted) else value


def _make(saved: Saved | Unfitted) -> Any:
    """Return an estimator, not yet fitted, with parameters that it may have."""
    kinds: dict[str, Any] = estimators(Savable)
    kind = sklearn.svm.SVC if saved.estimator == CENTRAL else kinds[saved.estimator]  # a selector takes it too
    unsaid, gone = (kind.unsaid, kind.gone) if issubclass(kind, Savable) else ({}, ())
    given = {**unsaid, **{name: value for name, value in saved.params.items() if name not in gone}}
    made = kind(**{name: _unwire(value) for name, value in given.items()})
    if isinstance(made, Savable):
        check(made)
    return made


def load(path: str | Path) -> Any:
    """Return the fitted estimator, or pipeline, of a model file; refuse any other bytes with a `LocalError`."""
    known = estimators(Savable)  # before the file is read: a model's record has a name once its module is imported
    header, saved = files.read(path)
    steps = tuple(saved.walk()) if isinstance(saved, Saved | SavedPipeline) else ()
    if not steps or not all(step.estimator in known for step in steps):
        raise LocalError(
            f"{path} holds a {clean(header.get('estimator', 'thing'))} that this version does not know: upgrade tacit"
        )
    try:
        return _load(saved)
    except (*WRONG, TacitError):
        raise files.unreadable(path) from None


def _load(saved: Saved | SavedPipeline) -> Any:
    return _load_pipeline(saved) if isinstance(saved, SavedPipeline) else _load_estimator(saved)


def _load_pipeline(saved: SavedPipeline) -> Any:
    steps = [(name, _load(step)) for name, step in zip(saved.names, saved.steps, strict=True)]
    pipeline = import_module("tacit").Pipeline(steps)
    pipeline.combine_reports()
    return pipeline


def _load_estimator(saved: Saved) -> Any:
    kind = estimators(Savable)[saved.estimator]
    _check(saved, kind)
    estimator = _make(saved)
    estimator.federation_ = _federation(saved)
    estimator.model_ = _align(saved.model)
    if saved.classes:
        estimator.classes_ = np.array(saved.classes)
    setattr(estimator, kind.saves, saved.kept)
    estimator.n_features_in_ = len(saved.features)
    if saved.job:
        estimator.job_, estimator.until_ = saved.job, saved.until
    if saved.named:
        estimator.feature_names_in_ = np.array(saved.features, dtype=object)
    if (told := json.loads(saved.report)) is not None:
        estimator.report_ = Report.from_dict(told)
    if not vars(estimator).keys().isdisjoint(getattr(saved.model, "learnt", {})):
        raise MisfitError("a statistic has the name of another attribute")
    estimator.restore()
    return estimator


def _check(saved: Saved, kind: type[Savable]) -> None:
    """Raise unless all that a file says fits together, before anything is made of it."""
    hints = get_type_hints(kind)
    if not fits(saved.model, hints["model_"]) or not fits(saved.kept, hints.get(kind.saves, int)):
        raise MisfitError(f"this is not a model of a {saved.estimator}")
    if len({*saved.features}) != len(saved.features) or len({*saved.classes}) != len(saved.classes):
        raise MisfitError("two features or two classes have the same name")
    if issubclass(kind, ClassifierMixin) and len(saved.classes) < 2:  # noqa: PLR2004 - a classifier separates two
        raise MisfitError("a classifier needs two classes or more")
    among(saved.partition, SPLITS, "partition")
    for column in (*saved.categories, *saved.kinds):
        among(column, saved.features, "feature")
    widths = {party: len(names) for party, names in saved.holders.items()}
    shapes = Shapes(widths, len(saved.features), len(saved.classes))
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


def _align(value: Any) -> Any:
    """Return the value with every array at an even address.

    A product of other arrays is slower, and may differ in the last bit from before it was saved.
    """
    if isinstance(value, Record):
        return type(value)(*(_align(getattr(value, name)) for name in value.field_names()))
    if isinstance(value, dict):
        return {key: _align(part) for key, part in value.items()}
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


def _federation(saved: Saved) -> Federation:
    parts = {p: part_of(np.empty((0, len(names))), None, None, names) for p, names in saved.holders.items()}
    rows = {p: np.empty(0, dtype=np.int64) for p in parts}
    partition, names = cast("Partition", saved.partition), (saved.features, saved.named)
    raw: dict[str, Any] = {"categories": saved.categories, "kinds": saved.kinds}
    return Federation(partition, parts, rows, saved.columns, *names, saved.labeller, saved.coordinator, **raw)
