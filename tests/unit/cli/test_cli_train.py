import subprocess
import sys

import numpy as np
import pytest
from csv_tables import X, Y, columns_of, write
from sklearn.datasets import load_wine, make_friedman1

from tacit import SVR, load
from tacit.base.by_name import own_estimators
from tacit.base.estimator import Federated, FederatedClassifier
from tacit.cli.local.train import CLASSIFIERS, REGRESSORS, WIDTHS, read_value


def test_one_file_is_split_between_three_parties(tacit, folder):
    result = tacit("train", "whole.csv", "--set", "alpha=0.1", "--set", "kernel=linear", "--no-prepare")
    assert result.code == 0
    assert "SVC on 43 records between 3 parties" in result.out
    assert "model: model.tacit (contains no record)" in result.out
    trained = load(folder / "model.tacit")
    assert (trained.alpha, trained.kernel) == (0.1, "linear")


def test_several_files_are_a_party_each(tacit, folder):
    assert tacit("train", "bank.csv", "life.csv", "motor.csv", "--out", "m.tacit").code == 0
    assert list(load(folder / "m.tacit").federation_.parts) == ["bank", "life", "motor"]


def test_json_is_one_object_and_nothing_else(tacit, folder):
    result = tacit("train", "whole.csv", "--json", "--compare", "--report", "r.html")
    assert result.err == ""
    summary = result.json
    assert summary["path"] == "model.tacit"
    assert summary["rounds"] > 7
    assert summary["bytes"] > 0
    assert summary["seconds"] > 0
    assert summary["judged_on"] == 17
    assert summary["accuracy"] > 0.7  # of records that it has not learnt from
    assert summary["comparison"]["training records labelled differently"] < 6
    assert {"protocol", "role", "facts"} == set(summary["opens"][0])
    assert {"who", "facts", "from_whom", "message", "times", "bytes"} == set(summary["learnt"][0])
    assert (folder / "r.html").read_text().startswith("<!")


def test_the_gap_to_the_centralised_learner_is_printed_when_asked(tacit):
    assert "labelled differently" not in tacit("train", "whole.csv").out
    assert "labelled differently" in tacit("train", "whole.csv", "--compare").out


def test_the_split_follows_from_the_columns_of_the_files(tacit, refused, folder):
    assert tacit("train", "bank.csv", "life.csv", "motor.csv").code == 0
    assert load(folder / "model.tacit").federation_.partition == "vertical"
    for name, rows in {"a": slice(0, 20), "b": slice(20, 40), "c": slice(40, 60)}.items():
        write(folder / f"{name}.csv", columns_of(X[rows], labels=Y[rows]))
    assert tacit("train", "a.csv", "b.csv", "c.csv").code == 0
    assert load(folder / "model.tacit").federation_.partition == "horizontal"
    said = refused("train", "a.csv", "life.csv", "motor.csv")
    assert "the files have neither the same columns nor different ones" in said
    assert "say --partition vertical or horizontal" in said


def test_two_parties_are_accepted_only_when_asked(tacit):
    result = tacit("train", "bank.csv", "life.csv", "--allow-two-parties", "--json")
    assert "only 2 parties hold data" in result.json["warnings"][0]


@pytest.mark.slow
def test_the_seed_decides_which_columns_go_to_whom(tacit, folder):
    def parts(seed):
        tacit("train", "whole.csv", "--seed", seed, "--partition", "vertical")
        return [part.features for part in load(folder / "model.tacit").federation_.parts.values()]

    assert parts(0) == parts(0) != parts(1)


def test_columns_that_are_no_features_are_dropped(tacit, spoilt):
    assert tacit("train", "site.csv", "--drop", "site").code == 0
    assert "site" not in load(spoilt / "model.tacit").federation_.features


def write_dirty(folder):
    """Write a file with texts, gaps, dates and ids, and the same in another order, with decimal commas."""
    ids = {"patient": [f"p{i:03d}" for i in range(len(X))], "number": [i + 9000 for i in range(len(X))]}
    texts = {"sex": np.where(Y > 0, "f", "m").tolist(), "seen": [f"2024-{1 + i % 12:02d}-15" for i in range(len(X))]}
    dirty = {**ids, **texts, **columns_of(X)}
    dirty["a"][3] = dirty["sex"][5] = dirty["seen"][7] = ""
    write(folder / "dirty.csv", dirty)
    rows = [line.split(",") for line in (folder / "dirty.csv").read_text().splitlines()]
    (folder / "new.csv").write_text("\n".join(";".join(row[::-1]).replace(".", ",") for row in rows) + "\n")


@pytest.mark.filterwarnings("ignore:column")
def test_a_file_with_texts_gaps_dates_and_ids_is_trained_on_and_predicted(tacit, folder):
    write_dirty(folder)
    trained = tacit("train", "dirty.csv", "--set", "kernel=linear")
    assert trained.code == 0
    assert "texts and dates as numbers" in trained.out
    assert set(load(folder / "model.tacit").steps[0][1].dropped_) == {"patient", "number"}
    predicted = tacit("predict", "model.tacit", "new.csv", "--id", "patient", "--out", "said.csv")
    assert "accuracy" in predicted.err
    assert (folder / "said.csv").read_text().splitlines()[1].startswith("p000,")
    assert tacit("train", "dirty.csv", "--keep", "number").code == 0
    assert set(load(folder / "model.tacit").steps[0][1].dropped_) == {"patient"}


