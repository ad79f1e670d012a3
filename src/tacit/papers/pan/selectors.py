"""VotedWrapperSelector and FilterWrapperSelector: features selected over rows, as 004 has it (chapters 5 and 6)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tacit.base.parameters import check, parameterized
from tacit.base.saved import Savable
from tacit.base.shared import Watched, refuse_elsewhere, set_features
from tacit.choreo.declaration import Either, Items, Kind, Nothing, Number, OneOf, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import remake_columns
from tacit.papers.pan.elimination import list_subsets, rank_features
from tacit.papers.pan.model import ChosenColumns
from tacit.papers.pan.select_wrapper import CRITERIA
from tacit.papers.pan.svc import NOT_PROTECTED, PanSVC
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Request

SIZE = Either((Number(1, whole=True), Number(0, 1, above=True)))  # how many; which share
SCORE = Either((Nothing(), Number(0)))
BEST = "best"
OF_SELECTIONS = (*NOT_PROTECTED, "A model for every subset of features that was tried, and for every fold.")


@parameterized
class PanSelector(Watched, Savable, SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What both selectors share: the request, the fitted columns, and scikit-learn's contract."""

    PROTOCOL: ClassVar[str]
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "n_features_to_select": Either((OneOf((BEST,)), *SIZE.kinds)),
        "step": SIZE,
        "cv": Number(2, whole=True),
    }

    model_: ChosenColumns = field(init=False)

    estimator: Any = None
    _: KW_ONLY
    n_features_to_select: float | str = BEST
    step: float = 0.1
    cv: int = 5

    @abstractmethod
    def _asked(self) -> dict[str, Any]:
        """Return the parameters of the protocol beside those of every selection."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between imagined parties.
            y: labels, with plain records.
        """
        check(self)
        federation = self._learner().federate(X, y)
        with self._watching():
            federation.backend.fit(federation, self, partial(self._select, federation))
        return self

    def _select(self, federation: Federation) -> Self:
        return self.receive(federation, federation.run(self.request(federation)))

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raise whatever it would refuse before anything is sent."""
        check(self)
        learner, best = self._learner(), self.n_features_to_select == BEST
        learner.check_federation(federation)
        asked = {"least_left": self._count_left(federation.n_features), "portion": float(self.step)}
        asked |= {"by_accuracy": best, "folds": self.cv, **self._asked()}
        request: Request = learner.request_of(self.PROTOCOL, federation, **asked)
        return request

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Become the fitted selector that the outcome of the request makes."""
        found = outcome.result
        set_features(self, federation)
        subsets = list_subsets(found)
        scores = zip(subsets, found.accuracies.tolist(), strict=True)
        accuracy = {len(left): score for left, score in scores if not np.isnan(score)}
        self.model_ = ChosenColumns(subsets[found.chosen], rank_features(federation.n_features, found), accuracy)
        self.federation_ = federation.without_records()
        self.restore()
        self.report_ = report_on(self, federation, outcome, not_protected=OF_SELECTIONS)
        return self

    def restore(self) -> None:
        """Set the attributes that follow from the model."""
        self.support_ = np.isin(np.arange(self.n_features_in_), self.model_.sources)
        self.ranking_ = self.model_.ranking
        self.n_features_ = len(self.model_.sources)
        self.accuracy_ = dict(self.model_.accuracy)

    def transform(self, X: Any) -> Any:
        """Return the selected columns, of records or of a `Federation`."""
        if not isinstance(X, Federation):
            return super().transform(X)
        check_is_fitted(self)
        refuse_elsewhere(self, X)
        if X.n_features != self.n_features_in_:
            fitted = f"a federation of the {self.n_features_in_} features of fit can be narrowed"
            raise LocalError(f"{fitted}, got one of {X.n_features}: give the records with all their columns")
        kept = self.model_.sources
        return remake_columns(X, kept, tuple(X.features[j] for j in kept), self.model_.apply)

    def splitter(self) -> Any:
        """Return the estimator by whose parameters plain records are split."""
        return self._learner()

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags

    def _learner(self) -> PanSVC:
        """Return a fresh copy of the estimator, or one with its defaults."""
        learner = PanSVC() if self.estimator is None else clone(self.estimator)
        if not isinstance(learner, PanSVC):
            raise wrong_value("estimator", type(self).__name__, "a PanSVC of tacit.papers.pan", self.estimator)
        return learner

    def _count_left(self, columns: int) -> int:
        """Return how many features are left at the end; with "best" one, since all subsets are compared."""
        size = self.n_features_to_select
        if isinstance(size, str):
            return 1
        if size > columns:
            asked = f"{type(self).__name__}(n_features_to_select={size!r}) asks for more features"
            raise LocalError(f"{asked} than the {columns} that there are: lower it")
        return int(size) if size >= 1 else max(1, int(size * columns))


