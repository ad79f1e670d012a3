import csv

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet
from sklearn.datasets import make_classification

from tacit import (
    SVC,
    ELMRegressor,
    FederatedEncoder,
    FederatedGridSearch,
    FederatedImputer,
    FederatedScaler,
    Federation,
    Pipeline,
    load,
)
from tacit.federation import read

SMALL = {"features": 20, "alpha": 0.1}


@pytest.fixture
def expected(model, folder):
    trained = load(folder / model)
    return trained.predict(trained.federation_.split(read(folder / "whole.csv"))).tolist()


def labels(text):
    return [int(row["label"]) for row in csv.DictReader(text.splitlines())]


def scores(text):
    return [float(row["score"]) for row in csv.DictReader(text.splitlines())]


def test_without_out_the_predictions_are_csv_on_stdout_and_all_else_is_on_stderr(tacit, model, expected):
    result = tacit("predict", model, "whole.csv")
    assert labels(result.out) == expected
    assert result.err.startswith("predicted 60 records, accuracy 0.")


def test_with_out_they_go_to_a_file(tacit, model, expected, folder):
    result = tacit("predict", model, "whole.csv", "--out", "p.csv")
    assert result.out == ""
    assert result.err.endswith("; written to p.csv\n")
    assert labels((folder / "p.csv").read_text()) == expected


def test_json_is_one_object(tacit, model, expected):
    result = tacit("predict", model, "whole.csv", "--json")
    assert result.err == ""
    assert result.json["predictions"] == expected
    assert 0.8 < result.json["accuracy"] <= 1
    assert tacit("predict", model, "whole.csv", "--json", "--out", "p.csv").json["path"] == "p.csv"


def test_records_without_labels_have_no_accuracy(tacit, model, spoilt, expected):
    del spoilt
    result = tacit("predict", model, "no_label.csv")
    assert labels(result.out) == expected
    assert result.err == "predicted 60 records\n"


def test_records_whose_labels_are_blank_are_predicted_too(tacit, model, folder, expected):
    lines = (folder / "whole.csv").read_text().splitlines()
    (folder / "blank.csv").write_text(
        "\n".join([lines[0], *(line.rsplit(",", 1)[0] + "," for line in lines[1:])]) + "\n"
    )
    result = tacit("predict", model, "blank.csv")
    assert labels(result.out) == expected
    assert result.err == "predicted 60 records\n"


def test_columns_are_found_by_name_in_any_order(tacit, model, folder, expected):
    rows = [line.split(",") for line in (folder / "whole.csv").read_text().splitlines()]
    (folder / "mixed.csv").write_text("\n".join(",".join(reversed(row)) for row in rows) + "\n")
    assert labels(tacit("predict", model, "mixed.csv").out) == expected


def test_split_records_are_matched_by_the_names_of_the_files(tacit):
    assert tacit("train", "bank.csv", "life.csv", "motor.csv").code == 0
    together = tacit("predict", "model.tacit", "motor.csv", "bank.csv", "life.csv")
    whole = tacit("predict", "model.tacit", "whole.csv")
    assert labels(together.out) == labels(whole.out)
    assert scores(together.out) == pytest.approx(scores(whole.out), abs=1e-3)  # of the rounding of shares
    assert "accuracy" in together.err


def test_libsvm_files_bring_their_labels(tacit, folder):
    lines = (folder / "whole.csv").read_text().splitlines()[1:]
    records = [line.split(",") for line in lines]
    text = "\n".join(f"{r[-1]} " + " ".join(f"{j}:{v}" for j, v in enumerate(r[:-1], 1)) for r in records)
    (folder / "whole.svm").write_text(text + "\n")
    assert tacit("train", "whole.svm").code == 0
    assert "accuracy" in tacit("predict", "model.tacit", "whole.svm").err


