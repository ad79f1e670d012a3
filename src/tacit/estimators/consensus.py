"""ConsensusSVC: each party trains on its own, and securely averaged values travel until all agree (paper 000)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.choreo import F64, Array, Asker, Coordinator, Holder
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.base import chosen
from tacit.estimators.central import Central, central_svc
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, Weights, check
from tacit.estimators.probability import SupportVectorClassifier
from tacit.models.consensus import ColumnConsensus, RowConsensus
from tacit.numeric.kernels import KERNELS
from tacit.protocols.consensus_horizontal import refuse_probability
from tacit.protocols.consensus_space import SOURCES, check_limits
from tacit.protocols.consensus_vertical import problem_count, refuse_span
from tacit.registry import Inputs, Outcome
from tacit.report import Report
from tacit.report.outcome import report_on

NOT_PROTECTED = {
    "horizontal": (
        "What a sequence of averages says: everyone sees the average weights of all parties in every round, not those of the last only.",
        "New records asked about under a kernel: whoever asks shows them to the other holders.",
    ),
    "vertical": (
        "The coordinator's view: its sums of many rounds span the columns, which give all records away to whoever knows enough of them.",
        "The labels: the coordinator is told them, and what it publishes shows them to everyone.",
    ),
}
OF_FOLDS = (
    "The averages beside the sums for probabilities: these are over groups of at least min_count rows, the averages are not.",
    "As many models as folds, which everyone sees.",
)
OF_ROWS = ("disclose", "landmark_source", "landmarks", "landmark_range", "min_cluster", "min_count")


@dataclass(frozen=True)
class Range:
    """A pair of numbers, or one for each column."""

    def __call__(self, value: Any) -> bool:
        """Whether it is one."""
        try:
            pairs = np.asarray(value, dtype=np.float64)
            check_limits(pairs, len(pairs))
        except (LocalError, TypeError, ValueError):
            return False
        return True

    def __str__(self) -> str:
        return "a pair of numbers (low, high), or such a pair for each column"


class ConsensusSVC(SupportVectorClassifier):
    """Support vector classifier by consensus; linear, it equals the SVM of the pooled data.

    Each party solves its own part in every round, and only secure sums leave it. With a kernel over rows the parties agree at
    landmarks and keep the rest of their own classifiers: the optimum of (15) of paper 000, not the pooled kernel SVM. With a kernel
    over columns it is the SVM of the sum of the parties' kernels. `report_` says who learnt what, round by round.

    Args:
        C: price of a margin violation.
        kernel: "linear", "rbf", "poly" or "sigmoid" (over rows only).
        gamma: of all kernels but the linear one; "scale" and "auto" as in scikit-learn; over columns of each party's own.
        degree: of "poly".
        coef0: of "poly" and "sigmoid".
        rho: the penalty for disagreeing: "auto" finds it on the way, a number stays. Paper 000 has 100 for C=50.
        over_relaxation: between 0 and 2; 1 is the paper's.
        disclose: over rows: "metric" opens second moments and losses, for far fewer rounds; "loss" opens the losses, which tell how far
            the optimum is; "least" opens neither.
        landmark_source: of a kernel over rows: "local" or "joint" clusters as in `PanSVC`, or "ranges": points of a public seed within
            `landmark_range`, as in the paper.
        landmarks: how many.
        landmark_range: (low, high), or one such pair for each column; public.
        min_cluster: of how many records a landmark is the mean, at least.
        min_count: over rows, with `probability` or landmarks: sums are over groups of at least so many rows, as in `PanSVC`.
        class_weight: None, "balanced", or {class: weight}.
        probability: whether to fit probabilities too: `predict_proba`. Not with a kernel over rows, where the parties' classifiers differ.
        tol: relative residuals, and relative gap of the objective where it is opened, at which the parties agree.
        max_rounds: at most; over columns as many as these need accept_risk.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        fraction_bits: of the fixed-point numbers that are summed.
        partition: "horizontal" or "vertical".
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: what goes to whom when plain arrays are split, and the public seed of "ranges"; it feeds no secret.
        accept_risk: over columns, allow more sums than columns; over columns, and with `probability`, one of the data holders to be the
            coordinator.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "C": (Number(0, open=True),),
        "kernel": (OneOf(KERNELS),),
        "gamma": (OneOf(("scale", "auto")), Number(0, open=True)),
        "degree": (Number(0, whole=True),),
        "coef0": (Number(),),
        "rho": (OneOf(("auto",)), Number(0, open=True)),
        "over_relaxation": (Number(0, 1.99, open=True),),
        "disclose": (OneOf(("metric", "loss", "least")),),
        "landmark_source": (OneOf(SOURCES),),
        "landmarks": (Number(1, whole=True),),
        "landmark_range": (Range(),),
        "min_cluster": (Number(1, whole=True),),
        "min_count": (OneOf(("auto",)), Number(1, whole=True)),
        "class_weight": (OneOf((None, "balanced")), Weights()),
        "probability": (OneOf((True, False)),),
        "tol": (Number(0, open=True),),
        "max_rounds": (Number(1, whole=True),),
        "secure_sum": (OneOf(("pairwise", "ring")),),
        "segments": (Number(1, whole=True),),
        "fraction_bits": (Number(0, 52, whole=True),),
        "partition": (OneOf(("horizontal", "vertical")),),
        "n_parties": (Number(1, whole=True),),
        "runtime": (OneOf(("together", "spark")),),
        "random_state": (RandomState(),),
        "accept_risk": (OneOf((True, False)),),
    }

    model_: RowConsensus | ColumnConsensus
    report_: Report
    n_iter_: int

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        rho: float | str = "auto",
        over_relaxation: float = 1.8,
        disclose: str = "metric",
        landmark_source: str = "local",
        landmarks: int = 40,
        landmark_range: Any = (-1.0, 1.0),
        min_cluster: int = 5,
        min_count: int | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_rounds: int = 1000,
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
        self.rho = rho
        self.over_relaxation = over_relaxation
        self.disclose = disclose
        self.landmark_source = landmark_source
        self.landmarks = landmarks
        self.landmark_range = landmark_range
        self.min_cluster = min_cluster
        self.min_count = min_count
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_rounds = max_rounds
        self.secure_sum = secure_sum
        self.segments = segments
        self.fraction_bits = fraction_bits
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, compare: bool = False, watch: Any = None) -> Self:
        """Train together.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records.
            compare: in simulation, also train the centralised learner and put the gap into `report_`.
            watch: public records with labels, (X, y): over rows, the history then has their accuracy in every round.
        """
        self._watch = watch
        try:
            return super().fit(X, y, sample_weight, compare=compare)
        finally:
            del self._watch

    def _check_parameters(self) -> None:
        check(self, self.RULES)
        if self._watch is not None and self.partition == "vertical":
            raise LocalError("watch is for partition='horizontal': no party has whole records of a vertical split")
        if self.probability and self.partition == "horizontal":
            refuse_probability(self.kernel)

    def _fit(self, federation: Federation, *, compare: bool) -> None:
        rows = self.partition == "horizontal"
        self._check_site(federation)
        special = {"accept_risk": self.accept_risk, **(self._watched() if rows else {})}
        outcome = federation.execute(f"consensus_{self.partition}", {"data": (Holder, federation.parts)}, **self._arguments(), **special)
        result = outcome.result
        self.classes_, self.n_iter_ = np.array(result["classes"]), int(result["rounds"])
        sigmoids = None if result["sigmoids"] is None else np.asarray(result["sigmoids"], dtype=np.float64)  # a list, out of a letter
        if rows:
            self.model_ = RowConsensus(result["map"], result["w"], result["b"], result["rest"] or {}, sigmoids)
        else:
            self.model_ = ColumnConsensus(result["head"][federation.coordinator], result["shares"], sigmoids)
        more = OF_FOLDS if rows and self.probability else ()
        self.report_ = report_on(self, federation, outcome, not_protected=(*NOT_PROTECTED[self.partition], *more))
        for concern in self._concerns(result, outcome):
            self.report_.warnings.append(str(concern))
            warnings.warn(concern, stacklevel=4)
        if federation.simulated:
            self.report_.figures = self._disagreements(federation)
            self.report_.comparison = self._gap(federation) if compare else None

    def _check_site(self, federation: Federation) -> None:
        """Refuse what must not, or cannot, be run between these parties."""
        rows, own = self.partition == "horizontal", federation.coordinator in federation.parts and not self.accept_risk
        if own and not (rows and not self.probability):
            what = "the sums of rows that probabilities need" if rows else "the sums over all columns"
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn {what}, from which it can subtract its own: name a site"
                " without data, or say accept_risk=True"
            )
        if rows and self.kernel != "linear" and not federation.simulated:
            raise LocalError(
                "with a kernel over rows each party keeps a part of the classifier that consists of its own records, and would end with the"
                " run: use kernel='linear', or PanSVC, whose model is public"
            )
        if not rows and not federation.simulated:
            raise LocalError("between organisations ConsensusSVC trains over rows only: use GramSVC for columns")
        if not rows and not self.accept_risk:
            classes = len(np.unique(np.concatenate([part.y for part in federation.parts.values() if part.y is not None])))
            refuse_span(self.max_rounds, federation.n_features, problem_count(classes, probability=self.probability))

    def _arguments(self) -> dict[str, Any]:
        names = ("kernel", "gamma", "degree", "class_weight", "probability", "max_rounds", "segments", "fraction_bits")
        numbers = {name: float(getattr(self, name)) for name in ("C", "coef0", "over_relaxation", "tol")}
        own = {name: getattr(self, name) for name in OF_ROWS} | {"seed": self._seed()} if self.partition == "horizontal" else {}
        rho = self.rho if isinstance(self.rho, str) else float(self.rho)
        return {**{name: getattr(self, name) for name in names}, **numbers, **own, "rho": rho, "method": self.secure_sum}

    def _watched(self) -> dict[str, Any]:
        """Public rows with their classes."""
        if self._watch is None:
            return {}
        X, y = self._watch
        return {"watch": (np.ascontiguousarray(X, dtype=np.float64), np.asarray(y))}

    def _concerns(self, result: dict[str, Any], outcome: Outcome) -> Iterator[Warning]:
        last = outcome.history[-1] if outcome.history else {}
        if self.partition == "horizontal" and self.disclose == "metric" and self.kernel == "linear" and not result["metric"]:
            yield UserWarning(
                "no more records than columns: their second moments would show the space they span, so rho was balanced without them, as"
                " by disclose='least'; bring more records for fewer rounds"
            )
        if not result["converged"]:
            told = ", ".join(f"{name} {last[name]:.2g}" for name in ("primal", "dual", "gap") if name in last)
            yield ConvergenceWarning(
                f"after max_rounds={self.max_rounds} rounds the parties do not agree to tol={self.tol:.2g} ({told}): raise max_rounds,"
                " scale the features, or lower C"
            )

    def _values(self, X: Any) -> F64:
        """Without a kernel the model of rows is public: whoever has whole records needs nobody else."""
        if isinstance(X, Federation) or not isinstance(self.model_, RowConsensus) or self.model_.rest:
            return super()._values(X)
        return self.model_.common(validate_data(self, X, reset=False, dtype=np.float64))

    def _decide(self, federation: Federation) -> F64:
        return (
            self._by_rows(federation, self.model_) if isinstance(self.model_, RowConsensus) else self._by_columns(federation, self.model_)
        )

    def _by_rows(self, federation: Federation, model: RowConsensus) -> F64:
        """The public part by every party for itself; what the rests add by all together."""
        values = np.empty((federation.n_rows, len(model.b)))
        for party, part in federation.parts.items():
            values[federation.rows[party]] = model.common(part.X)
        if model.rest:
            inputs: Inputs = {"data": (Holder, federation.parts), "rest": (Holder, model.rest)}
            found = federation.execute("consensus_predict", inputs, the_map=model.map, **self._protection()).result
            for party, rows in federation.rows.items():
                values[rows] += found[party][party]
        return values

    def _by_columns(self, federation: Federation, model: ColumnConsensus) -> F64:
        head = {federation.coordinator: model.head}
        inputs: Inputs = {"data": (Holder, federation.parts), "head": (Coordinator, head), "shares": (Holder, model.shares)}
        outcome = federation.execute("consensus_vertical_predict", inputs, problems=len(model.head.bias), **self._protection())
        values: F64 = outcome.result[federation.roster[Asker][0]]
        return values

    def _protection(self) -> dict[str, Any]:
        return {"method": self.secure_sum, "segments": self.segments, "fraction_bits": self.fraction_bits}

    def party_decisions(self, X: Any) -> dict[str, F64]:
        """In simulation, with a kernel over rows: each party's own decision values, which agree at the landmarks only."""
        check_is_fitted(self)
        if not isinstance(self.model_, RowConsensus) or not self.model_.rest:
            raise LocalError("the parties' own classifiers differ only with a kernel over rows: use decision_function")
        return self.model_.each(validate_data(self, X, reset=False, dtype=np.float64))

    def _disagreements(self, federation: Federation) -> dict[str, float | int | str]:
        if not isinstance(self.model_, RowConsensus) or not self.model_.rest:
            return {}
        X, _, _ = federation.pooled()
        return {"training records on which the parties' own classifiers disagree": disagreements(self.model_.each(X)), "of": len(X)}

    def _gap(self, federation: Federation) -> dict[str, float | int | str]:
        """Beside scikit-learn's SVC on the pooled records."""
        X, y, weight = federation.pooled()
        labels = np.asarray(y)
        central = central_svc(X, labels, weight, self)
        mine, theirs = self._decide(federation), central.values
        return {
            "reference": "scikit-learn's SVC on the pooled records" + ("" if self.kernel == "linear" else ", with the whole kernel"),
            **self._objective_gap(labels, weight, mine, central),
            "training records labelled differently": int(np.sum(chosen(mine) != chosen(theirs))),
            "accuracy on the training records": float(np.mean(self.classes_[chosen(mine)] == labels)),
            "accuracy of the reference on them": float(np.mean(self.classes_[chosen(theirs)] == labels)),
            "seconds of the reference": central.seconds,
        }

    def _objective_gap(self, y: Array, weight: F64 | None, values: F64, central: Central) -> dict[str, float]:
        """1/2 |w|^2 and the hinges, against the reference's dual objective; only a linear classifier solves the same problem."""
        if self.kernel != "linear":
            return {}
        w = self.model_.w if isinstance(self.model_, RowConsensus) else np.concatenate([s.weights for s in self.model_.shares.values()]).T
        cap = self.C * compute_sample_weight(self.class_weight, y) * (1.0 if weight is None else weight)
        signs = np.where(y[:, None] == self.classes_[1:] if len(w) == 1 else y[:, None] == self.classes_, 1.0, -1.0)
        mine = 0.5 * (w**2).sum(axis=1) + cap @ np.maximum(0.0, 1.0 - signs * values)
        best = -central.objective
        return {"relative gap of the objective": float(np.max((mine - best) / np.abs(best)))}


def disagreements(each: dict[str, F64]) -> int:
    """Of how many records not all parties would choose the same class."""
    choices = np.stack([chosen(values) for values in each.values()])
    return int(np.sum(np.any(choices != choices[0], axis=0)))
