import pytest

from tacit import load
from tacit.cli.settings import value_of


def test_one_file_is_split_between_three_parties(tacit, folder):
    result = tacit("train", "whole.csv", "--set", "C=10", "--set", "kernel=linear")
    assert result.code == 0
    assert "GramSVC on 60 records between 3 parties" in result.out
    assert "model: model.tacit (contains records of party-1, party-2, party-3)" in result.out
    trained = load(folder / "model.tacit")
    assert (trained.C, trained.kernel) == (10, "linear")


def test_several_files_are_a_party_each(tacit, folder):
    assert tacit("train", "bank.csv", "life.csv", "motor.csv", "--out", "m.tacit").code == 0
    assert list(load(folder / "m.tacit").federation_.parts) == ["bank", "life", "motor"]


def test_json_is_one_object_and_nothing_else(tacit, folder):
    result = tacit("train", "whole.csv", "--json", "--compare", "--report", "r.html")
    assert result.err == ""
    summary = result.json
    assert summary["path"] == "model.tacit"
    assert summary["rounds"] == 7
    assert summary["bytes"] > 0
    assert summary["seconds"] > 0
    assert summary["training_accuracy"] > 0.8
    assert summary["comparison"]["training records labelled differently"] == 0
    assert {"protocol", "role", "what"} == set(summary["opens"][0])
    assert {"who", "learnt", "from_whom", "message", "times", "bytes"} == set(summary["learnt"][0])
    assert (folder / "r.html").read_text().startswith("<!")


def test_the_gap_to_the_centralised_learner_is_printed_when_asked(tacit):
    assert "relative gap" not in tacit("train", "whole.csv").out
    assert "relative gap of the dual objective" in tacit("train", "whole.csv", "--compare").out


def test_a_risk_is_accepted_only_when_asked(tacit, refused):
    assert "--accept-risk" in refused("train", "whole.csv", "--estimator", "ShiftSVC")
    assert "training accuracy" in tacit("train", "whole.csv", "--estimator", "ShiftSVC", "--accept-risk").out


def test_two_parties_are_accepted_only_when_asked(tacit):
    result = tacit("train", "bank.csv", "life.csv", "--allow-two-parties", "--json")
    assert "only 2 parties hold data" in result.json["warnings"][0]


def test_the_seed_decides_which_columns_go_to_whom(tacit, folder):
    def parts(seed):
        tacit("train", "whole.csv", "--seed", seed)
        return [part.features for part in load(folder / "model.tacit").federation_.parts.values()]

    assert parts(0) == parts(0) != parts(1)


def test_columns_that_are_no_features_are_dropped(tacit, spoilt):
    assert tacit("train", "site.csv", "--drop", "site").code == 0
    assert "site" not in load(spoilt / "model.tacit").federation_.features


def test_an_old_model_is_replaced(tacit, folder):
    (folder / "model.tacit").write_text("old")
    assert tacit("train", "whole.csv").code == 0
    assert load(folder / "model.tacit").classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", 10), ("1e-3", 1e-3), ("true", True), ("False", False), ("none", None), ("rbf", "rbf"), ("", "")],
)
def test_values_read_like_what_they_look_like(text, value):
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)
