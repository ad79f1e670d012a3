"""Every protocol as a case: its inputs, how it is played, and the plain centralised reference it must equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance import cells_reference as cells
from conformance import column_oracle as column
from conformance import consensus_columns_reference as consensus_columns
from conformance import consensus_rows_reference as consensus_rows
from conformance import elm_reference as elm
from conformance import intersection_reference as intersection
from conformance import product_reference as product
from conformance import score_reference as scores
from conformance import search_reference as searching
from conformance import selection_reference as selection
from conformance.landmark_oracle import in_order, joint_oracle, local_oracle, rows_of
from conformance.pan_oracle import check_pan, check_planes, parts_at, play_pan, play_planes, rows_at
from tacit.choreo import Asker, At, Coordinator, Holder, Labeller, Message, Role, Roster, Run, choreography
from tacit.data.part import Part
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.gram_vertical import gram_predict, gram_vertical
from tacit.protocols.landmarks import landmarks
from tacit.protocols.secure_sum import protect, secure_sum
from tacit.protocols.shift_ring import shift_ring, shift_ring_predict
from tacit.protocols.shift_secret import (
    shift_secret_columns,
    shift_secret_columns_predict,
    shift_secret_rows,
    shift_secret_rows_predict,
)
from tacit.protocols.shift_vertical import shift_vertical, shift_vertical_predict
from tacit.protocols.template import column_means

Inputs = dict[str, tuple[Role, dict[str, Any]]]
P1 = Role("holder", single=True, party="p1")


@dataclass(frozen=True)
class Case:
    """`play(run, **held inputs)` must give what `check(result, inputs)` accepts."""

    name: str
    inputs: Callable[[Roster], Inputs]
    play: Callable[..., Any]
    check: Callable[[Any, Inputs], None]
    least: int = 2

    def roster(self, parties: int) -> Roster:
        """p1.. hold the data, p1 the labels; a coordinator of its own."""
        names = tuple(f"p{i + 1}" for i in range(parties))
        return Roster({Holder: names, Labeller: ("p1",), Asker: ("p1",), Coordinator: ("coordinator",)})

    def run(self, run: Run, inputs: Inputs) -> Any:
        """Bind and play."""
        return self.play(run, **{name: run.hold(role, entries) for name, (role, entries) in inputs.items()})


def of_party(inputs: Inputs, party: str) -> Inputs:
    """What one party brings along."""
    return {name: (role, {p: v for p, v in entries.items() if p == party}) for name, (role, entries) in inputs.items()}


def merged(results: Mapping[str, Any]) -> Any:
    """One result from what each party has: entries united, plain values equal."""
    first, *rest = results.values()
    if isinstance(first, At):
        return {party: value for result in results.values() for party, value in result._entries.items()}
    if isinstance(first, dict):
        return {key: merged({p: result[key] for p, result in results.items()}) for key in first}
    for other in rest:
        np.testing.assert_array_equal(other, first)
    return first


# secure_sum


def arrays(roster: Roster, shape: tuple[int, ...], *, symmetric: bool = False, words: bool = False) -> Inputs:
    rng = np.random.default_rng(7)
    draw = {p: rng.normal(scale=100, size=shape) for p in roster[Holder]}
    if words:
        draw = {p: rng.integers(0, 2**64, size=shape, dtype=np.uint64) for p in roster[Holder]}
    return {"x": (Holder, {p: a + a.T if symmetric else a for p, a in draw.items()})}


def play_sum(run: Run, x: At[Any], *, to: Role = Coordinator, words: bool = False, symmetric: bool = False, **protection: Any) -> Any:
    by = protect(run, to=to, **protection)
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


def sum_case(name: str, shape: tuple[int, ...], *, least: int = 2, to: Role = Coordinator, symmetric: bool = False, words: bool = False,
             **protection: Any) -> Case:  # fmt: skip
    return Case(
        f"secure_sum_{name}",
        partial(arrays, shape=shape, symmetric=symmetric, words=words),
        partial(play_sum, to=to, symmetric=symmetric, words=words, **protection),
        partial(check_sum, to=to.party or to.name, words=words),
        least,
    )


# products in shares


def product_case(name: str, play: Any, check: Any, by: str) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"x": (Holder, product.matrices(roster[Holder]))}

    return Case(f"secure_product_{name}", inputs, partial(play, by=by), lambda result, given: check(result, given["x"][1]))


# the template and a gather


def check_means(result: Any, inputs: Inputs) -> None:
    pooled = np.concatenate(list(inputs["rows"][1].values()))
    np.testing.assert_allclose(result, pooled.mean(axis=0), atol=1e-8)


def ragged_rows(roster: Roster) -> Inputs:
    rng = np.random.default_rng(3)
    return {"rows": (Holder, {p: rng.normal(size=(4 + i, 3)) for i, p in enumerate(roster[Holder])})}


class Count(Message, tells="how many rows the sender has"):
    n: int


def count(rows: Any) -> Count:
    return Count(len(rows))


def add_counts(messages: Mapping[str, Count]) -> int:
    return sum(m.n for m in messages.values())


@choreography(opens={Coordinator: "the row count of everyone who answered"})
def row_count(run: Run, rows: At[Any]) -> Any:
    received, present = run.gather(Count, Holder >> Coordinator, run.local(Holder, count, rows), at_least=2)
    return {"total": run.local(Coordinator, add_counts, received), "present": present}


def check_count(result: Any, inputs: Inputs) -> None:
    parts = inputs["rows"][1]
    assert result["total"]["coordinator"] == sum(map(len, parts.values()))
    assert result["present"] == tuple(parts)


# gram_vertical


def table(classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 7))
    score = X[:, 0] + X[:, 1] * X[:, 2]
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def columns(roster: Roster, classes: int = 2) -> Inputs:
    X, y = table(classes)
    holders = roster[Holder]
    cut = np.array_split(np.arange(X.shape[1]), len(holders))
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    parts = {
        p: Part(np.ascontiguousarray(X[:, c]), y if p == "p1" else None, None, tuple(names[i] for i in c), None)
        for p, c in zip(holders, cut, strict=True)
    }
    return {"data": (Holder, parts)}


KERNEL = {"gamma": "scale", "degree": 3, "coef0": 1.0, "C": 4.0, "tol": 1e-8}


def play_gram(run: Run, data: At[Any], *, kernel: str, probability: bool = False, **protection: Any) -> Any:
    model = gram_vertical(run, data, kernel=kernel, band=500, **KERNEL, probability=probability, **protection)
    answer = gram_predict(
        run, data, model["dual"], model["columns"], squares=kernel == "rbf", support=len(model["support"]), band=300, **protection
    )
    return {"dual": model["dual"], "support": model["support"], "decision": answer}


def check_gram(result: Any, inputs: Inputs, *, kernel: str, classes: int = 2) -> None:
    del inputs
    X, y = table(classes)
    labels = [y] if classes == 2 else [y == k for k in range(classes)]
    reference = [SVC(kernel=kernel, cache_size=10, **KERNEL).fit(X, label).decision_function(X) for label in labels]
    np.testing.assert_allclose(result["decision"]["p1"], np.transpose(reference), atol=1e-5)


def gram_case(name: str, kernel: str, *, least: int = 2, classes: int = 2, **protection: Any) -> Case:
    return Case(
        f"gram_vertical_{name}",
        partial(columns, classes=classes),
        partial(play_gram, kernel=kernel, **protection),
        partial(check_gram, kernel=kernel, classes=classes),
        least,
    )


# gram_arbitrary


def cells_case(name: str) -> Case:
    partition, kernel, target, how = cells.CELL_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, cells.parts(roster[Holder], partition, target))}

    def accepts(result: Any, given: Inputs) -> None:
        cells.check(result, given["data"][1], partition=partition, kernel=kernel, target=target)

    return Case(f"gram_arbitrary_{name}", inputs, partial(cells.play, partition=partition, kernel=kernel, **how), accepts)


# landmarks


def landmark_rows(roster: Roster) -> Inputs:
    return {"data": (Holder, {p: Part(X, None, None, ("a", "b", "c", "d"), None) for p, X in rows_of(roster[Holder]).items()})}


def play_landmarks(run: Run, data: At[Any], *, method: str = "pairwise", **asked: Any) -> Any:
    rows = sum(map(len, rows_of(run.roster[Holder]).values()))
    by, fixed = protect(run, to=Coordinator, method=method), FixedPoint(32, terms=len(run.roster[Holder]))
    return landmarks(run, data, rows=rows, min_cluster=3, by=by, fixed=fixed, **asked)


def check_landmarks(result: Any, inputs: Inputs, *, source: str, share: float | None, count: int | None) -> None:
    parts = {p: part.X for p, part in inputs["data"][1].items()}
    if source == "local":
        np.testing.assert_allclose(in_order(result), local_oracle(parts, share=share, count=count, min_cluster=3), atol=1e-8)
    else:
        np.testing.assert_allclose(result, joint_oracle(np.concatenate(list(parts.values())), count or 0, 3), atol=1e-8)


def landmark_case(name: str, source: str, *, share: float | None = None, count: int | None = None, **protection: Any) -> Case:
    asked: dict[str, Any] = {"source": source, "share": share, "count": count}
    return Case(f"landmarks_{name}", landmark_rows, partial(play_landmarks, **asked, **protection), partial(check_landmarks, **asked))


# shared shift


def labelled_rows(roster: Roster) -> Inputs:
    """Blocks of different sizes; the last holder has none if there are five."""
    X, y = table()
    holders = roster[Holder]
    cut = np.cumsum([7 + 9 * i for i in range(len(holders) - 1)])
    blocks = zip(holders, np.split(X, cut), np.split(y, cut), strict=True)
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    return with_width({"data": (Holder, {p: Part(A, d, None, names, None) for p, A, d in blocks})})


def with_width(inputs: Inputs) -> Inputs:
    return {**inputs, "width": (Holder, {p: np.full(part.X.shape[1], 50.0) for p, part in inputs["data"][1].items()})}


def labelled_columns(roster: Roster) -> Inputs:
    return with_width(columns(roster))


SHIFT = {"gamma": 0.2, "C": 4.0, "tol": 1e-8}


def play_shift(run: Run, data: At[Any], width: At[Any], *, train: Any, ask: Any, kernel: str, to: dict[str, Role], **how: Any) -> Any:
    model = train(run, data, width, kernel=kernel, **SHIFT, **to, **how)
    return {"decision": ask(run, data, model["model"], model["shifts"], **to), "classes": model["classes"]}


def check_shift(result: Any, inputs: Inputs, *, kernel: str, by_rows: bool) -> None:
    X, y = table()
    central = X.mean(axis=0) if kernel == "linear" else 0.0  # LIBSVM caches a linear kernel in single precision
    reference = SVC(kernel=kernel, cache_size=10, **SHIFT).fit(X - central, y).decision_function(X - central)
    found = np.concatenate([result["decision"][p] for p in inputs["data"][1]]) if by_rows else result["decision"]["p1"]
    np.testing.assert_allclose(found[:, 0], reference, atol=1e-6)
    assert result["classes"] == (0, 1)


def shift_case(name: str, train: Any, ask: Any, *, kernel: str = "rbf", by_rows: bool = True, to: Role | None = None, **how: Any) -> Case:
    return Case(
        name,
        labelled_rows if by_rows else labelled_columns,
        partial(play_shift, train=train, ask=ask, kernel=kernel, to={"to": to} if to else {}, **how),
        partial(check_shift, kernel=kernel, by_rows=by_rows),
    )


# cutting_plane and pan_svm


def planes_case(name: str = "", *, classes: int = 2, multi_class: str = "ovr", **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"rows": (Holder, rows_at(roster[Holder], classes, multi_class))}

    return Case(
        f"cutting_plane{name}", inputs, partial(play_planes, **params), partial(check_planes, classes=classes, multi_class=multi_class)
    )


def pan_case(name: str, source: str, *, classes: int = 2, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, parts_at(roster[Holder], classes))}

    asked = {"landmark_source": "local" if source == "identity" else source, "landmarks": 12, **params}
    check = partial(check_pan, classes=classes, multi_class=params.get("multi_class", "ovr"), source=source)
    return Case(f"pan_svm_{name}", inputs, partial(play_pan, **asked), check)


# consensus over rows


def consensus_rows_case(name: str) -> Case:
    _, check, how = consensus_rows.ROW_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, consensus_rows.inputs_for(name, roster[Holder]))}

    def accepts(result: Any, given: Inputs) -> None:
        consensus_rows.CHECKS[check](result, given["data"][1])

    return Case(f"consensus_horizontal_{name}", inputs, partial(consensus_rows.play, **how), accepts, 3 if "method" in how else 2)


# consensus over columns


def consensus_columns_case(name: str, kernel: str, *, classes: int = 2, method: str = "pairwise", admm: bool = False) -> Case:
    how = {"rho": consensus_columns.RHO, "over_relaxation": 1.0, "max_rounds": consensus_columns.ROUNDS} if admm else {"tol": 1e-9}
    check = consensus_columns.check_admm if admm else consensus_columns.check

    def accepts(result: Any, given: Inputs) -> None:
        check(result, given["data"][1], kernel=kernel)

    play = partial(consensus_columns.play, problems=1 if classes == 2 else classes, kernel=kernel, protection={"method": method}, **how)
    return Case(f"consensus_vertical_{name}", partial(columns, classes=classes), play, accepts)


# extreme learning machines


def elm_rows_case(name: str, task: str, activation: str, ridge: float | str, **protection: Any) -> Case:
    play = partial(elm.play_rows, task=task, activation=activation, ridge=ridge, **protection)
    return Case(f"elm_horizontal_{name}", partial(elm.rows, task=task), play, partial(elm.check_rows, task=task, activation=activation))


def elm_columns_case(name: str, task: str, activation: str, ridge: float | str, weights: str, **protection: Any) -> Case:
    play = partial(elm.play_columns, task=task, activation=activation, ridge=ridge, weights=weights, protection=protection)
    return Case(f"elm_vertical_{name}", partial(elm.columns, task=task), play, partial(elm.check_columns, task=task, activation=activation))


# feature selection


def selection_case(name: str, play: Any, check: Any, *, classes: int = 2, columns: int = 4, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, selection.parts_for(roster[Holder], classes, columns))}

    def accepts(result: Any, given: Inputs) -> None:
        check(result, given["data"][1], **params)

    return Case(name, inputs, partial(play, **params), accepts)


# columns: scaling and filling in


def column_case(name: str) -> Case:
    play, check, vertical = column.COLUMN_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, column.parts_at(roster[Holder], vertical=vertical))}

    return Case(name, inputs, play, lambda result, _: check(result))


def or_case() -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, column.parts_at(roster[Holder]))}

    return Case("secure_or", inputs, column.play_or, lambda result, given: column.check_or(result, given["data"][1]))


# metrics and probabilities


def counts_case(name: str, *, classes: int = 2, sites: str = "", **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scored": (Holder, scores.parts(roster[Holder], classes))}

    play = partial(scores.play_counts, classes=classes, sites=sites, **how)
    return Case(f"score_counts_{name}", inputs, play, partial(scores.check_counts, classes=classes, sites=sites))


def alone_case(name: str, *, classes: int = 2) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scored": (Holder, {p: scores.cut(scores.pooled(classes), slice(None if p == "p1" else 0)) for p in roster[Holder]})}

    return Case(
        f"labeller_counts_{name}", inputs, partial(scores.play_alone, classes=classes), partial(scores.check_alone, classes=classes)
    )


def platt_case(name: str, *, classes: int = 2, **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scores": (Holder, scores.score_parts(roster[Holder], classes))}

    return Case(f"platt{name}", inputs, partial(scores.play_platt, classes=classes, **how), partial(scores.check_platt, classes=classes))


# searches for parameters


def pan_search_case(name: str, *, classes: int = 2, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, parts_at(roster[Holder], classes))}

    def accepts(result: Any, given: Inputs) -> None:
        searching.check_pan_search(result, given["data"][1])

    return Case(f"pan_search_{name}", inputs, partial(searching.play_pan_search, **params), accepts)


def gram_search_case(name: str, *, classes: int = 2, **params: Any) -> Case:
    def accepts(result: Any, given: Inputs) -> None:
        del given
        searching.check_gram_search(result, *table(classes))

    return Case(f"gram_search_{name}", partial(columns, classes=classes), partial(searching.play_gram_search, **params), accepts)


# sets


def align_case(name: str, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"ids": (Holder, intersection.id_sets(roster[Holder]))}

    def accepts(result: Any, given: Inputs) -> None:
        intersection.check_align(result, given["ids"][1], **params)

    return Case(f"align{name}", inputs, partial(intersection.play_align, **params), accepts)


def intersection_case(partition: str) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, intersection.binary(partition, roster[Holder]).parts)}

    def accepts(result: Any, given: Inputs) -> None:
        intersection.check_intersection(result, given["data"][1], partition=partition)

    return Case(f"gram_intersection_{partition}", inputs, partial(intersection.play_intersection, partition=partition), accepts)


CASES = {
    case.name: case
    for case in (
        sum_case("pairwise_vector", (17,)),
        sum_case("pairwise_matrix", (4, 5)),
        sum_case("pairwise_symmetric", (6, 6), symmetric=True),
        sum_case("pairwise_words", (9,), words=True),
        sum_case("pairwise_to_holder", (5,), to=P1),
        sum_case("ring_vector", (17,), method="ring"),
        sum_case("ring_symmetric", (6, 6), method="ring", symmetric=True),
        sum_case("ring_to_holder", (5,), method="ring", to=P1, least=3),
        sum_case("ring_segments", (3, 4), method="ring", segments=2, least=5),
        sum_case("ring_segments_to_holder", (3, 4), method="ring", segments=2, to=P1, least=5),
        sum_case("threshold", (17,), method="threshold"),
        sum_case("threshold_to_holder", (4, 4), method="threshold", to=P1, symmetric=True),
        product_case("bfv", product.play_pair, product.check_pair, "bfv"),
        product_case("paillier", product.play_pair, product.check_pair, "paillier"),
        product_case("many", product.play_many, product.check_many, "bfv"),
        Case("template", ragged_rows, column_means, check_means),
        Case("gather", ragged_rows, row_count, check_count),
        gram_case("linear", "linear"),
        gram_case("rbf", "rbf"),
        gram_case("poly", "poly"),
        gram_case("rbf_3_classes", "rbf", classes=3),
        gram_case("rbf_ring", "rbf", method="ring"),
        *(cells_case(name) for name in cells.CELL_CASES),
        counts_case("2_classes"),
        counts_case("3_classes_ring", classes=3, method="ring"),
        counts_case("by_site", sites="all", probability=False),
        alone_case("3_classes", classes=3),
        platt_case(""),
        platt_case("_3_classes", classes=3),
        platt_case("_witness", witness=True),
        gram_case("probability", "rbf", probability=True),
        pan_case("probability", "fourier", probability=True),
        pan_case("probability_witness", "fourier", classes=3, probability=True, witness=True),
        landmark_case("local", "local", share=0.2),
        landmark_case("local_ring", "local", count=12, method="ring"),
        landmark_case("joint", "joint", count=7),
        planes_case(),
        planes_case("_witness", witness=True),
        planes_case("_3_classes", classes=3),
        planes_case("_ovo", classes=3, multi_class="ovo"),
        pan_case("fourier", "fourier"),
        pan_case("local", "local"),
        pan_case("joint", "joint"),
        pan_case("linear_ring", "identity", kernel="linear", method="ring"),
        pan_case("witness", "local", witness=True),
        pan_case("3_classes", "fourier", classes=3),
        pan_case("ovo", "fourier", classes=3, multi_class="ovo"),
        shift_case("shift_ring_linear", shift_ring, shift_ring_predict, kernel="linear"),
        shift_case("shift_ring_rbf", shift_ring, shift_ring_predict, distribution="gaussian"),
        shift_case("shift_vertical", shift_vertical, shift_vertical_predict, by_rows=False, to=P1),
        shift_case("shift_vertical_to_site", shift_vertical, shift_vertical_predict, kernel="linear", by_rows=False),
        shift_case("shift_secret_rows", shift_secret_rows, shift_secret_rows_predict),
        shift_case("shift_secret_rows_rotated", shift_secret_rows, shift_secret_rows_predict, kernel="linear", rotation=True),
        shift_case("shift_secret_columns", shift_secret_columns, shift_secret_columns_predict, by_rows=False),
        shift_case("shift_secret_columns_rotated", shift_secret_columns, shift_secret_columns_predict, by_rows=False, rotation=True),
        elm_rows_case("sigmoid", "2", "sigmoid", "gcv"),
        elm_rows_case("tanh_pinv", "2", "tanh", 0.0),
        elm_rows_case("rbf_3_classes", "3", "rbf", 1.0),
        elm_rows_case("relu_number_ring", "number", "relu", "gcv", method="ring"),
        elm_columns_case("sign_master", "2", "sign", 1.0, "master"),
        elm_columns_case("sigmoid_ring", "2", "sigmoid", 0.5, "master", method="ring"),
        elm_columns_case("rbf_private", "3", "rbf", "gcv", "private"),
        elm_columns_case("tanh_number", "number", "tanh", "gcv", "private"),
        *(consensus_rows_case(name) for name in consensus_rows.ROW_CASES),
        consensus_columns_case("linear", "linear"),
        consensus_columns_case("rbf_ring", "rbf", method="ring"),
        consensus_columns_case("3_classes", "linear", classes=3),
        consensus_columns_case("admm", "linear", admm=True),
        consensus_columns_case("admm_rbf_3_classes", "rbf", classes=3, admm=True),
        selection_case("select_wrapper_rbf", selection.play_wrapper, selection.check_wrapper, columns=6, kernel="rbf", step=2),
        selection_case("select_wrapper_3_classes", selection.play_wrapper, selection.check_wrapper, classes=3, kernel="linear", step=1),
        pan_search_case("local"),
        pan_search_case("witness", witness=True),
        pan_search_case("3_classes", classes=3, landmark_source="fourier"),
        pan_search_case("halving", factor=2),
        gram_search_case("grid"),
        gram_search_case("halving_3_classes", classes=3, factor=2, method="ring"),
        selection_case("select_filter_rbf", selection.play_filter, selection.check_filter, kernel="rbf"),
        align_case(""),
        align_case("_count", count_only=True),
        intersection_case("horizontal"),
        intersection_case("vertical"),
        intersection_case("arbitrary"),
        or_case(),
        *(column_case(name) for name in column.COLUMN_CASES),
    )
}
