"""SecureELMClassifier and SecureELMRegressor: extreme learning machines over columns (paper 003)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.base.estimator import Comparison, Federated, FederatedClassifier, FederatedRegressor
from tacit.base.parameters import parameterized
from tacit.base.shared import warn_of
from tacit.choreo import Asker
from tacit.choreo.declaration import Kind, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.numeric.features.elm import ACTIVATIONS, hidden, moments, solve, targets_of
from tacit.papers.elm.model import ElmShares, StoredElm
from tacit.papers.elm.vertical import RIDGE, WEIGHTS, Master
from tacit.papers.parameters import kinds_of
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Records, Request

GIVES_AWAY = {
    "master": "The records: the coordinator made W and sees XW + b, so with as many nodes as columns it solves for X.",
    "private": "The records: a coordinator that knows as many of them as there are columns finds W, and all others.",
}


@parameterized
class SecureELM(Federated):
    """What the classifier and the regressor share: all but what their targets are."""

    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **kinds_of(RIDGE, WEIGHTS),
        "activation": OneOf(tuple(ACTIVATIONS)),
    }
    SPLITS = ("vertical",)

    model_: ElmShares | StoredElm = field(init=False)

    _: KW_ONLY
    n_hidden: int | None = None
    activation: str = "sigmoid"
    ridge: float | str = "gcv"
    scale: float = 1.0
    weights: str = "master"

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if not self.accept_risk:
            name, core = type(self).__name__, "ELMRegressor" if self.NUMBERS else "ELMClassifier"
            raise LocalError(
                f"{name} with weights={self.weights!r} gives away more than a model. {GIVES_AWAY[self.weights]} Use"
                f" {core}, or say accept_risk=True"
            )

    def _arguments(self, protocol: str, **given: Any) -> dict[str, Any]:
        return super()._arguments(protocol, classify=not self.NUMBERS, **given)

    def _request(self, federation: Federation) -> Request:
        fixed = isinstance(self.random_state, Integral) and federation.holds_records
        seed = int(self.random_state) if fixed else None
        return Request("elm_vertical", {"data": Records()}, self._arguments("elm_vertical"), seed)

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        result = outcome.result
        self.n_features_in_ = int(result.columns)
        if not self.NUMBERS:
            self.classes_ = np.array(result.classes)
        if federation.holds_records:
            self.model_ = ElmShares(result.master[federation.coordinator], result.weights)
        else:
            self.model_ = StoredElm(outcome.job, (*federation.parts, federation.coordinator), int(result.nodes))
        self.report_ = report_on(self, federation, outcome, not_protected=(GIVES_AWAY[self.weights],))
        warn_of(self.report_, self._find_singular())

    def _find_singular(self) -> Iterator[str]:
        if self.ridge == 0 and isinstance(self.model_, ElmShares) and self.rank_ < self.n_hidden_:
            yield (
                f"H'H of {self.n_hidden_} nodes has only {self.rank_} directions above rounding: the pseudo-inverse"
                " leaves out the others; use fewer nodes, or a ridge"
            )

    @property
    def n_hidden_(self) -> int:
        """Nodes of the hidden layer."""
        return self.model_.nodes

    @property
    def ridge_(self) -> float:
        """The ridge that was taken."""
        return self._master.ridge

    @property
    def rank_(self) -> int:
        """Directions of H'H above rounding."""
        return self._master.rank

    @property
    def _master(self) -> Master:
        if isinstance(self.model_, StoredElm):
            held = f"the coordinator keeps ridge and rank of this model, under job {self.model_.job}"
            raise AttributeError(held)  # noqa: TRY004 - as of an attribute that is not there
        return self.model_.master

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records."""
        inputs: dict[str, Input] = {"data": Records(), **self.model_.parts(federation.coordinator)}
        return (Request("elm_predict", inputs, self._arguments("elm_predict", nodes=self.n_hidden_)),)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return predicted values, which the asker is told."""
        answers: F64 = outcomes[-1].result[federation.roster[Asker][0]]
        return answers

    def layer_weights(self) -> tuple[F64, F64]:
        """W and b of all columns, in the order of the features; only where all parties are simulated."""
        check_is_fitted(self)
        return self._layer(self.federation_)

    def _layer(self, federation: Federation) -> tuple[F64, F64]:
        if isinstance(self.model_, StoredElm):
            raise LocalError(
                f"each party keeps its own weights, under job {self.model_.job}: only a simulation shows them all"
            )
        W = np.empty((self.n_features_in_, self.n_hidden_))
        for party, own in self.model_.weights.items():
            W[federation.columns[party]] = own.W
        return W, np.sum([own.b for own in self.model_.weights.values()], axis=0)

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with the same ELM on the pooled records, with the same W and ridge."""
        start = time.perf_counter()
        X, y, weight = federation.pooled()
        H, T = hidden(X, *self._layer(federation), self.activation), self._targets(np.asarray(y))
        beta = solve(moments(H, T, self._weigh(np.asarray(y), weight)), H.shape[1], T.shape[1], self.ridge_).beta
        seconds = time.perf_counter() - start
        return {
            "reference": "the same ELM on the pooled records, with the same W and ridge",
            "largest difference of predicted values": float(np.abs(self._answer(federation).values - H @ beta).max()),
            "seconds of the reference": seconds,
        }

    def _targets(self, y: Array) -> F64:
        return y.astype(np.float64)[:, None]

    def _weigh(self, y: Array, weight: F64 | None) -> F64 | None:
        """Return the weights of labelled records; of a regression as given."""
        del y
        return weight


@parameterized
class SecureELMRegressor(SecureELM, FederatedRegressor):
    """Extreme learning machine that predicts a number. `SecureELMClassifier` describes its parameters."""


@parameterized
class SecureELMClassifier(SecureELM, FederatedClassifier):
    """Extreme learning machine over columns, by paper 003. It equals that of the pooled data with the same W.

    The coordinator learns the inputs of the hidden layer, and can compute the records from them: it starts only with
    `accept_risk=True`. `report_` says who learnt what. `tacit.ELMClassifier` reveals nothing but its model, over rows,
    columns and cells.

    Args:
        n_hidden: number of nodes of the hidden layer; None: half the number of records, at most 200.
        activation: "sigmoid", "tanh", "sign", "relu" or "rbf".
        ridge: ridge penalty of the least squares; "gcv": chosen by generalised cross-validation from the same sums; 0:
            the pseudo-inverse.
        scale: scale of the random weights, for columns that vary by about 1.
        weights: "master": the coordinator draws W, as in the paper; "private": every party draws and keeps its own
            part.
        class_weight: None, "balanced", or {class: weight}.
        partition: "vertical"; None: the same.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated. Between organisations
            no secret is drawn from it.
        accept_risk: accept what the method gives away; it does not start without this.
    """

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None

    def _weigh(self, y: Array, weight: F64 | None) -> F64 | None:
        if self.class_weight is None:
            return weight
        weights: F64 = compute_sample_weight(self.class_weight, y) * (1.0 if weight is None else weight)
        return weights

    def _targets(self, y: Array) -> F64:
        return targets_of(np.searchsorted(self.classes_, y), len(self.classes_))
