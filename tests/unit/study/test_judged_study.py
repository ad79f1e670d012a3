"""A study that ends in a model of the core is judged in shares: by groups, and beside each site alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster, decode, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.together import Together
from tacit.study.rehearsed import plan_study
from tacit.study.replay import Known, refit
from tacit.study.study import study

SITES = ("north", "south", "west")


def frame_of(n: int = 900) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(2)
    sex = rng.choice(["female", "male"], n)
    numbers = {"age": rng.normal(50, 9, n), "dose": rng.gamma(2, 2, n), "mass": rng.normal(size=n)}
    frame = pd.DataFrame({**numbers, "sex": sex})
    y = (frame["age"] - 50) / 9 + (sex == "male") + 0.5 * rng.normal(size=n) > 0.5
    return frame, np.where(y, "ill", "well")


def halves(partition: str) -> tuple[Any, Any]:
    frame, y = frame_of()
    fed = tacit.simulate(frame, y, parties=SITES, partition=partition, raw=True)
    return tacit.train_test_split(fed, test_size=0.4, random_state=0)


MACHINE = {"use": "SVC", "features": 20, "probability": True}
SEARCH = {
    "use": "FederatedGridSearch",
    "estimator": {"use": "SVC"},
    "grid": {"gamma": (0.01, 0.1), "alpha": (0.1, 1.0)},
}


def play(partition: str, evaluate: dict[str, Any], last: dict[str, Any] = MACHINE) -> tuple[Any, Any, Any]:
    """Return the pipeline as an analyst has it, the held-out records, and the ledger."""
    learn, held = halves(partition)
    names = {Holder: SITES, Coordinator: ("coordinator",), Labeller: SITES[:1], Asker: SITES[:1]}
    roster = Roster(names)
    steps = [{"use": "TableVectorizer"}, last]
    asked: dict[str, Any] = {"steps": steps, "seed": 3, "partition": partition, "evaluate": evaluate}
    with warnings.catch_warnings(), Together(roster, job=b"s", entropy=RootEntropy(roster.parties, b"s")) as run:
        warnings.simplefilter("ignore")
        brought = (run.hold(Holder, dict(each.parts)) for each in (learn, held))
        found = study(run, *brought, **asked)
        told, ended = decode(encode((found["told"], found["ended"])).join())
        made = refit(asked, roster, Known(told, ended, run.ledger.rows, run.ledger.opens, run.history))
    return made, held, run.ledger


def test_an_analyst_has_the_counts_of_the_held_out_records_by_group_and_by_site():
    made, held, ledger = play("horizontal", {"by": "sex"})
    found = made.report_.evaluations["held-out records"]
    chosen = np.concatenate([made.predict(frame_at(part)) for part in held.parts.values()])
    y = np.concatenate([part.y for part in held.parts.values()])
    counts = [[int(((y == a) & (chosen == b)).sum()) for b in ("ill", "well")] for a in ("ill", "well")]
    assert found.confusion == counts
    assert set(found.groups) == {"female", "male"}
    assert found.by == "sex"
    assert np.array(found.groups["female"].confusion).sum() + np.array(found.groups["male"].confusion).sum() == len(y)
    told = [line for line in ledger.template().splitlines() if "judge_model/" in line]
    facts = {line.split(": ")[-1] for line in told if "core" in line}
    assert facts == {"core.sizes", "core.judgement"}


def frame_at(part: Any) -> pd.DataFrame:
    texts = {name: np.array(own)[part.X[:, part.features.index(name)].astype(int)] for name, own in part.texts.items()}
    return pd.DataFrame({name: texts.get(name, part.X[:, j]) for j, name in enumerate(part.features)})


@pytest.mark.slow
def test_each_site_alone_is_told_beside_the_joint_model():
    made, _, _ = play("horizontal", {"against": "alone"})
    found = made.report_.evaluations["held-out records"]
    assert [each.site for each in found.beside] == list(SITES)
    assert not any(each.suppressed for each in found.beside)
    assert all(each.alone["accuracy"] > 0.6 for each in found.beside)
    assert found.groups == {}


def test_over_columns_the_labeller_is_told_nothing_that_others_are_not():
    made, held, ledger = play("vertical", {"by": "sex"})
    found = made.report_.evaluations["held-out records"]
    assert found.accuracy > 0.7
    assert set(found.groups) == {"female", "male"}
    assert "core.answers" not in ledger.template()
    assert found.n_records == len(held.targets()[0])


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_a_study_may_search_and_everybody_knows_one_score_of_each_candidate(partition):
    made, held, ledger = play(partition, {}, SEARCH)
    search = made.steps[-1][1]
    assert len(search.cv_results_["mean_test_score"]) == 4
    assert search.best_score_ > 0.7
    assert made.report_.evaluations["held-out records"].accuracy > 0.7
    told = [line.split(": ")[-1] for line in ledger.template().splitlines() if "/search_machine/" in line]
    assert {fact for fact in told if fact.startswith("scores.")} == set()
    assert "core.scores" in told
    assert len(held.targets()[0]) > 0


@pytest.mark.slow
def test_a_study_that_searches_and_judges_can_be_rehearsed():
    names = {Holder: SITES, Coordinator: ("coordinator",)}
    steps = [{"use": "TableVectorizer"}, SEARCH]
    for evaluate in ({}, {"by": "sex"}, {"by": {"sex": ("female", "male")}}, {"by": "site", "against": "alone"}):
        plan = plan_study(Roster(names), {"steps": steps, "seed": 3, "partition": "horizontal", "evaluate": evaluate})
        assert [each.name for each in plan.requests] == [
            "prepare_columns",
            "search_machine",
            "train_svm",
            "judge_model",
        ]
