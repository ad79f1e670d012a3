"""SecureELMClassifier and SecureELMRegressor: extreme learning machines over split data (paper 003)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import F64, I64, Array
from tacit.base.central import Comparison
from tacit.base.estimator import Federated, FederatedRegressor
from tacit.base.parameters import parameterized
from tacit.base.private import NOT_PROTECTED as NOT_COVERED
from tacit.base.private import OF_LABELS, Private, declare_classes, write_bill
from tacit.base.probability import ProbabilityClassifier
from tacit.base.shared import Sums, refuse_absence, warn_of
from tacit.choreo import Asker, Coordinator
from tacit.choreo.declaration import Kind, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.elm import ElmModel, ElmShares, StoredElm
from tacit.numeric.features.elm import hidden, moments, solve, targets_of
from tacit.protocols.elm.horizontal import Sums as MomentSums
from tacit.protocols.elm.shape import layer_weights
from tacit.protocols.elm.vertical import WEIGHTS, Master
from tacit.protocols.noisy.noisy_elm import NoisyMachine
from tacit.protocols.noisy.settings import TARGETS, check_classes
from tacit.protocols.part import Names
from tacit.protocols.sums.secure_sum import METHODS, OF_SOME
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Records, Request, Values

ROWS = (
    "The sums H'H and H'T at the coordinator: where they are more numbers than the records, they determine them.",
    "What the model itself reveals: the output weights are public.",
)
BY_CLASS = "The sums of each class at the coordinator, which several fits with other class weights give together."
BY_FOLD = "The sums of each fold at the coordinator, and as many models as folds, which everyone sees."
COLUMNS = {
    "master": "The records: the coordinator made W and sees XW + b, so with as many nodes as columns it solves for X.",
    "private": "The records: a coordinator that knows as many of them as there are columns finds W, and all others.",
}

SHOWN = 4  # features that an error names


@parameterized
class SecureELM(Private, Federated, Sums):
    """What the classifier and the regressor share: all but what their targets are."""

    OWN: ClassVar[Mapping[str, Kind | None]] = {"weights": OneOf(WEIGHTS), "secure_sum": OneOf(METHODS)}
    SPLITS = ("horizontal", "vertical")

    model_: ElmModel | ElmShares | StoredElm = field(init=False)
    sums_: MomentSums | None = field(init=False, default=None)

    _: KW_ONLY
    n_hidden: int | None = None
    activation: str = "sigmoid"
    ridge: float | str = "gcv"
    scale: float = 1.0
    weights: str = "master"
    min_rows: int = 5
    device: str = "cpu"

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from new rows too: one more sum is added to those that the coordinator kept. The first call is `fit`.

        Args:
            X: a `Federation` of the new rows, between the same holders or others, or plain records.
            y: targets, with plain records.
            classes: at the first call, all classes that will ever occur; those of the records by default.
            sample_weight: weights, with plain records.
        """
        self.check_parameters()
        self.refuse_epsilon("partial_fit, which would add sums without counting what they cost together")
        self._check_partial()
        split = X.partition if isinstance(X, Federation) else self.partition_
        if split != "horizontal" or self.partition == "vertical":
            raise LocalError(
                "partial_fit adds rows to sums that the coordinator kept, and there are none for partition='vertical':"
                " fit again"
            )
        first = not hasattr(self, "model_")
        if not first and self.sums_ is None:
            raise LocalError(
                "the coordinator's sums are not here, so no rows can be added (model files leave them out): fit again"
            )
        if isinstance(X, Federation):
            federation = self.federate(X, y, sample_weight)
        else:
            if not first:
                validate_data(self, X, reset=False, skip_check_array=True)
            federation = self._federate_records(X, y, sample_weight, varied=first)
        if not first:
            with self._watching():
                self._take_rows(federation, federation.run(self._request_more(federation)), again=True)
            self.federation_ = federation.without_records()
            return self
        known = None if classes is None else tuple(np.unique(classes).tolist())
        with self._watching():
            return self.receive(federation, federation.run(self.request(federation).with_params(classes=known)))

    def _check_partial(self) -> None:
        """Refuse parameters that need all rows at once; a regression has none."""

    def _request_more(self, federation: Federation) -> Request:
        """Return what adds rows, by the layer and the classes that there are, to the sums that the coordinator kept."""
        self.check_federation(federation)
        self._check_same(federation)
        kept = Values(Coordinator, {federation.coordinator: self.sums_})
        classes = tuple(self.classes_.tolist()) if hasattr(self, "classes_") else None
        seed = cast("ElmModel", self.model_).layer.seed  # it has sums
        layer = {"classes": classes, "n_hidden": self.n_hidden_, "seed": seed}
        return Request("elm_horizontal", {"data": Records(), "kept": kept}, self._arguments("elm_horizontal", **layer))

    def _check_same(self, federation: Federation) -> None:
        """Refuse new rows with other features than the old, or for another coordinator than the one with the sums."""
        mine = self.federation_
        if federation.features != mine.features or federation.coordinator != mine.coordinator:
            some = ", ".join([*mine.features[:SHOWN], *(["..."] * (len(mine.features) > SHOWN))])
            first = f"the features {some} and the coordinator {mine.coordinator} of the first fit"
            raise LocalError(f"new rows need {first}: give such rows, or fit again")

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.partition_ == "vertical" and not self.accept_risk:
            gives = f"partition='vertical', weights={self.weights!r} gives away more than a model"
            raise LocalError(f"{gives}. {COLUMNS[self.weights]} Use partition='horizontal', or say accept_risk=True")
        refuse_absence(self.secure_sum, self.partition_)
        if self.partition_ == "vertical" and self.device != "cpu":
            raise LocalError("over columns the coordinator computes the nodes on its CPU: leave device out")
        if self.secure_sum in OF_SOME:
            self.refuse_epsilon(
                f"secure_sum={self.secure_sum!r}, with which the noise of parties that stay away is missing"
            )
        if self.device != "cpu":
            self.refuse_epsilon("device, since rows are made as whole numbers by the processor")

    def _train(self, federation: Federation, request: Request, *, compare: bool) -> Self:
        if compare:
            self.refuse_epsilon("compare=True, which puts exact figures of the records into the report")
        return super()._train(federation, request, compare=compare)

    def _request(self, federation: Federation) -> Request:
        if self.epsilon is not None:
            return self._noisy_request(federation)
        protocol = f"elm_{self.partition_}"
        asked = self._arguments(protocol, **({} if self.partition_ == "vertical" else {"classes": None}))
        return Request(protocol, {"data": Records()}, asked)

    def _noisy_request(self, federation: Federation) -> Request:
        """Return what training with epsilon would have the federation run."""
        given = {**self.spending(federation), **self._declare(federation)}
        return Request("noisy_elm", {"data": Records()}, self._arguments("noisy_elm", **given))

    def _declare(self, federation: Federation) -> dict[str, Any]:
        """Return what is declared of the targets, with epsilon."""
        raise NotImplementedError

    def _receive_noisy(self, federation: Federation, outcome: Outcome) -> None:
        """Set the model and the report of a training with epsilon."""
        result: NoisyMachine = outcome.result
        self.n_features_in_, self.sums_ = result.columns, None
        self._take_classes(result)
        self.model_ = ElmModel(result.layer, result.beta, result.ridge, result.rank, (), None)
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_COVERED)
        self.report_.figures = write_bill(result.spent, self.delta, result.honest, len(federation.parts))

    def is_step(self, request: Request) -> bool:
        """Whether it is proposed as a study: what parties keep of a model over columns no other job can ask."""
        return super().is_step(request) or self.partition_ == "vertical"

    def _arguments(self, protocol: str, **given: Any) -> dict[str, Any]:
        return super()._arguments(protocol, classify=not self.NUMBERS, **given)

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        if self.epsilon is not None:
            self._receive_noisy(federation, outcome)
            return
        if self.partition_ == "horizontal":
            self._take_rows(federation, outcome, again=False)
            return
        result = outcome.result
        self.n_features_in_ = int(result.columns)
        self._take_classes(result)
        self.sums_ = None
        if federation.backend.returns_shares:
            self.model_ = ElmShares(result.master[federation.coordinator], result.weights, result.sigmoids)
        else:
            parties = (*federation.parts, federation.coordinator)
            self.model_ = StoredElm(outcome.job, parties, int(result.nodes), result.sigmoids)
        self._tell(federation, outcome, (COLUMNS[self.weights],))

    def _take_rows(self, federation: Federation, outcome: Outcome, *, again: bool) -> None:
        result = outcome.result
        self.n_features_in_ = int(result.columns)
        self._take_classes(result)
        absent = self._find_absent(result, again=again)
        self.model_ = ElmModel(result.layer, result.beta, result.ridge, result.rank, absent, result.sigmoids)
        self.n_features_in_ = int(result.columns)
        self.sums_ = result.sums[federation.coordinator] if federation.backend.returns_shares else None
        self._tell(federation, outcome, (*ROWS, *self._find_pieces()))

    @property
    def n_hidden_(self) -> int:
        """Nodes of the hidden layer."""
        return self.model_.nodes

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
        if isinstance(self.model_, StoredElm):
            held = f"the coordinator keeps ridge and rank of this model, under job {self.model_.job}"
            raise AttributeError(held)  # noqa: TRY004 - as of an attribute that is not there
        return self.model_.master if isinstance(self.model_, ElmShares) else self.model_

    def _tell(self, federation: Federation, outcome: Outcome, not_protected: tuple[str, ...]) -> None:
        self.report_ = report_on(self, federation, outcome, not_protected=not_protected)
        warn_of(self.report_, [*self._find_small(outcome.result), *self._find_singular()])

    def _find_singular(self) -> Iterator[str]:
        if self.ridge == 0 and not isinstance(self.model_, StoredElm) and self.rank_ < self.n_hidden_:
            yield (
                f"H'H of {self.n_hidden_} nodes has only {self.rank_} directions above rounding: the pseudo-inverse"
                " leaves out the others; use fewer nodes, or a ridge"
            )

    def public_decision(self) -> Callable[[F64], F64] | None:
        """Return what computes predicted values: a model over rows is public."""
        return partial(self.model_.decide, device=self.device) if isinstance(self.model_, ElmModel) else None

    def public_model(self) -> ElmModel | None:
        """Return the model over rows, which is public; over columns parties keep their parts."""
        return self.model_ if isinstance(self.model_, ElmModel) else None

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records over columns; over rows every party has the model."""
        if isinstance(self.model_, ElmModel):
            return ()
        inputs: dict[str, Input] = {"data": Records(), **self.model_.parts(federation.coordinator)}
        return (Request("elm_predict", inputs, self._arguments("elm_predict", nodes=self.n_hidden_)),)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return predicted values: over rows every party's own, over columns the asker's."""
        if isinstance(self.model_, ElmModel):
            return super().receive_values(federation, outcomes)
        answers: F64 = outcomes[-1].result[federation.roster[Asker][0]]
        return answers

    def layer_weights(self) -> tuple[F64, F64]:
        """W and b of all columns, in the order of the features; over columns only where all parties are simulated."""
        check_is_fitted(self)
        return self._layer(self.federation_)

    def _layer(self, federation: Federation) -> tuple[F64, F64]:
        if isinstance(self.model_, ElmModel):
            return layer_weights(self.model_.layer)
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

    def _take_classes(self, result: Any) -> None:
        """Set the classes; a regression has none."""

    def _find_absent(self, result: Any, *, again: bool) -> tuple[int, ...]:
        """Return the numbers of the classes that no sum was opened of; none of a regression."""
        del result, again
        return ()

    def _weigh(self, y: Array, weight: F64 | None) -> F64 | None:
        """Return the weights of labelled records; of a regression as given."""
        del y
        return weight

    def _find_pieces(self) -> Iterator[str]:
        """Return what else is not protected where the sums can be taken apart; nothing of a regression."""
        yield from ()

    def _find_small(self, result: Any) -> Iterator[str]:
        """Return what to say of classes that are too small; nothing of a regression."""
        del result
        yield from ()


