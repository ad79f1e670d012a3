"""Questions about studies that have ended, against the same pipeline fitted and asked step by step in simulation."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

import tacit
from conformance.case import Case, Inputs
from conformance.cases_study import open_shares
from tacit.choreo import Coordinator, Holder, Roster, Run, decode, encode
from tacit.registry import execute_together
from tacit.study.asking import study_answers, study_scores
from tacit.study.rehearsed_questions import keep_study
from tacit.study.replay import Known, refit

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

    @cache
    def fitted(parties: int) -> dict[str, Any]:
        """What the study leaves, which no two studies leave alike."""
        roster = Case("", inputs, play, check).roster(parties)
        learnt, _ = federations(roster, partition, gaps=gaps)
        held: Any = {each: (Holder, dict(learnt.parts)) for each in ("data", "judge")}
        found: dict[str, Any] = execute_together(roster, "study", held, {**asked, "seed": SEED}).result
        return found

    def inputs(roster: Roster) -> Inputs:
        _, new = federations(roster, partition, gaps=gaps)
        kept, site = keep_study(fitted(len(roster[Holder]))), roster[Coordinator][0]
        mine = {party: kept(party) for party in roster[Holder]}
        return {"data": (Holder, dict(new.parts)), "own": (Holder, mine), "site": (Coordinator, {site: kept(site)})}

    def play(run: Run, data: Any, own: Any, site: Any) -> Any:
        found = question(run, data, own, site, seed=SEED, **asked, **more)
        return {"public": encode(found).join().hex()} if isinstance(found, dict) else found

    def check(found: dict[str, Any], brought: Inputs) -> None:
        roster = Case("", inputs, play, check).roster(len(brought["data"][1]))
        learnt, new = federations(roster, partition, gaps=gaps)
        done = fitted(len(roster[Holder]))
        known = Known(done["told"], done["ended"], (), (), ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = refit({**asked, "seed": SEED}, learnt.roster, known)
            if "values" in found:
                in_shares = open_shares(alone[-1], done) or partition != "horizontal"
                exact = 1e-3 if in_shares else 0.0  # truncation in shares is random in last digits
                expected = alone.decision_function(new)
                for party, values in found["values"].items():
                    np.testing.assert_allclose(values[:, 0], expected[new.rows[party]], rtol=0.0, atol=exact)
            else:
                (ended,) = decode(bytes.fromhex(found["public"]))["ended"]
                X, y, _ = new.pooled()
                (counted,) = vars(ended)["values"]["cells"]
                np.testing.assert_array_equal(counted, confusion_matrix(y, alone.predict(X)))

    return Case(f"study_{name}", inputs, play, check, long=True)


CASES: tuple[Case, ...] = (
    question_case("answers", "horizontal", study_answers, GAPS, SCALE, {**SVC, "probability": True}),
    question_case("answers_columns", "vertical", study_answers, SCALE, SVC, gaps=False),
    question_case("answers_shares", "vertical", study_answers, EXACT, gaps=False),
    question_case("scores", "horizontal", study_scores, GAPS, SCALE, SVC, evaluate={}),
)
