"""What the selectors share: a learner that is federated or pooled, and scikit-learn's contract."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.svm import SVC
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import F64
from tacit.base.estimator import check_two_classes
from tacit.base.parameters import NONE, check, draw_seed, parameterized
from tacit.base.saved import Savable
from tacit.base.selection_plan import Plan
from tacit.base.shared import Watched, fit_elsewhere, refuse_elsewhere, set_features, warn_of
from tacit.choreo.declaration import Either, Kind, Number, OneOf, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import remake_columns
from tacit.federation.frames import default_names
from tacit.model_selection.pooled_selection import Eliminated, Pooled
from tacit.models.selected import Selected
from tacit.numeric.features.elimination import ranking, subsets
from tacit.numeric.svm.kernels import KERNELS
from tacit.protocols.sums.secure_sum import describe_protection
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Request
from tacit.svm.pan import PanSVC

SIZE = Either((Number(1, whole=True), Number(0, 1, above=True)))  # how many; which share
SIZE_OR_NONE = Either((NONE, *SIZE.kinds))  # or all, or half
NOT_PROTECTED = (
    "The landmarks, which everyone sees, and a model for every subset that was tried and every fold.",
    "What the sums over one group of rows tell of them: min_count='auto' counts the features of all trainings.",
    "Against a coordinator that publishes a wrong ranking: with witness=True the holders check the trainings only.",
)


@parameterized
class FederatedSelector(Watched, Savable, SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Selects features of a `Federation`, or of plain arrays by simulating parties; with an SVC as they are."""

    PROTOCOL: ClassVar[str]
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "n_features_to_select": Either((*SIZE_OR_NONE.kinds, OneOf(("best",)))),
        "max_features": SIZE,
        "step": SIZE,
    }

    model_: Selected = field(init=False)

    estimator: Any = None
    _: KW_ONLY
    n_features_to_select: float | str | None = None
    step: float = 1
    max_features: float = 0.5
    cv: int = 5

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        check(self)

    @abstractmethod
    def _arguments(self, columns: int) -> dict[str, Any]:
        """Return the parameters of the protocol, for so many columns."""

    @abstractmethod
    def _plan(self, learner: Any, columns: int, parties: int) -> Plan:
        """Return what it can cost at most."""

    @abstractmethod
    def _pooled(self, table: Pooled, columns: int) -> Eliminated:
        """Select on one table."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features.

        Args:
            X: a `Federation` that holds the labels, or plain records. Weights count in training; scores and accuracy
                count records.
            y: labels, with plain records.
        """
        self.check_parameters()
        learner = self._learner()
        if isinstance(learner, SVC):
            return self._fit_pooled(learner, X, y)
        federation = learner.federate(X, y)
        with self._watching():
            if fit_elsewhere(self, federation):
                return self
        request = self._ask(learner, federation)
        if self.verbose:
            size = f"{federation.n_features} features, {len(federation)} parties"
            print(f"{type(self).__name__}, {size}: {self.plan_}")  # noqa: T201 - asked for
        with self._watching():
            return self.receive(federation, federation.run(request))

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raises whatever it would refuse before anything is sent."""
        self.check_parameters()
        learner = self._learner()
        if isinstance(learner, SVC):
            self._refuse_pooled()
        return self._ask(learner, federation)

    def _ask(self, learner: Any, federation: Federation) -> Request:
        asked = self._arguments(federation.n_features)
        request: Request = learner.selection_request(federation, self.PROTOCOL, **asked)
        self.plan_ = self._plan(learner, federation.n_features, len(federation))
        return request

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Become the fitted selector that the outcome of the request makes."""
        told = outcome.result.scores or {}  # the coordinator's: here in simulation
        scores = next(iter(told.values()), np.empty(0))
        self._take(federation, outcome.result, scores)
        learner = self._learner()
        protection = describe_protection(learner.secure_sum, learner.segments)
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED, protection=protection)
        self.report_.history = [row for row in outcome.history if "features" in row]
        warn_of(self.report_, [*_count_early(outcome, learner), *self._concerns(outcome)])
        return self

    def planned_rounds(self, n_features: int, n_parties: int | None = None) -> int:
        """Return how many rounds of messages a selection among so many features takes at most."""
        self.check_parameters()
        learner = self._learner()
        if isinstance(learner, SVC):
            return 0
        return self._plan(learner, n_features, n_parties or learner.n_parties).rounds

    def transform(self, X: Any) -> Any:
        """Return the selected columns, of records or of a `Federation`."""
        if not isinstance(X, Federation):
            return super().transform(X)
        check_is_fitted(self)
        refuse_elsewhere(self, X)
        if X.n_features != self.n_features_in_ or not X.backend.prepares:
            fitted = f"a federation of the {self.n_features_in_} features of fit, in this process"
            raise LocalError(f"{fitted}, can be narrowed; got {X!r}")
        kept = self.model_.sources
        return remake_columns(X, kept, tuple(X.features[j] for j in kept), self.model_.apply)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags

    def splitter(self) -> Any:
        """Return the estimator by whose parameters plain records are split; None if it takes them as they are."""
        learner = self._learner()
        return None if isinstance(learner, SVC) else learner

    def _learner(self) -> Any:
        """Return a fresh copy of the estimator, which must be one whose features can be judged."""
        learner = PanSVC() if self.estimator is None else clone(self.estimator)
        if hasattr(learner, "selection_request"):
            learner.check_selection()
        elif not isinstance(learner, SVC) or learner.kernel not in KERNELS:
            kinds = f"a PanSVC, or scikit-learn's SVC with one of the kernels {', '.join(KERNELS)}"
            raise wrong_value("estimator", type(self).__name__, kinds, self.estimator)
        return learner

    def _count_features(self, name: str, columns: int, default: int) -> int:
        """Return how many features a parameter asks for: a number, a share of all, or None for the default."""
        size = getattr(self, name)
        number = default if size is None else int(size) if size >= 1 else max(1, int(size * columns))
        if number > columns:
            asked = f"{type(self).__name__}({name}={size!r}) asks for more features"
            raise LocalError(f"{asked} than the {columns} that there are: lower it")
        return number

    def _sizes(self, columns: int) -> dict[str, Any]:
        """Return how many features stay, go in a round and are taken at most, as both protocols have it."""
        best = self.n_features_to_select == "best"
        keep = 1 if best else self._count_features("n_features_to_select", columns, max(1, columns // 2))
        most = self._count_features("max_features", columns, columns)
        return {"keep": keep, "step": self.step, "best": best, "at_most": most}

    def _concerns(self, outcome: Outcome) -> list[str]:
        """Return what else the report has to warn about."""
        del outcome
        return []

    def _refuse_pooled(self) -> NoReturn:
        name = type(self).__name__
        raise LocalError(f"{name} with scikit-learn's SVC needs all records in one place: give a PanSVC")

    def _fit_pooled(self, learner: SVC, X: Any, y: Any) -> Self:
        if isinstance(X, Federation):
            self._refuse_pooled()
        records, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        check_two_classes(self, labels)
        self.plan_ = Plan(0, 0, 0)
        table = Pooled.of(learner, records, labels, self.cv, draw_seed(learner.random_state))
        result = self._pooled(table, records.shape[1])
        self._take(_describe_table(records.shape[1], getattr(self, "feature_names_in_", None)), result, result.scores)
        return self

    def _take(self, federation: Federation, result: Any, scores: F64) -> None:
        """Set the model of a selection among the columns of a federation, and what follows from it."""
        set_features(self, federation)
        columns = federation.n_features
        features, gone, chosen = getattr(result, "features", np.arange(columns)), result.gone, int(result.chosen)
        left = subsets(features, gone)
        accuracy = {len(kept): float(a) for kept, a in zip(left, scores, strict=False) if not np.isnan(a)}
        self.model_ = Selected(np.sort(left[chosen]), ranking(columns, features, gone, chosen), accuracy)
        self.federation_ = federation.without_records()
        self.restore()

    def restore(self) -> None:
        """Set the attributes that follow from the model."""
        self.support_ = np.isin(np.arange(self.n_features_in_), self.model_.sources)
        self.ranking_ = self.model_.ranking
        self.n_features_ = len(self.model_.sources)
        self.accuracy_ = dict(self.model_.accuracy)


def _describe_table(columns: int, names: Any) -> Federation:
    """Return a federation without parties, which says what the columns of one table are called."""
    features = default_names(columns) if names is None else tuple(names)
    return Federation("horizontal", {}, {}, {}, features, names is not None, None, "")


def _count_early(outcome: Outcome, learner: Any) -> list[str]:
    """Return what to say of trainings that ended early."""
    notes = [row["held"] for row in outcome.history if "held" in row]
    early = sum(held > 0 for held in notes)
    if not early or learner.min_count != 1:  # groups of rows always leave a gap
        return []
    ended = f"{early} of {len(notes)} trainings ended before tol={learner.tol}"
    return [f"{ended}: their features are judged by a coarser model"]
