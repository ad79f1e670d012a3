"""Whole studies: every step inside one run, against the same pipeline fitted step by step in simulation."""

from __future__ import annotations

import dataclasses
import warnings
from functools import partial
from typing import Any

import numpy as np

import tacit
from conformance.case import Case, Inputs
from tacit.choreo import Coordinator, Holder, Roster, Run, decode, encode
from tacit.models.blind import BlindModel, StoredBlind
from tacit.models.consensus import ColumnConsensus, RowConsensus, StoredColumns
from tacit.models.elm import ElmShares, StoredElm
from tacit.models.gram import GramModel, StoredModel
from tacit.study.replay import Known, refit
from tacit.study.steps import read_pipeline
from tacit.study.study import study

SEED = 5
ROWS = {"horizontal": 500, "vertical": 90, "arbitrary": 60}
PAN = {"use": "PanSVC", "landmarks": 8, "max_rounds": 20}
GRAM, LINEAR = {"use": "GramSVC", "probability": True}, {"use": "GramSVC", "kernel": "linear"}
AVERAGED = {"use": "ConsensusSVC", "max_rounds": 8, "landmarks": 4, "accept_risk": True}
NODES = {"use": "SecureELMClassifier", "n_hidden": 6}
GAPS, SCALE, TABLE = {"use": "FederatedImputer"}, {"use": "FederatedScaler"}, {"use": "TableVectorizer"}
MARKED, ROBUST = {**GAPS, "add_indicator": True}, {**SCALE, "method": "robust"}
SEARCH = {"use": "FederatedGridSearch", "estimator": PAN, "grid": {"C": (0.5, 2.0)}, "cv": 2}
CHOOSE = {"use": "VotedWrapperSelector", "estimator": PAN, "n_features_to_select": 3, "step": 2, "cv": 2}


def pooled(rows: int, *, gaps: bool, numbers: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, 5)) * (1, 10, 0.1, 1, 1)
    y = X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=rows)
    X[rng.random(X.shape) < 0.1 * gaps] = np.nan
    return X, y if numbers else (y > 0).astype(int)


def federation(roster: Roster, partition: str, **table: bool) -> Any:
    X, y = pooled(ROWS[partition], **table)
    names, site = list(roster[Holder]), roster[Coordinator][0]
    split = "contiguous" if partition == "vertical" else "random"
    cut: Any = {"parties": names, "partition": partition, "split": split}
    return tacit.simulate(X, y, coordinator=site, allow_missing=table["gaps"], **cut)


def play(run: Run, data: Any, judge: Any, **asked: Any) -> dict[str, Any]:
    """Play a study; what is public of it comes back as the bytes that travel."""
    found = study(run, data, judge, seed=SEED, **asked)
    public = {"told": found.pop("told"), "ended": found.pop("ended")}
    return {"public": encode(public).join().hex(), **found}


