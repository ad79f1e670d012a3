"""What the searches for parameters share: candidates in, one run, `cv_results_` and the best estimator out."""

from __future__ import annotations

import dataclasses
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import I64, Array
from tacit.base.parameters import check, parameterized
from tacit.base.saved import Saved, save
from tacit.base.selection_plan import Candidates
from tacit.base.shared import Watched, fit_elsewhere, warn_of
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.protocols.gram.search import LEAST
from tacit.protocols.scores.search_stage import SearchStage
from tacit.registry import Outcome
from tacit.report.card import render_search
from tacit.report.release import Release
from tacit.report.words import plain
from tacit.request import Request

INSTEAD = " (an ELM finds its own ridge by ridge='gcv'; in a Pipeline the search is the last step)"


def _best_has(method: str) -> Callable[[Any], bool]:
    """Return what says whether the best estimator has a method; as in scikit-learn, before `fit` the estimator does."""

    def has(search: Any) -> bool:
        if not search.refit:
            raise AttributeError(f"{type(search).__name__}(refit=False) trains no model on all records: say refit=True")
        getattr(getattr(search, "best_estimator_", search.estimator), method)  # raises if there is none
        return True

    return has


@parameterized
class FederatedSearch(Watched, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Tries candidates over folds that every party deals by a public seed, and trains the best on all records."""

    estimator: Any
    _: KW_ONLY
    scoring: str = "accuracy"
    cv: int = 5
    refit: bool = True

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Return what is tried, in this order."""

    def _factor(self) -> int:
        """Return how many times fewer candidates each next stage has; 0 if there is one stage."""
        return 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search, and train the best.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between the estimator's
                `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records. They count in training; scores count records.
        """
        check(self)
        learner = self._learner()
        federation = learner.federate(X, y, sample_weight)
        request = self._ask(learner, federation)
        if self.verbose:
            print(f"{type(self).__name__}, {len(federation)} parties: {self.plan_}")  # noqa: T201 - asked for
        with self._watching():
            return self if fit_elsewhere(self, federation) else self.receive(federation, federation.run(request))

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raises whatever it would refuse before anything is sent."""
        check(self)
        return self._ask(self._learner(), federation)

    def _ask(self, learner: Any, federation: Federation) -> Request:
        """Draw the candidates, which `receive` has to know, since a second draw would be of others; ask for them."""
        self.candidates_, stages = self._candidates(), {"factor": self._factor(), "refit": self.refit}
        asked = {"cv": self.cv, "scoring": self.scoring, **stages}
        request: Request = learner.search_request(federation, self.candidates_, **asked)
        self.plan_ = learner.search_plan(self.candidates_, self.cv, parties=len(federation), **stages)
        return request

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Become the fitted search that the outcome of its request makes."""
        learner = self._learner()
        self._take(learner, self.candidates_, federation, outcome)
        if self.refit:
            self.best_estimator_ = learner.set_params(**self.best_params_).receive(federation, outcome)
        return self

    @available_if(_best_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return the class of every record, by the best candidate."""
        return self._best().predict(X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return decision values of the best candidate."""
        return self._best().decision_function(X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return probabilities by the best candidate, if the estimator has probability=True."""
        return self._best().predict_proba(X)

    @available_if(_best_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """Return the accuracy of the best candidate on whole records, or on a `Federation` that holds the labels."""
        return float(self._best().score(X, y))

    @available_if(_best_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return logarithms of the probabilities by the best candidate."""
        return self._best().predict_log_proba(X)

    @available_if(_best_has("save"))  # type: ignore[untyped-decorator]
    def save(self, path: str | Path) -> Path:
        """Write the model of the best candidate to a model file, with the report of the whole search."""
        self._best()
        return save(self, path)

    @available_if(_best_has("to_sklearn"))  # type: ignore[untyped-decorator]
    def to_sklearn(self) -> Any:
        """Return the model of the best candidate as a fitted pipeline of scikit-learn's own classes."""
        return self._best().to_sklearn()

    @available_if(_best_has("export"))  # type: ignore[untyped-decorator]
    def export(self, path: str | Path) -> Path:
        """Write the model of the best candidate for other programs: `model.onnx` or `model.skops`."""
        written: Path = self._best().export(path)
        return written

    @available_if(_best_has("release_check"))  # type: ignore[untyped-decorator]
    def release_check(self, X: Any = None, y: Any = None, **how: Any) -> Release:
        """Attack the model of the best candidate, as the estimator's own `release_check` does."""
        found: Release = self._best().release_check(X, y, **how)
        self.report_.release = found
        return found

    def check_savable(self) -> None:
        """Raise if the search, once fitted, would have no model file."""
        if not self.refit:
            raise LocalError(f"{type(self).__name__}(refit=False) trains no model that could be saved: say refit=True")
        self._learner().check_savable()

    def describe(self) -> Saved:
        """Return what a model file holds of the search: the best candidate's model, and the report of all."""
        saved: Saved = self._best().describe()
        return dataclasses.replace(saved, report=json.dumps(self.report_.to_dict()))

    @property
    def federation_(self) -> Federation:
        """Who holds which features."""
        found: Federation = self._best().federation_
        return found

    @property
    def handle_(self) -> Any:
        """The handle of the best model, if the sites keep it in shares."""
        return self._best().handle_

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if the records had names."""
        return np.asarray(self._best().feature_names_in_)

    @property
    def classes_(self) -> Array:
        """Of the best estimator."""
        return np.asarray(self._best().classes_)

    @property
    def n_features_in_(self) -> int:
        """Of the best estimator."""
        return int(self._best().n_features_in_)

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        return self.best_estimator_

    def _html_repr(self) -> str:
        """Return scikit-learn's drawing of the search, and once it is fitted what came out."""
        drawn = str(super()._html_repr())
        if not hasattr(self, "best_params_"):
            return drawn
        title = f"{type(self).__name__}: {self.scoring} {self.best_score_:.4f} over {self.n_splits_} folds"
        found: str = render_search(title, self.best_params_, self.report_)
        return drawn + found

    def splitter(self) -> Any:
        """Return the estimator by whose parameters plain records are split."""
        return self._learner()

    def _learner(self) -> Any:
        """Return a fresh copy of the estimator, which must offer what a search needs (`Searchable`)."""
        if not hasattr(self.estimator, "search_request"):
            name, other = type(self).__name__, type(self.estimator).__name__
            raise LocalError(f"{name} searches for the parameters of PanSVC and GramSVC, not of {other}{INSTEAD}")
        return clone(self.estimator)

    def _take(self, learner: Any, candidates: Candidates, federation: Federation, outcome: Outcome) -> None:
        result = outcome.result
        self.n_splits_ = int(result.folds)
        self.cv_results_ = table(candidates, result.tried, halving=self._factor() > 0)
        scored = len(self.cv_results_["mean_test_score"])  # in a rehearsal fewer than there are candidates
        stage = self.cv_results_.get("iter", np.zeros(scored))
        last = np.flatnonzero(stage == stage.max())
        self.best_index_ = int(last[np.argmax(self.cv_results_["mean_test_score"][last])])
        self.best_params_ = dict(self.cv_results_["params"][self.best_index_])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if federation.backend.returns_shares:
            self.folds_ = _folds(federation, result.fold)
        self.report_ = learner.search_report(self, federation, outcome)
        self.report_.history = [row for row in outcome.history if "candidates" in row]
        best = {f"best {name}": value for name, value in self.best_params_.items()}
        score = {f"its {self.scoring}": self.best_score_}
        self.report_.figures = {**best, **score, "candidates": len(candidates), "folds": self.n_splits_}
        self.report_.metric = self.scoring
        means, deviations = (self.cv_results_[name] for name in ("mean_test_score", "std_test_score"))
        rows = zip(self.cv_results_["params"], means, deviations, strict=True)
        self.report_.candidates = plain([{"params": p, "score": float(m), "deviation": float(d)} for p, m, d in rows])
        warn_of(self.report_, self._concerns())

    def _concerns(self) -> list[str]:
        told, early = [], self.cv_results_["ended_early"]
        if self.n_splits_ < self.cv:
            least = getattr(self.estimator, "min_count", LEAST)
            few = f"of cv={self.cv} folds one would have too few rows of a class for min_count={least}"
            told.append(f"{few}: {self.n_splits_} were dealt")
        # groups of rows leave a gap, which the report tells
        if early.any() and getattr(self.estimator, "min_count", 1) == 1:
            scored = f"{np.count_nonzero(early)} of {len(early)} candidates"
            told.append(f"{scored} were scored by models that ended before tol={self.estimator.tol}")
        return told


def table(candidates: Candidates, tried: Sequence[SearchStage], *, halving: bool) -> dict[str, Any]:
    """Return `cv_results_`: a row for every candidate of every stage."""
    params = [dict(candidates[i]) for stage in tried for i in stage.candidates]
    scores = np.concatenate([stage.scores for stage in tried])
    names = dict.fromkeys(name for each in params for name in each)
    means, counts = np.average(scores, axis=1), [len(stage.candidates) for stage in tried]
    stages = {"iter": np.arange(len(tried)), "share": np.array([stage.share for stage in tried])}
    return {
        **{f"param_{name}": _mask([each.get(name, np.ma.masked) for each in params]) for name in names},
        "params": params,
        **{f"split{q}_test_score": column for q, column in enumerate(scores.T)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
        "ended_early": np.concatenate([stage.early for stage in tried]),
        **({name: np.repeat(each, counts) for name, each in stages.items()} if halving else {}),
    }


def _mask(values: list[Any]) -> Any:
    found = np.ma.MaskedArray(np.empty(len(values), dtype=object), mask=True)
    for i, value in enumerate(values):
        if value is not np.ma.masked:
            found[i] = value
    return found


def _folds(federation: Federation, fold: Mapping[str, I64]) -> I64:
    """Return the fold of every record of the pooled table, as its holder, or for all the coordinator, dealt it."""
    dealt = np.concatenate([fold[party] for party in (federation.parts if len(fold) > 1 else fold)])
    if federation.partition != "horizontal":
        return dealt
    found = np.full(federation.n_rows, -1, dtype=np.int64)
    found[federation.row_order] = dealt
    return found
