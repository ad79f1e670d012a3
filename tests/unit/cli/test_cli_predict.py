import csv

import pytest

from tacit import load
from tacit.data import read


@pytest.fixture
def expected(model, folder):
    trained = load(folder / model)
    return trained.predict(trained.federation_.split(read(folder / "whole.csv"))).tolist()


def labels(text):
    return [int(row["label"]) for row in csv.DictReader(text.splitlines())]


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
    (folder / "blank.csv").write_text("\n".join([lines[0], *(line.rsplit(",", 1)[0] + "," for line in lines[1:])]) + "\n")
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
    assert together.out == tacit("predict", "model.tacit", "whole.csv").out
    assert "accuracy" in together.err


def test_libsvm_files_bring_their_labels(tacit, folder):
    lines = (folder / "whole.csv").read_text().splitlines()[1:]
    records = [line.split(",") for line in lines]
    text = "\n".join(f"{r[-1]} " + " ".join(f"{j}:{v}" for j, v in enumerate(r[:-1], 1)) for r in records)
    (folder / "whole.svm").write_text(text + "\n")
    assert tacit("train", "whole.svm").code == 0
    assert "accuracy" in tacit("predict", "model.tacit", "whole.svm").err
