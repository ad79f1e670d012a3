"""What a data scientist meets in the first hour: each test is a thing that once went wrong without a word."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from typer.testing import CliRunner

import tacit
from tacit.attacks.catalogue import attack_of
from tacit.cli.app import app
from tacit.errors import LocalError
from tacit.report.disclosures import fold_ledger

SITES = ("north", "south", "east", "west")


def ward(seed: int, rows: int = 80) -> pd.DataFrame:
    """Return the patients of a ward: ids, numbers with gaps, texts, and dates as texts."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.45
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D")
    typical = ill & (rng.random(rows) < 0.7)
    return pd.DataFrame(
        {
            "patient": [f"P{seed}{k:05d}" for k in range(rows)],
            "age": (rng.normal(55, 9, rows) + 9 * ill).round(),
            "chol": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(240, 40, rows) + 30 * ill),
            "sex": rng.choice(["female", "male"], rows),
            "pain": np.where(typical, "typical", rng.choice(["atypical", "none"], rows)),
            "seen": seen.strftime("%Y-%m-%d"),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return four files of one ward each."""
    folder = tmp_path_factory.mktemp("wards")
    for seed, site in enumerate(SITES):
        ward(seed).to_csv(folder / f"{site}.csv", index=False)
    return [folder / f"{site}.csv" for site in SITES]


@pytest.fixture(scope="module")
def raw(files: list[Path]) -> tacit.Federation:
    """Return the four wards as they are."""
    return tacit.from_files(files, partition="horizontal", label="ill", raw=True)


@pytest.fixture(scope="module")
def model(raw: tacit.Federation) -> Any:
    """Return a model of the raw wards, which leaves the ids out."""
    steps = [("table", tacit.TableVectorizer(drop=["patient"])), ("svm", tacit.SVC(random_state=0))]
    return tacit.Pipeline(steps).fit(raw)


@pytest.fixture
def patients() -> pd.DataFrame:
    """Return new patients, without labels."""
    return ward(9).drop(columns="ill")


def run(*words: object) -> Iterator[str]:
    """Yield what a command says, line by line; it must succeed."""
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code in {0, 1}, done.output
    yield from done.output.splitlines()


# Front door


def test_arguments_are_shown_in_the_order_in_which_they_are_taken() -> None:
    """help() and editors show the signature: it must be the true one."""
    for search, grid in (
        (tacit.FederatedGridSearch, "param_grid"),
        (tacit.FederatedRandomizedSearch, "param_distributions"),
    ):
        assert list(inspect.signature(search).parameters)[:2] == ["estimator", grid]
        made = search(tacit.SVC(), {"C": [1.0]})
        assert isinstance(made.estimator, tacit.SVC)


def test_by_divides_records_by_its_values() -> None:
    """A table that is given by ward is split by ward."""
    X, y = load_breast_cancer(return_X_y=True)
    site = np.random.default_rng(0).choice(["a", "b", "c"], len(X), p=[0.6, 0.3, 0.1])
    found = {name: len(part.X) for name, part in tacit.simulate(X, y, by=site).parts.items()}
    assert found == {name: int((site == name).sum()) for name in "abc"}
    with pytest.raises(LocalError, match="leave by= out, or say split='column'"):
        tacit.simulate(X, y, by=site, split="random")
    with pytest.raises(LocalError, match="leave by= out"):
        tacit.simulate(X, y, by=site, partition="vertical")


def test_parts_may_have_their_parties_names() -> None:
    """A dictionary of parts names the parties."""
    X, y = load_breast_cancer(return_X_y=True)
    assert list(tacit.from_parts(dict.fromkeys(SITES, (X, y)), partition="horizontal").parts) == list(SITES)


def test_a_lacking_column_is_named() -> None:
    """Order does not matter, so the error must not speak of order."""
    table = ward(0)[["age", "chol", "ill"]].fillna(200.0)
    held = [(each.drop(columns="ill"), each["ill"]) for each in (table, table.rename(columns={"chol": "ldl"}), table)]
    with pytest.raises(LocalError, match=r"'party-2' lacks 'chol' and has 'ldl'.*correct the names"):
        tacit.from_parts(held, partition="horizontal")


def test_numbers_as_classes_name_the_regressors() -> None:
    """A target with fractions is a regression's."""
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(LocalError, match="use SVR or ELMRegressor"):
        tacit.SVC().fit(tacit.simulate(X, X[:, 0] + 0.5 * y))


# Raw tables


def test_a_model_asks_neither_for_a_dropped_column_nor_for_an_order(model: Any, patients: pd.DataFrame) -> None:
    """Columns are known by their names, and one that is left out is not needed."""
    known = model.predict(patients)
    for frame in (
        patients.drop(columns="patient"),
        patients[patients.columns[::-1]],
        pl.from_pandas(patients),  # dates as texts
        pl.from_pandas(patients.drop(columns="patient")),
    ):
        assert (model.predict(frame) == known).all()
    with pytest.raises(ValueError, match="age"):
        model.predict(patients.drop(columns="age"))


def test_the_shell_predicts_without_a_dropped_column(model: Any, patients: pd.DataFrame, tmp_path: Path) -> None:
    """`tacit predict` asks for what the model uses."""
    model.save(tmp_path / "m.tacit")
    patients.drop(columns="patient").to_csv(tmp_path / "new.csv", index=False)
    list(run("predict", tmp_path / "m.tacit", tmp_path / "new.csv", "--out", tmp_path / "said.csv"))
    assert (pd.read_csv(tmp_path / "said.csv")["label"] == model.predict(patients)).all()


@pytest.mark.slow
def test_the_gate_takes_the_table_that_was_trained_on(model: Any, files: list[Path], tmp_path: Path) -> None:
    """Texts and dates are prepared by the pipeline, in Python and in the shell."""
    whole = pd.concat([pd.read_csv(file) for file in files])
    found = model.release_check(whole.drop(columns="ill"), whole["ill"], twins=4)
    assert [line.figure is not None for line in found.lines] == [True] * 4
    whole.to_csv(tmp_path / "all.csv", index=False)
    model.save(tmp_path / "m.tacit")
    told = "\n".join(run("release", tmp_path / "m.tacit", tmp_path / "all.csv", "--label", "ill", "--twins", 4))
    assert "membership: area under the curve" in told
    assert "not measured" not in told


# Figures


def test_a_picture_is_what_its_suffix_says(model: Any, raw: tacit.Federation, tmp_path: Path) -> None:
    """Word and PowerPoint take no SVG that is called .png."""
    found = tacit.inspect.permutation_importance(model, raw, n_repeats=1)
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg"}
    for suffix, start in starts.items():
        assert found.save(tmp_path / f"i.{suffix}").read_bytes().startswith(start)
    with pytest.raises(LocalError, match=r"let it end in \.svg, \.png, \.pdf"):
        found.save(tmp_path / "i.bmp")


# Ids and categories that are written in several ways


def test_alignment_tells_what_it_kept_of_what() -> None:
    """A record that is lost to a capital letter is lost with a word."""
    X, y = load_breast_cancer(return_X_y=True)
    ids = [f"P{k:05d}" for k in range(len(X))]
    lower = [each.lower() if k % 5 == 0 else f" {each}" for k, each in enumerate(ids)]
    parts = [(X[:, :10], y), X[:, 10:20], X[:, 20:]]
    given: dict[str, Any] = {"partition": "vertical", "ids": [ids, lower, ids], "names": SITES[:3]}
    with pytest.warns(UserWarning, match="569 would stay if capitals and blanks did not count"):
        strict = tacit.from_parts(parts, **given)
    assert "alignment kept 455 records of 569 at north" in strict.warnings[-1]
    folded = tacit.from_parts(parts, **given, fold_ids=True)
    assert repr(folded.alignment) == "<Alignment: 569 common records; north had 569, south had 569, east had 569>"
    assert not folded.warnings


def test_other_spellings_are_told_at_fit_and_at_predict(patients: pd.DataFrame) -> None:
    """`F`, `FEMALE` and `female` are three categories to a program."""
    wards = [ward(seed).drop(columns="patient") for seed in range(4)]
    wards[1]["sex"] = wards[1]["sex"].str.upper()
    wards[2]["sex"] = wards[2]["sex"].str[0].str.upper()
    parts = [(each.drop(columns="ill"), each["ill"]) for each in wards]
    table = tacit.TableVectorizer()
    with pytest.warns(UserWarning, match=r"'F' and 'FEMALE', 'F' and 'female'.*'FEMALE' and 'female'"):
        table.fit(tacit.from_parts(parts, partition="horizontal", raw=True))
    new = patients.drop(columns="patient").assign(sex="woman")
    with pytest.warns(UserWarning, match="column 'sex' of X has texts in 80 of 80 records"):
        table.transform(new)


def test_a_column_that_is_empty_at_a_site_is_told(raw: tacit.Federation) -> None:
    """The overview says where nobody fills a column."""
    wards = [ward(seed) for seed in range(4)]
    wards[2]["chol"] = np.nan
    parts = {site: (each.drop(columns="ill"), each["ill"]) for site, each in zip(SITES, wards, strict=True)}
    told = tacit.from_parts(parts, partition="horizontal", raw=True).describe().warnings
    assert any("'east': column 'chol' has no value there" in line for line in told)
    assert not any("'chol'" in line for line in raw.describe().warnings)


# Which method, and how good it is


@pytest.mark.slow
def test_a_raw_table_is_advised_about_as_after_a_vectorizer(raw: tacit.Federation, files: list[Path]) -> None:
    """Texts and gaps are no reason why no method fits."""
    found = tacit.advise(raw)
    assert next(iter(found)).name == "SVC"
    assert [step for step, _ in next(iter(found)).model.steps] == ["table", "model"]
    assert repr(found).startswith("320 records, horizontal, between 4 parties, after a TableVectorizer")
    assert next(run("advise", *files, "--label", "ill")) == repr(found).splitlines()[0]


def test_figures_say_of_which_class_they_are(model: Any, raw: tacit.Federation, tmp_path: Path) -> None:
    """Sensitivity of the well is not sensitivity of the ill."""
    found = tacit.evaluate(model, raw, name="wards")
    assert f"sensitivity of yes {found.sensitivity:.4f}" in repr(found)
    other = tacit.evaluate(model, raw, name="wards again", pos_label="no")
    assert other.sensitivity == found.specificity
    assert "sensitivity of no" in other._repr_html_()
    assert "taken for yes" in found._repr_html_()
    assert found.plot("roc").save(tmp_path / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in found.plot()._repr_svg_()
    with pytest.raises(LocalError, match="train with probability=True"):
        found.plot("calibration")


def test_a_decision_plot_takes_texts_and_dates(model: Any) -> None:
    """A model of a raw table is drawn by its own columns."""
    usual = tacit.inspect.decision_plot(model, ("age", "chol"), points=8)
    assert set(usual.at) == {"sex", "pain", "seen"}
    women = tacit.inspect.decision_plot(
        model, ("age", "chol"), points=8, at={"sex": "female", "pain": "typical", "seen": "2024-05-01"}
    )
    assert {"sex": "female", "pain": "typical"}.items() <= women.at.items()
    frame = pd.DataFrame({"age": np.repeat(women.x[3], 8), "chol": women.y, "sex": "female", "pain": "typical"})
    said = model.decision_function(frame.assign(seen="2024-05-01"))
    np.testing.assert_allclose(women.values[:, 3], said, atol=1e-9)  # noqa: PD011 - of a plot
    with pytest.raises(LocalError, match="name one of female, male"):
        tacit.inspect.decision_plot(model, ("age", "chol"), at={"sex": "woman"})
    with pytest.raises(LocalError, match="column 'sex' has categories"):
        tacit.inspect.decision_plot(model, ("age", "sex"))


# What an install without extras runs

PLAIN = """
import sys, warnings
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {"pandas", "polars", "onnx", "onnxruntime", "skops", "nats", "rbcl", "pyspark"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
warnings.simplefilter("error")
"""


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "page", ["README.md", *(pytest.param(f"docs/{p}.md", marks=SLOW) for p in ("quick_start", "for/data-scientist"))]
)
def test_the_first_block_runs_without_extras_and_without_a_warning(page: str, tmp_path: Path) -> None:
    """A newcomer has what `pip install .` brings, and pandas is not among it."""
    block = (Path(__file__).parents[2] / page).read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", PLAIN + block], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# Columns that vary are seen to vary


@pytest.mark.parametrize("middle", [0.6, 0.75, 0.9, -0.75])
def test_no_column_that_varies_is_taken_for_a_constant_one(middle: float) -> None:
    """A centre whose last bracket is half as wide as the one before, and a scale just as wide, is no constant."""
    X = np.random.default_rng(0).normal(middle, 1.0, size=(300, 20))
    wards = tacit.from_parts([X[:100], X[100:200], X[200:]], partition="horizontal")
    scaler = tacit.FederatedScaler().fit(wards)
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), atol=0.1)
    assert (scaler.transform(X).std(axis=0) < 1.3).all()
    assert not wards.describe().warnings


