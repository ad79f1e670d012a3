"""What whoever waits for a study is told, and what whoever reads its result has."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tacit
from tacit.choreo import Holder
from tacit.registry import execute_together
from tacit.study.names import STUDY
from tacit.study.replay import Known, refit
from tacit.study.steps import read_pipeline

STEPS = (
    {"name": "gaps", "use": "FederatedImputer"},
    {"name": "scale", "use": "FederatedScaler"},
    {"name": "svm", "use": "SVC", "features": 20, "alpha": 0.1},
)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(300, 4, random_state=0)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return tacit.simulate(X, y, parties=3, allow_missing=True)


@pytest.fixture(scope="module")
def fitted(rows):
    """The steps fitted one by one in simulation, and the same steps as whoever reads the result of a study has them."""
    asked = {"steps": STEPS, "seed": 4, "partition": "horizontal", "evaluate": None}
    held = {name: (Holder, dict(rows.parts)) for name in ("data", "judge")}
    done = execute_together(rows.roster, STUDY, held, asked)
    known = Known(
        done.result["told"], done.result["ended"], done.ledger.rows, done.ledger.opens, done.history, job="3fa2"
    )
    return read_pipeline(STEPS, 4).fit(rows), refit(asked, rows.roster, known)


@pytest.mark.parametrize("name", [step["name"] for step in STEPS])
def test_the_report_of_a_step_says_what_that_step_opens_and_not_what_others_do(fitted, name):
    alone, again = fitted
    first = name == STEPS[0]["name"]  # before which the names of columns and of classes are told
    opens = set(again[name].report_.opens) - set(alone[name].report_.opens)
    assert {each.protocol for each in opens} - {"toss_coin"} == ({STUDY} if first else set())
    assert {each.protocol for each in alone[name].report_.opens} <= {
        each.protocol for each in again[name].report_.opens
    }
    assert again[name].report_.rounds >= alone[name].report_.rounds, "a study tosses a coin for points"


def test_who_waits_is_told_which_step_is_played_the_evaluation_too(rows):
    told = []
    asked = {"steps": STEPS, "seed": 4, "partition": "horizontal", "evaluate": {}}
    held = {name: (Holder, dict(rows.parts)) for name in ("data", "judge")}
    execute_together(rows.roster, STUDY, held, asked, progress=told.append)
    seen = list(dict.fromkeys(str(each.step) for each in told if each.step.of))
    assert seen == ["step 1 of 4 (gaps)", "step 2 of 4 (scale)", "step 3 of 4 (svm)", "step 4 of 4 (evaluation)"]
    rounds = [each.round for each in told]
    assert rounds == sorted(rounds)
    assert {each.step.name for each in told if each.round > 1} >= {"gaps", "scale", "svm"}
