"""What the searches for parameters share: candidates in, one run, `cv_results_` and the best estimator out."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.choreo import F64, I64, Array, Holder
from tacit.data import Federation
from tacit.data.exposure import exposed
from tacit.errors import LocalError
from tacit.estimators.gram import GramSVC
from tacit.estimators.pan import PanSVC
from tacit.estimators.parameters import Number, OneOf, Rule, check
from tacit.estimators.selection_plan import SearchPlan, search_plan
from tacit.numeric.grid import SCORINGS, check_candidates
from tacit.protocols.gram_search import LEAST
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on
from tacit.report.words import plain

NUMBERS = ("C", "coef0", "gamma")
NOT_PROTECTED = (
    "The landmarks, which everyone sees, and a model for every candidate and fold.",
    "What the sums over one group of rows tell of them: min_count='auto' counts the features of all kernels together.",
    "Against a coordinator that publishes wrong models or scores: with witness=True the holders check each of its steps.",
)


def _refitted(search: Any) -> bool:
    if not search.refit:
        raise AttributeError(f"{type(search).__name__}(refit=False) trains no model on all records: say refit=True")
    return True


class FederatedSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Tries candidates over folds that every party deals by a public seed, and trains the best on all records."""

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "scoring": (OneOf(tuple(SCORINGS)),),
        "cv": (Number(2, whole=True),),
        "refit": (OneOf((True, False)),),
        "verbose": (OneOf((True, False)),),
    }

    estimator: Any
    scoring: str
    cv: int
    refit: bool
    verbose: bool
    best_estimator_: Any
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    n_splits_: int
    folds_: I64
    plan_: SearchPlan
    report_: Report

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """What is tried, in this order."""

    def _factor(self) -> int:
        """How much fewer candidates go on to each next stage; 0 if there is one stage."""
        return 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search, and train the best.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between the estimator's `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records: they count in training; scores count records.
        """
        check(self, self.RULES)
        learner, candidates = self._learner(), self._checked()
        federation = learner._given(X, y, sample_weight) if isinstance(X, Federation) else learner._simulated(X, y, sample_weight)  # noqa: SLF001 - the same checks
        learner._check_site(federation)  # noqa: SLF001 - as its own fit does
        self.plan_ = search_plan(learner, candidates, self.cv, factor=self._factor(), refit=self.refit, parties=len(federation))
        if self.verbose:
            print(f"{type(self).__name__}, {len(federation)} parties: {self.plan_}")  # noqa: T201 - asked for
        asked = tuple({name: _plain(name, value) for name, value in each.items()} for each in candidates)
        outcome = federation.execute(
            "pan_search" if isinstance(learner, PanSVC) else "gram_search", {"data": (Holder, federation.parts)}, **_common(learner),
            candidates=asked, cv=self.cv, scoring=self.scoring, refit=self.refit, factor=self._factor(),
        )  # fmt: skip
        self._take(candidates, federation, outcome)
        if self.refit:
            self._take_best(learner, federation, outcome)
        return self

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Array:
        """The class of every record, by the best candidate."""
        return np.asarray(self._best().predict(X))

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> F64:
        """Decision values of the best candidate."""
        return np.asarray(self._best().decision_function(X))

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> F64:
        """Probabilities by the best candidate, if the estimator says probability=True."""
        return np.asarray(self._best().predict_proba(X))

    @available_if(_refitted)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """Accuracy of the best candidate on whole records, or on a `Federation` that holds the labels."""
        return float(self._best().score(X, y))

    @property
    def classes_(self) -> Array:
        """Of the best estimator."""
        return np.asarray(self._best().classes_)

    @property
    def n_features_in_(self) -> int:
        """Of the best estimator."""
        return int(self._best().n_features_in_)

    @property
    def secure_sum(self) -> str:
        """Of the estimator."""
        return str(self.estimator.secure_sum)

    @property
    def segments(self) -> int:
        """Of the estimator."""
        return int(self.estimator.segments)

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        return self.best_estimator_

    def _learner(self) -> PanSVC | GramSVC:
        if not isinstance(self.estimator, (PanSVC, GramSVC)):
            raise LocalError(
                f"{type(self).__name__} searches for the parameters of PanSVC and GramSVC, not of {type(self.estimator).__name__}"
                " (an extreme learning machine finds its own ridge: ridge='gcv'; in a Pipeline the search is the last step)"
            )
        learner: PanSVC | GramSVC = clone(self.estimator)
        learner._check_parameters()  # noqa: SLF001 - as its own fit does
        return learner

    def _checked(self) -> list[dict[str, Any]]:
        """The candidates, refused as the estimator itself would refuse them."""
        candidates = self._candidates()
        check_candidates(candidates)
        for each in candidates:
            clone(self.estimator).set_params(**each)._check_parameters()  # noqa: SLF001 - as its own fit does
        return candidates

    def _take(self, candidates: Sequence[Mapping[str, Any]], federation: Federation, outcome: Outcome) -> None:
        result = outcome.result
        self.n_splits_ = int(result["folds"])
        self.cv_results_ = table(candidates, result["tried"], halving=self._factor() > 0)
        last = np.flatnonzero(self.cv_results_["iter"] == self.cv_results_["iter"].max()) if self._factor() else np.arange(len(candidates))
        self.best_index_ = int(last[np.argmax(self.cv_results_["mean_test_score"][last])])
        self.best_params_ = dict(self.cv_results_["params"][self.best_index_])
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if federation.simulated:
            self.folds_ = _folds(federation, result["fold"])
        open_ = self.estimator._not_protected() if isinstance(self.estimator, GramSVC) else NOT_PROTECTED  # noqa: SLF001 - as its own
        self.report_ = report_on(self, federation, outcome, not_protected=open_)
        self.report_.warnings += exposed(federation) if isinstance(self.estimator, GramSVC) else []
        self.report_.history = [row for row in outcome.history if "candidates" in row]
        best = {f"best {name}": value for name, value in self.best_params_.items()}
        self.report_.figures = {**best, f"its {self.scoring}": self.best_score_, "candidates": len(candidates), "folds": self.n_splits_}
        self.report_.metric = self.scoring
        means, deviations = (self.cv_results_[name] for name in ("mean_test_score", "std_test_score"))
        rows = zip(self.cv_results_["params"], means, deviations, strict=True)
        self.report_.candidates = plain([{"params": p, "score": float(m), "deviation": float(d)} for p, m, d in rows])
        for concern in self._concerns():
            self.report_.warnings.append(concern)
            warnings.warn(concern, UserWarning, stacklevel=3)

    def _take_best(self, learner: PanSVC | GramSVC, federation: Federation, outcome: Outcome) -> None:
        best = learner.set_params(**self.best_params_)
        best.n_features_in_ = federation.n_features
        if federation.named:
            best.feature_names_in_ = np.array(federation.features, dtype=object)
        best._take(federation, outcome)  # noqa: SLF001 - what its own fit does with an outcome
        best.federation_ = federation.without_records()
        self.best_estimator_ = best

    def _concerns(self) -> list[str]:
        told, early = [], self.cv_results_["ended_early"]
        if self.n_splits_ < self.cv:
            told.append(
                f"of cv={self.cv} folds one would have too few rows of a class for min_count={getattr(self.estimator, 'min_count', LEAST)}:"
                f" {self.n_splits_} were dealt"
            )
        if early.any() and getattr(self.estimator, "min_count", 1) == 1:  # groups of rows leave a gap, which the report tells
            told.append(
                f"{np.count_nonzero(early)} of {len(early)} candidates were scored by models that ended before tol={self.estimator.tol}"
            )
        return told


def table(candidates: Sequence[Mapping[str, Any]], tried: Sequence[Mapping[str, Any]], *, halving: bool) -> dict[str, Any]:
    """`cv_results_`: a row for every candidate of every stage."""
    params = [dict(candidates[i]) for stage in tried for i in stage["candidates"]]
    scores = np.concatenate([np.asarray(stage["scores"]) for stage in tried])
    names = dict.fromkeys(name for each in params for name in each)
    means = np.average(scores, axis=1)
    return {
        **{f"param_{name}": _masked([each.get(name, np.ma.masked) for each in params]) for name in names},
        "params": params,
        **{f"split{q}_test_score": column for q, column in enumerate(scores.T)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
        "ended_early": np.array([n for stage in tried for n in stage.get("early", [0] * len(stage["candidates"]))], dtype=np.int64),
        **(
            {name: np.concatenate([np.full(len(s["candidates"]), v) for v, s in enumerate(tried)]) for name in ("iter",)} if halving else {}
        ),
        **({"share": np.concatenate([np.full(len(s["candidates"]), s["share"]) for s in tried])} if halving else {}),
    }


def _masked(values: list[Any]) -> Any:
    found = np.ma.MaskedArray(np.empty(len(values), dtype=object), mask=True)
    for i, value in enumerate(values):
        if value is not np.ma.masked:
            found[i] = value
    return found


def _plain(name: str, value: Any) -> Any:
    """As a job writes it down."""
    if name in NUMBERS and not isinstance(value, str):
        return float(value)
    return int(value) if name == "degree" else value


def _common(learner: PanSVC | GramSVC) -> dict[str, Any]:
    """What the protocol is given beside the candidates."""
    if isinstance(learner, PanSVC):
        return learner._arguments()  # noqa: SLF001 - as its own fit does
    cells = {"partition": learner.partition, "how": learner.method, **learner._products()}  # noqa: SLF001 - as its own fit does
    return {**learner._arguments(), "seed": learner._seed(), **cells, **learner._protection()}  # noqa: SLF001 - as its own fit does


def _folds(federation: Federation, fold: Mapping[str, I64]) -> I64:
    """Of every record, in the order of the pooled table; dealt by every holder, or for all of them by the coordinator."""
    dealt = np.concatenate([fold[party] for party in (federation.parts if len(fold) > 1 else fold)])
    if federation.partition != "horizontal":
        return dealt
    found = np.full(federation.n_rows, -1, dtype=np.int64)
    found[np.concatenate([federation.rows[party] for party in federation.parts])] = dealt
    return found
