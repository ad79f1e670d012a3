"""A study: heart disease in Cleveland, Budapest, Basel and Zurich, and Long Beach: 920 patients, 1759 values missing.

Each hospital alone, all together through tacit, and all records in one place; then a hospital that took no part; then
the same patients with their columns split. Nothing is imputed, scaled or tuned beforehand: that is part of what the
hospitals do together.

    python examples/06_heart_disease.py [--data FILE] [--splits 5] [--report study.html]

The data: UCI Heart Disease (Janosi, Steinbrunn, Pfisterer, Detrano; CC BY 4.0) as a Parquet file with columns f0 to
f12, label and site; also found as heart-disease-4sites.parquet in the folder TACIT_DATA. Without it, records of the
same shape are generated.
"""

import argparse
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.progress import track
from sklearn import svm
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tacit import (
    SVC,
    FederatedEncoder,
    FederatedGridSearch,
    FederatedImputer,
    FederatedScaler,
    Federation,
    Pipeline,
    evaluate,
)

SITES = {"cleveland": 303, "hungarian": 294, "switzerland": 123, "va": 200}
COLUMNS = (
    "age",
    "sex",
    "pain",
    "pressure",
    "cholesterol",
    "sugar",
    "ecg",
    "rate",
    "angina",
    "depression",
    "slope",
    "thal",
)
VESSELS = 11  # f11 is left out: outside Cleveland few patients have a value, and no sum of so few is opened
KINDS = {
    "pain": (1, 2, 3, 4),
    "ecg": (0, 1, 2),
    "slope": (1, 2, 3),
    "thal": (3, 6, 7),
}  # declared, so that no site has to tell
NUMBERS = tuple(name for name in COLUMNS if name not in KINDS)
SVM = {"C": 1.0, "gamma": 0.03}  # of all records in one place; tacit has the same gamma, and finds its alpha in shares
OWNERS = {"practice": COLUMNS[:3], "laboratory": COLUMNS[3:6], "cardiology": COLUMNS[6:]}  # of the same patients


@dataclass(frozen=True)
class Cohort:
    """Patients: columns with gaps, whether they are ill, and where they are treated."""

    X: np.ndarray
    y: np.ndarray
    site: np.ndarray
    real: bool

    def at(self, rows: np.ndarray) -> "Cohort":
        """Some of them."""
        return Cohort(self.X[rows], self.y[rows], self.site[rows], self.real)

    def federation(self, *sites: str) -> Federation:
        """Every hospital with its own rows."""
        held = [(_frame(self.X[self.site == s]), self.y[self.site == s]) for s in sites or SITES]
        return Federation.from_parts(held, partition="horizontal", names=list(sites or SITES), allow_missing=True)

    def by_columns(self) -> Federation:
        """Every owner with its own columns of all patients; the practice knows who is ill."""
        held = [_frame(self.X[:, [COLUMNS.index(c) for c in own]], own) for own in OWNERS.values()]
        return Federation.from_parts(held, partition="vertical", names=list(OWNERS), y=self.y, allow_missing=True)


def _frame(X: np.ndarray, names: tuple[str, ...] = COLUMNS) -> pa.Table:
    return pa.table(dict(zip(names, X.T, strict=True)))


def load(path: Path | None) -> Cohort:
    """The real cohort where it is found, else one like it."""
    file = path or Path(os.environ.get("TACIT_DATA", "")) / "heart-disease-4sites.parquet"
    if not file.is_file():
        return generated()
    table = pq.read_table(file)
    X = np.column_stack([table[f"f{i}"].to_numpy() for i in range(13) if i != VESSELS]).astype(float)
    X[X[:, COLUMNS.index("cholesterol")] == 0, COLUMNS.index("cholesterol")] = (
        np.nan
    )  # 0 was written for a missing value
    return Cohort(X, (table["label"].to_numpy() > 0).astype(int), np.array(table["site"].to_pylist()), real=True)


def generated(seed: int = 0) -> Cohort:
    """920 patients of four sites that differ in who comes and in what is measured."""
    rng = np.random.default_rng(seed)
    site = np.repeat(list(SITES), list(SITES.values()))
    ill = rng.random(len(site)) < np.repeat([0.46, 0.36, 0.93, 0.75], list(SITES.values()))
    X = rng.normal(size=(len(site), len(COLUMNS))) + 0.55 * ill[:, None] * rng.choice([-1, 1], len(COLUMNS))
    for name, values in KINDS.items():
        j = COLUMNS.index(name)
        X[:, j] = np.array(values)[np.digitize(X[:, j], np.quantile(X[:, j], np.linspace(0, 1, len(values) + 1)[1:-1]))]
    late = {"slope": 0.4, "thal": 0.7}
    gaps = np.array([[0.0 if s == "cleveland" else late.get(c, 0.03) for c in COLUMNS] for s in SITES])
    X[rng.random(X.shape) < np.repeat(gaps, list(SITES.values()), axis=0)] = np.nan
    return Cohort(X, ill.astype(int), site, real=False)


def prepared(partition: str, last: object) -> Pipeline:
    """Gaps, categories and scales, then what learns: fitted by all parties, applied by each to its own."""
    how = {**dict.fromkeys(NUMBERS, "mean"), **dict.fromkeys(KINDS, "most_frequent")}
    return Pipeline([
        ("gaps", FederatedImputer(how, categories=KINDS, partition=partition)),
        ("categories", FederatedEncoder(KINDS, partition=partition)),
        ("scale", FederatedScaler(partition=partition)),
        ("svm", last),
    ])  # fmt: skip


