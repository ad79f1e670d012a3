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
from tacit.choreo.declaration import Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.exposure import describe_exposure
from tacit.protocols.sums.secure_sum import describe_protection
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on
from tacit.request import Records, Request
from tacit.svm.blind import BLIND, COORDINATOR, VIEWS, ask_blind, check_blind, receive_blind, warn_of_size
from tacit.svm.classifier import SupportVectorClassifier
from tacit.svm.gram_base import GramMachine


@parameterized
class GramSVC(GramMachine, SupportVectorClassifier, Searchable):
    """Support vector classifier over columns, rows or cells; equals the SVM of the pooled data.

    A coordinator that holds no data learns the gram matrix, which is every record up to one unknown rotation, and
    solves the dual problem; parties learn nothing of each other's cells. `report_` says who learnt what.

    Args:
        C: price of a margin violation.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        probability: let `predict_proba` work: the coordinator fits Platt's sigmoids to the values of five models that
            each leave records
            out, and publishes them.
        tol: of the dual solver.
        max_iter: of the dual solver; -1 for no limit.
        view: who sees the gram matrix: the "coordinator"; or nobody, "blind": the RBF, linear or polynomial kernel, its
            solution and its answers stay in shares, and the coordinator, which must hold no data, deals random numbers
            (docs/methods/gram.md). It knows no probability.
        method: how cells of two parties are multiplied: "product" (homomorphic, in shares), "algorithm1" (001's
            Algorithm 1, for up to 200
            records) or "intersection" (of zeros and ones; needs accept_risk). Columns are never multiplied under
            "product".
        engine: of "product": "bfv" or "paillier".
        key_bits: of Paillier keys, 2048 or 3072.
        feature_bits: of the integers that cells become where they are multiplied; None for as many as cost nothing, 20
            or more.
        feature_range: no value is larger; None lets the parties learn the smallest power of two that none exceeds.
        secure_sum: "pairwise", "ring" or "graph"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "vertical", "horizontal" or "arbitrary"; None: as the federation is, and "vertical" for plain arrays.
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        verbose: a line says how far it is: None in a terminal or notebook, after 2 s; True in a log too; False nowhere.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: allow one of the data holders to be the coordinator, and method="intersection".
        quota: about how many new records the model may be asked in all; None for no limit. `asked_` counts them.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {**GramMachine.OWN, "view": OneOf(VIEWS)}
    ADVISED: ClassVar[tuple[Mapping[str, Any], ...]] = tuple({"view": view} for view in VIEWS)
    search_plan = gram_search_plan

    _: KW_ONLY
    view: str = COORDINATOR

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.view == BLIND:
            check_blind(self)

    def _request(self, federation: Federation) -> Request:
        if self.view == BLIND:
            if federation.holds_records:
                warn_of_size(federation.n_rows, len(federation.parts), self.C, self.kernel)
            return Request("gram_blind", {"data": Records()}, self._arguments("gram_blind"))
        return super()._request(federation)

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records."""
        return ask_blind(self, federation) if self.view == BLIND else super().request_values(federation)

    def _search(self) -> tuple[str, dict[str, Any]]:
        if self.view == BLIND:
            raise LocalError(
                "a search shows its coordinator the gram matrix, and blind it would be a training in shares for each"
                " candidate and fold: search with view='coordinator' on a sample, or with PanSVC"
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
        if self.view == BLIND:
            receive_blind(self, federation, outcome)
        else:
            super()._receive(federation, outcome)

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with the centralised learner; of a blind one nobody knows the objective."""
        if self.view != BLIND:
            return super()._gap(federation)
        central, values = self._central(federation), self._answer(federation).values
        return self._compare_answers(values, central)

    def _central(self, federation: Federation) -> Central:
        return central_svc(federation, self)

    def _compare_answers(self, values: F64, central: Central) -> Comparison:
        return central.count_differing(values)


@parameterized
class GramSVR(GramMachine, FederatedRegressor):
    """Support vector regression over columns, rows or cells; equals the SVR of the pooled data.

    As `GramSVC`, on the same gram matrix: the coordinator learns every record up to one unknown rotation, and every
    target.

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
        secure_sum: "pairwise", "ring" or "graph"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "vertical", "horizontal" or "arbitrary"; None: as the federation is, and "vertical" for plain arrays.
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        verbose: a line says how far it is: None in a terminal or notebook, after 2 s; True in a log too; False nowhere.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: as of `GramSVC`.
        quota: as of `GramSVC`.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {**GramMachine.OWN, "epsilon": Number(0)}

    _: KW_ONLY
    epsilon: float = 0.1

    def _central(self, federation: Federation) -> Central:
        return central_svr(federation, self)

    def _compare_answers(self, values: F64, central: Central) -> Comparison:
        difference = np.sqrt(np.mean((values - central.values) ** 2))
        return {"root mean square difference of the answers": float(difference)}
