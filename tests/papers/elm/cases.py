"""Extreme learning machines over columns (`tacit.papers.elm`) as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance.case import Case
from papers.elm import reference


def elm_case(name: str, task: str, activation: str, ridge: float | str, weights: str, **more: Any) -> Case:
    play = partial(reference.play, task=task, activation=activation, ridge=ridge, weights=weights, **more)
    check = partial(reference.check, task=task, activation=activation, **more)
    return Case(f"elm_vertical_{name}", partial(reference.columns, task=task), play, check)


CASES: tuple[Case, ...] = (
    elm_case("sign_master", "2", "sign", 1.0, "master"),
    elm_case("sigmoid_weighted", "3", "sigmoid", 0.5, "master", class_weight={2: 4.0}),
    elm_case("rbf_private", "3", "rbf", "gcv", "private"),
    elm_case("tanh_number", "number", "tanh", "gcv", "private"),
)