def patients(n=120):
    """A frame as people have it: a text, gaps, ids, three classes."""
    X, y = make_classification(
        n, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=2
    )
    frame = pd.DataFrame(X, columns=["age", "bmi", "hb", "crp"])
    frame["bmi"] = frame["bmi"].mask(np.arange(n) % 9 == 4)
    frame["sex"] = np.where(X[:, 0] > 0, "f", "m")
    frame["patient"] = [f"P{i:03}" for i in range(n)]
    frame["ill"] = np.array(["no", "some", "yes"])[y]
    return frame


FEATURES = ["age", "bmi", "hb", "crp", "sex"]


@pytest.fixture
def study(folder):
    """study.tacit, a pipeline as docs/study.md writes it, and new.csv."""
    frame = patients()
    fed = Federation.simulate(
        frame[FEATURES], frame["ill"], parties=3, allow_missing=True, categories={"sex": ["f", "m"]}
    )
    search = FederatedGridSearch(SVC(kernel="linear", probability=True), {"alpha": [0.1, 1.0]})
    made = Pipeline(
        [
            ("encode", FederatedEncoder({"sex": ["f", "m"]})),
            ("fill", FederatedImputer()),
            ("scale", FederatedScaler()),
            ("svm", search),
        ]
    ).fit(fed)
    made.save(folder / "study.tacit")
    frame.to_csv(folder / "new.csv", index=False)
    return made, fed, frame


def test_a_saved_pipeline_predicts_raw_records_with_ids_scores_and_probabilities(tacit, study, folder):
    made, fed, frame = study
    result = tacit("predict", "study.tacit", "new.csv", "--label", "ill", "--id", "patient", "--out", "predictions.csv")
    assert result.code == 0
    assert result.err.startswith("predicted 120 records, accuracy 0.")
    found = pd.read_csv(folder / "predictions.csv")
    kinds = ["no", "some", "yes"]
    names = ["patient", "label", *(f"score_{k}" for k in kinds), *(f"probability_{k}" for k in kinds)]
    assert list(found) == names
    assert found["patient"].tolist() == frame["patient"].tolist()
    assert found["label"].tolist() == made.predict(fed).tolist()
    np.testing.assert_allclose(found.filter(like="score_"), made.decision_function(fed), atol=1e-9)
    np.testing.assert_allclose(found.filter(like="probability_"), made.predict_proba(fed), atol=1e-9)


@pytest.mark.usefixtures("study")
def test_the_suffix_says_whether_it_is_csv_or_parquet(tacit, folder):
    tacit("predict", "study.tacit", "new.csv", "--label", "ill", "--id", "patient", "--out", "p.csv")
    tacit("predict", "study.tacit", "new.csv", "--label", "ill", "--id", "patient", "--out", "p.parquet")
    pd.testing.assert_frame_equal(pd.read_csv(folder / "p.csv"), parquet.read_table(folder / "p.parquet").to_pandas())


@pytest.mark.usefixtures("study")
def test_a_file_of_another_kind_is_refused_before_the_model_is_asked(refused):
    said = refused("predict", "study.tacit", "new.csv", "--out", "p.xlsx")
    assert "--out p.xlsx has the unknown suffix '.xlsx': name a file that ends in one of .csv, .parquet, .pq" in said


def test_columns_that_the_model_does_not_know_and_infinite_values_are_refused_in_one_line(refused, study, folder):
    _, _, frame = study
    assert "new.csv has 1 column that the model does not know: leave them out with --drop patient" in refused(
        "predict", "study.tacit", "new.csv", "--label", "ill"
    )
    frame.drop(columns="hb").to_csv(folder / "narrow.csv", index=False)
    assert "narrow.csv lacks 1 column of the model: hb" in refused("predict", "study.tacit", "narrow.csv")
    frame.assign(hb=np.inf).to_csv(folder / "huge.csv", index=False)
    assert "column 'hb' of huge.csv has 120 infinite values (first in row 1)" in refused(
        "predict", "study.tacit", "huge.csv", "--label", "ill", "--id", "patient"
    )
    frame.rename(columns={"patient": "label"}).to_csv(folder / "named.csv", index=False)
    assert "--id label is also a column of the predictions: rename it in the file" in refused(
        "predict", "study.tacit", "named.csv", "--label", "ill", "--id", "label"
    )
    frame[:0].to_csv(folder / "none.csv", index=False)
    assert "none.csv has no records" in refused("predict", "study.tacit", "none.csv")


