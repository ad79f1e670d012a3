"""ELMClassifier and ELMRegressor: extreme learning machines of which only the output weights are revealed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import validate_data

from tacit.arrays import F64, I64
from tacit.base.estimator import Comparison, FederatedRegressor, choose_classes
from tacit.base.parameters import parameterized
from tacit.base.probability import ProbabilityClassifier
from tacit.choreo import Holder
from tacit.choreo.declaration import Kind, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.protocols.features.maps import FOURIER, features_of
from tacit.protocols.learners.elm import AUTO
from tacit.protocols.learners.targets import OwnSums, signs_of
from tacit.registry import Outcome
from tacit.request import Values
from tacit.svm.machine import Machine


@parameterized
class LayerMachine(Machine):
    """What the classifier and the regressor share: a random layer."""

    PROTOCOL = "train_elm"
    PRIVATELY = "private_elm"
    OWN: ClassVar[Mapping[str, Kind | None]] = {**Machine.OWN, "activation": OneOf((AUTO, FOURIER, *ACTIVATIONS))}

    sums_: dict[str, OwnSums] | None = field(init=False, default=None)
    seed_: int = field(init=False)

    _: KW_ONLY
    n_hidden: int | None = None
    activation: str = AUTO
    scale: float = 1.0

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from new rows too, in simulation: each party adds them to the sums of its own rows.

        Args:
            X: a `Federation` of the new rows, between the same parties, or plain records.
            y: targets, with plain records.
            classes: at the first call, all classes that will ever occur; those of the records by default.
            sample_weight: weights, with plain records.
        """
        self.check_parameters()
        self.refuse_epsilon("partial_fit, which keeps exact sums of rows")
        first = not hasattr(self, "model_")
        if not first and self.sums_ is None:
            raise LocalError("the sums of earlier rows are not here (model files leave them out): fit again")
        if not first and not isinstance(X, Federation):
            validate_data(self, X, reset=False, skip_check_array=True)
        plain = not isinstance(X, Federation)
        federation = self._federate_records(X, y, sample_weight, varied=first) if plain else self.federate(X)
        if federation.partition != "horizontal" or not federation.holds_records:
            raise LocalError("partial_fit adds rows to those of each party, in simulation: use partition='horizontal'")
        request = self.request(federation)
        if first:
            known = None if classes is None else tuple(np.unique(classes).tolist())
            request = request if known is None else request.with_params(classes=known)
        else:
            request = self._continue(request, federation)
        with self._watching():
            return self.receive(federation, federation.run(request))

    def _continue(self, request: Any, federation: Federation) -> Any:
        """Return a request that adds rows to the sums of the parties, with the same layer and classes."""
        held = self.sums_ or {}
        if set(held) != set(federation.parts):
            raise LocalError(f"new rows must be held by the same parties as before: {', '.join(held)}")
        same: dict[str, Any] = {"n_hidden": self.n_hidden_, "repeat": self.seed_}
        if hasattr(self, "classes_"):
            same["classes"] = tuple(self.classes_.tolist())
        else:
            same["target_range"] = (self.model_.middle - self.model_.reach, self.model_.middle + self.model_.reach)
        return request.with_params(**same).with_inputs(kept=Values(Holder, held))

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        super()._receive(federation, outcome)
        own = outcome.result.own
        self.sums_, self.seed_ = own if isinstance(own, dict) and own else None, outcome.result.seed

    @property
    def n_hidden_(self) -> int:
        """Nodes of the hidden layer."""
        nodes: int = self.model_.map.size - 1
        return nodes

    def _reference(self, federation: Federation) -> tuple[F64, float]:
        """Return decision values of the same machine on the pooled records, in doubles, and the seconds it took."""
        X, y, weight = federation.pooled()
        start = time.perf_counter()
        Z = features_of(self.model_.map, X)
        T = self._targets(np.asarray(y))
        q = np.ones(len(X)) if weight is None else np.asarray(weight)
        beta = np.linalg.solve((Z * q[:, None]).T @ Z + self.alpha_ * np.eye(Z.shape[1]), (Z * q[:, None]).T @ T)
        return Z @ beta, time.perf_counter() - start

    def _targets(self, y: Any) -> F64:
        """Return the targets that least squares has, a column for each problem."""
        raise NotImplementedError


