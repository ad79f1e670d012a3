"""Records on a cluster.

Learners by partition and by site, estimators that equal a simulation, and what is refused there.
"""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tacit import SVC, ELMClassifier, ELMRegressor, FederatedScaler, Federation, LocalError, Pipeline

SITES = np.array(["east", "north", "west"])


def records(rows=120):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 3))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 > 0.7, "ill", "well"), SITES[np.arange(rows) % 3]


def table(**changed):
    X, y, site = records()
    return pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": y, "site": site, **changed})


@pytest.fixture
def written(tmp_path):
    """A Parquet file of the table, with other columns where they are given."""

    def write(**changed):
        pq.write_table(table(**changed), tmp_path / "records.parquet")
        return str(tmp_path / "records.parquet")

    return write


def test_every_value_of_a_column_is_a_learner_and_the_model_is_that_of_the_simulated_split(spark, written):
    del spark
    X, y, site = records()
    there = Federation.spark(written(), label="label", site="site")
    assert repr(there) == "<Federation: on Spark, 120 x 3: rows of east 40, north 40, west 40; coordinator driver>"
    here = Federation.simulate(X, y, parties=list(SITES), split="column", by=site)
    how = {
        "C": 2.0,
        "gamma": 0.3,
        "landmark_source": "fourier",
        "landmarks": 20,
        "random_state": 0,
        "tol": 0.2,
        "min_count": 3,
        "accept_risk": True,
    }
    on_spark, simulated = SVC(**how).fit(there), SVC(**how).fit(here)
    np.testing.assert_allclose(on_spark.model_.w, simulated.model_.w, rtol=1e-9)
    assert on_spark.classes_.tolist() == ["ill", "well"]
    assert list(on_spark.feature_names_in_) == ["a", "b", "c"]
    assert on_spark.report_.runtime == "spark"
    assert any("Spark is one trust domain" in line for line in on_spark.report_.not_protected)
    assert on_spark.report_.learnt == simulated.report_.learnt


def test_every_partition_of_a_data_frame_is_a_learner(spark):
    X, y, _ = records()
    frame = spark.createDataFrame(
        [(*map(float, x), label) for x, label in zip(X, y.tolist(), strict=True)], ["a", "b", "c", "label"]
    )
    there = Federation.spark(frame.repartition(4), label="label")
    assert list(there.parts) == ["partition-1", "partition-2", "partition-3", "partition-4"]
    assert sum(there.backend.learners.sizes.values()) == 120
    model = ELMClassifier(n_hidden=15, random_state=0).fit(there)
    reference = ELMClassifier(n_hidden=15, random_state=0).fit(X, y)
    # the same sums, whoever holds the rows
    np.testing.assert_allclose(model.model_.beta, reference.model_.beta, rtol=1e-4, atol=1e-4)


def test_a_csv_file_with_weights_and_a_column_that_is_left_out(spark, tmp_path):
    del spark
    path = tmp_path / "records.csv"
    pa.csv.write_csv(table(heavy=np.resize([1.0, 2.0], 120)), path)
    there = Federation.spark(path, label="label", weight="heavy", drop=["site"], partitions=3)
    assert there.features == ("a", "b", "c")
    model = ELMClassifier(n_hidden=10, random_state=0).fit(there)
    X, y, _ = records()
    reference = ELMClassifier(n_hidden=10, random_state=0).fit(X, y, sample_weight=np.resize([1.0, 2.0], 120))
    np.testing.assert_allclose(model.model_.beta, reference.model_.beta, rtol=1e-4, atol=1e-4)


def test_plain_arrays_train_on_spark_too(spark):
    del spark
    X, y, _ = records()
    how = {"C": 1.0, "rho": 10.0, "max_rounds": 3, "random_state": 0, "disclose": "least"}
    with pytest.warns(match="do not agree"):
        on_spark = SVC(runtime="spark", **how).fit(X, y)
    with pytest.warns(match="do not agree"):
        simulated = SVC(**how).fit(X, y)
    np.testing.assert_allclose(on_spark.decision_function(X), simulated.decision_function(X), rtol=1e-9)


