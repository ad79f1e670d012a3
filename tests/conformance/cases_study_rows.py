"""Whole studies by rows, of few rounds, so that a cluster plays them too: against the same pipeline in simulation."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import tacit
from conformance.case import Case, Inputs
from conformance.cases_study import SEED, play
from tacit.choreo import Coordinator, Holder, Roster, decode
from tacit.study.replay import Known, refit
from tacit.study.steps import read_pipeline

ROWS = 600
PAN = {"use": "PanSVC", "landmarks": 4, "max_rounds": 3}
ELM = {"use": "SecureELMClassifier", "n_hidden": 6}
GAPS, SCALE = {"use": "FederatedImputer"}, {"use": "FederatedScaler"}
CODES = {"use": "FederatedEncoder", "categories": {"x4": (0, 1, 2)}}
VALUES = {"C": (0.5, 2.0)}
FILTER = {"use": "FilterWrapperSelector", "estimator": PAN, "n_features_to_select": 2, "cv": 2, "max_trials": 2}
HALVING = {"use": "FederatedHalvingSearch", "estimator": PAN, "grid": VALUES, "cv": 2}
RANDOM = {
    "use": "FederatedRandomizedSearch", "estimator": PAN, "param_distributions": VALUES, "n_iter": 2, "cv": 2,
}  # fmt: skip
GRID = {"use": "FederatedGridSearch", "estimator": PAN, "grid": VALUES, "cv": 2}
VOTED = {"use": "VotedWrapperSelector", "estimator": PAN, "n_features_to_select": 3, "step": 2, "cv": 2}
CONSENSUS = {"use": "ConsensusSVC", "max_rounds": 3, "accept_risk": True}


def whole(targets: str) -> tuple[Any, Any]:
    """Records whose last column is a category; targets are numbers, or classes by number or by name."""
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.normal(size=(ROWS, 4)) * (1, 10, 0.1, 1), rng.integers(0, 3, ROWS)])
    score = X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=ROWS)
    kinds = {"numbers": score, "codes": (score > 0).astype(int), "names": np.where(score > 0, "ill", "well")}
    return X, kinds[targets]


def federation(roster: Roster, targets: str) -> Any:
    return tacit.simulate(*whole(targets), parties=list(roster[Holder]), coordinator=roster[Coordinator][0])


def check(found: dict[str, Any], inputs: Inputs, *, targets: str, **asked: Any) -> None:
    """The pipeline that an analyst has is the simulated one, bit for bit, and is judged alike."""
    roster = Case("", lambda _: {}, play, check).roster(len(inputs["data"][1]))
    learn, told = federation(roster, targets), decode(bytes.fromhex(found["public"]))
    X, _ = whole(targets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = read_pipeline(asked["steps"], SEED).fit(learn)
        again = refit({**asked, "seed": SEED}, learn.roster, Known(told["told"], told["ended"], (), (), ()))
        np.testing.assert_array_equal(again.predict(X), alone.predict(X))
        if asked.get("evaluate") is not None:
            one, other = tacit.evaluate(alone, learn), again.report_.evaluations["held-out records"]
            told = ("confusion", "r2", "mean_absolute_error")
            np.testing.assert_equal([getattr(one, name) for name in told], [getattr(other, name) for name in told])


def rows_case(name: str, *steps: Any, targets: str = "codes", **more: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        parts = dict(federation(roster, targets).parts)
        return {"data": (Holder, parts), "judge": (Holder, parts)}

    asked = {"steps": steps, "partition": "horizontal", **more}
    return Case(f"study_{name}", inputs, partial(play, **asked), partial(check, **asked, targets=targets), long=True)


CASES: tuple[Case, ...] = (
    rows_case("rows_halving", CODES, HALVING, targets="names", evaluate={}),
    rows_case("rows_filtered", GAPS, FILTER, PAN),
    rows_case("rows_random", SCALE, RANDOM),
    rows_case("rows_probable", SCALE, {**PAN, "probability": True}),
    rows_case("rows_regression", SCALE, {"use": "SecureELMRegressor", "n_hidden": 6}, targets="numbers", evaluate={}),
    rows_case("rows_table", {"use": "TableVectorizer"}, GRID),
    rows_case("rows_voted", GAPS, VOTED, ELM),
    rows_case("rows_elm", SCALE, {**ELM, "probability": True}, evaluate={}),
    rows_case("rows_consensus", SCALE, CONSENSUS, evaluate={}),
    rows_case("rows_consensus_probable", SCALE, {**CONSENSUS, "probability": True}),
)