def check(found: dict[str, Any], inputs: Inputs, *, table: dict[str, bool], **asked: Any) -> None:
    roster = Case("", lambda _: {}, play, check).roster(len(inputs["data"][1]))
    learn, judge = halves(roster, asked["partition"], **table)
    told, known = decode(bytes.fromhex(found["public"])), {**asked, "seed": SEED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = read_pipeline(asked["steps"], SEED).fit(learn)
        again = refit(known, learn.roster, Known(told["told"], told["ended"], (), (), ()))
        check_model(alone, again, found, learn, pooled(ROWS[asked["partition"]], **table)[0])
        if asked.get("evaluate") is not None:
            one, other = (
                tacit.evaluate(alone, judge, **asked["evaluate"]),
                again.report_.evaluations["held-out records"],
            )
            assert str(one) == str(other).replace("held-out ", "")
            if hasattr(one, "confusion_matrix"):
                np.testing.assert_array_equal(one.confusion_matrix, other.confusion_matrix)


def check_model(alone: Any, again: Any, found: dict[str, Any], learn: Any, X: Any) -> None:
    """The public model, or all shares of it, are those of the simulation."""
    (*_, (_, one)), (*_, (_, other)) = alone._steps(), again._steps()
    whole = unite(other.model_, found, learn.coordinator)
    if whole is None:
        np.testing.assert_array_equal(again.decision_function(X), alone.decision_function(X))
    elif isinstance(whole, ElmShares):  # its weights are drawn, at every run others: it is the ELM of these
        one.model_ = whole
        assert one._gap(alone.prepare(learn))["largest difference of predicted values"] < 1e-6
    elif isinstance(whole, BlindModel):  # its shares are drawn too, and their last bits are rounded at random
        values = one.ask(alone.prepare(learn)).values
        one.model_ = whole
        np.testing.assert_allclose(one.ask(alone.prepare(learn)).values, values, atol=1e-3)
    else:
        assert encode(whole).digest == encode(one.model_).digest


def unite(model: Any, found: dict[str, Any], site: str) -> Any:
    """All shares of a model in one place, as a simulation has them; None of a public one."""
    held = {name.split(".", 1)[1]: each for name, each in found.items() if name.startswith(f"{_number(model)}.")}
    match model:
        case StoredModel():
            return GramModel(held["dual"][site], held["columns"], model.sigmoids)
        case StoredBlind():
            public = {"divisor": model.divisor, "target_range": model.target_range}
            return BlindModel(held["share"], model.gamma, model.records, **public)
        case StoredColumns():
            return ColumnConsensus(held["head"][site], held["shares"], model.sigmoids)
        case StoredElm():
            return ElmShares(held["master"][site], held["weights"], model.sigmoids)
        case RowConsensus(kept=kept) if kept:
            return dataclasses.replace(model, rest=held["rest"], kept="")
    return None


def _number(model: Any) -> str:
    """Of the request whose shares a model is."""
    return str(getattr(model, "job", "") or getattr(model, "kept", "")).rpartition(".")[2]


def halves(roster: Roster, partition: str, **table: bool) -> tuple[Any, Any]:
    """The records to learn from, and those to judge by."""
    whole = federation(roster, partition, **table)
    return tuple(tacit.train_test_split(whole, test_size=0.3, random_state=SEED))  # type: ignore[return-value]


def study_case(name: str, partition: str, *steps: Any, gaps: bool = True, numbers: bool = False, **more: Any) -> Case:
    table = {"gaps": gaps, "numbers": numbers}

    def inputs(roster: Roster) -> Inputs:
        learn, judge = halves(roster, partition, **table)
        return {"data": (Holder, dict(learn.parts)), "judge": (Holder, dict(judge.parts))}

    asked = {"steps": steps, "partition": partition, **more}
    return Case(f"study_{name}", inputs, partial(play, **asked), partial(check, **asked, table=table), long=True)


RISKY = {**NODES, "accept_risk": True}
TRIED = {**SEARCH, "estimator": GRAM}
CASES: tuple[Case, ...] = (
    study_case("search", "horizontal", GAPS, SCALE, SEARCH, evaluate={}),
    study_case("selected", "horizontal", GAPS, SCALE, CHOOSE, PAN),
    study_case("vectorized", "horizontal", TABLE, PAN, evaluate={"bins": 16}),
    study_case("elm", "horizontal", GAPS, NODES),
    study_case("rows_consensus_kernel", "horizontal", GAPS, SCALE, {**AVERAGED, "kernel": "rbf"}, evaluate={}),
    study_case("columns", "vertical", {"use": "GramSVC"}, gaps=False),
    study_case("columns_prepared", "vertical", MARKED, SCALE, GRAM, evaluate={}),
    study_case("columns_vectorized", "vertical", TABLE, {"use": "GramSVR"}, numbers=True, evaluate={}),
    study_case("columns_linear", "vertical", GAPS, ROBUST, LINEAR, evaluate={}),
    study_case("columns_search", "vertical", GAPS, SCALE, TRIED, evaluate={}),
    study_case("columns_blind", "vertical", SCALE, {"use": "GramSVC", "view": "blind"}, gaps=False, evaluate={}),
    study_case(
        "columns_blind_number",
        "vertical",
        SCALE,
        {"use": "GramSVR", "view": "blind", "target_range": (-8.0, 8.0)},
        gaps=False,
        numbers=True,
        evaluate={},
    ),
    study_case("columns_consensus", "vertical", GAPS, SCALE, AVERAGED, evaluate={}),
    study_case("columns_consensus_kernel", "vertical", GAPS, {**AVERAGED, "kernel": "rbf", "probability": True}),
    study_case("columns_elm", "vertical", GAPS, {**RISKY, "probability": True}, evaluate={}),
    study_case(
        "columns_elm_number", "vertical", GAPS, {**RISKY, "use": "SecureELMRegressor"}, numbers=True, evaluate={}
    ),
    study_case("cells", "arbitrary", SCALE, {"use": "GramSVC"}, gaps=False, evaluate={}),
)