@parameterized
class SecureELMRegressor(SecureELM, FederatedRegressor):
    """Extreme learning machine that predicts a number. `SecureELMClassifier` describes the other parameters.

    Args:
        target_range: with epsilon, the bounds (low, high) of the targets; values beyond them are clipped. None: a tenth
            of the budget is spent on finding out how large targets are.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {**SecureELM.OWN, "target_range": TARGETS.kind}

    _: KW_ONLY
    target_range: tuple[float, float] | None = None

    def _declare(self, federation: Federation) -> dict[str, Any]:
        del federation
        given = self.target_range
        return {"privacy_targets": None if given is None else (float(given[0]), float(given[1]))}


@parameterized
class SecureELMClassifier(SecureELM, ProbabilityClassifier):
    """Extreme learning machine over rows or columns. It equals that of the pooled data with the same W.

    Over rows, each party computes its own hidden layer H from a public seed, and one masked sum opens H'H and H'T to
    the coordinator; the model is public. Over columns (paper 003), the coordinator learns the inputs of the hidden
    layer, and can compute the records from them. `report_` says who learnt what.

    Args:
        n_hidden: number of nodes of the hidden layer; None: half the number of rows, at most 200. Over rows there may
            be at most as many nodes as rows; with `class_weight` at most as many as the smallest class has rows, with
            `probability` as many as a fold has.
        activation: "sigmoid", "tanh", "sign", "relu" or "rbf".
        ridge: ridge penalty of the least squares; "gcv": chosen by generalised cross-validation from the same sums; 0:
            the pseudo-inverse.
        scale: scale of the random weights, for columns that vary by about 1.
        weights: over columns: "master": the coordinator draws W; "private": every party draws and keeps its own part.
        class_weight: None, "balanced", or {class: weight}.
        probability: make `predict_proba` available: Platt's sigmoids are fitted to the values of five models, each
            trained without some of the rows. Over rows this opens the sums of each fold.
        min_rows: over rows: no sum over fewer rows than this is opened, and none over a class that has fewer.
        device: over rows: where each party computes and sums its hidden layer, and where `predict` computes: "cpu", or
            "cuda" for a GPU (with CuPy or PyTorch).
        secure_sum: how sums are masked: "pairwise", "ring", "graph", or over rows "threshold" or "graph_threshold",
            which let parties be absent; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        fraction_bits: binary places of the fixed-point numbers that are summed.
        partition: "horizontal" (rows) or "vertical" (columns); None: that of the federation, and "horizontal" for plain
            arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties, and over rows public seed of W; no secret is
            drawn from it.
        accept_risk: allow "vertical", more nodes than rows, or one of the data holders as the coordinator.
        epsilon: over rows, train with differential privacy: one record changes the log-odds of any outcome by at most
            this much (docs/privacy.md). Rows of the hidden layer are clipped, and the ridge is made large enough for
            the noise. Columns should vary by about 1. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        classes: with epsilon, the list of classes. None, in simulation only: the classes of the labels; epsilon does
            not cover which ones these are.
    """

    class_count_: I64 = field(init=False)

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None
    probability: bool = False
    classes: Names | None = None

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.probability:
            self.refuse_epsilon("probability=True, which needs sums of each fold")
        if self.epsilon is not None:
            check_classes(tuple(self.classes or (0, 1)), self.class_weight)

    def _declare(self, federation: Federation) -> dict[str, Any]:
        return {"classes": declare_classes(self.classes, federation)}

    def _receive_noisy(self, federation: Federation, outcome: Outcome) -> None:
        super()._receive_noisy(federation, outcome)
        if self.classes is None:
            self.report_.warnings.append(OF_LABELS)

    def _check_partial(self) -> None:
        if self.probability:
            raise LocalError(
                "partial_fit adds rows to sums, and probability=True needs all rows at once: fit again, or leave"
                " that out"
            )
        if self.class_weight == "balanced":
            raise LocalError(
                "class_weight 'balanced' is not supported for partial_fit, which does not see all records: give the"
                " weights"
            )

    def _weigh(self, y: Array, weight: F64 | None) -> F64 | None:
        if self.class_weight is None:
            return weight
        weights: F64 = compute_sample_weight(self.class_weight, y) * (1.0 if weight is None else weight)
        return weights

    def _find_pieces(self) -> Iterator[str]:
        if self.class_weight is not None:
            yield BY_CLASS
        if self.probability:
            yield BY_FOLD

    def _take_classes(self, result: Any) -> None:
        self.classes_ = np.array(result.classes)

    def _targets(self, y: Array) -> F64:
        return targets_of(np.searchsorted(self.classes_, y), len(self.classes_))

    def _find_absent(self, result: Any, *, again: bool) -> tuple[int, ...]:
        learnt = np.where(result.used, result.sizes, 0).astype(np.int64)
        self.class_count_ = learnt + (self.class_count_ if again else 0)
        # one column separates two
        return tuple(np.flatnonzero(self.class_count_ == 0).tolist()) if len(learnt) > 2 else ()  # noqa: PLR2004

    def _find_small(self, result: Any) -> Iterator[str]:
        if self.partition_ == "vertical":  # over columns every class is used
            return
        for name, size, used in zip(self.classes_, result.sizes, result.used, strict=True):
            if size > 0 and not used:
                yield (
                    f"class {name} has {size:.0f} records, fewer than min_rows={self.min_rows}: no sum of them is"
                    " opened, it is left out"
                )
