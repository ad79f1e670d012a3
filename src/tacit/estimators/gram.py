"""GramSVC and GramSVR: the pooled SVM from securely computed gram matrices (paper 001)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tacit.choreo import F64
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.estimators.base import FederatedRegressor, chosen
from tacit.estimators.central import Central, central_svc, central_svr
from tacit.estimators.gram_base import GramMachine
from tacit.estimators.parameters import Number, OneOf, Rule, Weights
from tacit.estimators.probability import SupportVectorClassifier
from tacit.registry import Outcome


class GramSVC(GramMachine, SupportVectorClassifier):
    """Support vector classifier over columns, rows or cells that several parties hold; equals the SVM of the pooled data.

    A coordinator that holds no data learns the gram matrix, which is every record up to one unknown rotation, and solves the dual
    problem; parties learn nothing of each other's cells. `report_` says who learnt what.

    Args:
        C: price of a margin violation.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        class_weight: None, "balanced", or {class: weight}.
        probability: let `predict_proba` work: the coordinator fits Platt's sigmoids to the values of five models that each leave records
            out, and publishes them.
        tol: of the dual solver.
        max_iter: of the dual solver; -1 for no limit.
        method: how cells of two parties are multiplied: "product" (homomorphic, in shares), "algorithm1" (001's Algorithm 1, for up to 200
            records) or "intersection" (of zeros and ones; needs accept_risk). Columns are never multiplied under "product".
        engine: of "product": "bfv" or "paillier".
        key_bits: of Paillier keys, 2048 or 3072.
        feature_bits: of the integers that cells become where they are multiplied; None for as many as cost nothing, 20 or more.
        feature_range: no value is larger; None lets the parties learn the smallest power of two that none exceeds.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "vertical", "horizontal" or "arbitrary".
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: allow one of the data holders to be the coordinator, and method="intersection".
        quota: about how many new records the model may be asked in all; None for no limit. `asked_` counts them.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        **GramMachine.RULES,
        "class_weight": (OneOf((None, "balanced")), Weights()),
        "probability": (OneOf((True, False)),),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        method: str = "product",
        engine: str = "bfv",
        key_bits: int = 2048,
        feature_bits: int | None = None,
        feature_range: float | None = None,
        secure_sum: str = "pairwise",
        segments: int = 1,
        fraction_bits: int = 32,
        partition: Partition = "vertical",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
        accept_risk: bool = False,
        quota: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.engine = engine
        self.key_bits = key_bits
        self.feature_bits = feature_bits
        self.feature_range = feature_range
        self.secure_sum = secure_sum
        self.segments = segments
        self.fraction_bits = fraction_bits
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk
        self.quota = quota

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "class_weight": self.class_weight, "probability": self.probability}

    def _take(self, federation: Federation, outcome: Outcome) -> None:
        self.classes_ = np.array(outcome.result["classes"])
        super()._take(federation, outcome)

    def _central(self, federation: Federation) -> Central:
        X, y, weight = federation.pooled()
        return central_svc(X, np.asarray(y), weight, self)

    def _told_apart(self, mine: F64, theirs: F64) -> dict[str, float | int | str]:
        return {"training records labelled differently": int(np.sum(chosen(mine) != chosen(theirs)))}


class GramSVR(GramMachine, FederatedRegressor):
    """Support vector regression over columns, rows or cells that several parties hold; equals the SVR of the pooled data.

    As `GramSVC`, on the same gram matrix: the coordinator learns every record up to one unknown rotation, and every target.

    Args:
        C: price of an error beyond `epsilon`.
        epsilon: errors up to this cost nothing.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        tol: of the dual solver.
        max_iter: of the dual solver; -1 for no limit.
        method: as of `GramSVC`.
        engine: as of `GramSVC`.
        key_bits: as of `GramSVC`.
        feature_bits: as of `GramSVC`.
        feature_range: as of `GramSVC`.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "vertical", "horizontal" or "arbitrary".
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: as of `GramSVC`.
        quota: as of `GramSVC`.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {**GramMachine.RULES, "epsilon": (Number(0),)}
    NUMBERS_TO_PASS: ClassVar[tuple[str, ...]] = (*GramMachine.NUMBERS_TO_PASS, "epsilon")

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        method: str = "product",
        engine: str = "bfv",
        key_bits: int = 2048,
        feature_bits: int | None = None,
        feature_range: float | None = None,
        secure_sum: str = "pairwise",
        segments: int = 1,
        fraction_bits: int = 32,
        partition: Partition = "vertical",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
        accept_risk: bool = False,
        quota: int | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.engine = engine
        self.key_bits = key_bits
        self.feature_bits = feature_bits
        self.feature_range = feature_range
        self.secure_sum = secure_sum
        self.segments = segments
        self.fraction_bits = fraction_bits
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk
        self.quota = quota

    def _central(self, federation: Federation) -> Central:
        X, y, weight = federation.pooled()
        return central_svr(X, np.asarray(y, np.float64), weight, self)

    def _told_apart(self, mine: F64, theirs: F64) -> dict[str, float | int | str]:
        return {"root mean square difference of the answers": float(np.sqrt(np.mean((mine - theirs) ** 2)))}
