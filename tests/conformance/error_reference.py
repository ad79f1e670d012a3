"""Errors of a regressor and scores of shuffled columns as conformance cases: scikit-learn is the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

from tacit.choreo import At, Run
from tacit.protocols.scores.error_sums import Answered, ErrorTally, error_sums, labeller_errors
from tacit.protocols.scores.shuffled_scores import Shuffled, labeller_shuffled, shuffled_scores
from tacit.protocols.settings import Protected

LEAST, BINS, N, VARIANTS = 4, 64, 130, 5


def pooled() -> Answered:
    """Targets in the thousands, and answers that are off by a hundred or so."""
    rng = np.random.default_rng(7)
    targets = 5000.0 + 400.0 * rng.normal(size=N)
    return Answered(targets, targets + 120.0 * rng.standard_t(3, size=N) + 15.0)


def pooled_scores(*, numbers: bool) -> Shuffled:
    rng = np.random.default_rng(8)
    if numbers:
        return Shuffled(rng.exponential(900.0, size=(N, VARIANTS)), pooled().targets)
    return Shuffled((rng.random(size=(N, VARIANTS)) < 0.7).astype(np.float64), np.empty(0))


def cut(whole: Any, rows: slice) -> Any:
    return type(whole)(*(getattr(whole, name)[rows] for name in whole.field_names()))


def parts(whole: Any, parties: Sequence[str]) -> dict[str, Any]:
    """Unequal shares; the last of five has nothing."""
    cuts = [N // 5, N // 2, N - 20, N]
    ends = (*cuts[: len(parties) - 1], N)
    return {p: cut(whole, slice(a, b)) for p, a, b in zip(parties, (0, *ends), ends, strict=False)}


def flat(tally: ErrorTally) -> dict[str, Any]:
    return {name: getattr(tally, name) for name in tally.field_names()}


def play_errors(run: Run, answered: At[Any], **how: Any) -> Any:
    return flat(error_sums(run, answered, bins=BINS, min_count=LEAST, protected=Protected(**how)))


def play_errors_alone(run: Run, answered: At[Any]) -> Any:
    return flat(labeller_errors(run, answered, bins=BINS, min_count=LEAST))


def check_errors(result: Any, inputs: Any) -> None:
    del inputs
    whole = pooled()
    e = whole.targets - whole.answers
    mean, absolute, squared, variance = result["means"]
    assert result["records"] == N
    np.testing.assert_allclose(mean, e.mean(), rtol=1e-9)
    np.testing.assert_allclose(absolute, mean_absolute_error(whole.targets, whole.answers), rtol=1e-9)
    np.testing.assert_allclose(squared, mean_squared_error(whole.targets, whole.answers), rtol=1e-9)
    np.testing.assert_allclose(1 - squared / variance, r2_score(whole.targets, whole.answers), rtol=1e-9)
    edges = np.array([-np.inf, *result["cuts"], np.inf])
    np.testing.assert_array_equal(np.histogram(e, edges)[0], result["counts"])
    assert result["counts"].min() >= LEAST


def play_shuffled(run: Run, shuffled: At[Any], *, numbers: bool, **how: Any) -> Any:
    return shuffled_scores(run, shuffled, numbers=numbers, min_count=LEAST, protected=Protected(**how))


def play_shuffled_alone(run: Run, shuffled: At[Any]) -> Any:
    return labeller_shuffled(run, shuffled, min_count=LEAST)


def check_shuffled(result: Any, inputs: Any, *, numbers: bool) -> None:
    del inputs
    whole = pooled_scores(numbers=numbers)
    np.testing.assert_allclose(result[:-1], whole.scores.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(result[-1], whole.targets.var() if numbers else 0.0, rtol=1e-9)
