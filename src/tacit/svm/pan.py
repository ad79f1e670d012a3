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
    """Support vector classifier over rows. It equals the SVM of the pooled rows on the same feature map.

    The parties agree on landmarks, and each maps its own records with them. The linear SVM on the mapped records is
    solved from masked sums. The model is public and contains no record. `report_` says who learnt what.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "rbf", "poly", "sigmoid", or "linear", which needs no landmarks.
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" and "sigmoid" kernels.
        landmark_source: where landmarks come from: "local": k-means at every party; "joint": one k-means over all
            parties, by masked sums; "fourier": no landmarks but random features from a public seed (for "rbf"), which
            say nothing about the data.
        landmarks: number of landmarks; a number below 1 is a share of the rows, with at most 1000 landmarks. "auto": a
            number that suits the table, because more landmarks need larger groups of rows.
        min_cluster: every landmark is the mean of at least this many records.
        min_count: size of the smallest group: everything that is opened is a function of sums over groups of at least
            this many rows, all of one class at one party. "auto": each party makes its groups so large that all runs so
            far have opened fewer numbers than there are unknowns. A smaller value than "auto" finds needs
            accept_risk=True.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        probability: make `predict_proba` available: five more models, each without some of the rows, are trained in the
            same rounds, and Platt's sigmoids are fitted to their decision values by masked sums.
        tol: training ends when the relative gap between the objective and its lower bound is below this. Groups of rows
            may leave a larger gap; the report says how large.
        max_rounds: most rounds of cutting planes.
        dtype: number type of the mapped records: "float64", or "float32", which needs half the memory; "auto":
            "float32" for 50,000 records or more.
        device: where each party maps and sums its own records, and where `predict` computes: "cpu", or "cuda" for a GPU
            (with CuPy or PyTorch).
        witness: let the data holders see the sums and check every step of the coordinator.
        secure_sum: how sums are masked: "pairwise", "ring" or "graph"; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        fraction_bits: binary places of the fixed-point numbers that are summed.
        partition: "horizontal"; None: the same.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties, and public seed of "fourier"; no secret is
            drawn from it.
        accept_risk: let one of the data holders be the coordinator, and allow a min_count smaller than "auto" would
            choose.
        epsilon: train with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). The kernel must be "linear" or "rbf" (by Fourier features). Columns are scaled during
            training, several classes are trained as one problem, and values and weights are clipped. None: no
            differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        ranges: with epsilon, the bounds (low, high) of all columns, or one pair for each column; None: a twentieth of
            the budget is spent on finding them.
        classes: with epsilon, the list of classes. None, in simulation only: the classes of the labels; epsilon does
            not cover which ones these are.
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

    @property
    def takes_sparse(self) -> bool:
        """Whether plain records may be sparse: not where noise is added to every column."""
        return self.epsilon is None and self.device == "cpu"

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
                f"landmarks={self.landmarks} of {rows} rows are more than {CAP}: {CAP} were taken; give a whole number"
                " for more"
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
