"""Pipelines on a cluster: the same text gives what it gives in simulation, and no record passes the driver."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit import Federation, LocalError, Pipeline

SITES = np.array(["east", "north", "west"])
ROWS = 240
PAN = {"landmarks": 6, "max_rounds": 4, "random_state": 0}


def records():
    """Records with gaps and columns of different sizes, labels, and whose they are."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(ROWS, 4)) * (1, 10, 0.1, 1)
    y = np.where(X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=ROWS) > 0, "ill", "well")
    X[rng.random(X.shape) < 0.06] = np.nan
    return X, y, SITES[np.arange(ROWS) % 3]


def table():
    X, y, site = records()
    return pa.table({name: X[:, j] for j, name in enumerate("abcd")} | {"label": y, "site": site})


def with_texts():
    """The same records, with a column of texts and one of dates."""
    shade = pa.array(np.resize(["red", "green", "blue"], ROWS))
    since = pa.array(np.datetime64("2020-01-01") + np.arange(ROWS) % 90)
    return table().append_column("shade", shade).append_column("since", since)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    pq.write_table(table(), path)
    return str(path)


@pytest.fixture
def there(spark, file):
    del spark
    return Federation.spark(file, label="label", site="site", allow_missing=True)


@pytest.fixture
def here():
    X, y, site = records()
    held = [(pa.table(dict(zip("abcd", X[site == name].T, strict=True))), y[site == name]) for name in SITES]
    return tacit.from_parts(held, names=list(SITES), partition="horizontal", allow_missing=True)


def searched():
    search = tacit.FederatedGridSearch(tacit.SVC(**PAN), {"C": [0.5, 2.0]})
    return Pipeline([("gaps", tacit.FederatedImputer("median")), ("scale", tacit.FederatedScaler()), ("svm", search)])


def selected():
    chosen = tacit.VotedWrapperSelector(tacit.SVC(**PAN), n_features_to_select=2, step=2, cv=2)
    last = tacit.ELMClassifier(n_hidden=6, probability=True, random_state=0)
    return Pipeline([("gaps", tacit.FederatedImputer()), ("few", chosen), ("elm", last)])


@pytest.mark.parametrize("make", [searched, selected])
@pytest.mark.filterwarnings("ignore")
def test_a_pipeline_fitted_on_spark_is_the_simulated_one_and_is_judged_alike(make, there, here):
    on_spark, simulated = make().fit(there), make().fit(here)
    X, _, _ = records()
    X = pa.table(dict(zip("abcd", X.T, strict=True)))
    np.testing.assert_allclose(on_spark.decision_function(X), simulated.decision_function(X), rtol=1e-9, atol=1e-9)
    found, expected = (tacit.evaluate(m, f, name="all") for m, f in ((on_spark, there), (simulated, here)))
    np.testing.assert_array_equal(found.confusion_matrix, expected.confusion_matrix)
    assert on_spark.report_.runtime == "spark"
    assert any("Spark is one trust domain" in line for line in on_spark.report_.not_protected)


def test_a_step_alone_is_fitted_and_applied_where_the_records_are(there, here):
    filled, expected = (tacit.FederatedImputer().fit(f) for f in (there, here))
    np.testing.assert_allclose(filled.model_.values, expected.model_.values, rtol=1e-9)
    model = tacit.SVC(**PAN)
    with pytest.raises(LocalError, match=r"Input X contains NaN: column '.' of party 'east' .*FederatedImputer first"):
        model.fit(there)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(filled.transform(there))
        alone = tacit.SVC(**PAN).fit(expected.transform(here))
    np.testing.assert_allclose(model.model_.w, alone.model_.w, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_texts_dates_and_gaps_go_to_a_vectorizer_as_they_are(spark, tmp_path):
    del spark
    pq.write_table(with_texts(), tmp_path / "raw.parquet")
    there = Federation.spark(tmp_path / "raw.parquet", label="label", site="site", raw=True)
    assert there.kinds == {"shade": "text", "since": "date"}
    whole = with_texts()
    mine = [whole.filter(pa.array(records()[2] == name)) for name in SITES]
    held = [(part.drop_columns(["label", "site"]), part["label"].to_pylist()) for part in mine]
    here = tacit.from_parts(held, names=list(SITES), partition="horizontal", raw=True)
    elm = ("elm", tacit.ELMClassifier(n_hidden=6, random_state=0))
    with pytest.raises(LocalError, match=r"KeyShare goes from one holder to another.* categories that are declared"):
        Pipeline([("table", tacit.TableVectorizer()), elm]).fit(there)
    steps = [("table", tacit.TableVectorizer(categories={"shade": ["blue", "green", "red"]})), elm]
    on_spark, simulated = (Pipeline(steps).fit(each) for each in (there, here))
    X = whole.drop_columns(["label", "site"])
    np.testing.assert_allclose(on_spark.decision_function(X), simulated.decision_function(X), rtol=1e-9, atol=1e-9)
    with pytest.raises(LocalError, match="column 'shade' holds texts, which SVC cannot use: put a TableVectorizer"):
        tacit.SVC().fit(there)
