"""Pipeline: a federation goes through all steps at its parties; report, file and export are of all of them."""

from __future__ import annotations

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import sklearn.svm
import skops.io
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tacit
from tacit import (
    SVC,
    ELMClassifier,
    FederatedEncoder,
    FederatedGridSearch,
    FederatedImputer,
    FederatedScaler,
    Federation,
    LocalError,
    Pipeline,
)

RNG = np.random.default_rng(3)
N = 160
FRAME = pd.DataFrame(
    {"age": RNG.normal(50, 9, N), "thal": RNG.choice([3.0, 6.0, 7.0], N), "mass": RNG.normal(7e4, 9e3, N)}
)
Y = np.where(FRAME["age"] / 9 + FRAME["thal"] + RNG.normal(size=N) > 11, "ill", "well")
GAPPY = FRAME.mask(RNG.random(FRAME.shape) < 0.1)
CATEGORIES = {"thal": [3, 6, 7]}


def fed_of(frame=GAPPY, partition="horizontal"):
    return Federation.simulate(frame, Y, parties=3, partition=partition, allow_missing=True)


def steps(last, method="standard"):
    imputer = FederatedImputer({"thal": "most_frequent", "mass": "median"}, categories=CATEGORIES, add_indicator=True)
    scaler = FederatedScaler(method, accept_risk=method == "minmax")
    return Pipeline([("fill", imputer), ("encode", FederatedEncoder(CATEGORIES)), ("scale", scaler), ("learn", last)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "partition"),
    [
        (SVC(kernel="linear"), "horizontal"),
        (SVC(), "vertical"),
        (ELMClassifier(partition="horizontal", n_hidden=20), "horizontal"),
        (ELMClassifier(partition="vertical", n_hidden=20, accept_risk=True), "vertical"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_federation_goes_through_and_records_are_judged_alike_whole_or_split(last, partition):
    fed = fed_of(partition=partition)
    pipeline = steps(last).fit(fed)
    assert pipeline.score(fed) > 0.75
    np.testing.assert_array_equal(pipeline.predict(fed), pipeline.predict(GAPPY))
    assert pipeline.n_features_in_ == 3
    assert pipeline.feature_names_in_.tolist() == list(GAPPY)


def test_scaling_over_columns_comes_close_to_scikit_learns_pipeline():
    fed = fed_of(partition="vertical")
    mine = Pipeline([("fill", FederatedImputer()), ("scale", FederatedScaler()), ("learn", SVC())]).fit(fed)
    theirs = make_pipeline(SimpleImputer(), StandardScaler(), sklearn.svm.SVC(tol=1e-8)).fit(GAPPY, Y)
    assert np.corrcoef(mine.decision_function(GAPPY), theirs.decision_function(GAPPY))[0, 1] > 0.97


def test_the_report_says_what_all_steps_opened_and_cost():
    pipeline = steps(SVC(kernel="linear"), "minmax").fit(fed_of())
    parts = [step.report_ for _, step in pipeline.steps]
    report = pipeline.report_
    assert report.rounds == sum(part.rounds for part in parts)
    assert report.bytes == sum(part.bytes for part in parts) == report.traffic[-1][1]
    assert len(report.traffic) == report.rounds == report.traffic[-1][0]
    assert sum(row.times for row in report.learnt) == sum(row.times for part in parts for row in part.learnt)
    assert {o.protocol for o in report.opens} >= {"prepare_columns", "train_svm"}
    assert report.params["scale__method"] == "minmax"
    text = report.to_text(300)
    assert (
        "Pipeline (FederatedImputer > FederatedEncoder > FederatedScaler > SVC) on 160 records between 3 parties"
        in text
    )
    assert "the quantiles that were asked for" in text
    assert "the categories that parties declare" in text
    assert report.parties["party-1"] == "54 records, 3 columns, the labels"


def test_a_pipeline_is_evaluated_as_its_last_step_on_prepared_records():
    fed, pipeline = fed_of(), steps(SVC(kernel="linear"))
    found = tacit.evaluate(pipeline.fit(fed), fed)
    assert found.accuracy == pytest.approx(pipeline.score(fed))
    assert pipeline.report_.evaluations["records"].accuracy == found.accuracy


def test_a_pipeline_comes_back_from_its_file(tmp_path):
    pipeline = steps(SVC()).fit(fed_of())
    path = pipeline.save(tmp_path / "model.tacit")
    again = tacit.load(path)
    assert isinstance(again, Pipeline)
    np.testing.assert_array_equal(again.decision_function(GAPPY), pipeline.decision_function(GAPPY))
    assert again.report_.to_dict() == pipeline.report_.to_dict()
    header = json.loads(path.read_bytes().split(b"\n")[1])
    assert header["estimator"] == "Pipeline"
    assert header["contains_records_of"] == {}
    assert header["classes"] == ["ill", "well"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_exported_files_take_raw_records(method, tmp_path):
    pipeline = steps(SVC(), method).fit(fed_of())
    label, scores = pipeline.predict(GAPPY), pipeline.decision_function(GAPPY)
    session = onnxruntime.InferenceSession(pipeline.export(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    told = session.run(["label", "scores"], {"X": GAPPY.to_numpy()})
    np.testing.assert_array_equal(told[0], label)
    np.testing.assert_allclose(told[1], scores, atol=1e-9)
    path = pipeline.export(tmp_path / "model.skops")
    assert skops.io.get_untrusted_types(file=path) == ["numpy.dtype"]
    np.testing.assert_array_equal(skops.io.load(path, trusted=["numpy.dtype"]).predict(GAPPY), label)
    np.testing.assert_allclose(pipeline.to_sklearn().decision_function(GAPPY), scores, atol=1e-9)


def test_a_step_that_cannot_be_saved_is_refused_before_anything_is_trained():
    trained = []

    class Watched(FederatedScaler):
        def fit(self, X, y=None):
            trained.append(X)
            return super().fit(X, y)

    steps = [("scale", Watched()), ("learn", SVC(kernel="linear"))]
    with pytest.raises(LocalError, match=r"a Watched has no model file: use one of .*FederatedScaler"):
        Pipeline(steps).fit(fed_of(FRAME))
    native = [("fill", SimpleImputer()), ("learn", SVC(kernel="linear"))]
    with pytest.raises(LocalError, match=r"step 'fill' is a SimpleImputer, which has no model file.*savable=False"):
        Pipeline(native).fit(FRAME.to_numpy() / 1e4, Y)
    search = FederatedGridSearch(SVC(), {"C": [1.0]}, refit=False)
    with pytest.raises(LocalError, match=r"FederatedGridSearch\(refit=False\) trains no model that could be saved"):
        Pipeline([("scale", FederatedScaler()), ("learn", search)]).fit(fed_of(FRAME))
    assert not trained
    Pipeline(steps, savable=False).fit(fed_of(FRAME))
    assert trained


def test_a_pipeline_within_a_pipeline_and_one_that_ends_in_a_search_come_back(tmp_path):
    ready = Pipeline([("fill", FederatedImputer()), ("skip", "passthrough"), ("scale", FederatedScaler())])
    search = FederatedGridSearch(SVC(), {"alpha": np.array([0.1, 1.0])})
    pipeline = Pipeline([("ready", ready), ("search", search)]).fit(fed_of())
    again = tacit.load(pipeline.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.decision_function(GAPPY), pipeline.decision_function(GAPPY))
    assert search.best_params_["alpha"] == again["search"].alpha
    assert again.report_.to_dict() == pipeline.report_.to_dict()
    assert len(again.report_.candidates) == 2
    assert pipeline.federation_.features == again.federation_.features == tuple(GAPPY)


def test_a_pipeline_names_the_columns_that_its_last_step_is_given():
    pipeline = steps(SVC(kernel="linear")).fit(fed_of())
    names = pipeline.get_feature_names_out().tolist()
    assert names[:5] == ["age", "thal_3", "thal_6", "thal_7", "mass"]
    assert names == pipeline[:-1].get_feature_names_out().tolist() == list(pipeline["learn"].federation_.features)
    assert pipeline["learn"].coef_.shape == (1, len(names))


def test_plain_arrays_and_scikit_learns_steps_do_as_in_scikit_learn():
    pipeline = Pipeline(
        [("fill", SimpleImputer()), ("scale", FederatedScaler()), ("learn", SVC(kernel="linear"))],
        savable=False,
    )
    assert clone(pipeline).fit(GAPPY.to_numpy(), Y).score(GAPPY.to_numpy(), Y) > 0.8
    fitted = pipeline.fit(GAPPY.to_numpy(), Y)
    assert next(o.protocol for o in fitted.report_.opens) == "prepare_columns"
    assert isinstance(fitted.to_sklearn()["fill"], SimpleImputer)


def test_what_has_no_other_form_is_not_exported(tmp_path):
    gram = Pipeline(
        [("fill", FederatedImputer()), ("scale", FederatedScaler()), ("learn", SVC(features="exact", loss="hinge"))]
    ).fit(fed_of(partition="vertical"))
    with pytest.raises(
        LocalError,
        match="step 'learn' is a SVC, which is not a public model: export a pipeline that ends in SVC",
    ):
        gram.export(tmp_path / "model.onnx")
    with pytest.raises(LocalError, match="step 'learn' is a SVC, which has no counterpart in scikit-learn"):
        gram.to_sklearn()
    native = Pipeline([("fill", SimpleImputer()), ("learn", SVC(kernel="linear"))], savable=False).fit(
        FRAME.to_numpy() / 1e4, Y
    )
    with pytest.raises(LocalError, match="step 'fill' is a SimpleImputer, which has no ONNX form here"):
        native.export(tmp_path / "model.onnx")
    path = native.export(tmp_path / "model.skops")  # as the refusal says
    kept = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(kept.predict(FRAME.to_numpy() / 1e4), native.predict(FRAME.to_numpy() / 1e4))