@parameterized
class VotedWrapperSelector(PanSelector):
    """PPFSVW of paper 004: drop the features round by round that most of three criteria find least useful.

    In each round the parties train a PAN-SVM on the features that are left. Where the criteria disagree, the accuracy
    over folds decides. `report_` says who learnt what. A job between organisations needs accept_risk=True.

    Args:
        estimator: a `PanSVC`, whose parameters train every model; None: one with its defaults.
        n_features_to_select: "best": the subset on the way with the best accuracy over the folds, of equals the
            largest; or a number, or below 1 a share of all features. The accuracies are optimistic, because the ranking
            has seen the rows of the folds: set test rows aside first.
        step: how many features are dropped in each round (the paper drops 1); below 1, which share of those left.
        cv: number of folds.
        criteria: which of "rfe", "rsvm" and "t" have a vote.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.

    Attributes:
        support_: mask of the selected features.
        ranking_: 1 for selected features; the others are ranked by the round in which they went, the last one first.
        n_features_: how many are selected.
        accuracy_: accuracy over the folds by number of features, where it was needed.
        report_: the report of the run.
    """

    PROTOCOL = "voted_wrapper"
    OWN: ClassVar[Mapping[str, Kind | None]] = {**PanSelector.OWN, "criteria": Items(OneOf(CRITERIA), 1, 3)}

    _: KW_ONLY
    criteria: tuple[str, ...] = CRITERIA

    def _asked(self) -> dict[str, Any]:
        return {"voters": tuple(dict.fromkeys(self.criteria))}


@parameterized
class FilterWrapperSelector(PanSelector):
    """PPFSIFW of paper 004: keep the features that pass three filters, and of these the most accurate subset.

    Features go one by one, or several at a time: always those without which the accuracy over the folds is the largest.
    `report_` says who learnt what. A job between organisations needs accept_risk=True.

    Args:
        estimator: a `PanSVC`, whose parameters train every model; None: one with its defaults.
        n_features_to_select: "best": the subset on the way with the best accuracy over the folds, of equals the
            largest; or a number, or below 1 a share of all features (fewer, if fewer pass).
        step: how many features are dropped in each round (the paper drops 1); below 1, which share of those left.
        cv: number of folds.
        fisher: smallest Fisher score that passes; None: the `quota` best features pass.
        welch: largest p-value of Welch's t-test that passes; None: as for `fisher`.
        scatter: smallest ratio of between-class to within-class scatter that passes; None: as for `fisher`.
        quota: how many features pass a filter that has no threshold.
        max_trials: without how many of the weakest features, or sets of them, a round is tried (the paper tries all).
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.

    Attributes:
        support_, ranking_, n_features_, accuracy_, report_: as in `VotedWrapperSelector`. Features that do not pass
            rank last.
    """

    PROTOCOL = "filter_wrapper"
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **PanSelector.OWN,
        "fisher": SCORE,
        "welch": Either((Nothing(), Number(0, 1))),
        "scatter": SCORE,
        "quota": Number(1, whole=True),
        "max_trials": Number(1, whole=True),
    }

    _: KW_ONLY
    fisher: float | None = None
    welch: float | None = 0.01
    scatter: float | None = None
    quota: int = 50
    max_trials: int = 5

    def _asked(self) -> dict[str, Any]:
        thresholds = {"fisher_least": self.fisher, "welch_most": self.welch, "scatter_least": self.scatter}
        return {**thresholds, "quota": self.quota, "attempts": self.max_trials}