def test_no_column_that_is_nearly_always_the_same_has_a_scale_of_nothing() -> None:
    """About as many values differ as are not few: the column is constant, or it has a scale like its values."""
    rng = np.random.default_rng(0)
    X = np.zeros((450, 60))
    for j in range(60):
        X[rng.choice(450, 14 + j // 4, replace=False), j] = rng.integers(1, 16, 14 + j // 4)
    wards = tacit.from_parts([X[:150], X[150:300], X[300:]], partition="horizontal")
    told = wards.describe()
    assert all(told[f"x{j}"].std == 0 or told[f"x{j}"].std > 0.1 for j in range(60))


# What noise and scales do


def test_columns_of_very_different_scales_and_models_of_noise_are_warned_of() -> None:
    """The remedy of the first works; the second is known in simulation only."""
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate(X, y, parties=4)
    with pytest.warns(UserWarning, match="'x23' varies 215,171 times as much as 'x19'"):
        tacit.SVC(random_state=0).fit(fed)
    few = np.random.default_rng(0).normal(size=(60, 30))
    labels = np.arange(60) % 3 == 0
    with pytest.warns(UserWarning, match="the noise of epsilon=0.1 leaves nothing of 60 records"):
        tacit.SVC(epsilon=0.1, classes=[False, True], random_state=0).fit(tacit.simulate(few, labels))


def test_epsilon_adds_up_over_the_runs_on_the_same_records() -> None:
    """Three runs with epsilon 1 are more than one."""
    X, y = load_breast_cancer(return_X_y=True)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    fed = tacit.simulate(scaled, y, parties=4)
    reports = [tacit.SVC(epsilon=1.0, classes=[0, 1], random_state=0).fit(fed).report_.figures or {} for _ in range(3)]
    words = "epsilon that was spent by {} runs on these records, at most"
    assert words.format(2) in reports[1]
    assert 1.7 < reports[2][words.format(3)] < 2.1


def test_a_pipeline_is_compared_with_the_pooled_learner() -> None:
    """`compare` is for pipelines, too."""
    X, y = load_breast_cancer(return_X_y=True)
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(random_state=0))]
    model = tacit.Pipeline(steps).fit(tacit.simulate(X[:200], y[:200], parties=3), compare=True)
    assert "accuracy of the reference on them" in (model.report_.comparison or {})


