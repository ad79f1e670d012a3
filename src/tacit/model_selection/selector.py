"""FederatedSelector: the columns that matter, by weights of a linear machine that stay in shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Either, Kind, Number, OneOf, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.prepared import Selected
from tacit.preprocessing.transformer import FederatedTransformer
from tacit.protocols.learners.selection import WIDEST
from tacit.request import Request
from tacit.svm import SVC, SVR

AUTO = "auto"


@parameterized
class FederatedSelector(SelectorMixin, FederatedTransformer):  # type: ignore[misc]  # scikit-learn is untyped
    """Keep the columns that matter, as scikit-learn's `RFE` and `RFECV` do, with nothing revealed but which these are.

    A linear least-squares machine is solved in shares; half of the columns, those with the smallest weights, are left
    out, and so on. Of more than 256 columns those are weighed that go along with the targets most. Weights of columns
    compare only if columns have one scale: put a `FederatedScaler` before.

    Args:
        estimator: `SVC` or `SVR`, whose alpha, class_weight and target_range are used; None: `SVC()`.
        n_features_to_select: how many columns are kept, 256 at most; "auto": the number, of halves of halves, that
            scores best by generalised cross-validation, which needs no fold and reveals no score.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.

    Attributes:
        support_: which columns are kept.
        ranking_: 1 for these; a larger number for those that were left out earlier.
        n_features_: how many are kept.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "estimator": None,
        "n_features_to_select": Either((OneOf((AUTO,)), Number(1, WIDEST, whole=True))),
    }
    NOT_PROTECTED: ClassVar[tuple[str, ...]] = (
        *FederatedTransformer.NOT_PROTECTED[:1],
        "Which columns are kept, where the targets of very few records decide on a column.",
    )

    model_: Selected = field(init=False)

    estimator: Any = None
    _: KW_ONLY
    n_features_to_select: int | str = AUTO

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns that matter.

        Args:
            X: a `Federation` with labels, or plain records, which are then split between `n_parties`.
            y: labels or targets of plain records.
        """
        self.check_parameters()
        if not isinstance(X, Federation):
            if y is None:
                raise LocalError("FederatedSelector requires y to be passed, but the target y is None: give labels")
            X = self._simulate(self._records(X, reset=True), y, partition=self.partition)
        return super().fit(X)

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.estimator is not None and not isinstance(self.estimator, (SVC, SVR)):
            raise wrong_value("estimator", type(self).__name__, "an SVC or an SVR", self.estimator)

    def _records(self, X: Any, *, reset: bool) -> F64:
        records: F64 = super()._records(X, reset=reset)
        if np.isnan(records).any():
            raise LocalError("Input X contains NaN: put a FederatedImputer before FederatedSelector")
        return records

    @property
    def _machine(self) -> Any:
        """The machine whose targets and weights are used."""
        machine = SVC() if self.estimator is None else clone(self.estimator)
        return machine.set_params(kernel="linear", random_state=self.random_state)

    def _request(self, federation: Federation) -> Request:
        request: Request = self._machine.selection_request(federation, self.n_features_to_select)
        return request

    def _model(self, federation: Federation, result: Any) -> Selected:
        rounds, best = np.asarray(result.rounds), int(result.best)
        if federation.partition == "vertical":  # in the order of the owners
            order = np.concatenate([federation.columns[party] for party in federation.parts])
            rounds = rounds[np.argsort(order)]
        return Selected(np.flatnonzero(rounds > best), np.minimum(rounds, best + 1))

    def _set_learnt(self, model: Selected) -> None:
        """Set the attributes that follow from the model."""
        self.support_ = np.isin(np.arange(len(model.rounds)), model.sources)
        self.ranking_ = 1 + model.rounds.max() - model.rounds
        self.n_features_ = len(model.sources)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names[j] for j in self.model_.sources)

    def transform(self, X: Any) -> Any:
        """Return the columns that are kept, of records or of a `Federation`, at each of its parties."""
        return FederatedTransformer.transform(self, X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns that are kept."""
        return FederatedTransformer.get_feature_names_out(self, input_features)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.target_tags.required = True
        return tags

    def to_sklearn(self) -> Any:
        """Return the same as a fitted transformer of scikit-learn."""
        check_is_fitted(self)
        kept = self.model_.sources.tolist()
        sample = np.zeros((1, self.n_features_in_))
        return ColumnTransformer([("kept", "passthrough", kept)]).fit(sample)
