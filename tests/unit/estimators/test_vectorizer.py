"""TableVectorizer: a dirty frame in one line, by what is known of all parties' tables."""

from __future__ import annotations

import warnings

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io

import tacit
from tacit import SVC, Federation, LocalError, Pipeline, TableVectorizer

RNG = np.random.default_rng(2)
N = 300
REGION = RNG.choice(["EU", "US", "Asia"], N, p=[0.5, 0.4, 0.1]).astype(object)
REGION[:3] = "Mars"  # of three records
REGION[10:20] = None
FRAME = pd.DataFrame(
    {
        "patient": 10_000 + RNG.permutation(N),
        "age": RNG.normal(50, 9, N),
        "region": REGION,
        "seen": pd.Timestamp("2020-01-06") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "note": [f"came on day {k}" for k in range(N)],
        "pain": RNG.integers(1, 5, N),
        "rare": [1.0, 2.0, 3.0] + [np.nan] * (N - 3),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "age"] = np.nan
ILL = np.where((FRAME["region"] == "EU") ^ (FRAME["age"].fillna(50) > 50), "yes", "no")
PAIN = {"pain": [1, 2, 3, 4]}
DAYS = ["seen", "seen_year_sin", "seen_year_cos", "seen_week_sin", "seen_week_cos"]
REGIONS = ["region_Asia", "region_EU", "region_US"]
NAMES = ["age", "missingindicator_age", *REGIONS, *DAYS, "pain_1", "pain_2", "pain_3", "pain_4"]
PARTITIONS = pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
NOTICES = pytest.mark.filterwarnings("ignore:column '(patient|note|rare)'")


def simulate(frame=FRAME, partition="horizontal", **options):
    return Federation.simulate(frame, ILL[: len(frame)], parties=3, partition=partition, raw=True, **options)


def expected(frame=FRAME):
    age, days = frame["age"], (frame["seen"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    turns = [2 * np.pi * days / 365.2425, 2 * np.pi * frame["seen"].dt.day_of_week / 7]
    return np.column_stack(
        [
            ((age - FRAME["age"].mean()) / FRAME["age"].std(ddof=0)).fillna(0),
            age.isna(),
            *(frame["region"] == r for r in ("Asia", "EU", "US")),
            (days - days.mean()) / days.std(ddof=0),
            *(f(turn) for turn in turns for f in (np.sin, np.cos)),
            *(frame["pain"] == p for p in PAIN["pain"]),
        ]
    ).astype(float)


@NOTICES
@PARTITIONS
def test_a_dirty_frame_becomes_numbers_and_parties_make_the_same_of_their_parts(partition):
    fed = simulate(partition=partition)
    prepared = TableVectorizer(PAIN).fit(fed)
    assert prepared.get_feature_names_out().tolist() == NAMES
    moved, wanted = prepared.transform(FRAME), expected()
    for j, name in enumerate(NAMES):  # a mean to a sixteenth of the scale, and the scale to a fourth root of two
        if name in ("age", "seen"):
            slope, offset = np.polyfit(wanted[:, j], moved[:, j], 1)
            assert abs(np.log2(slope)) < 0.3
            assert abs(offset) < 0.08
        else:
            np.testing.assert_allclose(moved[:, j], wanted[:, j], atol=1e-9)
    np.testing.assert_array_equal(prepared.transform(fed).pooled()[0], moved)
    assert prepared.kinds_ == {
        "patient": "dropped", "age": "number", "region": "text", "seen": "date", "note": "dropped", "pain": "listed",
        "rare": "dropped",
    }  # fmt: skip
    assert prepared.categories_ == {"region": ("Asia", "EU", "US"), "pain": (1, 2, 3, 4)}


def test_ids_free_text_and_nearly_empty_columns_are_dropped_with_a_notice():
    with pytest.warns(UserWarning, match="column '") as caught:
        prepared = TableVectorizer().fit(simulate())
    said = [str(each.message) for each in caught]
    assert said == prepared.report_.warnings
    assert [line.split("'")[1] for line in said] == ["patient", "note", "rare"]
    assert "column 'patient' looks like ids, whole numbers that hardly any party has twice: it is left out" in said[0]
    kept = {"keep": ["patient"], "drop": ["note", "rare"]}
    with warnings.catch_warnings(action="error"):
        again = TableVectorizer(**kept).fit(simulate())
    assert again.kinds_["patient"] == "number"
    assert again.dropped_ == dict.fromkeys(("note", "rare"), "is left out, as it was asked for")


@NOTICES
def test_the_report_says_what_became_of_each_column_and_who_learnt_what():
    model = Pipeline([("prepare", TableVectorizer(PAIN)), ("svm", SVC(kernel="linear"))]).fit(simulate())
    text = model.report_.to_text(200)
    assert "column region" in text
    assert "3 categories: Asia, EU, US; values are missing" in text
    assert "4 categories: 1, 2, 3, 4" in text
    assert "which values and categories enough records have or lack" in " ".join(text.split())
    assert "Mars" not in text
    assert "Mars" not in str(model.report_.to_dict())


@pytest.mark.slow
@NOTICES
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_one_line_makes_a_pipeline_of_a_plain_frame(kind):
    frame = kind({name: [None if pd.isna(value) else value for value in FRAME[name]] for name in FRAME})
    model = Pipeline([("prepare", TableVectorizer(PAIN)), ("svm", SVC(C=3.0, gamma=0.1))]).fit(frame, ILL)
    assert model.score(frame, ILL) > 0.75


@NOTICES
@pytest.mark.filterwarnings("ignore:column .region. of X has texts in 1 of 1")
def test_it_is_saved_loaded_and_predicts_raw_frames_and_federations(tmp_path):
    fed = simulate()
    model = Pipeline([("prepare", TableVectorizer(PAIN)), ("svm", SVC(C=3.0, gamma=0.1))]).fit(fed)
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    for records in (FRAME, fed, FRAME.head(1)):
        np.testing.assert_array_equal(again.predict(records), model.predict(records))
    assert again.named_steps["prepare"].dropped_ == model.named_steps["prepare"].dropped_
    assert again.named_steps["prepare"].categories_ == model.named_steps["prepare"].categories_
    assert again.report_.to_dict() == model.report_.to_dict()


@pytest.mark.slow
@NOTICES
@PARTITIONS
@pytest.mark.parametrize(
    "declared", [PAIN, {**PAIN, "region": ["Asia", "EU", "Mars", "US"]}], ids=["found", "declared"]
)
def test_tables_without_dates_are_exported_and_equal_scikit_learns(tmp_path, partition, declared):
    frame = FRAME.drop(columns="seen")
    prepared = TableVectorizer(declared).fit(simulate(frame, partition))
    theirs = prepared.to_sklearn().transform(frame)
    np.testing.assert_allclose(theirs.astype(float), prepared.transform(frame), atol=1e-12)
    if partition == "horizontal":
        model = Pipeline([("prepare", prepared), ("svm", SVC(C=3.0, gamma=0.1))]).fit(simulate(frame))
        path = model.export(tmp_path / "model.skops")
        loaded = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_numbers_gaps_and_declared_values_are_exported_to_onnx_as_one_table(tmp_path):
    numbers = FRAME[["age", "pain"]]
    svm = SVC(C=3.0, gamma=0.1)
    model = Pipeline([("prepare", TableVectorizer(PAIN)), ("svm", svm)]).fit(simulate(numbers))
    session = onnxruntime.InferenceSession(model.export(tmp_path / "model.onnx"))
    labels, scores = session.run(["label", "scores"], {"X": numbers.to_numpy(dtype=np.float64)})
    np.testing.assert_array_equal(labels, model.predict(numbers))
    np.testing.assert_allclose(scores, model.decision_function(numbers), atol=1e-9)


@NOTICES
def test_texts_and_dates_are_inputs_of_their_own_in_onnx(tmp_path):
    model = Pipeline([("prepare", TableVectorizer(PAIN)), ("svm", SVC(C=3.0, gamma=0.1))]).fit(simulate())
    session = onnxruntime.InferenceSession(model.export(tmp_path / "model.onnx"))
    days = (FRAME["seen"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    given = FRAME.assign(seen=days, region=FRAME["region"].fillna(""))[[each.name for each in session.get_inputs()]]
    assert list(given) == ["age", "region", "seen", "pain"]
    columns = {name: given[[name]].to_numpy(dtype=object if name == "region" else np.float64) for name in given}
    labels, scores = session.run(["label", "scores"], columns)
    np.testing.assert_array_equal(labels, model.predict(FRAME))
    np.testing.assert_allclose(scores, model.decision_function(FRAME), atol=1e-9)


@pytest.mark.filterwarnings("ignore:column '(patient|note|rare|region)'")
def test_what_nobody_declared_and_what_few_have_has_no_category():
    prepared = TableVectorizer(PAIN).fit(simulate())
    new = FRAME.head(4).assign(region=["Mars", "EU", None, "Venus"], pain=[1, 9, 2, 3])
    np.testing.assert_array_equal(prepared.transform(new)[:, 2:5], [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(prepared.transform(new)[1, -4:], [0, 0, 0, 0])
    with pytest.warns(UserWarning, match="column '(region' of party 'party-\\d|patient|note|rare)"):
        declared = TableVectorizer({**PAIN, "region": ["EU", "US", "Mars"]}).fit(simulate())
    assert declared.categories_["region"] == ("EU", "US")


@NOTICES
@pytest.mark.parametrize("count", [9, 10])
def test_a_category_is_kept_by_the_records_of_all_sites_together(count, tmp_path):
    parts = [pd.DataFrame({"city": ["old"] * 30 + ["else"] * 20, "x": RNG.normal(size=50)}) for _ in range(2)]
    parts[0].loc[: count - 1, "city"] = "new"
    fed = Federation.from_parts(
        [(part, [0, 1] * 25) for part in parts], partition="horizontal", raw=True, allow_two_parties=True
    )
    found = TableVectorizer().fit(fed)
    assert found.categories_ == {"city": ("else", "new", "old") if count == 10 else ("else", "old")}
    saved = found.save(tmp_path / "model.tacit").read_bytes()
    assert (b"new" in saved) == (count == 10)


def test_what_cannot_be_is_refused_in_one_line():
    fed = simulate(FRAME[["age", "region"]])
    for make, words in (
        (lambda: TableVectorizer({"thall": [1]}).fit(fed), "names a column 'thall' that does not exist"),
        (
            lambda: TableVectorizer(drop=["thall"]).fit(fed),
            "'drop' parameter of TableVectorizer names a column 'thall'",
        ),
        (
            lambda: TableVectorizer(keep=["thall"]).fit(fed),
            "'keep' parameter of TableVectorizer names a column 'thall'",
        ),
        (lambda: TableVectorizer(drop=["age", "region"]).fit(fed), "finds no column to learn from"),
        (lambda: TableVectorizer(scale="yes").fit(fed), "The 'scale' parameter of TableVectorizer must be among"),
        (
            lambda: TableVectorizer().fit(fed).transform(FRAME[["age", "region"]].assign(age="old")),
            "column 'age' of X holds texts, and held numbers when TableVectorizer was fitted: write it alike",
        ),
        (
            lambda: TableVectorizer().fit(RNG.normal(size=(40, 2))).transform(pd.DataFrame([[1.0, "old"]])),
            "column 'x1' of X holds texts, and held numbers when TableVectorizer was fitted: write it alike",
        ),
    ):
        with pytest.raises(LocalError, match=words):
            make()


def test_dates_have_no_form_in_scikit_learn_and_the_remedy_works():
    frame = FRAME[["age", "seen"]]
    with pytest.raises(LocalError, match=r"column 'seen' holds dates, .* or fit with drop=\['seen'\]"):
        TableVectorizer().fit(simulate(frame)).to_sklearn()
    assert TableVectorizer(drop=["seen"]).fit(simulate(frame)).to_sklearn().transform(frame).shape == (N, 2)


@NOTICES
def test_over_columns_a_machine_learns_and_answers_in_shares_as_on_whole_records():
    fed = simulate(partition="vertical")
    model = Pipeline([("prepare", TableVectorizer(PAIN)), ("svm", SVC())]).fit(fed)
    values = model.decision_function(FRAME)
    np.testing.assert_allclose(model.decision_function(fed), values, atol=0.02)  # whole numbers of some bits in shares
    assert model.score(fed) > 0.7


def test_a_column_of_many_texts_is_crowded_and_nothing_of_it_is_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=9000), "code": [f"c{k}" for k in rng.integers(0, 2000, 9000)]})
    fed = Federation.simulate(frame, parties=3, raw=True)
    with pytest.warns(UserWarning, match="column 'code' has too many different texts for categories"):
        prepared = TableVectorizer().fit(fed)
    assert prepared.categories_ == {}