def test_a_report_tells_results_before_the_ledger(tmp_path: Path) -> None:
    """Nobody scrolls through a ledger to find a figure."""
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate((X - X.mean(axis=0)) / X.std(axis=0), y, parties=4)
    model = tacit.SVC(random_state=0).fit(fed)
    tacit.evaluate(model, fed)
    page = model.report_.to_html(tmp_path / "report.html").read_text()
    assert page.index('href="#ledger"') < page.index("Confusion: accuracy") < page.index('<section id="ledger"')
    assert len(fold_ledger(model.report_.learnt, list(fed.parts))) < len(model.report_.learnt) / 2


def test_epsilon_is_privacy_and_a_tube_is_a_tube() -> None:
    """In scikit-learn epsilon of a regression is the width of the tube; nobody may sign the wrong one."""
    for made in (tacit.SVR, tacit.ELMRegressor):
        assert "epsilon: train with differential privacy" in str(made.__doc__)
    assert "tube: with" in str(tacit.SVR.__doc__)
    X, _ = load_breast_cancer(return_X_y=True)
    with pytest.raises(LocalError, match="target_range"):  # as of a budget
        tacit.SVR(epsilon=0.1).fit(tacit.simulate(X, X[:, 0]))
    plain = tacit.SVR(tube=0.5, random_state=0).fit(tacit.simulate(X[:, 1:3], X[:, 0], parties=3))
    assert re.search("Differential privacy\\s+No", plain.report_.to_text())


