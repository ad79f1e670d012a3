"""GramSVC: the pooled SVM from securely summed gram matrices (paper 001)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tacit.choreo import F64, I64, Asker, Coordinator, Holder
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.base import FederatedClassifier, chosen
from tacit.estimators.central import central_svc
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, Weights, check
from tacit.models.gram import GramModel, StoredModel
from tacit.numeric.kernels import KERNELS
from tacit.registry import Inputs
from tacit.report import Report
from tacit.report.outcome import report_on

NOT_PROTECTED = (
    "The coordinator's view: the gram matrix is every record up to one rotation; it gives them all away to whoever knows enough of them.",
    "New records in the same way: the coordinator sees their dot products with the support vectors.",
)


class GramSVC(FederatedClassifier):
    """Support vector classifier over columns that several parties hold; equals the SVM of the pooled data.

    Each party computes the gram matrix of its own columns; a coordinator that holds no data learns their sum and solves the dual
    problem. `report_` says who learnt what.

    Args:
        C: price of a margin violation.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        class_weight: None, "balanced", or {class: weight}.
        tol: of the dual solver.
        max_iter: of the dual solver; -1 for no limit.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "vertical".
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: which columns go to whom when plain arrays are split; it feeds no secret.
        accept_risk: allow one of the data holders to be the coordinator.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "C": (Number(0, open=True),),
        "kernel": (OneOf(KERNELS),),
        "gamma": (OneOf(("scale", "auto")), Number(0, open=True)),
        "degree": (Number(0, whole=True),),
        "coef0": (Number(),),
        "class_weight": (OneOf((None, "balanced")), Weights()),
        "tol": (Number(0, open=True),),
        "max_iter": (Number(-1, whole=True),),
        "secure_sum": (OneOf(("pairwise", "ring")),),
        "segments": (Number(1, whole=True),),
        "fraction_bits": (Number(0, 52, whole=True),),
        "partition": (OneOf(("vertical",)),),
        "n_parties": (Number(1, whole=True),),
        "runtime": (OneOf(("together",)),),
        "random_state": (RandomState(),),
        "accept_risk": (OneOf((True, False)),),
    }

    model_: GramModel | StoredModel
    report_: Report
    support_: I64
    n_iter_: int

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        secure_sum: str = "pairwise",
        segments: int = 1,
        fraction_bits: int = 32,
        partition: Partition = "vertical",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
        accept_risk: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.secure_sum = secure_sum
        self.segments = segments
        self.fraction_bits = fraction_bits
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk

    def _check_parameters(self) -> None:
        check(self, self.RULES)

    def _fit(self, federation: Federation, *, compare: bool) -> None:
        if federation.coordinator in federation.parts and not self.accept_risk:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn the gram matrix, from which it can work out the others'"
                " columns if it knows enough records: name a site without data, or say accept_risk=True"
            )
        outcome = federation.execute(
            "gram_vertical", {"data": (Holder, federation.parts)}, kernel=self.kernel, gamma=self.gamma, degree=self.degree,
            coef0=float(self.coef0), C=float(self.C), class_weight=self.class_weight, tol=float(self.tol), max_iter=self.max_iter,
            **self._protection(),
        )  # fmt: skip
        result = outcome.result
        self.classes_ = np.array(result["classes"])
        self.support_ = np.asarray(result["support"])
        if federation.simulated:
            self.model_ = GramModel(result["dual"][federation.coordinator], result["columns"])
            self.n_iter_ = self.model_.dual.iterations
        else:
            self.model_ = StoredModel(result["stored"], (*federation.parts, federation.coordinator))
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED)
        if compare and federation.simulated:
            self.report_.comparison = self._gap(federation)

    def _shares(self) -> GramModel:
        if isinstance(self.model_, StoredModel):
            raise LocalError(
                f"this model is kept in shares by {', '.join(self.model_.parties)}, under job {self.model_.job}: prediction between"
                " organisations is not in this version"
            )
        return self.model_

    def _decide(self, federation: Federation) -> F64:
        model = self._shares()
        dual = {federation.coordinator: model.dual}
        inputs: Inputs = {"data": (Holder, federation.parts), "dual": (Coordinator, dual), "columns": (Holder, model.columns)}
        squares = self.kernel == "rbf"
        outcome = federation.execute("gram_predict", inputs, squares=squares, support=len(self.support_), **self._protection())
        values: F64 = outcome.result[federation.roster[Asker][0]]
        return values

    def _protection(self) -> dict[str, Any]:
        return {"method": self.secure_sum, "segments": self.segments, "fraction_bits": self.fraction_bits}

    def _gap(self, federation: Federation) -> dict[str, float | int | str]:
        """Beside scikit-learn's SVC on the pooled records."""
        X, y, weight = federation.pooled()
        central = central_svc(X, np.asarray(y), weight, self)
        values = self._decide(federation)
        mine, theirs = self._shares().dual.objective, central.objective
        return {
            "reference": "scikit-learn's SVC on the pooled records",
            "relative gap of the dual objective": float(np.max(np.abs(mine - theirs) / np.abs(theirs))),
            "largest difference of decision values": float(np.abs(values - central.values).max()),
            "training records labelled differently": int(np.sum(chosen(values) != chosen(central.values))),
            "seconds of the reference": central.seconds,
        }
