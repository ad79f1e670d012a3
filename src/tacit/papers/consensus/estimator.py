"""ConsensusSVC: an SVM by consensus over rows or columns (paper 000)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tacit.arrays import F64
from tacit.base.estimator import Comparison, FederatedClassifier
from tacit.base.parameters import parameterized
from tacit.base.shared import warn_of
from tacit.choreo import Asker, Holder
from tacit.choreo.declaration import Kind, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.mapped import MappedModel
from tacit.numeric.svm.kernels import OVR
from tacit.papers.central import central_svc
from tacit.papers.consensus.model import ColumnMachine
from tacit.papers.consensus.rows import KERNELS, OF_CONSENSUS, POINTS
from tacit.papers.machine import PublicMachine
from tacit.papers.parameters import kinds_of
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Records, Request, Values

NOT_PROTECTED = {
    "horizontal": (
        "Averages of every round: of two parties, each has the other's weights, and from them its records.",
        "Against a coordinator that guesses single records: it can test a guess on the averages.",
    ),
    "vertical": (
        "Sums of the parties' parts: as many of them, and of known records, as there are columns, give all others.",
        "Many rounds of them: they give columns without a known record.",
    ),
}


@parameterized
class ConsensusSVC(FederatedClassifier):
    """The consensus SVM of paper 000: the SVM of the pooled records by averages or sums. The paper's own form.

    Over rows every party solves its own SVM, and only the average of all weights leaves a round; with a kernel it is
    the SVM on a feature map by random landmarks. Over columns the sums of the parties' parts are opened, and a kernel
    is the sum of the parties' kernels. Either tells enough to compute records in some settings, so it starts only with
    accept_risk=True; over columns, only in simulation. `tacit.SVC` reveals nothing but its model.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "linear", "rbf" or "poly".
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn. Over columns
            each party computes them from its own columns.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" kernel.
        points: number of landmarks of a kernel over rows, drawn by the means and variances of the columns.
        rho: penalty for disagreement between the parties. "auto": over rows by the second moments of the features,
            which are opened for it; over columns a tenth of the number of parties. A number: the step of the paper.
        over_relaxation: step length, between 0 and 2; the paper uses 1.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        tol: training ends when the relative gap between the objective and its lower bound is below this.
        max_rounds: most rounds.
        partition: "horizontal" or "vertical"; None: that of the federation, and "horizontal" for plain arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated. Between organisations
            no secret is drawn from it.
        accept_risk: accept what the method gives away; it does not start without this.
    """

    SPLITS = ("horizontal", "vertical")
    OWN: ClassVar[Mapping[str, Kind | None]] = {**kinds_of(*OF_CONSENSUS, POINTS), "kernel": OneOf(KERNELS)}
    saves: ClassVar[str] = "n_iter_"

    model_: PublicMachine | ColumnMachine = field(init=False)
    n_iter_: int = field(init=False)

    _: KW_ONLY
    C: float = 1.0
    kernel: str = "linear"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    points: int = 100
    rho: float | str = "auto"
    over_relaxation: float = 1.6
    multi_class: str = OVR
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-3
    max_rounds: int = 1000

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if not self.accept_risk:
            what = NOT_PROTECTED[self.partition_][0].rstrip(".")
            raise LocalError(f"ConsensusSVC does not protect everything ({what}): say accept_risk=True, or use SVC")

    def _request(self, federation: Federation) -> Request:
        protocol = "consensus_rows" if self.partition_ == "horizontal" else "consensus_columns"
        fixed = isinstance(self.random_state, Integral) and federation.holds_records
        seed = int(self.random_state) if fixed else None
        return Request(protocol, {"data": Records()}, self._arguments(protocol), seed)

    def _check_site(self, federation: Federation) -> None:
        if self.partition_ == "vertical" and not federation.holds_records:
            raise LocalError("ConsensusSVC over columns runs in simulation only, for studies: use SVC")
        super()._check_site(federation)

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        found = outcome.result
        self.classes_, self.n_iter_ = np.array(found.classes), int(found.rounds)
        if self.partition_ == "vertical":
            self.model_ = ColumnMachine(found.shares, found.bias, self.multi_class)
        else:
            mapped = MappedModel(found.map, np.ascontiguousarray(found.w.T), 0.0)
            self.model_ = PublicMachine(mapped, self.multi_class)
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED[self.partition_])
        gap = float(np.max((found.objective - found.bound) / np.maximum(np.abs(found.objective), 1e-300)))
        self.report_.figures = {"rounds": self.n_iter_, "relative gap to the optimum, at most": gap}
        warn_of(self.report_, self._concerns(gap))

    def _concerns(self, gap: float) -> Iterator[Warning]:
        if gap > self.tol:
            yield ConvergenceWarning(
                f"after {self.n_iter_} rounds the relative gap is {gap:.2g}, not {self.tol:.2g}: raise max_rounds, or"
                " scale the features"
            )

    def public_decision(self) -> Callable[[F64], F64] | None:
        """Return what computes decision values, if the model is public: over rows."""
        return self.model_.decide if isinstance(self.model_, PublicMachine) else None

    def public_model(self) -> Any:
        """Return the model if it is public, or None."""
        return self.model_ if isinstance(self.model_, PublicMachine) else None

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records over columns; a public model needs none."""
        del federation
        model = self.model_
        if not isinstance(model, ColumnMachine):
            return ()
        inputs: dict[str, Input] = {"data": Records(), "shares": Values(Holder, model.shares)}
        how = {"bias": model.bias, "multi_class": model.multi_class}
        return (Request("consensus_columns_predict", inputs, how),)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return decision values: over columns the asker's."""
        if not outcomes:
            return super().receive_values(federation, outcomes)
        found: F64 = outcomes[-1].result[federation.roster[Asker][0]]
        return found

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVC on the pooled records."""
        values, central = self._answer(federation).values, central_svc(federation, self)
        name = central.name if self.kernel == "linear" else f"{central.name}, with the whole kernel"
        labels = np.asarray(federation.pooled()[1])
        return {"reference": name, **central.compare_labels(values, self.classes_, labels)}
