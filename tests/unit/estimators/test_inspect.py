"""`tacit.inspect`: which columns matter, where the boundary lies, whether more records would help."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance as sklearn_importance

import tacit
from tacit import LocalError
from tacit.inspect.importance import shuffle

NAMES = ["signal", "half", "noise"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    frame = pd.DataFrame(X * [10.0, 1.0, 5.0] + [100.0, 0.0, -3.0], columns=NAMES)
    return frame, (X[:, 0] + 0.4 * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def fitted(table):
    learn, judge = tacit.train_test_split(tacit.simulate(*table, parties=3), random_state=0)
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(kernel="linear", random_state=0))])
    return model.fit(learn), judge


def test_importances_are_about_those_of_scikit_learn_on_the_pooled_records(fitted, tmp_path):
    model, judge = fitted
    found = tacit.inspect.permutation_importance(model, judge, n_repeats=5, random_state=0)
    X, y, _ = judge.pooled()
    whole = pd.DataFrame(X, columns=NAMES)
    expected = sklearn_importance(model.to_sklearn(), whole, y, n_repeats=5, random_state=0).importances_mean
    np.testing.assert_allclose(found.importances_mean, expected, atol=0.05)
    assert found.features == tuple(NAMES)
    assert found.importances.shape == (3, 5)
    assert found.score == pytest.approx(model.score(whole, y))
    assert list(np.argsort(-found.importances_mean)) == [0, 1, 2]
    assert "signal" in found.save(tmp_path / "bars.svg").read_text()
    assert repr(found).startswith("<Importances: accuracy 0.9")


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_every_party_shuffles_its_own_cells_among_its_own_records(table, partition):
    fed = tacit.simulate(*table, parties=3, partition=partition)
    other = shuffle(fed, 1, seed=0, repeat=0)
    for party, part in fed.parts.items():
        after = other.parts[party]
        np.testing.assert_array_equal(np.sort(after.X, axis=0), np.sort(part.X, axis=0))
        moved = (after.X != part.X).any(axis=0)
        assert moved.tolist() == [j == 1 for j in fed.columns[party]]
        if part.owned is not None:
            assert not after.X[~part.owned].any()


def test_a_decision_plot_needs_nothing_but_a_public_model(fitted, tmp_path):
    model, _ = fitted
    plane = tacit.inspect.decision_plot(model, ("signal", "half"), points=20)
    values, kept = plane.values, plane.at  # noqa: PD011 - no frame
    assert values.shape == (20, 20)
    assert kept == {"noise": pytest.approx(model[0].mean_[2])}
    assert plane.x[0] == pytest.approx(model[0].mean_[0] - 2 * model[0].scale_[0])
    point = pd.DataFrame([[plane.x[4], plane.y[7], kept["noise"]]], columns=NAMES)
    assert values[7, 4] == pytest.approx(model.decision_function(point)[0])
    assert "<svg" in plane.save(tmp_path / "plane.svg").read_text()
    assert plane._repr_svg_() == plane.to_svg()


def test_a_decision_plot_of_three_classes_shows_which_is_chosen():
    X, y = load_iris(return_X_y=True)
    model = tacit.ELMClassifier(n_hidden=12, random_state=0).fit(tacit.simulate(X, y, parties=3))
    at, ranges = {"x0": 5.8, "x1": 3.0}, {"x2": (1.0, 7.0), "x3": (0.0, 2.5)}
    plot = tacit.inspect.decision_plot(model, (2, 3), at=at, ranges=ranges, points=15)
    assert set(np.unique(plot.values)) <= {0.0, 1.0, 2.0}
    assert len(np.unique(plot.values)) > 1
    assert "<svg" in plot.to_svg()


def test_a_decision_plot_of_a_model_that_is_not_public_is_refused(table):
    model = tacit.SVC(features="exact", loss="hinge").fit(
        tacit.simulate(table[0] / table[0].std(), table[1], parties=3)[:90]
    )
    with pytest.raises(LocalError, match="needs a model that is public, and this SVC is not"):
        tacit.inspect.decision_plot(model, ("signal", "half"))


def test_a_learning_curve_rises_with_the_records_and_has_one_report(table, tmp_path):
    frame, y = table
    fed = tacit.simulate((frame - frame.mean()) / frame.std(), y, parties=3)
    curve = tacit.inspect.learning_curve(tacit.SVC(kernel="linear"), fed, train_sizes=(0.1, 0.5, 1.0), random_state=0)
    assert curve.sizes[-1] == pytest.approx(675, abs=3)
    assert np.all(np.diff(curve.sizes) > 0)
    assert curve.scores_mean[-1] > 0.93
    assert sum(opened.protocol == "train_svm" for opened in curve.report.opens) >= 1
    assert "<svg" in curve.save(tmp_path / "curve.svg").read_text()
    with pytest.raises(LocalError, match="The 'train_sizes' parameter of learning_curve must be rising numbers"):
        tacit.inspect.learning_curve(tacit.SVC(), fed, train_sizes=(0.5, 0.2))


# Thresholds, decision curves, calibration: of the bins that an evaluation tells


@pytest.fixture(scope="module")
def judged():
    """Two models of the same training, what is told of each on held-out records, these, and the classes of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + rng.normal(size=1200) > 1, "ill", "well")
    learn, judge = tacit.train_test_split(tacit.simulate(X, y, parties=3), test_size=0.5, random_state=0)
    models = [tacit.SVC(kernel=k, probability=True, random_state=0).fit(learn) for k in ("rbf", "linear")]
    found = [tacit.evaluate(model, judge, pos_label="ill") for model in models]
    return models, found, judge