def test_a_classifier_that_holds_records_is_not_trained_on_a_cluster(spark, written):
    del spark
    there = Federation.spark(written(), label="label", site="site")
    with pytest.raises(LocalError, match="consists of its own records, and which would be lost with the run"):
        SVC(kernel="rbf").fit(there)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"b": np.where(np.arange(120) == 7, np.nan, 0.0)},
            "Input X contains NaN: column 'b' of north has missing values: fill them in",
        ),
        (
            {"c": np.where(np.arange(120) == 8, np.inf, 0.0)},
            "Input X contains infinity: column 'c' of west has infinite values",
        ),
        (
            {"label": [None, *["ill", "well"] * 59, "ill"]},
            "Input y contains NaN: column 'label' of east has missing values",
        ),
        (
            {"b": ["text"] * 120},
            r"column 'b' holds string values, not numbers: encode it, or leave it out with drop=\['b'\]",
        ),
        ({"site": [None, *["x", "y"] * 59, "z"]}, "column 'site' names the learners and has missing values"),
        (
            {"site": ["x", "y"] * 60},
            "only 2 parties hold data.*use more partitions= or sites, or accept it with allow_two_parties=True",
        ),
    ],
)
def test_bad_records_are_refused_where_they_are_without_a_value_of_them(spark, written, changed, words):
    del spark
    with pytest.raises(LocalError, match=words):
        Federation.spark(written(**changed), label="label", site="site")


def test_numbers_with_fractions_are_no_classes_and_text_is_no_number(spark, written):
    del spark
    numbers = Federation.spark(written(label=np.linspace(0, 1, 120)), label="label", site="site")
    with pytest.raises(LocalError, match="Unknown label type: continuous"):
        SVC().fit(numbers)
    with pytest.raises(LocalError, match="the label column holds text: use a classifier"):
        ELMRegressor().fit(Federation.spark(written(), label="label", site="site"))


def test_sums_along_a_graph_give_the_same_on_a_cluster(spark, written):
    del spark
    there = Federation.spark(written(), label="label", site="site")
    one, other = (FederatedScaler(secure_sum=how).fit(there) for how in ("pairwise", "graph"))
    np.testing.assert_allclose(other.mean_, one.mean_, atol=1e-9)
    elm = ELMClassifier(n_hidden=4, accept_risk=True)
    model = Pipeline([("scale", FederatedScaler(secure_sum="graph")), ("elm", elm)]).fit(there)
    assert list(model[-1].classes_) == ["ill", "well"]


def test_what_spark_cannot_do_is_refused_before_anything_is_sent(spark, written):
    there = Federation.spark(written(), label="label", site="site")
    with pytest.raises(LocalError, match="secure_sum='ring' shows values to the driver of a Spark cluster"):
        SVC().fit(there)
    with pytest.raises(LocalError, match=r"records on a cluster are not brought here: .*mapInPandas"):
        SVC(accept_risk=True).fit(there).predict(there)
    with pytest.raises(LocalError, match="a copy without the records, which stay on the cluster"):
        SVC().fit(there.rename_features(("x", "y", "z")))
    with pytest.raises(LocalError, match=r"Spark cannot read /nowhere.parquet \(PATH_NOT_FOUND\)"):
        Federation.spark("/nowhere.parquet", label="label")
    with pytest.raises(LocalError, match=r"takes a Spark DataFrame, or the path .* Got list instead"):
        Federation.spark([[1.0]], label="label")
    with pytest.raises(LocalError, match="the DataFrame has no column 'target'"):
        Federation.spark(written(), label="target")
    with pytest.raises(LocalError, match=r"partition-\d of 4 holds no rows: say partitions="):
        Federation.spark(spark.createDataFrame([(0.5, 1)], ["a", "label"]).repartition(4), label="label")


def test_an_error_of_a_step_tells_its_class_and_place_and_keeps_its_words_at_the_executor(spark, written):
    del spark
    far = Federation.spark(written(a=np.full(120, 1e15)), label="label", site="site")
    with pytest.raises(LocalError) as refusal:
        SVC().fit(far)
    assert str(refusal.value).startswith("east stopped at /pan_svm/")
    assert "(LocalError): the error text stays on the cluster" in str(refusal.value)
    assert "1e+15" not in str(refusal.value)
