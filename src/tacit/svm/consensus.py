"""ConsensusSVC: each party trains on its own, and securely averaged values travel until all agree (paper 000)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import F64
from tacit.base.central import Central, Comparison, central_svc
from tacit.base.estimator import choose_classes
from tacit.base.parameters import parameterized
from tacit.base.shared import Sums, check_coordinator, warn_of
from tacit.choreo import Asker, Holder
from tacit.choreo.declaration import Either, Kind, Number, OneOf, Unmeasured
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.models.consensus import ColumnConsensus, RowConsensus, StoredColumns
from tacit.models.pan import PanModel
from tacit.numeric.svm.problems import count_problems, problems, signs_of, value_classes
from tacit.protocols.consensus.horizontal import refuse_pairs, refuse_probability
from tacit.protocols.consensus.settings import ConsensusParameters, RowParameters
from tacit.protocols.consensus.space import SOURCES, check_limits
from tacit.protocols.consensus.vertical import problem_count, refuse_span
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Computed, Input, Left, Records, Request
from tacit.svm.classifier import SupportVectorClassifier

NOT_PROTECTED = {
    "horizontal": (
        "What a sequence of averages says: everyone sees the average weights of every round, not the last only.",
        "New records asked about under a kernel: whoever asks shows them to the other holders.",
    ),
    "vertical": (
        "The coordinator's view: its sums span the columns, and give all records away to whoever knows enough of them.",
        "The labels: the coordinator is told them, and what it publishes shows them to everyone.",
    ),
}
OF_FOLDS = (
    "The averages of all rows, beside sums for probabilities that are over groups of at least min_count rows.",
    "As many models as folds, which everyone sees.",
)


@dataclass(frozen=True)
class Range(Unmeasured):
    """A pair of numbers, or one for each column."""

    def accepts(self, value: Any) -> bool:
        """Whether it is one."""
        try:
            pairs = np.asarray(value, dtype=np.float64)
            check_limits(pairs, len(pairs))
        except (LocalError, TypeError, ValueError):
            return False
        return True

    def __str__(self) -> str:
        return "a pair of numbers (low, high), or such a pair for each column"


@parameterized
class ConsensusSVC(ConsensusParameters, RowParameters, SupportVectorClassifier, Sums):
    """Support vector classifier by consensus. With a linear kernel it equals the SVM of the pooled data.

    In every round each party solves its own part, and only secure sums leave it. With a kernel over rows the parties
    agree at landmarks only, and each keeps a classifier of its own: this is the optimum of (15) of paper 000, not the
    pooled kernel SVM. With a kernel over columns it is the SVM of the sum of the parties' kernels. `report_` says who
    learnt what, round by round.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "linear", "rbf", "poly" or "sigmoid" (over rows only).
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn. Over columns
            each party computes them from its own columns.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" and "sigmoid" kernels.
        rho: penalty for disagreement between the parties: "auto" adjusts it during training, a number stays fixed.
            Paper 000 uses 100 with C=50.
        over_relaxation: step length, between 0 and 2; the paper uses 1.
        disclose: what is opened over rows: "metric": second moments and losses, which saves most of the rounds; "loss":
            the losses, which show how far the optimum is; "least": neither.
        landmark_source: where the landmarks of a kernel over rows come from: "local" or "joint" clusters as in
            `PanSVC`, or "ranges": points drawn from a public seed within `landmark_range`, as in the paper.
        landmarks: number of landmarks; "auto": 40, or fewer if there are too few rows for means of min_cluster rows.
        landmark_range: public bounds (low, high), or one pair for each column.
        min_cluster: every landmark is the mean of at least this many records.
        min_count: over rows, with `probability` or landmarks: sums are over groups of at least this many rows, as in
            `PanSVC`.
        multi_class: "ovr": each class against the rest; "ovo": each pair of classes, as SVC does. Over rows "ovo" needs
            accept_risk, and 5 records of each pair of classes at every party.
        class_weight: None, "balanced", or {class: weight}.
        probability: make `predict_proba` available. Not with a kernel over rows, where each party has a classifier of
            its own.
        tol: training ends when the relative residuals, and the relative gap of the objective where it is opened, are
            below this.
        max_rounds: most rounds; over columns, as many rounds as there are columns need accept_risk.
        secure_sum: how sums are masked: "pairwise", "ring" or "graph"; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        fraction_bits: binary places of the fixed-point numbers that are summed.
        partition: "horizontal" or "vertical"; None: that of the federation, and "horizontal" for plain arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties, and public seed of "ranges"; no secret is
            drawn from it.
        accept_risk: over columns, allow more sums than there are columns; over rows, allow multi_class="ovo"; over
            columns, and with `probability`, let one of the data holders be the coordinator.
    """

    saves: ClassVar[str] = "n_iter_"
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "landmark_source": OneOf(SOURCES),
        "landmarks": Either((Number(1, whole=True), OneOf(("auto",)))),
        "landmark_range": Range(),
    }
    SPLITS = ("horizontal", "vertical")

    model_: RowConsensus | ColumnConsensus | StoredColumns = field(init=False)

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, compare: bool = False, watch: Any = None
    ) -> Self:
        """Train together.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records.
            compare: in simulation, also train the centralised learner, and put the difference into `report_`.
            watch: public records with labels, (X, y): over rows, the history then has the accuracy on them in every
                round.
        """
        if watch is None:
            return super().fit(X, y, sample_weight, compare=compare)
        federation = self.federate(X, y, sample_weight)
        return self._train(federation, self.request(federation, watch=watch), compare=compare)

    def request(self, federation: Federation, *, watch: Any = None) -> Request:
        """Return what `fit` would have the federation run; raise whatever it would refuse before anything is sent."""
        request = super().request(federation)
        if watch is None:
            return request
        if self.partition_ == "vertical":
            raise LocalError("watch is for partition='horizontal': no party has whole records of a vertical split")
        X, y = watch
        return request.with_params(watch=(np.ascontiguousarray(X, dtype=np.float64), np.asarray(y)))

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.probability and self.partition_ == "horizontal":
            refuse_probability(self.kernel)

    def _request(self, federation: Federation) -> Request:
        del federation
        protocol = f"consensus_{self.partition_}"
        return Request(protocol, {"data": Records()}, self._arguments(protocol))

    def is_step(self, request: Request) -> bool:
        """Whether it is proposed as a study: no job can name the protocols that ask a model which parties keep."""
        return super().is_step(request) or self.kernel != "linear" or self.partition_ == "vertical"

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        rows, result = self.partition_ == "horizontal", outcome.result
        self.classes_, self.n_iter_ = np.array(result.classes), int(result.rounds)
        sigmoids, here = result.sigmoids, federation.backend.returns_shares
        if rows:
            kept = "" if here or self.kernel == "linear" else outcome.job
            plane = (result.map, result.w, result.b)
            self.model_ = RowConsensus(*plane, result.rest or {}, sigmoids, self.multi_class, kept)
        elif here:
            self.model_ = ColumnConsensus(result.head[federation.coordinator], result.shares, sigmoids)
        else:
            parties = (*federation.parts, federation.coordinator)
            self.model_ = StoredColumns(outcome.job, parties, sigmoids, self.multi_class)
        more = OF_FOLDS if rows and self.probability else ()
        self.report_ = report_on(self, federation, outcome, not_protected=(*NOT_PROTECTED[self.partition_], *more))
        warn_of(self.report_, self._concerns(result, outcome))
        if federation.holds_records:
            self.report_.figures = self._find_disagreements(federation)

    def _check_site(self, federation: Federation) -> None:
        """Refuse what must not, or cannot, be run between these parties."""
        rows = self.partition_ == "horizontal"
        if self.probability or not rows:
            what = "the sums of rows that probabilities need" if rows else "the sums over all columns"
            learns = f"{what}, from which it can subtract its own"
            check_coordinator(federation, learns, accept_risk=self.accept_risk)
        if rows and self.kernel != "linear" and not federation.backend.keeps_shares:
            kept = "each party keeps a part of the classifier that consists of its own records"
            raise LocalError(
                f"with a kernel over rows {kept}, and which would be lost with the run: use kernel='linear', or PanSVC"
            )
        if federation.holds_records and not self.accept_risk:
            labels = [part.y for part in federation.parts.values() if part.y is not None]
            classes = len(np.unique(np.concatenate(labels)))
            if rows:
                refuse_pairs(classes, self.multi_class, accept_risk=self.accept_risk)
            else:
                count = problem_count(classes, self.multi_class, probability=self.probability)
                refuse_span(self.max_rounds, federation.n_features, count)

    def _concerns(self, result: Any, outcome: Outcome) -> Iterator[Warning]:
        last = outcome.history[-1] if outcome.history else {}
        by_metric = self.partition_ == "horizontal" and self.disclose == "metric" and self.kernel == "linear"
        if by_metric and not result.metric:
            yield UserWarning(
                "no more records than columns: their second moments would show the space they span, so rho was balanced"
                " without them, as by disclose='least'; bring more records for fewer rounds"
            )
        if not result.converged:
            told = ", ".join(f"{name} {last[name]:.2g}" for name in ("primal", "dual", "gap") if name in last)
            yield ConvergenceWarning(
                f"after max_rounds={self.max_rounds} rounds the parties do not agree to tol={self.tol:.2g} ({told}):"
                " raise max_rounds, scale the features, or lower C"
            )

    def public_decision(self) -> Callable[[F64], F64] | None:
        """Return what computes decision values, if the model is public: over rows, with a linear kernel."""
        return self.model_.decide if isinstance(self.model_, RowConsensus) and self.model_.public else None

    def public_model(self) -> PanModel | None:
        """Return the model over rows if it is public, linear on a public map; otherwise None."""
        model = self.model_
        if not isinstance(model, RowConsensus) or not model.public:
            return None
        k = len(self.classes_)
        pairs = problems(k, model.multi_class)
        return PanModel(model.map, model.w, model.b, k, pairs, self.min_cluster, model.sigmoids)

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records: over rows what the parties' own parts add, over columns all of it."""
        model, inputs = self.model_, {"data": Records()}
        if not isinstance(model, RowConsensus):
            problems = count_problems(len(self.classes_), model.multi_class)
            asked = self._arguments("consensus_vertical_predict", problems=problems)
            return (Request("consensus_vertical_predict", {**inputs, **model.parts(federation.coordinator)}, asked),)
        if model.public:
            return ()
        asked = self._arguments("consensus_predict", the_map=model.map)
        return (Request("consensus_predict", {**inputs, "rest": model.rests()}, asked),)

    def told_values(self, plan: Sequence[Request]) -> Input:
        """Return the input that stands for the values: over rows what all know of a record, and what the rests add."""
        if not isinstance(self.model_, RowConsensus) or self.model_.public:
            return super().told_values(plan)
        return Computed(Holder, partial(_add_rests, self.model_), (Records(), Left(Holder, plan[-1])))

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return decision values: over columns the asker's; over rows every party's own, with what the rests add."""
        if not isinstance(self.model_, RowConsensus):
            answers: F64 = outcomes[-1].result[federation.roster[Asker][0]]
            return answers
        values = federation.join_rows({party: self.model_.common(part.X) for party, part in federation.parts.items()})
        for outcome in outcomes:
            for party, rows in federation.rows.items():
                values[rows] += outcome.result[party]
        return value_classes(values, self.model_.multi_class)

    def party_decisions(self, X: Any) -> dict[str, F64]:
        """Each party's own decision values, in simulation with a kernel over rows; they agree at the landmarks only."""
        check_is_fitted(self)
        if not isinstance(self.model_, RowConsensus) or self.model_.public:
            raise LocalError("the parties' own classifiers differ only with a kernel over rows: use decision_function")
        if self.model_.kept:
            raise LocalError(
                f"each party keeps its own classifier, under job {self.model_.kept}: only a simulation shows them all"
            )
        return self.model_.each(validate_data(self, X, reset=False, dtype=np.float64))

    def _find_disagreements(self, federation: Federation) -> dict[str, float | int | str]:
        if not isinstance(self.model_, RowConsensus) or not self.model_.rest:
            return {}
        X, _, _ = federation.pooled()
        return {
            "training records on which the parties' own classifiers disagree": count_disagreements(self.model_.each(X)),
            "of": len(X),
        }

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVC on the pooled records."""
        values, central = self._answer(federation).values, central_svc(federation, self)
        labels = np.asarray(federation.pooled()[1])
        return {
            "reference": central.name if self.kernel == "linear" else f"{central.name}, with the whole kernel",
            **self._objective_gap(federation, central),
            **central.compare_labels(values, self.classes_, labels),
        }

    def _objective_gap(self, federation: Federation, central: Central) -> Comparison:
        """Compare 1/2 |w|^2 and the hinges of a linear classifier with the reference's dual objective.

        With a kernel the two solve different problems, and there is nothing to compare.
        """
        if self.kernel != "linear":
            return {}
        X, y, weight = federation.pooled()
        w, b = _join_weights(self.model_, federation)
        cap = self.C * compute_sample_weight(self.class_weight, y) * (1.0 if weight is None else weight)
        pairs = problems(len(self.classes_), self.multi_class)
        signs = signs_of(np.searchsorted(self.classes_, np.asarray(y)), pairs)
        losses = np.where(signs == 0, 0.0, np.maximum(0.0, 1.0 - signs * (X @ w.T + b)))
        mine, best = 0.5 * (w**2).sum(axis=1) + cap @ losses, -central.objective
        return {"relative gap of the objective": float(np.max((mine - best) / np.abs(best)))}


def _add_rests(model: RowConsensus, party: str, part: Part, added: F64) -> F64:
    """Return decision values of a party's own records."""
    del party
    return value_classes(model.common(part.X) + added, model.multi_class)


def _join_weights(model: Any, federation: Federation) -> tuple[F64, F64]:
    """Return the weights of all columns, a row per problem, and the biases."""
    if isinstance(model, RowConsensus):
        return model.w, model.b
    w = np.zeros((len(model.head.bias), federation.n_features))
    for party, share in model.shares.items():
        w[:, federation.columns[party]] = share.weights.T
    return w, model.head.bias


def count_disagreements(each: dict[str, F64]) -> int:
    """Return of how many records not all parties would choose the same class."""
    choices = np.stack([choose_classes(values) for values in each.values()])
    return int(np.sum(np.any(choices != choices[0], axis=0)))
