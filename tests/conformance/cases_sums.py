"""Sums, products and unions of private numbers, the template and a gather as cases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from conformance.case import P1, Case, Inputs
from tacit.choreo import At, Coordinator, Fact, Holder, Message, Role, Roster, Run, choreography
from tacit.federation.part import part_of
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import protect, secure_sum
from tacit.protocols.template import column_means

# secure_sum


def arrays(roster: Roster, shape: tuple[int, ...], *, symmetric: bool = False, words: bool = False) -> Inputs:
    rng = np.random.default_rng(7)
    draw = {p: rng.normal(scale=100, size=shape) for p in roster[Holder]}
    if words:
        draw = {p: rng.integers(0, 2**64, size=shape, dtype=np.uint64) for p in roster[Holder]}
    return {"x": (Holder, {p: a + a.T if symmetric else a for p, a in draw.items()})}


def play_sum(run: Run, x: At[Any], *, to: Role = Coordinator, words: bool = False, symmetric: bool = False) -> Any:
    by = protect(run)
    fixed = None if words else FixedPoint(32, terms=len(run.roster[Holder]))
    # twice: the second sum must be as good as the first
    first = secure_sum(run, x, to=to, by=by, fixed=fixed, symmetric=symmetric)
    return {"first": first, "second": secure_sum(run, x, to=to, by=by, fixed=fixed, symmetric=symmetric)}


def check_sum(result: Any, inputs: Inputs, *, to: str = "coordinator", words: bool = False) -> None:
    parts = list(inputs["x"][1].values())
    reference = np.sum(parts, axis=0)
    for total in (result["first"][to], result["second"][to]):
        if words:
            np.testing.assert_array_equal(total, reference)
        else:
            assert total.shape == reference.shape
            assert np.abs(total - reference).max() <= len(parts) * 2.0**-33 + 1e-12


def sum_case(name: str, shape: tuple[int, ...], *, least: int = 2, to: Role = Coordinator, symmetric: bool = False,
             words: bool = False) -> Case:  # fmt: skip
    return Case(
        f"secure_sum_{name}",
        partial(arrays, shape=shape, symmetric=symmetric, words=words),
        partial(play_sum, to=to, symmetric=symmetric, words=words),
        partial(check_sum, to=to.party or to.name, words=words),
        least,
    )


# the template and a gather


def check_means(result: Any, inputs: Inputs) -> None:
    pooled = np.concatenate([part.X for part in inputs["data"][1].values()])
    np.testing.assert_allclose(result, pooled.mean(axis=0), atol=1e-8)


def ragged_parts(roster: Roster) -> Inputs:
    return {
        "data": (
            Holder,
            {p: part_of(X, None, None, ("a", "b", "c")) for p, X in ragged_rows(roster)["rows"][1].items()},
        )
    }


def ragged_rows(roster: Roster) -> Inputs:
    rng = np.random.default_rng(3)
    return {"rows": (Holder, {p: rng.normal(size=(4 + i, 3)) for i, p in enumerate(roster[Holder])})}


class Count(
    Message,
    tells=Fact("tests.how_many_rows_the_sender_has", "holders", "aggregate", "all", "how many rows the sender has"),
):
    n: int


def count(rows: Any) -> Count:
    return Count(len(rows))


def add_counts(messages: Mapping[str, Count]) -> int:
    return sum(m.n for m in messages.values())


@choreography(
    opens={
        Coordinator: Fact(
            "tests.the_row_count_of_everyone_who_answered",
            "holders",
            "aggregate",
            "all",
            "the row count of everyone who answered",
        )
    }
)
def row_count(run: Run, rows: At[Any]) -> Any:
    received, present = run.gather(Count, Holder >> Coordinator, run.local(Holder, count, rows), at_least=2)
    return {"total": run.local(Coordinator, add_counts, received), "present": present}


def check_count(result: Any, inputs: Inputs) -> None:
    parts = inputs["rows"][1]
    assert result["total"]["coordinator"] == sum(map(len, parts.values()))
    assert result["present"] == tuple(parts)


# unions


def play_or(run: Run, data: At[Any]) -> dict[str, Any]:
    by = protect(run)
    return {"marked": secure_or(run, run.local(Holder, some_marks, data), to=Coordinator, by=by)}


def some_marks(X: Any) -> Any:
    return X[:8] > np.array([0.5, 1.0, 1.5, 2.0])


def check_or(result: Any, parts: dict[str, Any]) -> None:
    expected = np.any([some_marks(X) for X in parts.values()], axis=0)
    assert expected.any()
    assert not expected.all()
    np.testing.assert_array_equal(result["marked"]["coordinator"], expected)


def or_case() -> Case:
    def inputs(roster: Roster) -> Inputs:
        X = np.random.default_rng(5).normal(size=(120, 4))
        return {"data": (Holder, dict(zip(roster[Holder], np.array_split(X, len(roster[Holder])), strict=True)))}

    return Case("secure_or", inputs, play_or, lambda result, given: check_or(result, given["data"][1]))


CASES: tuple[Case, ...] = (
    sum_case("pairwise_vector", (17,)),
    sum_case("pairwise_matrix", (4, 5)),
    sum_case("pairwise_symmetric", (6, 6), symmetric=True),
    sum_case("pairwise_words", (9,), words=True),
    sum_case("pairwise_to_holder", (5,), to=P1),
    Case("template", ragged_parts, column_means, check_means),
    Case("gather", ragged_rows, row_count, check_count),
    or_case(),
)
