"""`tacit.evaluate` of regressors: the errors that scikit-learn finds on the pooled records."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import tacit
from tacit import LocalError, Report


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return 20 * X, y


def judged(model, table, partition):
    learn, judge = tacit.train_test_split(tacit.simulate(*table, parties=3, partition=partition), random_state=0)
    return model.fit(learn), judge


@pytest.mark.parametrize(
    ("model", "partition"),
    [(tacit.SecureELMRegressor(n_hidden=20, random_state=0), "horizontal"), (tacit.GramSVR(C=100.0), "vertical")],
)
def test_error_and_r2_are_scikit_learns_and_bins_hold_five_records(diabetes, model, partition):
    model, judge = judged(model, diabetes, partition)
    found = tacit.evaluate(model, judge)
    X, y, _ = judge.pooled()
    answers = model.predict(X)
    assert found.r2 == pytest.approx(r2_score(y, answers), abs=1e-6)
    assert found.score == found.r2
    assert found.mean_squared_error == pytest.approx(mean_squared_error(y, answers), rel=1e-6)
    assert found.mean_absolute_error == pytest.approx(mean_absolute_error(y, answers), rel=1e-6)
    assert found.mean_error == pytest.approx(np.mean(y - answers), abs=1e-4)
    edges = np.array([-np.inf, *found.errors.cuts, np.inf])
    np.testing.assert_array_equal(np.histogram(y - answers, edges)[0], found.errors.counts)
    assert min(found.errors.counts) >= 5
    assert np.isnan(found.accuracy)
    assert repr(found).startswith(f"<Evaluation of {len(y)} records: r2 0.")


def test_the_report_has_the_errors_their_histogram_and_what_was_opened(diabetes, tmp_path):
    model, judge = judged(tacit.SecureELMRegressor(n_hidden=20, random_state=0), diabetes, "horizontal")
    found = tacit.evaluate(model, judge, name="held-out patients")
    assert {"error_sums", "target_mean"} <= {opened.protocol for opened in model.report_.opens}
    assert "mean absolute error" in model.report_.to_text()
    page = model.report_.to_html(tmp_path / "r.html").read_text()
    assert "Evaluated on held-out patients" in page
    assert "Target minus answer" in page
    again = Report.from_dict(json.loads(json.dumps(model.report_.to_dict())))
    assert again.evaluations["held-out patients"].figures() == found.figures()


def test_a_regression_is_refused_in_one_line_where_nothing_may_be_told(diabetes):
    X, y = diabetes
    model, judge = judged(tacit.SecureELMRegressor(n_hidden=20, random_state=0), diabetes, "horizontal")
    cases = [
        (judge, {"per_site": True}, "per_site shows counts of classes, and a regressor has none: leave it out"),
        (
            judge,
            {"min_count": 500},
            r"has 1\d\d records over all parties, and nothing is opened over fewer",
        ),
        (tacit.simulate(X, parties=3), {}, "has records without targets, and evaluate needs them: give y="),
        (tacit.simulate(X, y.astype(str), parties=3), {}, "a regressor is judged by numbers"),
    ]
    for federation, settings, words in cases:
        with pytest.raises(LocalError, match=words) as caught:
            tacit.evaluate(model, federation, **settings)
        assert "\n" not in str(caught.value)


def test_targets_that_are_all_the_same_have_the_r2_of_scikit_learn(diabetes):
    X, _ = diabetes
    model, _ = judged(tacit.SecureELMRegressor(n_hidden=20, random_state=0), diabetes, "horizontal")
    same = tacit.simulate(X[:60], np.full(60, 100.0), parties=3)
    assert tacit.evaluate(model, same).r2 == r2_score(np.full(60, 100.0), model.predict(X[:60])) == 0.0
