"""FederatedGridSearch and FederatedRandomizedSearch: parameters found in one run, in shares."""

from __future__ import annotations

import dataclasses
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.base.parameters import check, draw_seed, parameterized
from tacit.base.saved import Saved, save
from tacit.base.shared import Watched
from tacit.choreo.declaration import Kind, Number
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.model_selection.validation import cross_validate
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.card import render_search
from tacit.report.evaluation import ERROR_FIGURES, FIGURES
from tacit.report.release import Release
from tacit.report.report import combine
from tacit.report.words import plain
from tacit.request import Request

ACCURACY = "accuracy"
ELSEWHERE = (
    "between organisations a search scores accuracy, or R^2 of numbers, on five fixed folds: leave scoring, cv,"
    " n_repeats and groups out"
)


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
    """Compare candidates on five fixed folds, in shares, and train the best on all records."""

    estimator: Any
    _: KW_ONLY
    refit: bool = True
    scoring: str | None = None
    cv: int | str | None = None
    n_repeats: int = 1

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Return what is tried, in this order."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search, and train the best.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between the estimator's
                `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records. They count in training; scores count records.
            groups: in simulation, as in `cross_validate`: records with the same value are in the same fold.
        """
        check(self)
        federation = self._learner().federate(X, y, sample_weight)
        with self._watching():
            federation.backend.fit(federation, self, partial(self._search, federation, groups))
        return self

    def _search(self, federation: Federation, groups: Any) -> Self:
        if groups is not None or not self._is_shared():
            return self._search_one_by_one(federation, groups)
        return self.receive(federation, federation.run(self.request(federation)))

    def _is_shared(self) -> bool:
        """Whether scores are found in shares: of five fixed folds, accuracy or R^2."""
        metric = "r2" if is_regressor(self.estimator) else ACCURACY
        return self.scoring in (None, metric) and self.cv is None and self.n_repeats == 1

    def _search_one_by_one(self, federation: Federation, groups: Any) -> Self:
        """Validate each candidate by itself, in simulation."""
        if not federation.holds_records:
            raise LocalError(ELSEWHERE)
        learner, tried = self._learner(), self._candidates()
        told = FIGURES.get(self.scoring or "") or ERROR_FIGURES.get(self.scoring or "")
        if told is not None and not told.better:
            raise LocalError(f"scoring={self.scoring!r} says not which model is better: search by another figure")
        seed = draw_seed(getattr(learner, "random_state", None))
        how = {"cv": self.cv or 5, "scoring": self.scoring, "groups": groups, "n_repeats": self.n_repeats}
        found = [
            cross_validate(clone(learner).set_params(**each), federation, random_state=seed, **how) for each in tried
        ]
        scores, deviations = (np.array([getattr(each, name) for each in found]) for name in ("mean", "deviation"))
        self.n_splits_, self.step_ = len(found[0].scores), 0.0
        report = combine(type(learner).__name__, {f"candidate {i}": each.report for i, each in enumerate(found, 1)})
        return self._rank(federation, tried, scores, deviations, found[0].metric, report, told.better if told else 1)

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raises whatever it would refuse before anything is sent."""
        check(self)
        if not self._is_shared():
            raise LocalError(ELSEWHERE)
        self.candidates_ = self._candidates()  # which `receive` has to know, since a second draw would be of others
        found: Request = self._learner().search_request(federation, self.candidates_)
        return found

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Take the rounded scores of the candidates, and train the best one."""
        learner = self._learner()
        metric = "r2" if is_regressor(learner) else ACCURACY
        scores = np.asarray(outcome.result.scores, dtype=np.float64)
        tried = self.candidates_[: len(scores)]  # in a rehearsal there may be fewer
        self.n_splits_, self.step_ = int(outcome.result.folds), float(outcome.result.step)
        report = learner.search_report(federation, outcome)
        return self._rank(federation, tried, scores, np.full(len(scores), np.nan), metric, report, 1)

    def _rank(
        self,
        federation: Federation,
        tried: list[dict[str, Any]],
        scores: F64,
        deviations: F64,
        metric: str,
        report: Report,
        better: int,
    ) -> Self:
        """Take the scores of the candidates, and train the best one; `better` is -1 where a lower score is better."""
        names = dict.fromkeys(name for each in tried for name in each)
        rated = np.where(np.isnan(scores), -np.inf, better * scores)
        self.cv_results_ = {
            **{f"param_{name}": _mask([each.get(name, np.ma.masked) for each in tried]) for name in names},
            "params": [dict(each) for each in tried],
            "mean_test_score": scores,
            **({} if np.isnan(deviations).all() else {"std_test_score": deviations}),
            "rank_test_score": rankdata(-rated, method="min").astype(np.int32),
        }
        self.best_index_ = int(np.argmax(rated))
        self.best_params_ = dict(tried[self.best_index_])
        self.best_score_ = float(scores[self.best_index_])
        self.report_ = report
        if self.refit:
            self.best_estimator_ = self._learner().set_params(**self.best_params_).fit(federation)
            both = {"search": self.report_, "refit": self.best_estimator_.report_}
            self.report_ = combine(type(self).__name__, both)
        best = {f"best {name}": value for name, value in self.best_params_.items()}
        told = {f"its {metric}": self.best_score_}
        told |= {"scores are rounded to": self.step_} if self.step_ else {}
        self.report_.figures = {**(self.report_.figures or {}), **best, **told, "candidates": len(tried)}
        self.report_.metric = metric
        rows = zip(tried, scores.tolist(), deviations.tolist(), strict=True)
        shown = [{"params": p, "score": s, "deviation": "nan" if np.isnan(d) else d} for p, s, d in rows]
        self.report_.candidates = plain(shown)
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
        title = f"{type(self).__name__}: {self.report_.metric} {self.best_score_:.4f} over {self.n_splits_} folds"
        found: str = render_search(title, self.best_params_, self.report_)
        return drawn + found

    def splitter(self) -> Any:
        """Return the estimator by whose parameters plain records are split."""
        return self._learner()

    def _learner(self) -> Any:
        """Return a fresh copy of the estimator, which must have `search_request`."""
        if not hasattr(self.estimator, "search_request"):
            name, other = type(self).__name__, type(self.estimator).__name__
            raise LocalError(
                f"{name} searches for the parameters of SVC, SVR, ELMClassifier and ELMRegressor, not of {other}"
            )
        return clone(self.estimator)


@parameterized
class FederatedGridSearch(FederatedSearch):
    """Compare all candidates of a grid on five fixed folds, in shares, and train the best on all records.

    One rounded number is revealed of each candidate: accuracy, or R^2 of numbers.

    Args:
        estimator: SVC, SVR, ELMClassifier or ELMRegressor; parameters that are not in the grid keep their values.
        param_grid: values of parameters, as GridSearchCV takes them: a dict of lists, or a list of such dicts.
        refit: train the best candidate on all records.
        scoring: None: accuracy, or R^2 of numbers, in shares. In simulation also another figure of `Evaluation`, such
            as "roc_auc", or one of scikit-learn's scorers by its name, such as "neg_log_loss".
        cv: None: the five fixed folds. In simulation also another number of folds, or "site": each site in turn is left
            out and judged.
        n_repeats: in simulation, how often all is repeated with other folds.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.

    Attributes:
        best_params_: parameters of the first candidate with the largest score.
        best_score_: its score.
        best_index_: its row of `cv_results_`.
        best_estimator_: the model of all records.
        cv_results_: as GridSearchCV has it, without times and without the scores of single folds; with deviations where
            each candidate was validated by itself, in simulation.
        n_splits_: how many folds there were.
        step_: to which number scores are rounded; 0: to none.
        report_: the report of the run.
    """

    param_grid: Any

    def _candidates(self) -> list[dict[str, Any]]:
        try:
            return list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as error:
            raise LocalError(f"param_grid is not a grid: {' '.join(str(error).split())}") from None


@parameterized
class FederatedRandomizedSearch(FederatedSearch):
    """Search like `FederatedGridSearch`, over `n_iter` candidates that are drawn as RandomizedSearchCV draws them.

    Args:
        estimator: as in `FederatedGridSearch`.
        param_distributions: for each parameter a list, or a distribution with a method `rvs`.
        n_iter: number of candidates.
        random_state: seed for drawing the candidates; no secret is drawn from it.
        refit: as in `FederatedGridSearch`. Attributes are the same too.
        scoring: as in `FederatedGridSearch`.
        cv: as in `FederatedGridSearch`.
        n_repeats: as in `FederatedGridSearch`.
        verbose: as in `FederatedGridSearch`.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"n_iter": Number(1, whole=True)}

    param_distributions: Any
    _: KW_ONLY
    n_iter: int = 10
    random_state: Any = None

    def _candidates(self) -> list[dict[str, Any]]:
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))


def _mask(values: list[Any]) -> Any:
    found = np.ma.MaskedArray(np.empty(len(values), dtype=object), mask=True)
    for i, value in enumerate(values):
        if value is not np.ma.masked:
            found[i] = value
    return found
