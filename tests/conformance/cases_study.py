"""Whole studies: every step inside one run, against the same pipeline fitted step by step in simulation."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import tacit
from conformance.case import Case, Inputs
from tacit.choreo import Coordinator, Holder, Roster, Run, decode, encode
from tacit.models.blind import BlindModel, StoredBlind
from tacit.study.replay import Known, refit
from tacit.study.steps import read_pipeline
from tacit.study.study import study

SEED = 5
ROWS = {"horizontal": 500, "vertical": 200, "arbitrary": 120}
SVC = {"use": "SVC", "features": 100, "alpha": 0.1}
EXACT = {"use": "SVC", "features": "exact", "loss": "hinge"}
GAPS, SCALE, TABLE = {"use": "FederatedImputer"}, {"use": "FederatedScaler"}, {"use": "TableVectorizer"}
MARKED, ROBUST = {**GAPS, "add_indicator": True}, {**SCALE, "method": "robust"}
SEARCH = {"use": "FederatedGridSearch", "estimator": SVC, "grid": {"gamma": (0.1, 0.3)}}


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
            one, other = tacit.evaluate(alone, judge), again.report_.evaluations["held-out records"]
            assert abs(one.score - other.score) < 0.1


def check_model(alone: Any, again: Any, found: dict[str, Any], learn: Any, X: Any) -> None:
    """The model decides as the simulation's does; noise and landmarks of two runs are not the same."""
    last = again[-1]
    if open_shares(last, found):
        one, other = (each[-1].ask(each.prepare(learn)).values for each in (alone, again))
        np.testing.assert_allclose(other, one, atol=1e-3)
    elif hasattr(last, "classes_"):
        assert np.mean(again.predict(X) == alone.predict(X)) > 0.9
    else:
        assert np.corrcoef(again.predict(X), alone.predict(X))[0, 1] > 0.95


def open_shares(last: Any, found: dict[str, Any]) -> bool:
    """Put what parties keep of a model in shares into one place; whether it is such a model."""
    model = getattr(last, "model_", None)  # a search has those of its best estimator
    if not isinstance(model, StoredBlind):
        return False
    share = found[f"{str(model.job).rpartition('.')[2]}.share"]  # of the request that trained it
    public = {"divisor": model.divisor, "target_range": model.target_range}
    last.model_ = BlindModel(share, model.gamma, model.records, **public)
    return True


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


CASES: tuple[Case, ...] = (
    study_case("search", "horizontal", GAPS, SCALE, SEARCH, evaluate={}),
    study_case("vectorized", "horizontal", TABLE, SVC, evaluate={}),
    study_case("elm", "horizontal", GAPS, SCALE, {"use": "ELMClassifier", "n_hidden": 10, "alpha": 0.1}, evaluate={}),
    study_case("number", "horizontal", GAPS, SCALE, {**SVC, "use": "SVR"}, numbers=True, evaluate={}),
    study_case("columns", "vertical", MARKED, SCALE, SVC, evaluate={}),
    study_case("columns_robust", "vertical", GAPS, ROBUST, {**SVC, "use": "SVR"}, numbers=True, evaluate={}),
    study_case("columns_exact", "vertical", SCALE, EXACT, gaps=False),
    study_case("cells", "arbitrary", SCALE, SVC, gaps=False, evaluate={}),
)
