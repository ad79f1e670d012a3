"""Pipeline: scikit-learn's, for federations: fitted, reported, saved and exported as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import pipeline as sklearn_pipeline
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import _final_estimator_has
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from tacit.arrays import Array
from tacit.base.private import divide_budget, write_total
from tacit.base.release import Releasable
from tacit.base.saved import SavedPipeline, check_steps, save
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.frames import arrange, is_frame
from tacit.models.export import export
from tacit.models.handle import Handle
from tacit.models.prepared import Kept
from tacit.progress import begin_step, watching
from tacit.report import Report
from tacit.report.report import combine

UNUSED = (None, "passthrough")  # scikit-learn's words for a step that does nothing


class Pipeline(Releasable, sklearn_pipeline.Pipeline):  # type: ignore[misc]  # scikit-learn is untyped
    """scikit-learn's Pipeline, with a report of all its steps and a model file.

    A `Federation` passes from step to step, and each party transforms its own part. Plain arrays work as in
    scikit-learn. A plain frame is split once, as the last step would split it, and keeps its names, texts and dates
    from step to step. Every step is a run of its own.

    Args:
        steps: as in scikit-learn: (name, estimator), one after the other.
        transform_input: as in scikit-learn.
        memory: as in scikit-learn.
        verbose: as in scikit-learn.
        savable: raise before the training if `save` would refuse the result; False allows steps from other packages,
            which have no model file.
        epsilon: one budget of differential privacy for all steps together (docs/privacy.md): `fit` divides it, and sets
            epsilon, delta and honest of every step. None: as the steps say.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        shares: with epsilon, {step: its share of the budget}, which add up to at most 1; None: half for the last step.

    Attributes:
        report_: what all steps together opened and cost.
        federation_: which party held which columns of the first step.
        overview_: what the table looked like, if a study began with a look at it.
    """

    steps: list[tuple[str, Any]]
    report_: Report
    overview_: Any

    def __init__(
        self,
        steps: Any,
        *,
        transform_input: Any = None,
        memory: Any = None,
        verbose: bool = False,
        savable: bool = True,
        epsilon: float | None = None,
        delta: float = 1e-5,
        honest: int | None = None,
        shares: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)
        self.savable = savable
        self.epsilon, self.delta, self.honest, self.shares = epsilon, delta, honest, shares

    def fit(self, X: Any, y: Any = None, *, compare: bool = False, **params: Any) -> Self:
        """Fit the steps in order, each on what the step before made of X: a `Federation` or plain records.

        Args:
            X: a `Federation` that holds the labels, or plain records.
            y: labels, with plain records.
            compare: in simulation, have the last step train the centralised learner too, and report the difference.
            params: of single steps, as in scikit-learn: step__parameter.
        """
        if compare:
            params[f"{self.steps[-1][0]}__compare"] = True
        self.divide_budget()
        if self.savable:
            self.check_savable()
        if hasattr(self, "overview_"):  # of what it was fitted on before
            del self.overview_
        with watching(type(self).__name__, self.verbose or None) as watch:  # scikit-learn's default says nothing of one

            def fit_steps() -> Pipeline:
                with watch.in_steps([name for name, _ in self.steps]):
                    super(Pipeline, self).fit(*self._federate(X, y, params), **params)
                self.combine_reports()
                return self

            if isinstance(X, Federation):
                X.backend.fit(X, self, fit_steps)
            else:
                fit_steps()
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the steps, and return what all of them make of X."""
        return self.fit(X, y, **params).transform(X)

    def _log_message(self, step_idx: int) -> str | None:
        """Say that a step begins, which is when scikit-learn asks what to write of it."""
        begin_step(self.steps[step_idx][0])
        message: str | None = super()._log_message(step_idx)
        return message

    @available_if(_final_estimator_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any, **params: Any) -> Any:
        """Return what the last step predicts; between organisations an `Answers` that says who has it."""
        return self._answer("predict", X, params)

    @available_if(_final_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: Any) -> Any:
        """Return decision values of the last step; between organisations an `Answers` that says who has them."""
        return self._answer("decision_function", X, params)

    @available_if(_final_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Return probabilities by the last step; between organisations an `Answers` that says who has them."""
        return self._answer("predict_proba", X, params)

    @available_if(_final_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, **params: Any) -> Any:
        """Return logarithms of the probabilities; between organisations an `Answers` that says who has them."""
        return self._answer("predict_log_proba", X, params)

    @available_if(_final_estimator_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float:
        """Return the score of the last step; on labelled records of sites, by one job."""
        check_is_fitted(self)

        def compare() -> float:
            return float(super(Pipeline, self).score(self._arrange(X), y, sample_weight, **params))

        return X.backend.score(X, self, compare) if isinstance(X, Federation) and y is None else compare()

    def _federate(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Any]:
        """Return a plain frame and its labels as a federation, which weights of the last step then belong to."""
        steps, weights = [step for _, step in self._used()], f"{self.steps[-1][0]}__sample_weight"
        federation = federate_frame(steps, X, y, params.get(weights))
        if federation is None:
            return X, y
        params.pop(weights, None)
        return federation, None

    def _answer(self, method: str, X: Any, params: Mapping[str, Any]) -> Any:
        """Return what a method of scikit-learn's pipeline says of records, or where sites have it."""
        check_is_fitted(self)

        def here() -> Any:
            return getattr(super(Pipeline, self), method)(self._arrange(X), **params)

        return X.backend.answer(X, self, here) if isinstance(X, Federation) else here()

    def divide_budget(self) -> None:
        """Give every step its share of epsilon, if the pipeline has one."""
        if self.epsilon is not None:
            divide_budget(list(self._used()), self.epsilon, self.delta, self.honest, self.shares)

    def check_savable(self) -> None:
        """Raise if the pipeline, once fitted, would have no model file."""
        check_steps(self._used())

    def take(self, fitted: Pipeline) -> Self:
        """Take the fitted steps of another pipeline with the same steps; parameters stay those of this one."""
        for (_, mine), (_, step) in zip(self._used(), fitted.steps, strict=True):
            step.set_params(**mine.get_params(deep=False))
        made = iter(fitted.steps)
        self.steps = [pair if pair[1] in UNUSED else next(made) for pair in self.steps]
        self.combine_reports()
        return self

    def combine_reports(self) -> None:
        """Put the reports of the steps together, after that of a look at the table."""
        looked = {"overview": self.overview_.report} if hasattr(self, "overview_") else {}
        reports = {**looked, **{name: step.report_ for name, step in self.steps if hasattr(step, "report_")}}
        if self.steps and reports:
            self.report_ = combine(type(self).__name__, reports)
        elif looked:
            self.report_ = self.overview_.report
        total = write_total(self._used())
        if total:
            self.report_.figures = {**total, **(self.report_.figures or {})}

    def prepare(self, X: Any) -> Any:
        """Return records, or a `Federation`, as the last step gets them."""
        check_is_fitted(self)
        X = self._arrange(X)
        for _, step in list(self._steps())[:-1]:
            X = step.transform(X)
        return X

    def _arrange(self, X: Any) -> Any:
        """Return new records with the columns of the training, in order; those that are left out may be missing."""
        known = getattr(self, "feature_names_in_", None)
        if known is None:
            return X
        if isinstance(X, Federation):
            moved = X.partition == "horizontal" and X.features != tuple(known) and set(X.features) == set(known)
            return X.take_columns(known.tolist()) if moved and X.holds_records else X
        spare = getattr(next(self._steps())[1], "dropped_", {})
        return arrange(X, known.tolist(), spare) if is_frame(X) else X

    @property
    def handle_(self) -> Handle | None:
        """The handle of a model that the sites keep in shares; None for a public or a simulated model."""
        check_is_fitted(self)
        *_, (_, last) = self._steps()
        found: Handle | None = getattr(last, "handle_", None)
        return found

    @property
    def federation_(self) -> Federation:
        """Who held which of the columns that the first step was given."""
        found: Federation = next(self._steps())[1].federation_
        return found

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns that the last step makes, or, if it makes none, of those that it is given."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        for _, step in self._steps():
            if hasattr(step, "get_feature_names_out"):
                names = step.get_feature_names_out(names)
        return np.asarray(names, dtype=object)

    def save(self, path: str | Path) -> Path:
        """Write all steps into one model file; its header says whose records it contains."""
        check_is_fitted(self)
        return save(self, path)

    def describe(self) -> SavedPipeline:
        """Return what its model file holds: every step that does something; of a search the model that it found."""
        self.check_savable()
        steps = {name: step for name, step in self.steps if step not in (None, "passthrough")}
        return SavedPipeline(tuple(steps), tuple(step.describe() for step in steps.values()))

    def to_sklearn(self) -> Any:
        """Return the same model as a fitted pipeline of scikit-learn's own classes."""
        check_is_fitted(self)
        return sklearn_pipeline.Pipeline([(name, _as_sklearn(name, step)) for name, step in self._steps()])

    def export(self, path: str | Path) -> Path:
        """Write the pipeline for other programs: `model.onnx` or `model.skops`; its last model must be public."""
        check_is_fitted(self)
        *before, (name, last) = self._steps()
        model = last.public_model() if hasattr(last, "public_model") else None
        if model is None:
            raise _refuse(name, last, "is not a public model: export a pipeline that ends in SVC with landmarks")
        self._check_export()
        made = self.to_sklearn() if Path(path).suffix.lower() == ".skops" else None
        names, classes = getattr(self, "feature_names_in_", None), getattr(last, "classes_", None)
        steps = [] if made is not None else [_model_of(name, step) for name, step in before]
        return export(model, classes, self.n_features_in_, path, names, before=steps, pipeline=made)

    def _steps(self) -> Iterator[tuple[str, Any]]:
        """Return the steps that do something; of a search the model that it found."""
        return ((name, getattr(step, "best_estimator_", step)) for name, step in self._used())

    def _used(self) -> Iterator[tuple[str, Any]]:
        return ((name, step) for name, step in self.steps if step not in UNUSED)


def _as_sklearn(name: str, step: Any) -> Any:
    private = hasattr(step, "public_model") and step.public_model() is None
    if hasattr(step, "to_sklearn") and not private:
        return step.to_sklearn()
    if type(step).__module__.startswith("sklearn."):
        return step
    if isinstance(step, SelectorMixin):
        kept = np.flatnonzero(step.get_support())
        return ColumnTransformer([("kept", "passthrough", kept.tolist())]).fit(np.zeros((1, step.n_features_in_)))
    raise _refuse(name, step, "has no counterpart in scikit-learn: use tacit's model file")


def _model_of(name: str, step: Any) -> Any:
    if isinstance(step, SelectorMixin):
        return Kept(np.flatnonzero(step.get_support()))
    if not hasattr(step, "federation_"):
        raise _refuse(name, step, "has no ONNX form here: use tacit's model file, or export to .skops")
    return step.model_


def _refuse(name: str, step: Any, why: str) -> LocalError:
    return LocalError(f"step '{name}' is a {type(step).__name__}, which {why}")


# Plain frames as one federation for all steps of a pipeline.
#
# Each step alone makes numbers of a frame, without the names of its columns and without what texts and dates mean. A
# federation carries these from step to step.


def federate_frame(steps: Sequence[Any], X: Any, y: Any, sample_weight: Any) -> Federation | None:
    """Return a frame, or sparse records, split once, as the last step splits plain records; None of all others.

    Others are arrays, and records for steps of other packages, or for a learner of single cells.
    """
    if not (is_frame(X) or issparse(X)) or not steps or not all(hasattr(step, "splitter") for step in steps):
        return None
    splitters = [step.splitter() for step in steps]
    if None in splitters:
        return None
    last = splitters[-1]
    partition = last.partition or last.SPLITS[0]
    if partition == "arbitrary":
        return None
    if issparse(X):
        made: Federation = last.imagine(X, y, partition=partition, sample_weight=sample_weight)
        return made
    declared = steps[0].texts_of(X) if hasattr(steps[0], "texts_of") else {}
    columns = X.column_names if hasattr(X, "column_names") else X.columns
    texts = {name: known for name, known in declared.items() if name in columns}  # its step refuses others
    frame: Federation = last.imagine(X, y, partition=partition, sample_weight=sample_weight, raw=True, categories=texts)
    return frame
