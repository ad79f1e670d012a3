"""What the selectors share: a learner that is federated or pooled, and scikit-learn's contract."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.svm import SVC
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.choreo import F64, I64, Holder
from tacit.data import Federation
from tacit.data.columns import recolumned
from tacit.errors import LocalError
from tacit.estimators.pan import PanSVC
from tacit.estimators.parameters import Number, OneOf, Rule
from tacit.estimators.pooled_selection import Pooled
from tacit.estimators.selection_plan import Plan
from tacit.numeric.elimination import ranking, subsets
from tacit.numeric.kernels import KERNELS
from tacit.protocols.row_problems import Svm
from tacit.protocols.subset_svm import check_svm
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on

SIZES: tuple[Rule, ...] = (OneOf((None,)), Number(1, whole=True), Number(0, 1, open=True))  # all or half; how many; which share
NOT_PROTECTED = (
    "The landmarks, which everyone sees, and a model for every subset that was tried and every fold.",
    "What the sums over one group of rows tell of them: min_count='auto' counts the features of all trainings.",
    "That the coordinator publishes the ranking that follows from the scores: with witness=True the holders check the trainings, not that.",
)


class FederatedSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Selects features of a `Federation`, or of plain arrays by simulating parties; with an SVC, of plain arrays as they are."""

    PROTOCOL: str

    estimator: Any
    cv: int
    n_features_to_select: Any
    verbose: bool
    support_: NDArray[np.bool_]
    ranking_: I64
    n_features_: int
    plan_: Plan
    accuracy_: dict[int, float]
    report_: Report

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse bad parameters."""

    @abstractmethod
    def _arguments(self, columns: int) -> dict[str, Any]:
        """What the protocol is given, for so many columns."""

    @abstractmethod
    def _plan(self, learner: PanSVC, columns: int, parties: int) -> Plan:
        """What it can cost at most."""

    @abstractmethod
    def _pooled(self, table: Pooled, columns: int) -> dict[str, Any]:
        """The selection on one table."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features.

        Args:
            X: a `Federation` that holds the labels, or plain records. Weights that it holds count in training; scores and accuracy
                count records.
            y: labels, with plain records.
        """
        self._check_parameters()
        learner = self._learner()
        if isinstance(learner, SVC):
            return self._fit_pooled(learner, X, y)
        federation = learner._given(X, y, None) if isinstance(X, Federation) else learner._simulated(X, y, None)  # noqa: SLF001 - the same checks
        if federation.coordinator in federation.parts and not learner.accept_risk:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn the sums, from which it can subtract its own rows:"
                " name a site without data, or say accept_risk=True"
            )
        return self._fit_together(learner, federation)

    def planned_rounds(self, n_features: int, n_parties: int | None = None) -> int:
        """How many rounds of messages a selection among so many features takes at most."""
        self._check_parameters()
        learner = self._learner()
        if isinstance(learner, SVC):
            return 0
        return self._plan(learner, n_features, n_parties or learner.n_parties).rounds

    def transform(self, X: Any) -> Any:
        """The selected columns, of records or of a `Federation`."""
        if not isinstance(X, Federation):
            return super().transform(X)
        check_is_fitted(self)
        if X.n_features != self.n_features_in_ or not X.simulated:
            raise LocalError(f"a federation of the {self.n_features_in_} features of fit, in this process, can be narrowed; got {X!r}")
        return narrowed(X, self.support_)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags

    @property
    def secure_sum(self) -> str:
        """Of the estimator."""
        return str(self._learner().secure_sum)

    @property
    def segments(self) -> int:
        """Of the estimator."""
        return int(self._learner().segments)

    def _learner(self) -> Any:
        """A fresh copy of the estimator, which must be one whose features can be judged."""
        learner = PanSVC() if self.estimator is None else clone(self.estimator)
        if isinstance(learner, PanSVC):
            learner._check_parameters()  # noqa: SLF001 - as its own fit does
            check_svm(Svm(**learner._arguments()))  # noqa: SLF001 - what the protocol is given
        elif not isinstance(learner, SVC) or learner.kernel not in KERNELS:
            raise LocalError(
                f"The 'estimator' parameter of {type(self).__name__} must be a PanSVC, or scikit-learn's SVC with one of the kernels"
                f" {', '.join(KERNELS)}. Got {self.estimator!r} instead."
            )
        return learner

    def _fit_together(self, learner: PanSVC, federation: Federation) -> Self:
        columns = federation.n_features
        arguments = self._arguments(columns)
        self.plan_ = self._plan(learner, columns, len(federation))
        if self.verbose:
            print(f"{type(self).__name__}, {columns} features, {len(federation)} parties: {self.plan_}")  # noqa: T201 - asked for
        parts = {"data": (Holder, federation.parts)}
        outcome = federation.execute(self.PROTOCOL, parts, svm=learner._arguments(), **arguments)  # noqa: SLF001 - as its own fit does
        scores = next(iter(outcome.result["scores"].values()), np.empty(0))  # the coordinator's; here only in simulation
        self._take(columns, federation.features if federation.named else None, outcome.result, scores)
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED)
        self.report_.history = [row for row in outcome.history if "features" in row]
        for concern in [*_held(outcome, learner), *self._concerns(outcome)]:
            self.report_.warnings.append(concern)
            warnings.warn(concern, UserWarning, stacklevel=3)
        return self

    def _concerns(self, outcome: Outcome) -> list[str]:
        """What else the report has to warn about."""
        del outcome
        return []

    def _fit_pooled(self, learner: SVC, X: Any, y: Any) -> Self:
        name = type(self).__name__
        if isinstance(X, Federation):
            raise LocalError(f"{name} with scikit-learn's SVC needs all records in one place: give a PanSVC for a Federation")
        records, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        if len(np.unique(labels)) < 2:  # noqa: PLR2004 - a classifier separates two
            raise LocalError(f"{name} needs samples of at least 2 classes in y, but the data contains only one class")
        self.plan_ = Plan(0, 0, 0)
        seed = 0 if learner.random_state is None else int(check_random_state(learner.random_state).randint(2**31))
        result = self._pooled(Pooled.of(learner, records, labels, self.cv, seed), records.shape[1])
        self._take(records.shape[1], getattr(self, "feature_names_in_", None), result, result["scores"])
        return self

    def _take(self, columns: int, names: Any, result: dict[str, Any], scores: F64) -> None:
        """The attributes of a fitted selector."""
        features, gone, chosen = result.get("features", np.arange(columns)), result["gone"], int(result["chosen"])
        left = subsets(features, gone)
        self.n_features_in_ = columns
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.support_ = np.isin(np.arange(columns), left[chosen])
        self.ranking_ = ranking(columns, features, gone, chosen)
        self.n_features_ = len(left[chosen])
        self.accuracy_ = {len(kept): float(a) for kept, a in zip(left, scores, strict=False) if not np.isnan(a)}


def counted(size: float | None, columns: int, default: int) -> int:
    """A number of features from a number, a share of all, or None."""
    return default if size is None else int(size) if size >= 1 else max(1, int(size * columns))


def check_size(selector: Any, name: str, columns: int, size: int) -> int:
    """Refuse to select more than there is."""
    if size > columns:
        given = getattr(selector, name)
        raise LocalError(f"{type(selector).__name__}({name}={given!r}) asks for more features than the {columns} that there are: lower it")
    return size


def narrowed(federation: Federation, support: NDArray[np.bool_]) -> Federation:
    """The federation with these columns only."""
    kept = np.flatnonzero(support)
    return recolumned(federation, kept, tuple(federation.features[j] for j in kept), lambda X, _: X)


def _held(outcome: Outcome, learner: PanSVC) -> list[str]:
    """How many trainings ended early."""
    notes = [row["held"] for row in outcome.history if "held" in row]
    early = sum(held > 0 for held in notes)
    said = f"{early} of {len(notes)} trainings ended before tol={learner.tol}: their features are judged by a coarser model"
    return [said] if early and learner.min_count == 1 else []  # groups of rows always leave a gap
