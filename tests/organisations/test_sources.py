"""A study between hospitals that keep their records in different places: the model is the same as of one table."""

from __future__ import annotations

import sqlite3
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.datasets import make_classification

import tacit
from organisations.row_sites import check_alike, dealt
from tacit.cli.one_machine import DATASET, ID, LABEL, one_machine

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some
pytest.importorskip("adbc_driver_manager", reason="no ADBC driver: pip install '.[sql]'")

NAMES = ("h1", "h2", "h3")
COLUMNS = [f"x{j}" for j in range(5)]
CREATE = (
    f"create table cohort (n integer primary key, {', '.join(f'{c} double precision' for c in COLUMNS)}, y integer)"
)
QUERY = f'query = "select n as {ID}, {", ".join(COLUMNS)}, y as {LABEL} from cohort order by n"'  # noqa: S608 - our names


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(240, 5, n_informative=4, n_redundant=1, flip_y=0.1, random_state=5)
    return {name: (X[i::3], y[i::3]) for i, name in enumerate(NAMES)}


def inserts(X, y):
    """The statements that put records into a database."""
    yield CREATE
    for n, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        yield f"insert into cohort values ({n}, {', '.join(map(repr, row))}, {label})"  # noqa: S608 - numbers


def keep_in_postgresql(folder, server, X, y):
    server.do("drop table if exists cohort", *inserts(X, y))
    (folder / "cohort.connection").touch(mode=0o600)
    (folder / "cohort.connection").write_text(server.url())
    return f'{QUERY}\nconnection_file = "cohort.connection"'


def keep_in_sqlite(folder, X, y, monkeypatch):
    with sqlite3.connect(folder / "cohort.db") as made:
        for statement in inserts(X, y):
            made.execute(statement)
    made.close()
    monkeypatch.setenv("COHORT", f"sqlite://{folder / 'cohort.db'}")
    return f'{QUERY}\nconnection_env = "COHORT"'


def keep_in_folder(folder, X, y):
    for part, some in enumerate((slice(0, 30), slice(30, None))):
        columns = {c: X[some, j] for j, c in enumerate(COLUMNS)}
        table = pa.table({ID: np.arange(len(X))[some], **columns, LABEL: y[some]})
        (folder / "cohort").mkdir(exist_ok=True)
        parquet.write_table(table, folder / "cohort" / f"part-{part}.parquet")
    return 'path = "cohort/"'


def study():
    svm = tacit.SVC(random_state=3)
    return tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", svm)])


def test_records_in_a_database_in_a_file_and_in_a_folder_train_one_model(rows, postgres, tmp_path, monkeypatch):
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    with one_machine(tmp_path, records, labels, keep=True) as sites, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = {
            "h1": keep_in_postgresql(sites.folder("h1"), postgres, *rows["h1"]),
            "h2": keep_in_sqlite(sites.folder("h2"), *rows["h2"], monkeypatch),
            "h3": keep_in_folder(sites.folder("h3"), *rows["h3"]),
        }
        for site, place in kept.items():
            text = sites.config(site).read_text()
            before, after = text.split(f"[datasets.{DATASET}]\n")
            sites.config(site).write_text(f"{before}[datasets.{DATASET}]\n{place}\n{after.partition(chr(10))[2]}")
            (sites.folder(site) / "cohort.csv").unlink(missing_ok=True)
        for site in sites.sites:
            sites.start(site)
        sites.wait()
        together = study().fit(tacit.connect(sites.config("analyst")))
        alone = study().fit(dealt(sites))
        for site in NAMES:
            assert f"dataset {DATASET}: 80 rows, 5 columns" in (sites.folder(site) / "log").read_text()
    check_alike(alone, together, rows["h1"][0])
