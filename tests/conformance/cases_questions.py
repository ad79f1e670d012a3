"""Questions about studies that have ended, against the same pipeline fitted and asked step by step in simulation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tacit
from conformance.case import Case, Inputs
from tacit.choreo import Coordinator, Holder, Roster, Run, decode, encode
from tacit.registry import execute_together
from tacit.study.asking import study_answers, study_scores
from tacit.study.rehearsed_questions import keep_study
from tacit.study.steps import read_pipeline

SEED, LEARNT, NEW = 5, 240, 90
GAPS, SCALE = {"use": "FederatedImputer"}, {"use": "FederatedScaler"}
SVC = {"use": "SVC", "features": 20, "alpha": 0.1}
EXACT = {"use": "SVC", "features": "exact", "loss": "hinge", "gamma": 0.2}


def federations(roster: Roster, partition: str, *, gaps: bool) -> tuple[Any, Any]:
    """The records that a study learns from, and new ones."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(LEARNT + NEW, 5)) * (1, 10, 0.1, 1, 1)
    y = (X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=len(X)) > 0).astype(int)
    X[rng.random(X.shape) < 0.1 * gaps] = np.nan
    shape: Any = {"parties": list(roster[Holder]), "partition": partition, "coordinator": roster[Coordinator][0]}
    shape |= {"allow_missing": gaps, "split": "contiguous" if partition == "vertical" else "random"}
    old, new = slice(0, LEARNT), slice(LEARNT, None)
    return tacit.simulate(X[old], y[old], **shape), tacit.simulate(X[new], y[new], **shape)


def question_case(name: str, partition: str, question: Any, *steps: Any, gaps: bool = True, **more: Any) -> Case:
    """A question about a study, on records that it did not learn from."""
    asked = {"steps": steps, "partition": partition}

    def inputs(roster: Roster) -> Inputs:
        learnt, new = federations(roster, partition, gaps=gaps)
        held: Any = {each: (Holder, dict(learnt.parts)) for each in ("data", "judge")}
        done = execute_together(roster, "study", held, {**asked, "seed": SEED})
        kept, site = keep_study(done.result), roster[Coordinator][0]
        mine = {party: kept(party) for party in roster[Holder]}
        return {"data": (Holder, dict(new.parts)), "own": (Holder, mine), "site": (Coordinator, {site: kept(site)})}

    def play(run: Run, data: Any, own: Any, site: Any) -> Any:
        found = question(run, data, own, site, seed=SEED, **asked, **more)
        return {"public": encode(found).join().hex()} if isinstance(found, dict) else found

    def check(found: dict[str, Any], brought: Inputs) -> None:
        roster = Case("", inputs, play, check).roster(len(brought["data"][1]))
        learnt, new = federations(roster, partition, gaps=gaps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = read_pipeline(steps, SEED).fit(learnt)
            if "values" in found:
                expected = alone.decision_function(new)
                for party, values in found["values"].items():
                    np.testing.assert_array_equal(values[:, 0], expected[new.rows[party]])
            else:
                (ended,) = decode(bytes.fromhex(found["public"]))["ended"]
                counted = tacit.evaluate(alone, new, **more.get("evaluate", {}))
                np.testing.assert_array_equal(vars(ended)["values"]["tally"].confusion, counted.confusion_matrix)

    return Case(f"study_{name}", inputs, play, check, long=True)


CASES: tuple[Case, ...] = (
    question_case("answers", "horizontal", study_answers, GAPS, SCALE, {**SVC, "probability": True}),
    question_case("answers_columns", "vertical", study_answers, SCALE, SVC, gaps=False),
    question_case("answers_shares", "vertical", study_answers, EXACT, gaps=False),
    question_case("scores", "horizontal", study_scores, GAPS, SCALE, SVC, evaluate={}),
)