def test_thresholds_and_net_benefit_equal_those_of_the_records(judged):
    (model, _), (found, _), judge = judged
    truth = judge.targets()[0] == "ill"
    said = model.predict_proba(judge)[:, list(model.classes_).index("ill")]
    sheet = found.plot("roc").table
    assert len(sheet) > 10
    for row in sheet.rows:
        _, _, chance, taken, sensitivity, specificity, precision, negative = row
        above = said > chance
        assert taken == above.sum()
        assert sensitivity == pytest.approx(above[truth].mean())
        assert specificity == pytest.approx(1 - above[~truth].mean())
        assert precision == pytest.approx(truth[above].mean())
        assert negative == pytest.approx(1 - truth[~above].mean())
    for t, benefit, everyone, nobody in found.plot("decision").table.rows:
        above = said > t
        paid = ((above & truth).sum() - (above & ~truth).sum() * t / (1 - t)) / len(truth)
        assert benefit == pytest.approx(paid, abs=1e-9)
        assert everyone == pytest.approx(truth.mean() - (1 - truth.mean()) * t / (1 - t))
        assert nobody == 0
    share = found.plot("calibration").table
    assert sum(share.column("records")) == len(truth)


def test_tables_are_shown_and_written(judged, tmp_path):
    _, (found, _), _ = judged
    for kind in ("roc", "precision", "calibration", "decision", "confusion"):
        drawn = found.plot(kind)
        assert "<table>" in drawn.table._repr_html_()
        assert drawn.save(tmp_path / f"{kind}.png").stat().st_size > 5000
        lines = drawn.table.to_csv(tmp_path / f"{kind}.csv").read_text().splitlines()
        assert (len(lines), lines[0]) == (1 + len(drawn.table), ",".join(drawn.table.heads))
    assert "balanced accuracy" in repr(found.plot().table)


# Two models on the same records


def test_two_models_are_compared_by_records_and_by_counts(judged):
    models, found, judge = judged
    exact = tacit.inspect.compare(*models, judge)
    right = [model.predict(judge) == judge.targets()[0] for model in models]
    b, c = (int((x & ~y).sum()) for x, y in (right, right[::-1]))
    p = binomtest(b, b + c).pvalue
    assert exact.only_first == (b, b)
    assert exact.only_second == (c, c)
    assert exact.p_value == pytest.approx((p, p))
    assert exact.difference == pytest.approx((b - c) / len(right[0]))
    told = tacit.inspect.compare(*found)
    assert told.only_first[0] <= b <= told.only_first[1]
    assert told.p_value[0] <= p <= told.p_value[1]
    assert told.interval[0] <= exact.interval[0] < exact.interval[1] <= told.interval[1]
    assert "p between" in repr(told)
    assert "by confusion counts" in told._repr_html_()
    same = tacit.inspect.compare(models[0], models[0], judge)
    assert (same.p_value, same.difference) == ((1.0, 1.0), 0.0)


