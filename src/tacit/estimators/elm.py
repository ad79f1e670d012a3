"""SecureELMClassifier and SecureELMRegressor: extreme learning machines over rows or columns that several parties hold (paper 003)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.choreo import F64, I64, Array, Asker, Coordinator, Holder
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.base import Federated, FederatedClassifier, FederatedRegressor
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, check
from tacit.models.elm import ElmModel, ElmShares
from tacit.numeric.elm import ACTIVATIONS, hidden, moments, solve, targets_of
from tacit.protocols.elm_horizontal import Sums, layer_weights
from tacit.protocols.elm_vertical import WEIGHTS, Master
from tacit.report import Report
from tacit.report.outcome import report_on

ROWS = (
    "The sums H'H and H'T at the coordinator: where they are more numbers than the records, they determine them in principle.",
    "What the model itself reveals: the output weights are public.",
)
COLUMNS = {
    "master": "The records, from the coordinator: it made W and sees XW + b, so with as many nodes as columns it solves for every record.",
    "private": "The records, from a coordinator that knows as many of them as there are columns: W follows, and then all others.",
}


class SecureELM(Federated):
    """What the classifier and the regressor share: all but what their targets are."""

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "n_hidden": (OneOf((None,)), Number(1, whole=True)),
        "activation": (OneOf(tuple(ACTIVATIONS)),),
        "ridge": (OneOf(("gcv",)), Number(0)),
        "scale": (Number(0, open=True),),
        "weights": (OneOf(WEIGHTS),),
        "min_rows": (Number(1, whole=True),),
        "secure_sum": (OneOf(("pairwise", "ring")),),
        "segments": (Number(1, whole=True),),
        "fraction_bits": (Number(0, 52, whole=True),),
        "partition": (OneOf(("horizontal", "vertical")),),
        "n_parties": (Number(1, whole=True),),
        "runtime": (OneOf(("together", "spark")),),
        "random_state": (RandomState(),),
        "accept_risk": (OneOf((True, False)),),
    }

    model_: ElmModel | ElmShares
    report_: Report
    sums_: Sums | None = None

    def __init__(
        self,
        *,
        n_hidden: int | None = None,
        activation: str = "sigmoid",
        ridge: float | str = "gcv",
        scale: float = 1.0,
        weights: str = "master",
        min_rows: int = 5,
        secure_sum: str = "pairwise",
        segments: int = 1,
        fraction_bits: int = 32,
        partition: Partition = "horizontal",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
        accept_risk: bool = False,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.ridge = ridge
        self.scale = scale
        self.weights = weights
        self.min_rows = min_rows
        self.secure_sum = secure_sum
        self.segments = segments
        self.fraction_bits = fraction_bits
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from new rows as well: one more sum, added to those that the coordinator kept; the first call is `fit`.

        Args:
            X: a `Federation` of the new rows, between the same holders or others, or plain records.
            y: targets, with plain records.
            classes: all classes there will ever be, at the first call; those of the records by default.
            sample_weight: weights, with plain records.
        """
        self._check_parameters()
        if self.partition != "horizontal":
            raise LocalError("partial_fit adds rows to sums that the coordinator kept, which partition='vertical' does not have: fit anew")
        first = not hasattr(self, "model_")
        if not first and self.sums_ is None:
            raise LocalError("the coordinator's sums are not here to be added to (model files leave them out): fit anew with all rows")
        federation = self._given(X, y, sample_weight) if isinstance(X, Federation) else self._more(X, y, sample_weight, first=first)
        self._check_coordinator(federation)
        if not first:
            self._check_same(federation)
        self._fit_rows(federation, again=not first, classes=None if classes is None else tuple(np.unique(classes).tolist()))
        self.federation_ = federation.without_records()
        return self

    def _more(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> Federation:
        if not first:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._simulated(X, y, sample_weight, varied=first)

    def _check_same(self, federation: Federation) -> None:
        """New rows have the features of the old, and go to the coordinator that kept their sums."""
        mine = self.federation_
        if federation.features != mine.features or federation.coordinator != mine.coordinator:
            raise LocalError(
                f"new rows need the features {', '.join(mine.features[:4])}{', ...' * (len(mine.features) > 4)} and the coordinator"  # noqa: PLR2004 - enough to know them by
                f" {mine.coordinator} of the first fit: bring them so, or fit anew"
            )

    def _check_parameters(self) -> None:
        check(self, self.RULES)
        if self.partition == "vertical" and not self.accept_risk:
            raise LocalError(
                f"partition='vertical', weights={self.weights!r} gives away more than a model. {COLUMNS[self.weights]}"
                " Use partition='horizontal', or say accept_risk=True"
            )

    def _fit(self, federation: Federation, *, compare: bool) -> None:
        self._check_coordinator(federation)
        if self.partition == "horizontal":
            self._fit_rows(federation, again=False)
        else:
            self._fit_columns(federation)
        if compare and federation.simulated:
            self.report_.comparison = self._gap(federation)

    def _check_coordinator(self, federation: Federation) -> None:
        if federation.coordinator in federation.parts and not self.accept_risk:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn the sums, from which it can subtract its own rows:"
                " name a site without data, or say accept_risk=True"
            )

    def _fit_rows(self, federation: Federation, *, again: bool, classes: tuple[Any, ...] | None = None) -> None:
        inputs: Any = {"data": (Holder, federation.parts)}
        if again:
            inputs["kept"] = (Coordinator, {federation.coordinator: self.sums_})
        outcome = federation.execute("elm_horizontal", inputs, **{**self._arguments(), **self._rows(classes, again=again)})
        result = outcome.result
        self.n_features_in_ = int(result["columns"])
        self._take_classes(result["classes"])
        self.model_ = ElmModel(result["layer"], result["beta"], result["ridge"], result["rank"], self._absent(result, again=again))
        self.sums_ = result["sums"][federation.coordinator] if federation.simulated else None
        self._tell(federation, outcome, ROWS, self._small(result))

    def _fit_columns(self, federation: Federation) -> None:
        if not federation.simulated:
            raise LocalError("partition='vertical' of an ELM gives the records away and is for studies in simulation only: not proposed")
        outcome = federation.execute("elm_vertical", {"data": (Holder, federation.parts)}, weights=self.weights, **self._arguments())
        result = outcome.result
        self.n_features_in_ = int(result["columns"])
        self._take_classes(result["classes"])
        self.model_, self.sums_ = ElmShares(result["master"][federation.coordinator], result["weights"]), None
        self._tell(federation, outcome, (COLUMNS[self.weights],), iter(()))

    @property
    def n_hidden_(self) -> int:
        """Nodes of the hidden layer."""
        return len(self._output.beta)

    @property
    def ridge_(self) -> float:
        """The ridge that was taken."""
        return self._output.ridge

    @property
    def rank_(self) -> int:
        """Directions of H'H above rounding."""
        return self._output.rank

    @property
    def _output(self) -> ElmModel | Master:
        return self.model_.master if isinstance(self.model_, ElmShares) else self.model_

    def _tell(self, federation: Federation, outcome: Any, not_protected: tuple[str, ...], small: Iterator[str]) -> None:
        self.report_ = report_on(self, federation, outcome, not_protected=not_protected)
        for concern in [*small, *self._singular()]:
            self.report_.warnings.append(concern)
            warnings.warn(concern, UserWarning, stacklevel=5)

    def _singular(self) -> Iterator[str]:
        if self.ridge == 0 and self.rank_ < self.n_hidden_:
            yield (
                f"H'H of {self.n_hidden_} nodes has only {self.rank_} directions above rounding: the pseudo-inverse leaves out the others;"
                " use fewer nodes, or a ridge"
            )

    def _arguments(self) -> dict[str, Any]:
        ridge = self.ridge if self.ridge == "gcv" else float(self.ridge)
        return {
            "classify": not self.NUMBERS, "activation": self.activation, "n_hidden": self.n_hidden, "scale": float(self.scale),
            "ridge": ridge, "method": self.secure_sum, "segments": self.segments, "fraction_bits": self.fraction_bits,
        }  # fmt: skip

    def _rows(self, classes: tuple[Any, ...] | None, *, again: bool) -> dict[str, Any]:
        """What only rows need; new ones go through the layer and the classes that there are."""
        rules = {"min_rows": self.min_rows, "accept_risk": self.accept_risk}
        if again and isinstance(self.model_, ElmModel):
            return {**rules, "classes": self._known(), "n_hidden": self.n_hidden_, "seed": self.model_.layer.seed}
        return {**rules, "classes": classes, "seed": self._seed()}

    def _values(self, X: Any) -> F64:
        """A model over rows is public: whoever has whole records needs nobody else."""
        if isinstance(X, Federation) or isinstance(self.model_, ElmShares):
            return super()._values(X)
        return self.model_.decide(validate_data(self, X, reset=False, dtype=np.float64))

    def _decide(self, federation: Federation) -> F64:
        """Over rows every party for itself; over columns together."""
        if isinstance(self.model_, ElmModel):
            values = np.empty((federation.n_rows, self.model_.beta.shape[1]))
            for party, part in federation.parts.items():
                values[federation.rows[party]] = self.model_.decide(part.X)
            return values
        inputs: Any = {
            "data": (Holder, federation.parts),
            "master": (Coordinator, {federation.coordinator: self.model_.master}),
            "weights": (Holder, self.model_.weights),
        }
        protection = {"method": self.secure_sum, "segments": self.segments, "fraction_bits": self.fraction_bits}
        outcome = federation.execute("elm_predict", inputs, activation=self.activation, nodes=self.n_hidden_, **protection)
        answers: F64 = outcome.result[federation.roster[Asker][0]]
        return answers

    def layer_weights(self) -> tuple[F64, F64]:
        """W and b of all columns, in the order of the features: of a model over columns only where all parties are simulated."""
        check_is_fitted(self)
        return self._layer(self.federation_)

    def _layer(self, federation: Federation) -> tuple[F64, F64]:
        if isinstance(self.model_, ElmModel):
            return layer_weights(self.model_.layer)
        W = np.empty((self.n_features_in_, self.n_hidden_))
        for party, own in self.model_.weights.items():
            W[federation.columns[party]] = own.W
        return W, np.sum([own.b for own in self.model_.weights.values()], axis=0)

    def _gap(self, federation: Federation) -> dict[str, float | int | str]:
        """Beside the same ELM on the pooled records, with the same W and ridge."""
        start = time.perf_counter()
        X, y, weight = federation.pooled()
        H, T = hidden(X, *self._layer(federation), self.activation), self._targets(np.asarray(y))
        beta = solve(moments(H, T, weight), H.shape[1], T.shape[1], self.ridge_).beta
        seconds = time.perf_counter() - start
        return {
            "reference": "the same ELM on the pooled records, with the same W and ridge",
            "largest difference of predicted values": float(np.abs(self._decide(federation) - H @ beta).max()),
            "seconds of the reference": seconds,
        }

    def _targets(self, y: Array) -> F64:
        return y.astype(np.float64)[:, None]

    def _take_classes(self, classes: tuple[Any, ...]) -> None:
        """A regression has none."""

    def _known(self) -> tuple[Any, ...] | None:
        return None

    def _absent(self, result: dict[str, Any], *, again: bool) -> tuple[int, ...]:
        del result, again
        return ()

    def _small(self, result: dict[str, Any]) -> Iterator[str]:
        del result
        yield from ()