@parameterized
class ELMClassifier(LayerMachine, ProbabilityClassifier):
    """Extreme learning machine classifier over records that several parties hold; nothing but the model is revealed.

    A random layer, drawn by all parties together, maps the records; output weights are solved for in shares. The model
    is public and contains no record.

    Args:
        n_hidden: number of nodes; None: half the records, at most 200 for few records and 1,000 for many.
        activation: "sigmoid", "tanh", "relu", "sign", "rbf", "fourier" (cosines and sines of phases), or "auto":
            "tanh" over rows, "fourier" over columns and cells, where it is the only one.
        scale: how large the weights of the layer are.
        alpha: how much output weights are kept small; "auto" chooses it by generalised cross-validation,
            in shares.
        device: where each party maps and sums its own records, and where `predict` computes: "cpu" or "cuda".
        committee: which parties compute, over rows: "all", "three" (the first ones), or three names; "auto": all, or of
            more than four the first three. The others give them shares, which all three together could undo.
        class_weight: None, "balanced" (rounded to powers of the square root of two, at most 1 : 8), or in a simulation
            {class: weight}.
        probability: make `predict_proba` available.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns), "arbitrary"; None: rows.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated, as all its
            randomness follows from it. Between organisations no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator; training refuses it anyway.
        epsilon: train with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Columns should be scaled to a mean of 0 and a variance of 1, by a scaler
            with epsilon or by what is public. The loss is a rounded hinge, of several classes the softmax's. Values and
            weights are clipped, and there are 400 nodes at most by default. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        classes: the list of classes. None: those of the labels; between organisations epsilon needs the list, as it
            does not cover which classes there are.
    """

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None
    probability: bool = False
    classes: Any = None

    def _targets(self, y: Any) -> F64:
        codes: I64 = np.searchsorted(self.classes_, y)
        return signs_of(codes, len(self.classes_))

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with the same machine on the pooled records."""
        theirs, seconds = self._reference(federation)
        mine = self.model_.decide(federation.pooled()[0])
        return {
            "reference": "the same machine on the pooled records, in doubles",
            "training records labelled differently": int(np.sum(choose_classes(mine) != choose_classes(theirs))),
            "largest difference of decision values": float(np.abs(mine - theirs).max()),
            "seconds of the reference": seconds,
        }


@parameterized
class ELMRegressor(LayerMachine, FederatedRegressor):
    """Extreme learning machine regression over records that several parties hold; nothing but the model is revealed.

    Args:
        n_hidden: number of nodes; None: half the records, at most 200 for few records and 1,000 for many.
        activation: "sigmoid", "tanh", "relu", "sign", "rbf", "fourier" (cosines and sines of phases), or "auto":
            "tanh" over rows, "fourier" over columns and cells, where it is the only one.
        scale: how large the weights of the layer are.
        alpha: how much output weights are kept small; "auto" chooses it by generalised cross-validation,
            in shares.
        device: where each party maps and sums its own records, and where `predict` computes: "cpu" or "cuda".
        committee: which parties compute, over rows: "all", "three" (the first ones), or three names; "auto": all, or of
            more than four the first three. The others give them shares, which all three together could undo.
        target_range: between which numbers targets lie; others are cut. None: in simulation those of the records;
            between organisations a rounded middle and spread are found in shares, and revealed.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns), "arbitrary"; None: rows.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated, as all its
            randomness follows from it. Between organisations no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator; training refuses it anyway.
        epsilon: train with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Columns should be scaled to a mean of 0 and a variance of 1, by a scaler
            with epsilon or by what is public. Values, targets and weights are clipped, target_range must be given, and
            there are 400 nodes at most by default. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
    """

    _: KW_ONLY
    target_range: tuple[float, float] | None = None

    def _targets(self, y: Any) -> F64:
        model = self.model_
        return np.asarray(np.clip((y.astype(np.float64) - model.middle) / model.reach, -1.0, 1.0)[:, None])

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with the same machine on the pooled records."""
        theirs, seconds = self._reference(federation)
        mine = self.model_.decide(federation.pooled()[0])
        theirs = self.model_.middle + self.model_.reach * theirs
        return {
            "reference": "the same machine on the pooled records, in doubles",
            "largest difference of answers": float(np.abs(mine - theirs).max()),
            "seconds of the reference": seconds,
        }
