"""GramSVC and GramSVR: the pooled SVM from securely computed gram matrices (paper 001)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from tacit.arrays import F64
from tacit.base.central import Central, Comparison, central_svc, central_svr
from tacit.base.estimator import FederatedRegressor
from tacit.base.parameters import parameterized
from tacit.base.searchable import Searchable
from tacit.base.selection_plan import gram_search_plan
from tacit.choreo.declaration import Kind, Number
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.exposure import describe_exposure
from tacit.protocols.sums.secure_sum import describe_protection
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on
from tacit.svm.blind import BLIND
from tacit.svm.classifier import SupportVectorClassifier
from tacit.svm.gram_base import GramMachine


@parameterized
class GramSVC(GramMachine, SupportVectorClassifier, Searchable):
    """Support vector classifier over columns, rows or cells. It equals the SVM of the pooled data.

    A coordinator that holds no data learns the gram matrix, which is every record up to one unknown rotation, and
    solves the dual problem; parties learn nothing of each other's cells. `report_` says who learnt what.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" and "sigmoid" kernels.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        probability: make `predict_proba` available: the coordinator fits Platt's sigmoids to the decision values of
            five models, each trained without some of the records, and publishes the sigmoids.
        tol: tolerance at which the dual solver stops.
        max_iter: most iterations of the dual solver; -1 for no limit.
        view: who sees the gram matrix: the "coordinator"; or nobody, "blind": the RBF, linear or polynomial kernel, its
            solution and its answers stay in shares, and the coordinator, which must hold no data, deals random numbers
            (docs/methods/gram.md). Not with probability.
        method: how cells of two parties are multiplied: "product" (homomorphic encryption, results in shares),
            "algorithm1" (Algorithm 1 of paper 001, for up to 200 records) or "intersection" (for zeros and ones; needs
            accept_risk). Records split by columns need no such products.
        engine: encryption that "product" uses: "bfv" or "paillier".
        key_bits: length of Paillier keys: 2048 or 3072.
        feature_bits: bits of the integers that cells are rounded to before they are multiplied; None: as many as cost
            nothing extra, 20 or more.
        feature_range: a bound on the size of every value; None: the parties learn the smallest power of two that no
            value exceeds.
        secure_sum: how sums are masked: "pairwise", "ring" or "graph"; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        fraction_bits: binary places of the fixed-point numbers that are summed.
        partition: "vertical", "horizontal" or "arbitrary"; None: that of the federation, and "vertical" for plain
            arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator, and allow method="intersection".
        quota: how many new records the model may be asked about in all; None: no limit. `asked_` counts them.
    """

    search_plan = gram_search_plan

    def _search(self) -> tuple[str, dict[str, Any]]:
        if self.view == BLIND:
            raise LocalError(
                "view='blind' is not for a search, which would train in shares for each candidate and fold: search with"
                " view='coordinator', which shows the coordinator the gram matrix, on a sample, or with PanSVC"
            )
        return "gram_search", self._arguments("gram_search")

    def search_report(self, search: Any, federation: Federation, outcome: Outcome) -> Report:
        """Return the report of a search for its parameters."""
        protection = describe_protection(self.secure_sum, self.segments)
        report = report_on(search, federation, outcome, not_protected=self._not_protected(), protection=protection)
        report.warnings += describe_exposure(federation)
        return report

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        self.classes_ = np.array(outcome.result.classes)
        super()._receive(federation, outcome)

    def _central(self, federation: Federation) -> Central:
        return central_svc(federation, self)

    def _compare_answers(self, values: F64, central: Central) -> Comparison:
        return central.count_differing(values)


@parameterized
class GramSVR(GramMachine, FederatedRegressor):
    """Support vector regression over columns, rows or cells; equals the SVR of the pooled data.

    As `GramSVC`, on the same gram matrix: the coordinator learns every record up to one unknown rotation, and every
    target. With view="blind" nobody does.

    Args:
        C: penalty for errors larger than `epsilon`; a larger C fits the training records more closely.
        epsilon: errors up to this size cost nothing.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" and "sigmoid" kernels.
        tol: tolerance at which the dual solver stops.
        max_iter: most iterations of the dual solver; -1 for no limit.
        view: as of `GramSVC`; with "blind" targets are in shares too.
        target_range: with view="blind", the two numbers between which all targets lie; None: the parties learn the
            smallest power of two that no target exceeds in size.
        method: as of `GramSVC`.
        engine: as of `GramSVC`.
        key_bits: as of `GramSVC`.
        feature_bits: as of `GramSVC`.
        feature_range: as of `GramSVC`.
        secure_sum: how sums are masked: "pairwise", "ring" or "graph"; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        fraction_bits: binary places of the fixed-point numbers that are summed.
        partition: "vertical", "horizontal" or "arbitrary"; None: that of the federation, and "vertical" for plain
            arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: as of `GramSVC`.
        quota: as of `GramSVC`.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {**GramMachine.OWN, "epsilon": Number(0)}

    _: KW_ONLY
    epsilon: float = 0.1
    target_range: tuple[float, float] | None = None

    def _arguments(self, protocol: str, **given: Any) -> dict[str, Any]:
        span = None if self.target_range is None else (float(self.target_range[0]), float(self.target_range[1]))
        return super()._arguments(protocol, **{"target_range": span, **given})

    def _central(self, federation: Federation) -> Central:
        return central_svr(federation, self)

    def _compare_answers(self, values: F64, central: Central) -> Comparison:
        difference = np.sqrt(np.mean((values - central.values) ** 2))
        return {"root mean square difference of the answers": float(difference)}
