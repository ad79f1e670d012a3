"""Columns of texts, from files with gaps to predictions of a raw frame, in the order of docs/study.md."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io

import tacit
from tacit import SVC, FederatedEncoder, FederatedImputer, FederatedScaler, Federation, LocalError, Pipeline

RNG = np.random.default_rng(8)
N = 240
REGIONS = {"region": ["EU", "US", "Asia"]}
WHOLE = pd.DataFrame({"age": RNG.normal(50, 9, N), "region": RNG.choice(REGIONS["region"], N), "dose": RNG.random(N)})
ILL = np.where((WHOLE["region"] == "EU") ^ (WHOLE["age"] > 50), "yes", "no")
FRAME = WHOLE.mask(RNG.random(WHOLE.shape) < 0.1)


@pytest.fixture
def files(tmp_path):
    for k, site in enumerate(("north", "south", "east", "west")):
        FRAME.assign(ill=ILL).iloc[k::4].to_csv(tmp_path / f"{site}.csv", index=False)
    return [tmp_path / f"{site}.csv" for site in ("north", "south", "east", "west")]


def read(files, **options):
    options = options or {"categories": REGIONS, "allow_missing": True}
    return Federation.from_files(files, partition="horizontal", label="ill", **options)


def steps(encoder=None):
    gaps = FederatedImputer({"region": "most_frequent"}, categories=REGIONS)
    learner = SVC(C=3.0, gamma=0.3)
    return Pipeline(
        [("gaps", gaps), ("texts", encoder or FederatedEncoder()), ("scale", FederatedScaler()), ("svm", learner)]
    )


def test_texts_are_filled_encoded_trained_saved_loaded_and_predicted_from_a_raw_frame(files, tmp_path):
    fed = read(files)
    model = steps().fit(fed)
    assert model.score(fed) > 0.75
    order = np.concatenate([np.arange(k, N, 4) for k in range(4)])
    np.testing.assert_array_equal(model.predict(fed), model.predict(FRAME.iloc[order]))
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    np.testing.assert_array_equal(again.predict(read(files)), model.predict(fed))


def test_texts_may_be_declared_once_more_or_by_the_transformers_alone(files):
    model = steps(FederatedEncoder(REGIONS)).fit(read(files))
    raw = steps(FederatedEncoder(REGIONS)).fit(read(files, raw=True))
    assert np.mean(raw.predict(FRAME) == model.predict(FRAME)) > 0.95  # noise is another in each training
    assert np.mean(raw.predict(read(files, raw=True)) == model.predict(read(files))) > 0.95


def test_an_encoder_of_declared_texts_predicts_a_frame_before_and_after_saving(files, tmp_path):
    encoder = FederatedEncoder().fit(read(files))
    again = tacit.load(encoder.save(tmp_path / "encoder.tacit"))
    expected = np.column_stack([FRAME["age"], *(FRAME["region"] == r for r in REGIONS["region"]), FRAME["dose"]])
    np.testing.assert_array_equal(encoder.transform(FRAME), expected.astype(float))
    np.testing.assert_array_equal(again.transform(FRAME), expected.astype(float))


@pytest.mark.slow
@pytest.mark.parametrize("first", ["gaps", "texts"])
def test_a_pipeline_of_texts_is_exported_for_other_programs(files, tmp_path, first):
    gaps, texts, *others = steps().set_params(gaps__add_indicator=True).steps
    before = [gaps, texts] if first == "gaps" else [("texts", FederatedEncoder()), ("gaps", FederatedImputer())]
    model = Pipeline([*before, *others]).fit(read(files))
    path = model.export(tmp_path / "model.skops")
    theirs = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(theirs.predict(FRAME), model.predict(FRAME))
    session = onnxruntime.InferenceSession(model.export(tmp_path / "model.onnx"))
    given = {"age": FRAME[["age"]], "region": FRAME[["region"]].fillna(""), "dose": FRAME[["dose"]]}
    columns = {name: each.to_numpy(dtype=object if name == "region" else np.float64) for name, each in given.items()}
    np.testing.assert_array_equal(session.run(["label"], columns)[0], model.predict(FRAME))


def test_the_most_frequent_text_fills_gaps_and_a_constant_may_be_a_text(files):
    fed = read(files)
    usual = FRAME["region"].value_counts().index[0]
    filled = FederatedImputer().fit(fed)
    assert filled.statistics_[1] == REGIONS["region"].index(usual)
    constant = FederatedImputer({"region": "constant"}, fill_value={"region": "Asia"}).fit(fed)
    assert constant.statistics_[1] == REGIONS["region"].index("Asia")
    assert constant.transform(fed).categories == {"region": ("EU", "US", "Asia")}
    expected = np.where(FRAME["region"].isna(), usual, FRAME["region"])
    np.testing.assert_array_equal(filled.transform(FRAME)["region"], expected)
    np.testing.assert_array_equal(constant.transform(FRAME)["region"], FRAME["region"].fillna("Asia"))


@pytest.mark.parametrize("learner", [SVC(), tacit.SVC(kernel="linear"), tacit.ELMClassifier(partition="horizontal")])
def test_learners_refuse_texts_and_the_remedy_works(files, learner):
    fed = FederatedImputer().fit_transform(read(files))
    with pytest.raises(
        LocalError, match=r"column 'region' holds texts, which \w+ cannot use: encode it by a FederatedE"
    ):
        learner.fit(fed)
    learner.fit(FederatedScaler().fit_transform(FederatedEncoder().fit_transform(fed)))
    with pytest.raises(LocalError, match=r"column 'region' holds texts, which \w+ cannot use: put a TableVectorizer"):
        learner.fit(read(files, raw=True))
    with pytest.raises(
        LocalError, match=r"column 'region' of X holds texts, which \w+ cannot use: put a TableVectorizer"
    ):
        learner.fit(WHOLE, ILL)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (FederatedScaler(), "column 'region' holds texts, which FederatedScaler cannot use: encode it"),
        (FederatedImputer({"region": "mean"}), "column 'region' holds texts, which have no mean: use strategy"),
        (
            FederatedImputer({"region": "most_frequent"}, categories={"region": [0, 1]}),
            "FederatedImputer declares other categories of column 'region' than the federation was made with",
        ),
        (
            FederatedImputer({"region": "constant"}, fill_value={"region": "Mars"}),
            "column 'region' holds texts: give one of those declared for it in fill_value",
        ),
        (
            FederatedImputer({"region": "most_frequent"}, categories={"thall": [0, 1]}),
            "The 'categories' parameter of FederatedImputer names a column 'thall' that does not exist",
        ),
    ],
)
def test_what_makes_no_sense_for_texts_is_refused(files, step, words):
    with pytest.raises(LocalError, match=words):
        step.fit(read(files))


def test_a_frame_with_texts_is_refused_by_a_learner_that_knows_none_and_not_quoted():
    learner = SVC(kernel="linear").fit(WHOLE[["age", "dose"]], ILL)
    with pytest.raises(LocalError, match=r"column 'dose' of X holds texts, which SVC cannot use") as caught:
        learner.predict(WHOLE[["age"]].assign(dose="some"))
    assert "some" not in str(caught.value)


def test_a_text_that_nobody_declared_is_refused_here_and_counts_as_none_at_a_party(files):
    model = steps().fit(read(files))
    with pytest.raises(LocalError, match=r"column 'region' of X has 1 values that nobody declared") as caught:
        model.predict(WHOLE.assign(region=["Mars", *WHOLE["region"][1:]]))
    assert "Mars" not in str(caught.value)
    with pytest.warns(UserWarning, match=r"column 'region' of party '\w+' has \d+ values that nobody declared"):
        encoder = FederatedEncoder({"region": ["EU", "US"]}).fit(read(files, raw=True))
    assert encoder.categories_[0].tolist() == ["EU", "US"]
