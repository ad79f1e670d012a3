"""Records on a Spark cluster: every clinic is a learner, the driver coordinates and sees masked sums, never a record.

    spark-submit examples/05_spark_submit.py                                       # on records that it writes itself
    spark-submit examples/05_spark_submit.py hdfs:///records.parquet label site     # on yours

Shows: a federation on Spark, the PAN-SVM of paper 004 on it, and the model at work on a DataFrame.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from tacit import Federation
from tacit.papers.pan import PanSVC


def written(folder: str) -> str:
    """Ten columns of the breast cancer records, dealt out to four clinics."""
    X, y = load_breast_cancer(return_X_y=True)
    columns = {f"f{j}": column for j, column in enumerate(scale(X)[:, :10].T)}
    clinics = ("north", "east", "south", "west")
    site = [clinics[i % 4] for i in range(len(y))]
    path = Path(folder) / "records.parquet"
    pq.write_table(pa.table({**columns, "label": y, "site": site}), path)
    return str(path)


def main(spark: SparkSession, path: str, label: str, site: str) -> None:
    """Train where the records are, then classify there too."""
    clinics = Federation.spark(path, label=label, site=site, session=spark)
    print(clinics)
    model = PanSVC(C=1.0).fit(clinics)
    print(
        f"the learners agreed in {model.n_iter_} rounds; the driver saw {model.report_.bytes / 1e3:.0f} kB, all of it"
        " masked or public"
    )

    # the model is public and small: it travels with the task, and the records stay where they are
    def right(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            X = batch.select(list(model.feature_names_in_)).to_pandas()
            found = model.predict(X) == batch.column(label).to_numpy(zero_copy_only=False)
            yield pa.RecordBatch.from_pydict({"right": [int(found.sum())], "rows": [len(found)]})

    counts = spark.read.parquet(path).mapInArrow(right, "right long, rows long").collect()
    print(f"accuracy: {sum(c.right for c in counts) / sum(c.rows for c in counts):.3f}")


if __name__ == "__main__":
    session = SparkSession.builder.appName("tacit").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        main(session, *(sys.argv[1:] or (written(folder), "label", "site")))
    session.stop()
