"""SVC and SVR: support vector machines over rows, columns or cells, of which only the model is revealed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

import numpy as np
import sklearn  # whose modules it imports when they are first used

from tacit.arrays import F64
from tacit.base.estimator import Comparison, FederatedRegressor, choose_classes
from tacit.base.parameters import parameterized
from tacit.base.probability import ProbabilityClassifier
from tacit.choreo import Asker, Holder
from tacit.choreo.declaration import Either, Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.exposure import describe_dealing
from tacit.models.blind import BlindModel, StoredBlind
from tacit.models.mapped import MappedModel
from tacit.numeric.shares.ridge_plan import MOST_FEATURES
from tacit.numeric.svm.kernels import OVR, count_problems
from tacit.protocols.blind.size import describe_size
from tacit.protocols.learners.menu import KERNELS
from tacit.protocols.learners.svm import HINGE, LEAST_SQUARES, LOSSES
from tacit.protocols.shares.deposits import AUTO as COMPUTING
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Left, Records, Request
from tacit.svm.machine import Machine

AUTO, EXACT = "auto", "exact"


@parameterized
class KernelMachine(Machine):
    """What SVC and SVR share: the kernel, its landmarks, and the loss."""

    PROTOCOL = "train_svm"
    PRIVATELY = "private_svm"
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **Machine.OWN,
        "kernel": OneOf(KERNELS),
        "loss": OneOf(LOSSES),
        "features": Either((OneOf(("auto", EXACT)), Number(1, MOST_FEATURES, whole=True))),
        "C": Either((OneOf((AUTO,)), Number(0, above=True))),
    }

    _: KW_ONLY
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    loss: str = LEAST_SQUARES
    features: int | str = "auto"
    C: float | str = 1.0

    model_: MappedModel | BlindModel | StoredBlind = field(init=False)
    C_: float = field(init=False)

    @property
    def is_exact(self) -> bool:
        """Whether the whole kernel is taken, and the model stays in shares."""
        return self.features == EXACT

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.C == AUTO and (self.is_exact or self.loss != HINGE):
            raise LocalError("C='auto' is for loss='hinge' with landmarks: leave C out, or name a number")
        if self.is_exact and (self.loss != HINGE or getattr(self, "probability", False)):
            raise LocalError(
                "features='exact' is the SVM with the whole kernel, whose model stays in shares: say loss='hinge', and"
                " leave probability out"
            )
        if self.is_exact and self.committee != COMPUTING:
            raise LocalError("with features='exact' all parties compute and keep shares: leave committee out")

    def _arguments(self, protocol: str, **given: Any) -> dict[str, Any]:
        if self.is_exact:
            given = {"tube": getattr(self, "tube", None), **given}
        elif self.C == AUTO:
            given = {"C": 1.0, "choose_cost": True, **given}
        return super()._arguments(protocol, **given)

    def _request(self, federation: Federation) -> Request:
        return ask_training(self, federation) if self.is_exact else super()._request(federation)

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        if not self.is_exact:
            super()._receive(federation, outcome)
            if self.loss == HINGE and self.epsilon is None:
                self.C_ = outcome.result.C
                self.report_.figures = {**(self.report_.figures or {}), "C": self.C_}
            return
        receive_blind(self, federation, outcome)
        self.alpha_, self.n_features_in_ = 0.0, federation.n_features
        if outcome.result.classes:
            self.classes_ = np.array(outcome.result.classes)

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records: to the parties' shares of an exact model, or of split records."""
        return ask_blind(self, federation) if self.is_exact else super().request_values(federation)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return the values of new records: the asker's, or by rows everybody's own."""
        if not self.is_exact:
            return super().receive_values(federation, outcomes)
        found: dict[str, F64] = outcomes[-1].result
        if self.partition_ != "horizontal":
            return found[federation.roster[Asker][0]]
        return federation.join_rows(found)

    def told_values(self, plan: Sequence[Request]) -> Input:
        """Return the input that stands for the values of new records at who is told them."""
        if not self.is_exact:
            return super().told_values(plan)
        return Left(Holder if self.partition_ == "horizontal" else Asker, plan[-1])

    def public_decision(self) -> Callable[[F64], F64] | None:
        """Return what computes decision values, if the model is public."""
        return None if self.is_exact else super().public_decision()

    @property
    def makes_public_model(self) -> bool:
        """Whether its model will be public once it is trained."""
        return not self.is_exact

    def public_model(self) -> MappedModel | None:
        """Return the model, if it is public."""
        return None if self.is_exact else super().public_model()

    def _central(self) -> dict[str, Any]:
        """Return the parameters that scikit-learn's machines have too."""
        found = {name: getattr(self, name) for name in ("C", "kernel", "gamma", "degree", "coef0")}
        return found if self.C != AUTO else {**found, "C": self.C_}