def test_one_epsilon_covers_a_table_with_categories() -> None:
    """Declared categories that are frequent, by noisy counts, are kept; the bill has all steps."""
    wards = [ward(seed)[["age", "pain", "ill"]] for seed in range(4)]
    texts = {"pain": ["typical", "atypical", "none", "never seen"]}
    fed = tacit.from_parts(wards, partition="horizontal", label="ill", categories=texts)
    steps = [
        ("codes", tacit.FederatedEncoder()),
        ("scale", tacit.FederatedScaler()),
        ("svm", tacit.SVC(classes=["no", "yes"], random_state=0)),
    ]
    with pytest.warns(UserWarning, match="'pain': 1 categories have too few records"):
        model = tacit.Pipeline(steps, epsilon=8.0).fit(fed)
    assert [list(kept) for kept in model["codes"].categories_] == [["typical", "atypical", "none"]]
    assert model.report_.figures["epsilon of all steps"] == pytest.approx(8.0, rel=0.01)
    assert any(opened.protocol == "noisy_columns" for opened in model["codes"].report_.opens)
    assert model.score(fed) > 0.5


def test_a_learning_curve_has_a_spread() -> None:
    """One curve falls by chance."""
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate((X - X.mean(axis=0)) / X.std(axis=0), y, parties=3)
    curve = tacit.inspect.learning_curve(tacit.SVC(kernel="linear"), fed, train_sizes=(0.2, 1.0), random_state=0)
    assert curve.scores.shape == (2, 3)
    assert (curve.scores_std > 0).any()
    assert f"{curve.scores_mean[1]:.4f} ± {curve.scores_std[1]:.4f}" in repr(curve)
    with pytest.raises(LocalError, match="n_splits"):
        tacit.inspect.learning_curve(tacit.SVC(), fed, n_splits=0)