class SecureELMRegressor(SecureELM, FederatedRegressor):
    """Extreme learning machine for a number; see `SecureELMClassifier` for what it takes."""


class SecureELMClassifier(SecureELM, FederatedClassifier):
    """Extreme learning machine over rows or columns that several parties hold; equals the one of the pooled data with the same W.

    Rows: everyone computes its own hidden layer H from a public seed, and one masked sum opens H'H and H'T to the coordinator; the model
    is public. Columns (paper 003): the coordinator learns the hidden layer's inputs, and with them the records. `report_` says who learnt
    what.

    Args:
        n_hidden: nodes of the hidden layer; None: half the rows, at most 200. Over rows at most as many as there are rows.
        activation: "sigmoid", "tanh", "sign", "relu" or "rbf".
        ridge: of the least squares; "gcv": chosen by generalised cross-validation from the same sums; 0: the pseudo-inverse.
        scale: of the drawn weights, for columns that vary by about 1.
        weights: over columns: "master": the coordinator draws W; "private": every party draws and keeps its own part.
        min_rows: over rows: no sum of fewer rows, and of no class with fewer, is opened.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "horizontal" (rows) or "vertical" (columns).
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: what goes to whom when plain arrays are split, and over rows the public seed of W; it feeds no secret.
        accept_risk: allow "vertical", more nodes than rows, or one of the data holders as the coordinator.
    """

    class_count_: I64

    def _take_classes(self, classes: tuple[Any, ...]) -> None:
        self.classes_ = np.array(classes)

    def _targets(self, y: Array) -> F64:
        return targets_of(np.searchsorted(self.classes_, y), len(self.classes_))

    def _known(self) -> tuple[Any, ...] | None:
        return tuple(self.classes_.tolist())

    def _absent(self, result: dict[str, Any], *, again: bool) -> tuple[int, ...]:
        learnt = np.where(result["used"], result["sizes"], 0).astype(np.int64)
        self.class_count_ = learnt + (self.class_count_ if again else 0)
        return tuple(np.flatnonzero(self.class_count_ == 0).tolist()) if len(learnt) > 2 else ()  # noqa: PLR2004 - one column separates two

    def _small(self, result: dict[str, Any]) -> Iterator[str]:
        for name, size, used in zip(self.classes_, result["sizes"], result["used"], strict=True):
            if size > 0 and not used:
                yield f"class {name} has {size:.0f} records, fewer than min_rows={self.min_rows}: no sum of them is opened, it is left out"
