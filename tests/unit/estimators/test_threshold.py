"""Sums that parties may stay away from: who is away is left out, the same one everywhere, and is named."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import tacit
from tacit import registry
from tacit.choreo import LocalError
from tacit.protocols.sums.secure_sum import OF_SOME
from tacit.runtimes.together import Together
from tacit.study.steps import write_steps

WAYS = OF_SOME
PARTIES = ("north", "south", "east", "west")


def federation(missing: float = 0.0) -> tacit.Federation:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6].copy()
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    return tacit.Federation.simulate(X, y, parties=PARTIES, partition="horizontal", seed=1, allow_missing=missing > 0)


@pytest.fixture
def away(monkeypatch):
    """Lets a party stay away: `away(party, from_)` from every message whose place has that word."""

    def leave(party: str, word: str = "") -> None:
        absent = lambda place, who: who == party and word in place  # noqa: E731 - as the runtime takes it
        monkeypatch.setattr(registry, "Together", partial(Together, absent=absent))

    return leave


def rows_of(fed: tacit.Federation, without: str = "") -> tuple[np.ndarray, np.ndarray]:
    parts = [part for party, part in fed.parts.items() if party != without]
    return np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts])


@pytest.mark.parametrize(
    ("way", "word"),
    [
        ("threshold", "PublicKey"),
        ("threshold", "secure_sum/threshold_sum/Veiled"),
        ("graph_threshold", "protect/Commitment"),
        ("graph_threshold", "secure_sum/graph_threshold_sum/Covered"),
    ],
)
def test_a_hospital_that_stays_away_is_left_out_of_a_scaler_and_named_in_its_report(away, way, word):
    fed = federation()
    away("east", word)
    scaler = tacit.FederatedScaler(secure_sum=way).fit(fed)
    X, _ = rows_of(fed, "east")
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(scaler.var_, X.var(axis=0), rtol=1e-9)
    told = "FederatedScaler is without the records of east, which stayed away"
    assert told in scaler.report_.warnings
    assert told in " ".join(scaler.report_.to_text().split())


@pytest.mark.parametrize("way", WAYS)
def test_an_elm_without_one_hospital_is_the_elm_of_the_others(away, way):
    fed = federation()
    kept = [part for name, part in fed.parts.items() if name != "west"]
    others = tacit.Federation.from_parts([(p.X, p.y) for p in kept], partition="horizontal")
    expected = tacit.SecureELMClassifier(n_hidden=20, random_state=3).fit(others)
    away("west")
    found = tacit.SecureELMClassifier(n_hidden=20, random_state=3, secure_sum=way).fit(fed)
    np.testing.assert_allclose(found.model_.beta, expected.model_.beta, rtol=1e-6, atol=1e-8)
    assert "SecureELMClassifier is without the records of west, which stayed away" in found.report_.warnings


@pytest.mark.parametrize("way", WAYS)
def test_an_evaluation_counts_the_records_of_those_who_are_there(away, way):
    fed = federation()
    model = tacit.SecureELMClassifier(n_hidden=20, random_state=3).fit(fed)
    away("north")
    with pytest.warns(UserWarning, match="without the records of north"):
        judged = tacit.evaluate(model, fed, secure_sum=way)
    assert np.sum(judged.confusion) == len(rows_of(fed, "north")[1])
    assert judged.warnings == ["this is without the records of north, which stayed away"]
    assert "counted at 3 sites" in judged.how


def test_imputer_scaler_and_elm_of_one_pipeline_are_fitted_without_the_same_hospital(away):
    fed = federation(missing=0.1)
    away("south")
    sums = {"secure_sum": "threshold"}
    steps = [("fill", tacit.FederatedImputer(**sums)), ("scale", tacit.FederatedScaler(**sums))]
    model = tacit.SecureELMClassifier(n_hidden=20, random_state=3, **sums)
    pipeline = tacit.Pipeline([*steps, ("model", model)]).fit(fed)
    X, _ = rows_of(fed, "south")
    np.testing.assert_allclose(pipeline[0].statistics_, np.nanmean(X, axis=0), rtol=1e-9)
    assert [line for line in pipeline.report_.warnings if "south, which stayed away" in line] == [
        f"{name} is without the records of south, which stayed away"
        for name in ("FederatedImputer", "FederatedScaler", "SecureELMClassifier")
    ]


def test_nobody_missing_gives_the_pairwise_result_and_no_warning():
    fed = federation()
    pairwise, *others = (tacit.FederatedScaler(secure_sum=how).fit(fed) for how in ("pairwise", *WAYS))
    for scaler in others:
        np.testing.assert_array_equal(pairwise.mean_, scaler.mean_)
        assert not scaler.report_.warnings


@pytest.mark.parametrize("way", WAYS)
def test_by_columns_nobody_can_stay_away(way):
    X, y = load_breast_cancer(return_X_y=True)
    columns, cells = (
        tacit.Federation.simulate(X[:, :6], y, parties=3, partition=split, seed=1)
        for split in ("vertical", "arbitrary")
    )
    elm = tacit.SecureELMClassifier(secure_sum=way, accept_risk=True)
    for model, fed in ((elm, columns), (tacit.FederatedScaler(secure_sum=way), cells)):
        with pytest.raises(LocalError, match=f"partition='{fed.partition}' needs the columns of all: use 'pairwise'"):
            model.fit(fed)


def test_a_study_goes_on_without_a_hospital_from_the_step_on_that_it_missed(away):
    sums = {"secure_sum": "threshold"}
    elm = tacit.SecureELMClassifier(n_hidden=20, random_state=3, **sums)
    steps = write_steps(tacit.Pipeline([("scale", tacit.FederatedScaler(**sums)), ("elm", elm)]))
    fed = federation()
    away("south", "elm_horizontal")
    asked = {"steps": steps, "seed": 3, "partition": "horizontal", "evaluate": {"secure_sum": "threshold"}}
    with pytest.warns(UserWarning, match="without the records of south"):
        done = fed.run("study", {"data": tacit.Records(), "judge": tacit.Records()}, **asked)
    scaled, trained, judged = done.result["ended"]
    assert [each.protocol for each in (scaled, trained, judged)] == ["column_moments", "elm_horizontal", "score_counts"]
    assert "missing" not in {key for note in done.history[: scaled.notes] for key in note}
    for before, step in ((scaled, trained), (trained, judged)):
        assert {"south"} == {n["missing"] for n in done.history[before.notes : step.notes] if "missing" in n}
    assert judged.values["tally"].confusion.sum() == len(rows_of(fed, "south")[1])