def test_a_decision_plot_has_no_lines_no_impossible_values_and_no_entry_without_an_area() -> None:
    """A legend names what is drawn, and no patient has a proline of -200."""
    wine = load_wine(as_frame=True)
    fed = tacit.simulate(wine.data[["proline", "flavanoids"]], wine.target, parties=3)
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(random_state=0))]
    model = tacit.Pipeline(steps).fit(fed)
    usual = tacit.inspect.decision_plot(model, ("proline", "flavanoids"), points=12)
    assert usual.x.min() > 0
    corner = {"proline": (1200.0, 1300.0), "flavanoids": (3.0, 3.2)}
    drawn = tacit.inspect.decision_plot(model, ("proline", "flavanoids"), ranges=corner, points=4)
    assert set(np.unique(drawn.values)) == {0.0}
    pictures = [each.to_svg() for each in (usual, drawn)]
    titles = 1
    entries = [picture.split('id="decision-legend_1"')[1].count("<text") - titles for picture in pictures]
    assert entries == [3, 1]
    cells = re.findall(r'style="fill: (#\w+); stroke: (#\w+)', pictures[0])
    assert len([fill for fill, stroke in cells if fill == stroke]) >= 12 * 12


def test_a_federation_is_not_cut_like_an_array() -> None:
    """The folds of scikit-learn would be of parties."""
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate(X, y)
    for cut in (
        lambda: GridSearchCV(tacit.SVC(), {"alpha": [0.1, 1.0]}).fit(fed),
        lambda: cross_val_score(tacit.SVC(), fed),
    ):
        with pytest.raises(LocalError, match=r"tacit\.FederatedGridSearch.*tacit\.cross_validate"):
            cut()


def test_frames_bring_their_labels_in_a_column() -> None:
    """As files do."""
    frames = {site: ward(seed)[["age", "ill"]] for seed, site in enumerate(SITES)}
    fed = tacit.from_parts(frames, partition="horizontal", label="ill")
    same = tacit.from_parts({s: pl.from_pandas(f) for s, f in frames.items()}, partition="horizontal", label="ill")
    assert fed.features == same.features == ("age",)
    assert fed.targets()[0].tolist() == same.targets()[0].tolist()
    assert set(fed.targets()[0]) == {"yes", "no"}
    with pytest.raises(LocalError, match="no part is a data frame with the column 'sick'"):
        tacit.from_parts(frames, partition="horizontal", label="sick")


@pytest.mark.slow
def test_a_wide_table_can_be_attacked() -> None:
    """An attack on models needs records, and not so many for each column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 60))
    y = (X[:, 0] > 0).astype(np.int64)
    found = attack_of("repeated_release").points(X, y)
    assert {point.knows for point in found} == {5, 10, 20, 40}
    with pytest.raises(LocalError, match=r"50 records of 60 columns that vary .* and 60 records"):
        attack_of("repeated_release").points(X[:50], y[:50])
