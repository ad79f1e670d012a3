"""SVMs with `features="exact"`: their requests, and the models that come back; nobody sees the gram matrix."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.exposure import describe_dealing
from tacit.models.blind import BlindModel, StoredBlind
from tacit.numeric.svm.problems import OVR, count_problems
from tacit.protocols.blind.size import describe_size
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Records, Request

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
    if federation.backend.returns_shares:
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
