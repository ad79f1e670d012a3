"""PanSVC: a non-linear SVM over rows that many hold, by landmarks and cutting planes (paper 004)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.choreo import F64, Array, Holder
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.base import chosen
from tacit.estimators.central import central_svc
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, Weights, check
from tacit.estimators.probability import SupportVectorClassifier
from tacit.models.export import export, to_sklearn
from tacit.models.pan import PanModel
from tacit.numeric.kernels import KERNELS
from tacit.numeric.least_count import CAP
from tacit.protocols.cutting_plane import Solution
from tacit.protocols.feature_map import SOURCES
from tacit.protocols.planes import relative_gap
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on

NOT_PROTECTED = (
    "The landmarks, which everyone sees: each is the mean of at least min_cluster records (with min_cluster=1 some are records).",
    "What the sums over one group of rows tell of them: min_count='auto' keeps the numbers that are opened fewer than the unknowns.",
    "Against a coordinator that publishes wrong models: with witness=True the holders check each of its steps.",
)

MOST = 0.95  # of the records should take part, else the user is told


class PanSVC(SupportVectorClassifier):
    """Support vector classifier over rows that several parties hold; equals the SVM of the pooled rows on the same feature map.

    The parties agree on landmarks; everyone maps its own records; the linear SVM on them is solved from masked sums. What results is
    public and holds no record. `report_` says who learnt what.

    Args:
        C: price of a margin violation.
        kernel: "rbf", "poly", "sigmoid" or "linear", which needs no landmarks.
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        landmark_source: "local": k-means at every party; "joint": k-means of all together by masked sums; "fourier": random features of
            a public seed (rbf), which say nothing about the data.
        landmarks: how many, or below 1 their share of the rows, of which at most 1000 are taken; "auto": as many as suit the table, since
            more landmarks need larger groups of rows.
        min_cluster: of how many records a landmark is the mean, at least.
        min_count: all that is opened are functions of sums over groups of at least so many rows of one class at one party; "auto": each
            party takes as many as keep the numbers that are opened, in this and all earlier runs, fewer than the unknowns. A smaller number
            needs accept_risk=True.
        multi_class: "ovr": each class against the rest; "ovo": each pair of classes.
        class_weight: None, "balanced", or {class: weight}.
        probability: let `predict_proba` work: five models that each leave rows out are trained beside, in the same rounds, and Platt's
            sigmoids fitted to what they say by masked sums.
        tol: relative gap between the objective and its lower bound at which a problem is solved; groups of rows may leave a larger one,
            which the report tells.
        max_rounds: of the cutting planes.
        dtype: of the mapped records, "float64" or "float32", which needs half the memory.
        witness: let the holders see the sums and check every step of the coordinator.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "horizontal".
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: which rows go to whom when plain arrays are split, and the public seed of "fourier"; it feeds no secret.
        accept_risk: allow one of the data holders to be the coordinator, and a min_count that is smaller than "auto" would be.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "C": (Number(0, open=True),),
        "kernel": (OneOf(KERNELS),),
        "gamma": (OneOf(("scale", "auto")), Number(0, open=True)),
        "degree": (Number(0, whole=True),),
        "coef0": (Number(),),
        "landmark_source": (OneOf(SOURCES),),
        "landmarks": (OneOf(("auto",)), Number(0, open=True)),
        "min_cluster": (Number(1, whole=True),),
        "min_count": (OneOf(("auto",)), Number(1, whole=True)),
        "multi_class": (OneOf(("ovr", "ovo")),),
        "class_weight": (OneOf((None, "balanced")), Weights()),
        "probability": (OneOf((True, False)),),
        "tol": (Number(0, open=True),),
        "max_rounds": (Number(1, whole=True),),
        "dtype": (OneOf(("float64", "float32")),),
        "witness": (OneOf((True, False)),),
        "secure_sum": (OneOf(("pairwise", "ring")),),
        "segments": (Number(1, whole=True),),
        "fraction_bits": (Number(0, 52, whole=True),),
        "partition": (OneOf(("horizontal",)),),
        "n_parties": (Number(1, whole=True),),
        "runtime": (OneOf(("together", "spark")),),
        "random_state": (RandomState(),),
        "accept_risk": (OneOf((True, False)),),
    }

    model_: PanModel
    report_: Report
    n_iter_: int

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        landmark_source: str = "local",
        landmarks: float | str = "auto",
        min_cluster: int = 5,
        min_count: int | str = "auto",
        multi_class: str = "ovr",
        class_weight: dict[Any, float] | str | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_rounds: int = 500,
        dtype: str = "float64",
        witness: bool = False,
        secure_sum: str = "pairwise",
        segments: int = 1,
        fraction_bits: int = 32,
        partition: Partition = "horizontal",
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
        self.landmark_source = landmark_source
        self.landmarks = landmarks
        self.min_cluster = min_cluster
        self.min_count = min_count
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_rounds = max_rounds
        self.dtype = dtype
        self.witness = witness
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
        if not isinstance(self.landmarks, str) and self.landmarks >= 1 and self.landmarks != int(self.landmarks):
            raise LocalError(f"landmarks={self.landmarks} is neither a whole number nor a share of the rows below 1: correct it")
        if self.witness and self.secure_sum != "pairwise":
            raise LocalError(
                "witness=True needs secure_sum='pairwise': sums that everyone checks are opened from everyone's masked vectors"
            )

    def _fit(self, federation: Federation, *, compare: bool) -> None:
        self._check_site(federation)
        self._take(federation, federation.execute("pan_svm", {"data": (Holder, federation.parts)}, **self._arguments()))
        if compare and federation.simulated:
            self.report_.comparison = self._gap(federation)

    def _check_site(self, federation: Federation) -> None:
        if federation.coordinator in federation.parts and not self.accept_risk:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn the sums, from which it can subtract its own rows:"
                " name a site without data, or say accept_risk=True"
            )

    def _take(self, federation: Federation, outcome: Outcome) -> None:
        """The attributes of a fitted classifier."""
        result = outcome.result
        found = result["solution"]
        self.classes_ = np.array(result["classes"])
        shape = (len(self.classes_), _pairs(result["pairs"]), self.min_cluster)
        self.model_ = PanModel(result["map"], found.w, found.b, *shape, sigmoids=result["sigmoids"])
        self.n_iter_, self.n_features_in_ = found.rounds, result["columns"]
        self.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED)
        self.report_.figures = self._figures(found, result["least"])
        for concern in self._concerns(found, np.asarray(result["sizes"]), np.asarray(result["taking"])):
            self.report_.warnings.append(str(concern))
            warnings.warn(concern, stacklevel=4)

    def _figures(self, found: Solution, least: dict[str, int]) -> dict[str, float | int | str]:
        """Of how many rows every group is, and which gap that leaves."""
        sizes = sorted(set(least.values()))
        rows = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}, by party"
        return {
            "least rows of a group that a sum tells apart": rows + (": single records may be opened" if sizes[0] == 1 else ""),
            "relative gap to the optimum, at most": float(np.max(relative_gap(found.objective, found.bound))),
        }

    def _arguments(self) -> dict[str, Any]:
        names = ("kernel", "gamma", "degree", "landmark_source", "min_cluster", "min_count", "multi_class", "class_weight", "probability",
                 "max_rounds", "dtype", "witness", "segments", "fraction_bits", "accept_risk")  # fmt: skip
        numbers: dict[str, Any] = {name: float(getattr(self, name)) for name in ("C", "coef0", "tol")}
        numbers["landmarks"] = self.landmarks if isinstance(self.landmarks, str) else float(self.landmarks)
        return {
            **{name: getattr(self, name) for name in names},
            **numbers,
            "method": self.secure_sum,
            "seed": self._seed(),
        }

    def _concerns(self, found: Solution, sizes: F64, taking: F64) -> Iterator[Warning]:
        rows = round(float(sizes.sum()))
        for name, size, left in zip(self.classes_, sizes, taking, strict=True):
            if size > 0 and left <= 0:
                yield UserWarning(f"class {name} has {size:.0f} records, and no party has a group of them: it is never chosen")
        if taking.sum() < MOST * rows:
            yield UserWarning(
                f"{rows - round(float(taking.sum()))} of {rows} records take no part: their parties have fewer of their class than a group"
                f" needs, with min_count={self.min_count}"
            )
        if not isinstance(self.landmarks, str) and self.landmarks < 1 and self.landmarks * rows > CAP and self.kernel != "linear":
            yield UserWarning(
                f"landmarks={self.landmarks} of {rows} rows are more than {CAP}: {CAP} were taken; give landmarks as a number for more"
            )
        gap = float(np.max(relative_gap(found.objective, found.bound)))
        if gap > self.tol and self.min_count == 1:
            yield ConvergenceWarning(
                f"after {found.rounds} rounds the relative gap is {gap:.2g}, not {self.tol:.2g}: raise max_rounds, or lower C"
            )

    def _values(self, X: Any) -> F64:
        """The model is public: whoever has whole records needs nobody else."""
        if isinstance(X, Federation):
            return super()._values(X)
        return self.model_.decide(validate_data(self, X, reset=False, dtype=np.float64))

    def _decide(self, federation: Federation) -> F64:
        """Every party for itself."""
        width = 1 if len(self.model_.pairs) == 1 else self.model_.classes
        values = np.empty((federation.n_rows, width))
        for party, part in federation.parts.items():
            values[federation.rows[party]] = self.model_.decide(part.X)
        return values

    def to_sklearn(self) -> Pipeline:
        """The same classifier as a fitted scikit-learn pipeline."""
        check_is_fitted(self)
        return to_sklearn(self.model_, self.classes_, self.n_features_in_, self._names())

    def export(self, path: str | Path) -> Path:
        """Write the classifier for other programs: `model.onnx` or `model.skops`."""
        check_is_fitted(self)
        return export(self.model_, self.classes_, self.n_features_in_, path, self._names())

    def _names(self) -> Array | None:
        return getattr(self, "feature_names_in_", None)

    def _gap(self, federation: Federation) -> dict[str, float | int | str]:
        """Beside scikit-learn's SVC on the pooled records."""
        X, y, weight = federation.pooled()
        central = central_svc(X, np.asarray(y), weight, self)
        mine, theirs = self._decide(federation), central.values
        return {
            "reference": "scikit-learn's SVC on the pooled records, with the whole kernel",
            "training records labelled differently": int(np.sum(chosen(mine) != chosen(theirs))),
            "accuracy on the training records": float(np.mean(self.classes_[chosen(mine)] == y)),
            "accuracy of the reference on them": float(np.mean(self.classes_[chosen(theirs)] == y)),
            "seconds of the reference": central.seconds,
        }


def _pairs(given: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(i), int(j)) for i, j in given)
