"""Consensus over rows and over columns as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance import consensus_columns_reference as consensus_columns
from conformance import consensus_rows_reference as consensus_rows
from conformance.case import Case, Inputs, columns
from tacit.choreo import Holder, Roster
from tacit.protocols.settings import Sums


def consensus_rows_case(name: str) -> Case:
    _, check, how = consensus_rows.ROW_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, consensus_rows.inputs_for(name, roster[Holder]))}

    def accepts(result: Any, given: Inputs) -> None:
        consensus_rows.CHECKS[check](result, given["data"][1])

    return Case(
        f"consensus_horizontal_{name}",
        inputs,
        partial(consensus_rows.play, **how),
        accepts,
        3 if "method" in how else 2,
    )


def consensus_columns_case(
    name: str,
    kernel: str,
    *,
    classes: int = 2,
    method: str = "pairwise",
    admm: bool = False,
    probability: bool = False,
    multi_class: str = "ovr",
) -> Case:
    how = (
        {"rho": consensus_columns.RHO, "over_relaxation": 1.0, "max_rounds": consensus_columns.ROUNDS}
        if admm
        else {"tol": 1e-9}
    )
    check = consensus_columns.check_admm if admm else consensus_columns.check

    def accepts(result: Any, given: Inputs) -> None:
        check(result, given["data"][1], kernel=kernel, multi_class=multi_class)

    count = len(consensus_columns.signs_of(np.arange(classes), multi_class).T)
    how |= {"probability": probability, "problems": count, "multi_class": multi_class}
    play = partial(consensus_columns.play, kernel=kernel, sums=Sums(method=method), **how)
    return Case(f"consensus_vertical_{name}", partial(columns, classes=classes), play, accepts)


CASES: tuple[Case, ...] = (
    *(consensus_rows_case(name) for name in consensus_rows.ROW_CASES),
    consensus_columns_case("linear", "linear"),
    consensus_columns_case("rbf_ring", "rbf", method="ring"),
    consensus_columns_case("3_classes", "linear", classes=3),
    consensus_columns_case("ovo", "linear", classes=4, probability=True, multi_class="ovo"),
    consensus_columns_case("admm", "linear", admm=True),
    consensus_columns_case("admm_rbf_ovo", "rbf", classes=4, admm=True, multi_class="ovo"),
    consensus_columns_case("admm_rbf_3_classes", "rbf", classes=3, admm=True),
    consensus_columns_case("probability_3_classes", "rbf", classes=3, probability=True),
    consensus_columns_case("admm_probability", "linear", admm=True, probability=True),
)
