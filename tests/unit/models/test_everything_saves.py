"""Whatever `tacit` offers that fits: it saves, loads, answers as before, and names its columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import make_classification

import tacit
from tacit import SVC, FederatedImputer, Pipeline
from tacit.base.by_name import estimators, own_estimators
from tacit.base.saved import Savable

X, Y = make_classification(90, 4, random_state=3)
FRAME = pd.DataFrame(X, columns=["age", "bmi", "hb", "crp"])

OWN = own_estimators(Savable)


def answers(model, frame):
    return model.predict(frame) if hasattr(model, "predict") else model.transform(frame)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OWN)
def test_every_estimator_comes_back_from_its_file(name, tmp_path):
    kind = estimators(Savable)[name]
    given = {}
    made = kind(**given).fit(FRAME, X[:, 0] if is_regressor(kind()) else np.where(Y, "ill", "well"))
    again = tacit.load(made.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(answers(again, FRAME), answers(made, FRAME))
    for fitted in (made, again):
        assert fitted.feature_names_in_.tolist() == list(FRAME)
        assert fitted.n_features_in_ == 4
    if hasattr(made, "transform"):
        assert again.get_feature_names_out().tolist() == made.get_feature_names_out().tolist()
    assert again.get_params().keys() == made.get_params().keys()


@pytest.mark.parametrize(
    "made",
    [
        SVC(kernel="linear", class_weight={np.int64(0): np.float64(1.0), np.int64(1): 2}),
        SVC(kernel="linear", random_state=np.random.RandomState(3)),
        SVC(features=8, alpha=0.1),
        Pipeline(
            [
                ("fill", FederatedImputer({"age": "most_frequent"}, categories={"age": range(2)})),
                ("learn", SVC(kernel="linear")),
            ]
        ),
    ],
    ids=["class_weight", "random_state", "width", "categories"],
)
def test_parameters_of_any_kind_are_saved(made, tmp_path):
    frame = FRAME.assign(age=(FRAME["age"] > 0) * 1.0)
    made.fit(frame, Y)
    again = tacit.load(made.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.predict(frame), made.predict(frame))


def test_a_pipeline_of_columns_without_names_predicts_files_too(tmp_path, monkeypatch):
    from typer.testing import CliRunner  # noqa: PLC0415 - the command line needs time to import

    from tacit.cli.app import app  # noqa: PLC0415 - as above

    monkeypatch.chdir(tmp_path)
    gaps = np.where(np.arange(X.size).reshape(X.shape) % 17 == 3, np.nan, X)
    made = Pipeline([("fill", FederatedImputer()), ("learn", SVC(kernel="linear"))]).fit(gaps, Y)
    made.save("model.tacit")
    pd.DataFrame(gaps).to_csv("new.csv", index=False)
    done = CliRunner().invoke(app, ["predict", "model.tacit", "new.csv", "--out", "p.csv"], catch_exceptions=False)
    assert done.exit_code == 0
    assert pd.read_csv("p.csv")["label"].tolist() == made.predict(gaps).tolist()
