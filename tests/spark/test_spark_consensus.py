"""The four variants of paper 000 on Spark: every learner a task, and the driver adds up what it is sent masked."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tacit import Federation
from tacit.papers.consensus import ConsensusSVC

DATA = load_iris()
X, Y = (DATA.data - DATA.data.mean(axis=0)) / DATA.data.std(axis=0), np.where(DATA.target == 1, "yes", "no")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_consensus_on_spark_is_that_of_one_process(partition, kernel):
    how = {"kernel": kernel, "partition": partition, "tol": 0.01, "accept_risk": True, "random_state": 0}
    there = ConsensusSVC(runtime="spark", n_parties=3, **how).fit(X, Y)
    here = ConsensusSVC(n_parties=3, **how).fit(X, Y)
    if partition == "horizontal" and kernel == "rbf":  # landmarks are drawn anew
        assert np.mean(there.predict(X) == here.predict(X)) > 0.95
    else:
        np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-6)


def test_records_of_a_cluster_are_trained_on_where_they_are(spark):
    rows = [(*map(float, x), str(y), f"site{i % 3}") for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    frame = spark.createDataFrame(rows, ["a", "b", "c", "d", "label", "site"])
    federation = Federation.spark(frame, label="label", site="site")
    model = ConsensusSVC(tol=0.01, kernel="rbf", accept_risk=True).fit(federation)
    assert np.mean(model.predict(pd.DataFrame(X, columns=list("abcd"))) == Y) > 0.9
