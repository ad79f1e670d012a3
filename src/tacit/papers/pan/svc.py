"""PanSVC: a non-linear SVM over rows that many hold, by landmarks and cutting planes (paper 004)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64
from tacit.base.estimator import Comparison, FederatedClassifier
from tacit.base.parameters import parameterized
from tacit.base.shared import warn_of
from tacit.choreo.declaration import Either, Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.mapped import MappedModel
from tacit.numeric.svm.kernels import OVO
from tacit.papers.central import central_svc
from tacit.papers.pan.cutting_plane import find_gap
from tacit.papers.pan.ground import KERNELS, TWO
from tacit.papers.pan.model import PanMachine
from tacit.papers.parameters import MAX_ROUNDS, MULTI_CLASS, TOL, kinds_of
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Records, Request

NOT_PROTECTED = (
    "The landmarks, which everyone sees: each is the mean of a cluster of one party's records, and may be a record.",
    "Records by which sums of two rounds differ: the coordinator finds them by subtraction.",
    "Against a coordinator that publishes models of its own choice: it can single out any record.",
)


@parameterized
class PanSVC(FederatedClassifier):
    """PAN-SVM of paper 004: the SVM of the pooled rows on a feature map by landmarks. The paper's own form.

    The parties agree on landmarks, the centres of their own clusters. Each maps its own records with them, and the
    linear SVM on the mapped records is solved by cutting planes, whose cuts are masked sums over all rows. The model is
    public. Sums and landmarks give single records away: a job between organisations needs accept_risk=True. `tacit.SVC`
    reveals nothing but its model.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "rbf", "poly", or "linear", which needs no landmarks.
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" kernel.
        landmarks: number of landmarks; a number below 1 is a share of the records; "auto": a quarter of the records, at
            most 400. A party whose records are alike has fewer; the report says how many there are.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest, as the paper has it.
        class_weight: None, "balanced", or {class: weight}.
        tol: training ends when the relative gap between the objective and its lower bound is below this.
        max_rounds: most rounds of cutting planes.
        partition: "horizontal"; None: the same.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated. Between organisations
            no secret is drawn from it.
        accept_risk: let a job show what known attacks turn into records, and let a data holder be the coordinator.
    """

    PROTOCOL: ClassVar[str] = "pan_svm"
    SPLITS = ("horizontal",)
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **kinds_of(TOL, MAX_ROUNDS, MULTI_CLASS),
        "kernel": OneOf(KERNELS),
        "landmarks": Either((OneOf(("auto",)), Number(1, whole=True), Number(0, 1, above=True))),
    }
    saves: ClassVar[str] = "n_iter_"

    model_: PanMachine = field(init=False)
    n_iter_: int = field(init=False)

    _: KW_ONLY
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    landmarks: float | str = "auto"
    multi_class: str = OVO
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-3
    max_rounds: int = 500

    def _request(self, federation: Federation) -> Request:
        return self.request_of(self.PROTOCOL, federation)

    def request_of(self, protocol: str, federation: Federation, **more: Any) -> Request:
        """Return the request for a protocol of PAN-SVM with these parameters, and more of its own."""
        return Request(protocol, {"data": Records()}, self._arguments(protocol) | more, self._repeatable(federation))

    def _repeatable(self, federation: Federation) -> int | None:
        """Return from what a simulation's randomness follows: `random_state`, if that is a number."""
        fixed = isinstance(self.random_state, Integral) and federation.holds_records
        return int(self.random_state) if fixed else None

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        found = outcome.result
        self.classes_ = np.array(found.classes)
        self.model_ = PanMachine(MappedModel(found.map, np.ascontiguousarray(found.w.T), 0.0), self.multi_class)
        self.n_iter_, self.n_features_in_ = found.rounds, found.map.columns
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED)
        landmarks = 0 if self.kernel == "linear" else len(found.map.centres)
        self.report_.figures = {"landmarks": landmarks, "relative gap to the optimum, at most": find_gap(found)}
        warn_of(self.report_, self._concerns(found, landmarks, len(federation)))

    def _concerns(self, found: Any, landmarks: int, parties: int) -> Iterator[Warning]:
        if landmarks + parties < found.asked:  # each party rounds its own share
            yield UserWarning(
                f"there are {landmarks} landmarks, and landmarks={self.landmarks} asks for {found.asked}: parties have"
                " fewer records that differ"
            )
        if (gap := find_gap(found)) > self.tol:
            yield ConvergenceWarning(
                f"after {found.rounds} rounds the relative gap is {gap:.2g}, not {self.tol:.2g}: raise max_rounds"
            )

    def public_decision(self) -> Callable[[F64], F64]:
        """Return what computes decision values; the model is public."""
        return self.model_.decide

    def public_model(self) -> Any:
        """Return the model: it is public."""
        return self.model_

    def _shown(self) -> MappedModel:
        """Return the model as the writers of other formats take it, who know no votes of pairs."""
        check_is_fitted(self)
        if self.multi_class == OVO and len(self.classes_) > TWO:
            raise LocalError(
                "files for other programs have no votes between pairs of classes: train with multi_class='ovr', or use"
                " tacit's own file (save)"
            )
        return self.model_.mapped

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVC on the pooled records."""
        values, central = self.receive_values(federation, ()), central_svc(federation, self)
        labels = central.compare_labels(values, self.classes_, np.asarray(federation.pooled()[1]))
        return {"reference": f"{central.name}, with the whole kernel", **labels}
