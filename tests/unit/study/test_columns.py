"""Studies over columns: what stays with owners, what the analyst has, and which records are held out."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.choreo import Holder
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.settings import Dataset
from tacit.consortium.site.tables import Tables
from tacit.errors import LocalError
from tacit.registry import execute_together
from tacit.study.replay import Known, refit

LATER = {"evaluate": {}, "partition": "vertical", "seed": 3}
WHOLE = {"use": "SVC", "loss": "hinge", "features": "exact"}
LEARNERS = (WHOLE, {**WHOLE, "kernel": "linear"})


@pytest.fixture(scope="module")
def table():
    """Patients with a text, gaps and a column that looks like ids."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(80, 4)), columns=list("abcd"))
    frame["sex"] = draw.choice(["female", "male"], 80)
    frame["number"] = np.arange(80)
    frame.loc[draw.random(80) < 0.2, "b"] = np.nan
    return frame, (frame.a + frame.c > 0).astype(int)


def run(federation, *steps, **changes):
    """Play a study; return all of its result, and the pipeline that whoever reads what is public of it has."""
    asked = {"steps": steps, **LATER, **changes}
    held = {each: (Holder, dict(federation.parts)) for each in ("data", "judge")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = execute_together(federation.roster, "study", held, asked)
        told = Known(done.result["told"], done.result["ended"], done.ledger.rows, (), (), job="abc")
        return done.result, refit(asked, federation.roster, told)


def test_what_columns_are_prepared_by_is_part_of_the_model(table):
    federation = tacit.simulate(*table, parties=3, partition="vertical", raw=True)
    _, fitted = run(federation, {"use": "TableVectorizer"}, {"use": "SVC"})
    prepared = fitted[0]
    assert prepared.kinds_["sex"] == "text"
    assert "number" in prepared.dropped_
    assert {"sex_female", "sex_male", "missingindicator_b"} <= set(prepared.get_feature_names_out())
    assert prepared.report_.figures["column sex"] == "2 categories: female, male"
    frame = table[0][list(prepared.federation_.features)]
    assert prepared.transform(frame).shape == (80, len(prepared.get_feature_names_out()))


@pytest.mark.parametrize("learner", LEARNERS, ids=["rbf", "linear"])
def test_the_handle_of_a_model_in_shares_is_a_model_file(table, learner, tmp_path):
    federation = tacit.simulate(table[0][list("acd")], table[1], parties=3, partition="vertical")
    found, fitted = run(federation, {"use": "FederatedScaler"}, learner, evaluate=None)
    loaded = tacit.load(fitted.save(tmp_path / "study.tacit"))
    assert loaded[1].model_.job == "abc.1"
    np.testing.assert_array_equal(loaded[0].mean_, fitted[0].mean_)
    assert {name for name in found if name.startswith("1.")}, "parties hold their shares"
    with pytest.raises(LocalError, match="is not public, its parties keep"):
        loaded[1].to_sklearn()


def test_a_column_that_two_sites_have_is_refused(table):
    federation = tacit.simulate(table[0][list("acd")], table[1], parties=3, partition="vertical")
    one, two, three = federation.parts.values()
    parts = dict(zip(federation.parts, (one, two, one.__class__(three.X, None, None, two.features, None)), strict=True))
    held = dict.fromkeys(("data", "judge"), (Holder, parts))
    with pytest.raises(LocalError, match="is held by both 'party-2' and 'party-3': rename it, or leave it out"):
        execute_together(federation.roster, "study", held, {"steps": ({"use": "SVC"},), **LATER})


def test_sites_hold_out_the_same_records_though_only_some_of_them_have_ids(table, tmp_path):
    frame, labels = table
    frame.assign(label=labels, patient=np.arange(80)[::-1])[["patient", "a", "b", "label"]].to_csv(
        tmp_path / "north.csv", index=False
    )
    frame[["number", "c"]].to_csv(tmp_path / "south.csv", index=False)
    frame[["d"]].to_csv(tmp_path / "east.csv", index=False)
    job = propose(
        "study",
        {"steps": ({"use": "FederatedImputer"}, {"use": "SVC"}), "seed": 7, "evaluate": {}},
        partition="vertical", parties=("north", "south", "east"), coordinator="clearing", labeller="north",
        dataset="cohort", submitter="analyst", purpose="a test", legal_basis="none",
    )  # fmt: skip
    extra = {"north": {"id": "patient", "label": "label"}, "south": {}, "east": {}}
    tables = {
        name: Tables(name, Path(tmp_path), {"cohort": Dataset(path=tmp_path / f"{name}.csv", **more)})
        for name, more in extra.items()
    }
    held = {name: each.part(job, held_out=True).X[:, 0] for name, each in tables.items()}
    rows = held["south"].astype(int)
    assert 8 <= len(rows) <= 26
    np.testing.assert_array_equal(held["north"], frame.a.to_numpy()[rows])
    np.testing.assert_array_equal(held["east"], frame.d.to_numpy()[rows])
    learnt = {name: each.part(job).X for name, each in tables.items()}
    assert {len(X) for X in learnt.values()} == {80 - len(rows)}
