"""PanSVC: a non-linear SVM over rows that many hold, by landmarks and cutting planes (paper 004)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tacit.arrays import F64
from tacit.base.central import Comparison, central_svc
from tacit.base.parameters import parameterized
from tacit.base.searchable import Searchable
from tacit.base.selection_plan import pan_search_plan
from tacit.base.shared import Sums, warn_of
from tacit.choreo.declaration import Kind, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.noisy import NoisyModel
from tacit.models.pan import PanModel
from tacit.numeric.groups.least_count import CAP
from tacit.numeric.svm.problems import OVR
from tacit.protocols.blind.kernels import KERNELS
from tacit.protocols.planes.cutting_plane import Solution
from tacit.protocols.planes.feature_map import SOURCES
from tacit.protocols.planes.pool import relative_gap
from tacit.protocols.planes.problems import PanParameters, Svm
from tacit.protocols.planes.subset_svm import check_svm
from tacit.protocols.sums.secure_sum import describe_protection
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on
from tacit.request import Records, Request
from tacit.svm.classifier import SupportVectorClassifier
from tacit.svm.noisy import Noisy

NOT_PROTECTED = (
    "The landmarks, which everyone sees: each is the mean of min_cluster or more records; of 1, it may be a record.",
    "What the sums over one group of rows tell of them: min_count='auto' opens fewer numbers than there are unknowns.",
    "Against a coordinator that publishes wrong models: with witness=True the holders check each of its steps.",
)
OF_SEARCHES = (
    "The landmarks, which everyone sees, and a model for every candidate and fold.",
    "What the sums over one group of rows tell of them: min_count='auto' counts the features of all kernels together.",
    "Against a coordinator that publishes wrong models or scores: with witness=True the holders check its steps.",
)

MOST = 0.95  # of the records should take part, else the user is told
FEW = 1000  # rows, below which groups of them cost a kernel much: docs/defaults.md
EXACT_BLIND = (
    "GramSVC(view='blind') equals the SVM of the pooled rows and opens no record, unless its coordinator and a party"
    " work together"
)
EXACT_SEEN = (
    "GramSVC equals the SVM of the pooled rows, but its coordinator learns every record up to one unknown rotation"
)


@parameterized
class PanSVC(PanParameters, Noisy, SupportVectorClassifier, Searchable, Sums):
    """Support vector classifier over rows; equals the SVM of the pooled rows on the same feature map.

    The parties agree on landmarks; everyone maps its own records; the linear SVM on them is solved from masked sums.
    What results is public and holds no record. `report_` says who learnt what.

    Args:
        C: price of a margin violation.
        kernel: "rbf", "poly", "sigmoid" or "linear", which needs no landmarks.
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        landmark_source: "local": k-means at every party; "joint": k-means of all together by masked sums; "fourier":
            random features of
            a public seed (rbf), which say nothing about the data.
        landmarks: how many, or below 1 their share of the rows, of which at most 1000 are taken; "auto": as many as
            suit the table, since
            more landmarks need larger groups of rows.
        min_cluster: of how many records a landmark is the mean, at least.
        min_count: all that is opened are functions of sums over groups of at least so many rows of one class at one
            party; "auto": each
            party takes as many as keep the numbers that are opened, in this and all earlier runs, fewer than the
            unknowns. A smaller number needs accept_risk=True.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        probability: let `predict_proba` work: five models that each leave rows out are trained beside, in the same
            rounds, and Platt's
            sigmoids fitted to what they say by masked sums.
        tol: relative gap between the objective and its lower bound at which a problem is solved; groups of rows may
            leave a larger one,
            which the report tells.
        max_rounds: of the cutting planes.
        dtype: of the mapped records, "float64" or "float32", which needs half the memory; "auto": "float32" where they
            are 50,000 or more.
        device: where each party maps and sums its own records, and where `predict` works: "cpu", or "cuda", a GPU by
            CuPy or PyTorch.
        witness: let the holders see the sums and check every step of the coordinator.
        secure_sum: "pairwise", "ring" or "graph"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "horizontal"; None: as the federation is.
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        verbose: a line says how far it is: None in a terminal or notebook, after 2 s; True in a log too; False nowhere.
        random_state: which rows go to whom when plain arrays are split, and the public seed of "fourier"; it feeds no
            secret.
        accept_risk: allow one of the data holders to be the coordinator, and a min_count that is smaller than "auto"
            would be.
        epsilon: train with differential privacy: one record moves the logarithm of the odds of any outcome by at most
            so much (docs/privacy.md). The kernel is "linear" or "rbf", by Fourier features; columns are scaled on the
            way; several classes are one problem, and values and weights are clipped. None: no differential privacy.
        delta: with epsilon, of which probability the events are that it does not bound; at most one over the records.
        honest: with epsilon, how many of the data holders are taken to keep their noise to themselves; None: half.
        ranges: with epsilon, between which two numbers the values of all columns lie, or those of each; None: that is
            found out, at a twentieth of the budget.
        classes: with epsilon, the classes; None in simulation: those of the labels, which epsilon does not cover.
    """

    saves: ClassVar[str] = "n_iter_"
    OWN: ClassVar[Mapping[str, Kind | None]] = {**Noisy.OWN, "landmark_source": OneOf(SOURCES)}
    SPLITS = ("horizontal",)

    model_: PanModel | NoisyModel = field(init=False)

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if not isinstance(self.landmarks, str) and self.landmarks >= 1 and self.landmarks != int(self.landmarks):
            raise LocalError(
                f"landmarks={self.landmarks} is neither a whole number nor a share of the rows below 1: correct it"
            )
        if self.witness and self.secure_sum != "pairwise":
            raise LocalError("witness=True needs secure_sum='pairwise': everyone checks sums of all masked vectors")
        if self.epsilon is not None:
            self.check_noisy()

    search_plan = pan_search_plan

    def _request(self, federation: Federation) -> Request:
        if self.epsilon is not None:
            return self.noisy_request(federation)
        return Request("pan_svm", {"data": Records()}, self._arguments("pan_svm"))

    def _search(self) -> tuple[str, dict[str, Any]]:
        self.refuse_epsilon("a search for parameters")
        return "pan_search", self._arguments("pan_svm")

    def search_report(self, search: Any, federation: Federation, outcome: Outcome) -> Report:
        """Return the report of a search for its parameters."""
        protection = describe_protection(self.secure_sum, self.segments)
        return report_on(search, federation, outcome, not_protected=OF_SEARCHES, protection=protection)

    def check_selection(self) -> None:
        """Raise if features cannot be selected by this classifier."""
        self.refuse_epsilon("a selection of features")
        self.check_parameters()
        check_svm(Svm(**self._selecting()))

    def selection_request(self, federation: Federation, protocol: str, **search: Any) -> Request:
        """Return what a selection of features would have the federation run."""
        self.check_selection()
        self.check_federation(federation)
        return Request(protocol, {"data": Records()}, {**self._selecting(), **search})

    def _selecting(self) -> dict[str, Any]:
        """Return the parameters of a selection, whose scores are of one class against the rest."""
        return self._arguments("pan_svm", multi_class=OVR)

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        if self.epsilon is not None:
            self.receive_noisy(federation, outcome)
            return
        result = outcome.result
        found = result.solution
        self.classes_ = np.array(result.classes)
        shape = (len(self.classes_), result.pairs, self.min_cluster)
        self.model_ = PanModel(result.map, found.w, found.b, *shape, sigmoids=result.sigmoids)
        self.n_iter_, self.n_features_in_ = found.rounds, result.columns
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED)
        self.report_.figures = self._figures(found, result.least)
        warn_of(self.report_, self._concerns(found, result.sizes, result.taking))

    def _figures(self, found: Solution, least: dict[str, int]) -> dict[str, float | int | str]:
        """Return of how many rows every group is, and which gap that leaves."""
        sizes = sorted(set(least.values()))
        rows = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}, by party"
        alone = ": single records may be opened" if sizes[0] == 1 else ""
        return {
            "least rows of a group that a sum tells apart": rows + alone,
            "relative gap to the optimum, at most": float(np.max(relative_gap(found.objective, found.bound))),
        }

    def _concerns(self, found: Solution, sizes: F64, taking: F64) -> Iterator[Warning]:
        rows = round(float(sizes.sum()))
        for name, size, left in zip(self.classes_, sizes, taking, strict=True):
            if size > 0 and left <= 0:
                yield UserWarning(
                    f"class {name} has {size:.0f} records, and no party has a group of them: it is never chosen"
                )
        if taking.sum() < MOST * rows:
            yield UserWarning(
                f"{rows - round(float(taking.sum()))} of {rows} records take no part: their parties have fewer of their"
                f" class than a group needs, with min_count={self.min_count}"
            )
        if rows < FEW and self.kernel != "linear" and self.min_count != 1:
            blind = self.kernel in KERNELS and not self.probability
            yield UserWarning(
                f"{rows} rows are few for a kernel on groups of rows: {EXACT_BLIND if blind else EXACT_SEEN};"
                " SecureELMClassifier is often better here too, but opens sums of all rows, which may be more numbers"
                " than the records have"
            )
        share = self.landmarks if not isinstance(self.landmarks, str) and self.landmarks < 1 else 0.0
        if share * rows > CAP and self.kernel != "linear":
            yield UserWarning(
                f"landmarks={self.landmarks} of {rows} rows are more than {CAP}: {CAP} were taken; a number gives more"
            )
        gap = float(np.max(relative_gap(found.objective, found.bound)))
        if gap > self.tol and self.min_count == 1:
            yield ConvergenceWarning(
                f"after {found.rounds} rounds the relative gap is {gap:.2g}, not {self.tol:.2g}: raise max_rounds"
            )

    def public_decision(self) -> Callable[[F64], F64]:
        """Return what computes decision values; the model is public."""
        if isinstance(self.model_, NoisyModel):
            return self.model_.decide
        return partial(self.model_.decide, device=self.device)

    def public_model(self) -> PanModel | NoisyModel:
        """Return the model: it is public."""
        return self.model_

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVC on the pooled records."""
        values, central = self.receive_values(federation, ()), central_svc(federation, self)
        _, y, _ = federation.pooled()
        return {
            "reference": f"{central.name}, with the whole kernel",
            **central.compare_labels(values, self.classes_, np.asarray(y)),
        }