def test_a_pipeline_is_asked_about_records_that_stay_at_their_sites(tacit, study, folder):
    made, _, frame = study
    parts = np.array_split(np.arange(len(frame)), 3)
    for name, rows in zip(made.federation_.parts, parts, strict=True):
        frame.iloc[rows].to_csv(folder / f"{name}.csv", index=False)
    files = [f"{name}.csv" for name in made.federation_.parts]
    split = tacit("predict", "study.tacit", *files, "--label", "ill", "--id", "patient", "--out", "split.csv")
    assert split.code == 0
    tacit("predict", "study.tacit", "new.csv", "--label", "ill", "--id", "patient", "--out", "whole.csv")
    pd.testing.assert_frame_equal(pd.read_csv(folder / "split.csv"), pd.read_csv(folder / "whole.csv"))
    assert "accuracy 0." in split.err


def test_columns_at_several_parties_are_aligned_by_id(tacit, folder):
    frame = patients(60).drop(columns="sex")
    owned = {"bank": ["age", "bmi"], "life": ["hb"], "motor": ["crp"]}
    made = Pipeline([("fill", FederatedImputer()), ("scale", FederatedScaler()), ("svm", SVC())])
    parts = [(frame[own], frame["ill"]) if name == "bank" else frame[own] for name, own in owned.items()]
    made.fit(Federation.from_parts(parts, names=list(owned), partition="vertical", allow_missing=True))
    made.save(folder / "columns.tacit")
    for k, (name, own) in enumerate(owned.items()):
        others = frame.sample(frac=1, random_state=k)[k:]  # another order, and each lacks records that others have
        others[["patient", *own]].to_csv(folder / f"{name}.csv", index=False)
    files = [f"{name}.csv" for name in reversed(owned)]  # in whatever order
    assert tacit("predict", "columns.tacit", *files, "--id", "patient", "--out", "p.csv").code == 0
    found = pd.read_csv(folder / "p.csv").set_index("patient")["label"]
    assert 55 <= len(found) < 60
    wanted = pd.Series(made.predict(frame[["age", "bmi", "hb", "crp"]]), index=frame["patient"])
    assert (wanted[found.index] == found).all()


def test_a_model_of_numbers_predicts_too(tacit, folder):
    frame = patients()[["age", "hb", "crp"]]
    target = frame["age"] * 3 + frame["hb"]
    frame.assign(label=target).to_csv(folder / "numbers.csv", index=False)
    elm = Pipeline([("scale", FederatedScaler()), ("elm", ELMRegressor(n_hidden=20))])
    elm.fit(Federation.simulate(frame, target, parties=3)).save(folder / "elm.tacit")
    result = tacit("predict", "elm.tacit", "numbers.csv", "--json")
    assert result.json["R2"] > 0.8
    assert result.json["accuracy"] is None
    np.testing.assert_allclose(result.json["columns"]["value"], elm.predict(frame))


def test_a_model_is_asked_once_for_labels_and_scores(tacit, folder):
    X, y = make_classification(60, 4, random_state=0)
    SVC().fit(X, y).save(folder / "counted.tacit")
    pd.DataFrame(X).to_csv(folder / "sixty.csv", index=False)
    assert tacit("predict", "counted.tacit", "sixty.csv").out.startswith("label,score\n")


def test_a_file_of_a_transformer_predicts_nothing(refused, folder):
    X, _ = make_classification(60, 6, random_state=0)
    FederatedScaler().fit(pd.DataFrame(X, columns=list("abcdef"))).save(folder / "scaler.tacit")
    assert "a FederatedScaler predicts nothing: give a model that ends in a classifier" in refused(
        "predict", "scaler.tacit", "whole.csv"
    )
