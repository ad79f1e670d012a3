"""A plain data frame with texts and gaps, given to `fit` as in scikit-learn, keeps its texts as a federation does."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import sklearn.svm
import skops.io
from sklearn.pipeline import make_pipeline

import tacit
from tacit import SVC, FederatedEncoder, FederatedImputer, FederatedScaler, LocalError, Pipeline, TableVectorizer

RNG = np.random.default_rng(17)
N = 150
REGIONS = {"region": ["EU", "US", "Asia"]}
WHOLE = pd.DataFrame({"age": RNG.normal(50, 9, N), "region": RNG.choice(REGIONS["region"], N), "dose": RNG.random(N)})
ILL = np.where((WHOLE["region"] == "EU") ^ (WHOLE["age"] > 50), "yes", "no")
FRAME = WHOLE.mask(RNG.random(WHOLE.shape) < 0.1)
PUBLIC = tacit.SVC(kernel="linear", random_state=0)


def gaps():
    return FederatedImputer({"region": "most_frequent"}, categories=REGIONS)


def steps(learner=None, encoder=None, **options):
    made = [("gaps", gaps()), ("texts", encoder or FederatedEncoder()), ("scale", FederatedScaler())]
    return Pipeline([*made, ("svm", learner or SVC(random_state=0))], **options)


def test_a_plain_frame_gives_the_model_of_a_federation_of_the_same_frame():
    plain = steps().fit(FRAME, ILL)
    fed = tacit.simulate(FRAME, ILL, parties=3, raw=True)
    together = steps().fit(fed)
    agree = np.corrcoef(plain.decision_function(FRAME), together.decision_function(FRAME))[0, 1]
    assert agree > 0.98  # parties that are imagined need no ten records, so that another digit may be rounded
    assert list(plain["svm"].federation_.features) == ["age", "region_EU", "region_US", "region_Asia", "dose"]
    assert plain.score(FRAME, ILL) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("encoder", [FederatedEncoder(REGIONS), TableVectorizer()])
def test_columns_keep_their_names_from_step_to_step(encoder):
    model = steps(encoder=encoder).fit(FRAME, ILL)
    np.testing.assert_array_equal(model.predict(FRAME), steps().fit(FRAME, ILL).predict(FRAME))


def test_it_is_saved_loaded_and_exported(tmp_path):
    model = steps(PUBLIC).fit(FRAME, ILL)
    expected = model.predict(FRAME)
    np.testing.assert_array_equal(tacit.load(model.save(tmp_path / "model.tacit")).predict(FRAME), expected)
    path = model.export(tmp_path / "model.skops")
    theirs = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(theirs.predict(FRAME), expected)
    session = onnxruntime.InferenceSession(model.export(tmp_path / "model.onnx"))
    given = {"age": FRAME[["age"]].to_numpy(), "dose": FRAME[["dose"]].to_numpy()}
    texts = {"region": FRAME[["region"]].fillna("").to_numpy(dtype=object)}
    np.testing.assert_array_equal(session.run(["label"], {**given, **texts})[0], expected)


@pytest.mark.slow
def test_a_frame_of_polars_and_one_whose_dtype_declares_the_texts_give_the_same():
    expected = steps().fit(FRAME, ILL).predict(FRAME)
    polars = pl.from_pandas(FRAME)
    np.testing.assert_array_equal(steps().fit(polars, ILL).predict(polars), expected)
    declared = FRAME.astype({"region": pd.CategoricalDtype(REGIONS["region"])})
    model = steps().set_params(gaps=FederatedImputer()).fit(declared, ILL)
    np.testing.assert_array_equal(model.predict(FRAME), expected)


def test_steps_without_a_pipeline_and_scikit_learns_own_pipeline_keep_texts_too():
    filled = gaps().fit_transform(FRAME)
    np.testing.assert_array_equal(filled["region"].isna().sum(), 0)
    assert list(filled.index) == list(FRAME.index)
    theirs = make_pipeline(gaps(), FederatedEncoder(), FederatedScaler(), sklearn.svm.SVC()).fit(FRAME, ILL)
    assert theirs[-1].n_features_in_ == 5
    assert theirs.score(FRAME, ILL) > 0.8
    assert gaps().fit_transform(pl.from_pandas(FRAME)).column("region").to_pylist() == filled["region"].tolist()


@pytest.mark.parametrize("pipeline", [Pipeline([("gaps", gaps()), ("svm", PUBLIC)]), make_pipeline(gaps(), PUBLIC)])
def test_a_learner_never_trains_on_the_numbers_of_texts(pipeline):
    with pytest.raises(LocalError, match="holds texts, which SVC cannot use"):
        pipeline.fit(FRAME, ILL)


def test_texts_that_nobody_declared_are_refused_with_a_remedy_that_works():
    with pytest.raises(LocalError, match="FederatedImputer cannot use: declare its texts in categories=, or put a Tab"):
        FederatedImputer().fit(FRAME)
    FederatedImputer(categories=REGIONS).fit(FRAME)
    with pytest.raises(LocalError, match="of FederatedImputer names a column 'regoin' that does not exist"):
        steps().set_params(gaps=FederatedImputer(categories={"regoin": ["EU"]})).fit(FRAME[["age", "dose"]], ILL)


def test_weights_go_with_the_records_and_a_small_frame_needs_no_protection():
    weight = np.where(ILL == "yes", 5.0, 1.0)
    weighed = steps().fit(FRAME, ILL, svm__sample_weight=weight)
    assert np.sum(weighed.predict(FRAME) == "yes") > np.sum(steps().fit(FRAME, ILL).predict(FRAME) == "yes")
    few = slice(12)  # 4 rows at each of three imagined parties
    assert set(steps().fit(FRAME[few], ILL[few]).predict(FRAME)) <= {"yes", "no"}


def test_a_vectorizer_says_which_columns_of_a_plain_frame_it_leaves_out():
    with pytest.warns(UserWarning, match="column 'patient' "):
        TableVectorizer().fit(FRAME.assign(patient=np.arange(N) + 1000))