@parameterized
class SVC(KernelMachine, ProbabilityClassifier):
    """Support vector classifier over records that several parties hold; nothing but the model is revealed.

    All parties map their records with synthetic landmarks, and the machine on the mapped records is solved in shares.
    The model is public and contains no record. `report_` says who learnt what.

    Args:
        kernel: "rbf", "poly" or "linear".
        gamma: coefficient of "rbf" and "poly"; "scale" and "auto" are scikit-learn's numbers, with which an RBF kernel
            has two widths: half of it is as wide as with a fifth of that number. A number of your own is one width.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" kernel.
        loss: what an error costs: "least_squares" (an LS-SVM, the fastest), or "hinge" (the classical SVM).
        features: number of landmarks; "auto": 300, of more than 600 records 500, and of more than 5,000 records 600;
            no more than there are records;
            "exact", with "hinge": the whole kernel, for some hundreds of records: the model stays in shares, and
            equals LIBSVM's.
        C: with "hinge", the penalty for margin violations; "auto" takes the best of 0.1, 0.3, 1, 3, 10 and 30 on
            records that are held out, in shares.
        alpha: with "least_squares", how much the weights are kept small; "auto" chooses it by generalised
            cross-validation, in shares.
        device: where each party maps and sums its own records, and where `predict` computes: "cpu" or "cuda".
        committee: which parties compute, over rows: "all", "three" (the first ones), or three names; "auto": all, or of
            more than four the first three. The others give them shares, which all three together could undo.
        class_weight: None, "balanced" (rounded to powers of the square root of two, at most 1 : 8), or in a simulation
            {class: weight}.
        probability: make `predict_proba` available.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns), "arbitrary"; None: rows.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated, as all its
            randomness follows from it. Between organisations no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator; it would see everything, so training refuses it
            anyway.
        epsilon: train with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Columns should be scaled to a mean of 0 and a variance of 1, by a scaler
            with epsilon or by what is public. The loss is a rounded hinge, of several classes the softmax's. Values and
            weights are clipped, and there are 400 landmarks at most by default. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        classes: the list of classes. None: those of the labels; between organisations epsilon needs the list, as it
            does not cover which classes there are.
    """

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None
    probability: bool = False
    classes: Any = None

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVC on the pooled records."""
        X, y, weight = federation.pooled()
        start = time.perf_counter()
        reference = sklearn.svm.SVC(**self._central(), class_weight=self.class_weight).fit(X, y, sample_weight=weight)
        theirs = reference.predict(X)
        mine = self.classes_[choose_classes(self._answer(federation).values)]
        return {
            "reference": "scikit-learn's SVC on the pooled records",
            "training records labelled differently": int(np.sum(mine != theirs)),
            "accuracy on the training records": float(np.mean(mine == y)),
            "accuracy of the reference on them": float(np.mean(theirs == y)),
            "seconds of the reference": time.perf_counter() - start,
        }


@parameterized
class SVR(KernelMachine, FederatedRegressor):
    """Support vector regression over records that several parties hold; nothing but the model is revealed.

    Args:
        kernel: "rbf", "poly" or "linear".
        gamma: coefficient of "rbf" and "poly"; "scale" and "auto" are scikit-learn's numbers, with which an RBF kernel
            has two widths: half of it is as wide as with a fifth of that number. A number of your own is one width.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" kernel.
        loss: what an error costs: "least_squares", or "hinge" (what is beyond the tube, with landmarks over rows only).
        tube: with "hinge", errors up to this size cost nothing.
        features: number of landmarks; "auto": 300, of more than 600 records 500, and of more than 5,000 records 600;
            no more than there are records;
            "exact", with "hinge": the whole kernel, for some hundreds of records: the model stays in shares, and
            equals LIBSVM's.
        C: with "hinge", the penalty for errors beyond the tube.
        alpha: how much the weights are kept small; "auto" chooses it by generalised cross-validation,
            in shares.
        device: where each party maps and sums its own records, and where `predict` computes: "cpu" or "cuda".
        committee: which parties compute, over rows: "all", "three" (the first ones), or three names; "auto": all, or of
            more than four the first three. The others give them shares, which all three together could undo.
        target_range: between which numbers targets lie; others are cut. None: in simulation those of the records;
            between organisations a rounded middle and spread are found in shares, and revealed.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns), "arbitrary"; None: rows.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays; a simulation with a number can be repeated, as all its
            randomness follows from it. Between organisations no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator; training refuses it anyway.
        epsilon: train with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Columns should be scaled to a mean of 0 and a variance of 1, by a scaler
            with epsilon or by what is public. Values, targets and weights are clipped, target_range must be given, and
            there are 400 landmarks at most by default. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {**KernelMachine.OWN, "tube": Number(0)}

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.C == AUTO:
            raise LocalError("C='auto' counts errors of classes: name a number")

    _: KW_ONLY
    tube: float = 0.1
    target_range: tuple[float, float] | None = None

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVR on the pooled records."""
        X, y, weight = federation.pooled()
        reference = sklearn.svm.SVR(**self._central()).fit(X, y, sample_weight=weight)
        return {
            "reference": "scikit-learn's SVR on the pooled records",
            "R^2 on the training records": float(self.score(X, y, weight)),
            "R^2 of the reference on them": float(reference.score(X, y, weight)),
        }


# SVMs with `features="exact"`: their requests, and the models that come back; nobody sees the gram matrix


SPARK = "spark"
PROTECTION = "shares: while the coordinator, which deals the random numbers, works together with nobody"
NOT_PROTECTED = (
    (
        "Everything, from the coordinator together with any one party: its random numbers take the masks off what"
        " parties open to each other."
    ),
    "What decision values tell: whoever asks about many records learns much about those of the training.",
)


def check_runtime(federation: Federation) -> None:
    """Refuse Spark, where no share of a model outlives its run."""
    if federation.runtime == SPARK:
        raise LocalError(
            "features='exact' leaves a model in shares, which would be lost when the run on Spark ends: use landmarks,"
            " runtime='together', or sites of their own"
        )


def ask_training(estimator: Any, federation: Federation) -> Request:
    """Return the request of a training."""
    check_runtime(federation)
    asked = Request("gram_blind", {"data": Records()}, estimator._arguments("gram_blind"))  # noqa: SLF001 - as below
    if federation.holds_records:
        told = describe_size(federation.n_rows, len(federation.parts), asked.params)
        if told is not None:
            warnings.warn(told, UserWarning, stacklevel=4)
    return asked


def ask_blind(estimator: Any, federation: Federation) -> tuple[Request, ...]:
    """Return the question about new records."""
    check_runtime(federation)
    model, classes = estimator.model_, getattr(estimator, "classes_", None)
    known = {
        "problems": 1 if classes is None else count_problems(len(classes), OVR),
        "trained_on": model.records,
        "gamma": model.gamma,
        "divisor": model.divisor,
        "target_range": model.target_range,
    }
    asked = estimator._arguments("blind_predict", **known)  # noqa: SLF001 - of an estimator that is in two files
    return (Request("blind_predict", {"data": Records(), **model.shares(federation.coordinator)}, asked),)


def receive_blind(estimator: Any, federation: Federation, outcome: Outcome) -> None:
    """Take the model: all shares where parties are simulated, else where they are kept."""
    result = outcome.result
    known = {"divisor": result.divisor, "target_range": result.target_range}
    if federation.holds_records:
        estimator.model_ = BlindModel(result.share, result.gamma, result.records, **known)
    else:
        parties = (*federation.parts, federation.coordinator)
        estimator.model_ = StoredBlind(outcome.job, parties, result.gamma, result.records, **known)
    estimator.n_iter_ = result.iterations
    estimator.support_ = np.empty(0, dtype=np.int64)  # nobody knows which records support the model
    estimator.report_ = report_on(
        estimator, federation, outcome, not_protected=list(NOT_PROTECTED), protection=PROTECTION
    )
    estimator.report_.warnings += describe_dealing(federation)