def test_a_comparison_by_other_records_is_refused(judged):
    models, found, judge = judged
    with pytest.raises(LocalError, match="of the same records, and these have other numbers of each class"):
        tacit.inspect.compare(found[0], tacit.evaluate(models[1], judge[:300], name="others"))
    with pytest.raises(LocalError, match="use it in a simulation, or compare two evaluations"):
        tacit.inspect.compare(*models)


def test_two_regressors_are_compared_by_their_errors():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    learn, judge = tacit.train_test_split(tacit.simulate(X, y, parties=3), random_state=0)
    models = [tacit.SVR(kernel=kernel, random_state=0).fit(learn) for kernel in ("rbf", "linear")]
    found = tacit.inspect.compare(*models, judge)
    assert found.difference < 0
    assert found.interval[1] < 0
    assert found.p_value[1] < 1e-6
    assert sum((*found.only_first, *found.only_second)) == 2 * found.records


# Records by site


@pytest.fixture(scope="module")
def wards():
    """Four sites: one older, one with a single kind of pain but for three records, one without cholesterol."""
    rng = np.random.default_rng(0)

    def ward(n, age=0.0):
        found = {"age": rng.normal(60 + age, 10, n), "chol": rng.normal(240, 40, n), "sex": rng.choice(["f", "m"], n)}
        return pd.DataFrame({**found, "pain": rng.choice(["a", "b", "c"], n), "ill": rng.choice(["no", "yes"], n)})

    made = {"north": ward(120), "south": ward(160, 8.0), "east": ward(200), "west": ward(140)}
    made["east"]["pain"] = ["a"] * 197 + ["b"] * 3
    made["west"]["chol"] = np.nan
    return made


@pytest.fixture(scope="module")
def sheet(wards):
    """Their table by site."""
    return tacit.inspect.table_one(tacit.from_parts(wards, partition="horizontal", label="ill", raw=True))


def test_table_one_tells_of_each_site_what_describe_would(wards, sheet, tmp_path):
    rows = {row[0]: dict(zip(sheet.heads, row, strict=True)) for row in sheet.rows}
    assert rows["records"]["south"] == "160"
    own = tacit.from_parts(
        {"one": wards["south"][:80], "two": wards["south"][80:]}, partition="horizontal", label="ill", raw=True,
        allow_two_parties=True,
    ).describe()  # fmt: skip
    assert rows["age, mean ± deviation"]["south"] == own["age"].center
    mean, spread = wards["south"]["age"].mean(), pd.concat(wards.values())["age"].std()
    rest = pd.concat([table for site, table in wards.items() if site != "south"])["age"].mean()
    assert rows["age, mean ± deviation"]["largest difference"] == pytest.approx((mean - rest) / spread, abs=0.15)
    assert rows["age, mean ± deviation"]["at"] == "south"
    assert rows["sex = f"]["north"].endswith("%)")
    assert rows["chol, mean ± deviation"]["west"] == "(few)"
    assert rows["chol, missing"]["west"] == "(nearly all)"
    assert sheet.to_csv(tmp_path / "one.csv").read_text().startswith(",all,north,south,east,west,")
    assert "<th>north</th>" in sheet._repr_html_()


def test_table_one_tells_of_no_few_records_and_not_by_what_is_left_of_the_total(wards, sheet):
    rows = {row[0]: row[2:6] for row in sheet.rows}
    assert rows["pain = b"][2] == "(few)"
    assert rows["pain = b"].count("(suppressed)") == 1  # else the total less the others would tell it
    assert rows["pain = a"][2] == "(nearly all)"
    two = {site: wards[site][["pain", "ill"]] for site in ("north", "east")}
    left = tacit.from_parts(two, partition="horizontal", label="ill", raw=True, allow_two_parties=True)
    rows = {row[0]: row[2:4] for row in tacit.inspect.table_one(left).rows}
    assert rows["pain = b"] == ("(suppressed)", "(few)")


def test_table_one_is_of_simulations_by_rows(wards):
    by_columns = tacit.simulate(wards["north"][["age", "chol"]], parties=2, partition="vertical")
    with pytest.raises(LocalError, match="each site may run `tacit describe` on its own file"):
        tacit.inspect.table_one(by_columns)
