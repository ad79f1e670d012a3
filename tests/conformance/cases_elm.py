"""Extreme learning machines as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import elm_reference as elm
from conformance.case import Case


def elm_rows_case(name: str, task: str, activation: str, ridge: float | str, **protection: Any) -> Case:
    weighted = {name: protection[name] for name in ("class_weight",) if name in protection}
    play = partial(elm.play_rows, task=task, activation=activation, ridge=ridge, **protection)
    return Case(
        f"elm_horizontal_{name}",
        partial(elm.rows, task=task),
        play,
        partial(elm.check_rows, task=task, activation=activation, **weighted),
    )


def elm_probability_case(name: str, task: str, activation: str, **classes: Any) -> Case:
    play = partial(elm.play_calibrated, task=task, activation=activation, ridge=0.5, **classes)
    return Case(
        f"elm_horizontal_{name}",
        partial(elm.rows, task=task),
        play,
        partial(elm.check_calibrated, task=task, activation=activation, **classes),
    )


def elm_columns_case(
    name: str, task: str, activation: str, ridge: float | str, weights: str, *, learns: Any = None, **protection: Any
) -> Case:
    learns = learns or {}
    play = partial(
        elm.play_columns,
        task=task,
        activation=activation,
        ridge=ridge,
        weights=weights,
        protection=protection,
        **learns,
    )
    weighted = {name: learns[name] for name in ("class_weight",) if name in learns}
    return Case(
        f"elm_vertical_{name}",
        partial(elm.columns, task=task),
        play,
        partial(elm.check_columns, task=task, activation=activation, **weighted),
    )


CASES: tuple[Case, ...] = (
    elm_rows_case("sigmoid", "2", "sigmoid", "gcv"),
    elm_rows_case("tanh_pinv", "2", "tanh", 0.0),
    elm_rows_case("rbf_3_classes", "3", "rbf", 1.0),
    elm_rows_case("relu_number_ring", "number", "relu", "gcv", method="ring", accept_risk=True),
    elm_rows_case("class_weight", "2", "sigmoid", "gcv", class_weight={0: 1.0, 1: 3.0}),
    elm_probability_case("probability", "2", "sigmoid"),
    elm_probability_case("probability_3_classes_weighted", "3", "tanh", class_weight="balanced"),
    elm_columns_case("sign_master", "2", "sign", 1.0, "master"),
    elm_columns_case("sigmoid_ring", "2", "sigmoid", 0.5, "master", method="ring"),
    elm_columns_case("rbf_private", "3", "rbf", "gcv", "private"),
    elm_columns_case("tanh_number", "number", "tanh", "gcv", "private"),
    elm_columns_case(
        "probability", "3", "sigmoid", 0.5, "master", learns={"class_weight": {2: 4.0}, "probability": True}
    ),
)