def test_an_old_model_is_replaced(tacit, folder):
    (folder / "model.tacit").write_text("old")
    assert tacit("train", "whole.csv").code == 0
    assert load(folder / "model.tacit").classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", 10), ("1e-3", 1e-3), ("true", True), ("False", False), ("none", None), ("rbf", "rbf"), ("", "")],
)
def test_values_read_like_what_they_look_like(text, value):
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


def test_who_reads_the_help_does_not_wait_for_scikit_learn():
    code = "import sys; from tacit.cli.app import Modules; Modules()['train']; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own


def test_the_help_names_every_learner_that_there_is():
    assert own_estimators(FederatedClassifier) == CLASSIFIERS
    assert sorted(own_estimators(Federated)) == sorted([*CLASSIFIERS, *REGRESSORS])


@pytest.fixture
def prices(folder):
    """Records with numbers to predict, with fractions in one file and whole ones in the other."""
    records, y = make_friedman1(300, 5, noise=0.5, random_state=0)
    names = [f"c{i}" for i in range(5)]
    write(folder / "prices.csv", columns_of(records, names, y))
    write(folder / "whole_prices.csv", columns_of(records, names, (10 * y).round()))


@pytest.mark.usefixtures("prices")
def test_numbers_are_predicted_and_the_figure_is_of_records_that_were_kept_out(tacit, folder, refused):
    told = tacit("train", "prices.csv", "--json").json
    assert isinstance(load(folder / "model.tacit").steps[-1][1], SVR)
    assert (told["judged_on"], told["accuracy"]) == (75, None)
    learnt = tacit("predict", "model.tacit", "prices.csv", "--json").json
    assert 0.5 < told["R2"] < learnt["R2"]
    assert "R2" in tacit("train", "whole_prices.csv", "--regression").out
    assert tacit("train", "prices.csv", "--estimator", "ELMRegressor", "--test-size", 0, "--json").json["R2"] is None
    assert "use SVR or ELMRegressor" in refused("train", "prices.csv", "--regression", "--estimator", "SVC")


@pytest.mark.usefixtures("prices")
def test_a_search_keeps_what_is_set_and_saves_the_best(tacit, folder, refused):
    told = tacit("train", "prices.csv", "--search", "--set", "kernel=rbf", "--json").json
    assert told["searched"]["gamma"] in WIDTHS
    last = load(folder / "model.tacit").steps[-1][1]
    assert (last.gamma, last.kernel) == (told["searched"]["gamma"], "rbf")
    assert "of 5 candidates in five folds" in tacit("train", "prices.csv", "--search", "--set", "kernel=rbf").out
    assert "leave out one of them" in refused("train", "prices.csv", "--search", "--set", "kernel=linear")
    assert "leave out it or --search" in refused("train", "prices.csv", "--search", "--compare")


@pytest.fixture
def wine(folder):
    """Records whose columns differ in scale by more than a thousand, half of them kept apart in `new.csv`."""
    records, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    names = [f"c{i}" for i in range(records.shape[1])]
    for file, rows in (("wine.csv", order[:120]), ("new.csv", order[120:])):
        write(folder / file, columns_of(records[rows], names, y[rows]))
    return "wine.csv"


ROWS = ("--partition", "horizontal", "--estimator", "SVC")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column .* varies")
@pytest.mark.parametrize("how", [(), ROWS], ids=["columns", "rows"])
def test_columns_are_brought_to_one_scale_by_default_and_new_records_too(tacit, wine, how):
    assert "prepared" in tacit("train", wine, *how).out
    assert tacit("predict", "model.tacit", "new.csv", "--json").json["accuracy"] > 0.92
    tacit("train", wine, *how, "--no-prepare")
    assert tacit("predict", "model.tacit", "new.csv", "--json").json["accuracy"] < 0.75


def test_what_preparing_opens_is_said(tacit, wine):
    rows = " ".join(tacit("train", wine, *ROWS).out.split())
    assert "of each column a median and a mean, rounded to a sixteenth of its scale" in rows


@pytest.mark.filterwarnings("ignore:column .* varies")
def test_who_does_not_prepare_is_warned_of_scales_and_the_remedy_works(tacit, wine):
    told = " ".join(tacit("train", wine, "--no-prepare").out.split())
    assert "column 'c12' varies 2," in told
    assert "(tacit train --prepare)" in told
    assert tacit("train", wine, "--prepare", "--json").json["warnings"] == []
    assert "varies" not in tacit("train", "whole.csv", "--no-prepare").out


@pytest.mark.filterwarnings("ignore:column .* varies")
def test_two_parties_of_rows_prepare_only_if_told_to(tacit, wine):
    two = (wine, *ROWS, "--parties", "2")
    left = tacit("train", *two)
    assert left.code == 0
    assert "--prepare" in left.out
    assert "prepared" not in left.out


def test_gaps_are_filled_where_columns_are_prepared(tacit, spoilt):
    del spoilt
    assert "gaps, if any, filled by the mean" in " ".join(tacit("train", "gap.csv").out.split())
    assert tacit("predict", "model.tacit", "whole.csv").code == 0