def plain() -> object:
    """The same steps for records in one place."""
    where = {name: COLUMNS.index(name) for name in COLUMNS}
    kinds = make_pipeline(
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        OneHotEncoder(
            categories=[list(map(float, v)) for v in KINDS.values()], handle_unknown="ignore", sparse_output=False
        ),
    )
    columns = make_column_transformer(
        (kinds, [where[c] for c in KINDS]),
        (SimpleImputer(keep_empty_features=True), [where[c] for c in NUMBERS]),
    )
    return make_pipeline(columns, StandardScaler(), svm.SVC(**SVM))


def halves(cohort: Cohort, seed: int) -> tuple[Cohort, Cohort]:
    """At every site half of the ill and half of the others to learn from; the rest to be judged by."""
    rng, learn = np.random.default_rng(seed), np.zeros(len(cohort.y), bool)
    for s in SITES:
        for label in (0, 1):
            rows = np.flatnonzero((cohort.site == s) & (cohort.y == label))
            learn[rng.permutation(rows)[: len(rows) // 2]] = True
    return cohort.at(np.flatnonzero(learn)), cohort.at(np.flatnonzero(~learn))


@dataclass(frozen=True)
class Split:
    """Accuracy on one half by models of the other; `elsewhere`.

    On a site's rows, by the three others, together and pooled.
    """

    alone: dict[str, float]
    together: float
    pooled: float
    elsewhere: dict[str, tuple[float, float]]


def compare(cohort: Cohort, seed: int) -> Split:
    """One split."""
    learn, judge = halves(cohort, seed)
    own = {s: plain().fit(learn.X[learn.site == s], learn.y[learn.site == s]).score(judge.X, judge.y) for s in SITES}
    model = prepared("horizontal", SVC(gamma=SVM["gamma"], random_state=0)).fit(learn.federation())
    pooled = plain().fit(learn.X, learn.y).score(judge.X, judge.y)
    return Split(own, model.score(_frame(judge.X), judge.y), pooled, {s: _elsewhere(learn, judge, s) for s in SITES})


def _elsewhere(learn: Cohort, judge: Cohort, site: str) -> tuple[float, float]:
    """What three hospitals can do for a fourth."""
    rows, new = learn.at(np.flatnonzero(learn.site != site)), judge.at(np.flatnonzero(judge.site == site))
    model = prepared("horizontal", SVC(gamma=SVM["gamma"], random_state=0)).fit(
        rows.federation(*(s for s in SITES if s != site))
    )
    return model.score(_frame(new.X), new.y), plain().fit(rows.X, rows.y).score(new.X, new.y)


def margin(splits: list[Split]) -> tuple[float, float]:
    """By how much together beats the mean of the sites alone, and the standard error of that over the splits."""
    gain = np.array([s.together - np.mean(list(s.alone.values())) for s in splits])
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("nan")


def rows(splits: list[Split]) -> dict[str, list[float]]:
    """The table of the study: accuracy in every split."""
    found = {f"{s} alone": [each.alone[s] for each in splits] for s in SITES}
    found |= {"together, by tacit": [s.together for s in splits], "pooled, scikit-learn": [s.pooled for s in splits]}
    found |= {f"at {s}, by the three others {how}": [each.elsewhere[s][i] for each in splits]
             for s in SITES for i, how in enumerate(("together", "pooled"))}  # fmt: skip
    return found


def tell(splits: list[Split]) -> None:
    """Print it."""
    for name, values in rows(splits).items():
        print(f"  {name:<46} {100 * np.mean(values):5.1f} %")
    gain, error = margin(splits)
    print(
        f"together beats the mean of the sites alone by {100 * gain:.1f} ± {100 * error:.1f} points ({len(splits)}"
        " splits)"
    )


def signed_off(cohort: Cohort, page: Path) -> None:
    """The joint model that the report is about: searched, trained and judged together."""
    learn, judge = halves(cohort, seed=0)
    grid = {"alpha": [0.03, 0.1, 0.3, 1.0], "gamma": [0.01, 0.03, 0.1]}
    search = FederatedGridSearch(SVC(probability=True, random_state=2), grid)
    model = prepared("horizontal", search).fit(learn.federation())
    found = evaluate(model, judge.federation(), name="held-out patients")
    print(
        f"searched: {search.best_params_}; accuracy {found.accuracy:.3f}, area under the ROC curve {found.roc_auc:.3f}"
    )
    model.report_.title = "Heart disease at four hospitals, one classifier"
    print("report:", model.report_.to_html(page))


def by_columns(cohort: Cohort) -> None:
    """The same patients, their columns at three owners."""
    learn, judge = halves(cohort, seed=0)
    split = prepared("vertical", SVC(gamma=SVM["gamma"], random_state=0)).fit(learn.by_columns())
    whole = plain().fit(learn.X, learn.y)
    same = np.mean(split.predict(judge.by_columns()) == whole.predict(judge.X))
    print(f"columns at {', '.join(OWNERS)}: {same:.1%} of the patients judged as by the pooled SVM")


def main() -> None:
    """The study."""
    parser = argparse.ArgumentParser(description="Heart disease at four hospitals.")
    parser.add_argument("--data", type=Path, help="the Parquet file; by default it is looked for in TACIT_DATA")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--report", type=Path, default=Path("heart_disease.html"))
    asked = parser.parse_args()
    cohort = load(asked.data)
    warnings.filterwarnings("ignore", r"\d+ rows are few")  # true, and the pooled SVM stands beside every figure
    print(
        "UCI Heart Disease"
        if cohort.real
        else "generated records of the same shape: set TACIT_DATA to use the real ones"
    )
    tell([compare(cohort, seed) for seed in track(range(asked.splits), "splits")])
    by_columns(cohort)
    signed_off(cohort, asked.report)


if __name__ == "__main__":
    main()
