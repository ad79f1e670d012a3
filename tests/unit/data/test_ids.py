"""Federations of parts with ids hold the records that all parties have, and reports tell how that came to be known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tacit import SVC, FederatedScaler, Federation, LocalError, Pipeline

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 6))
y = (X[:, 0] + X[:, 3] > 0).astype(int)
PARTS = {"north": [0, 1], "south": [2, 3], "east": [4, 5]}
HELD = {name: rng.permutation(N)[:48] for name in PARTS}
COMMON = set.intersection(*(set(rows.tolist()) for rows in HELD.values()))


@pytest.fixture
def files(tmp_path):
    """Some write ids as numbers, some as text with zeros; each in its own order; the labels are south's."""
    for name, columns in PARTS.items():
        rows = HELD[name]
        table = pd.DataFrame(X[np.ix_(rows, columns)], columns=[f"x{j}" for j in columns])
        table.insert(1, "patient", rows if name == "north" else [f" {row:05d}" for row in rows])
        if name == "south":
            table["label"] = y[rows]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return [tmp_path / f"{name}.csv" for name in PARTS]


def test_files_are_aligned_by_their_ids(files):
    told = []
    fed = Federation.from_files(files, partition="vertical", id="patient", progress=told.append)
    assert fed.features == tuple(f"x{j}" for j in range(6))
    assert fed.n_rows == len(COMMON)
    records, labels, _ = fed.pooled()
    rows = [int(np.flatnonzero(np.abs(X - record).max(axis=1) < 1e-9)[0]) for record in records]
    assert set(rows) == COMMON
    np.testing.assert_array_equal(labels, y[rows])
    assert rows != sorted(rows)
    assert told


def test_the_report_of_a_model_tells_of_the_alignment_once(files):
    fed = Federation.from_files(files, partition="vertical", id="patient")
    model = SVC(kernel="linear").fit(fed)
    assert fed.alignment
    assert [o.protocol for o in model.report_.opens].count("open_common") == 1
    alone = SVC(kernel="linear").fit(
        Federation.from_parts([part.X for part in fed.parts.values()], partition="vertical", y=fed.pooled()[1])
    )
    assert model.report_.rounds == alone.report_.rounds + fed.alignment.ledger.rounds
    assert model.report_.bytes > fed.alignment.ledger.bytes
    assert model.report_.traffic[0][1] == sum(
        row.bytes or 0 for row in fed.alignment.ledger if row.place == "/align/protect/PublicKey"
    )
    whole = Pipeline([("scale", FederatedScaler()), ("svc", SVC(kernel="linear"))]).fit(fed)
    counts = [row for row in whole.report_.learnt if row.message == "Count"]
    assert {row.times for row in counts} == {1}
    assert model.federation_.alignment is None


def test_parts_are_aligned_by_lists_of_ids():
    parts = [
        (X[np.ix_(rows, PARTS[name])], y[rows]) if name == "south" else X[np.ix_(rows, PARTS[name])]
        for name, rows in HELD.items()
    ]
    fed = Federation.from_parts(
        parts, partition="vertical", names=list(PARTS), ids=[rows.tolist() for rows in HELD.values()]
    )
    assert fed.n_rows == len(COMMON)
    assert fed.labeller == "south"


def test_two_parties_can_be_aligned(files):
    fed = Federation.from_files(files[:2], partition="vertical", id="patient", allow_two_parties=True)
    assert fed.n_rows == len(set(HELD["north"].tolist()) & set(HELD["south"].tolist()))


def test_too_few_common_records_are_refused(files):
    with pytest.raises(
        LocalError, match=f"fewer than {N} records are common to all parties, and nothing more was opened"
    ):
        Federation.from_files(files, partition="vertical", id="patient", min_records=N)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([1, 2, 2], "rows 2 and 3 of party 'b' have the same id: every record needs its own"),
        (["7", "007", "x"], "rows 1 and 2 of party 'b' have the same id"),
        ([1, 2], r"party 'b' has 3 records and ids of shape \(2,\): give one per record"),
        ([1.5, 2.0, 3.0], "the id in row 1 of party 'b' is a float: ids are whole numbers or text"),
        ([True, False, True], "the id in row 1 of party 'b' is a bool"),
        (["x", "  ", "z"], "row 2 of party 'b' has no id: every record needs one"),
        ([None, "y", "z"], "row 1 of party 'b' has no id"),
        (pd.array([1, 2, None], dtype="Int64"), "row 3 of party 'b' has no id"),
    ],
)
def test_ids_that_are_none_are_refused_in_words(ids, said):
    with pytest.raises(LocalError, match=said):
        Federation.from_parts(
            [X[:3, :1], X[:3, 1:2], X[:3, 2:3]],
            partition="vertical",
            names=["a", "b", "c"],
            ids=[[1, 2, 3], ids, [1, 2, 3]],
        )


def test_what_cannot_be_aligned_is_refused(files):
    three = [X[:3, :1], X[:3, 1:2], X[:3, 2:3]]
    ids = [[1, 2, 3]] * 3
    with pytest.raises(
        LocalError, match="ids align columns of the same records, and this is a horizontal split: leave them out"
    ):
        Federation.from_parts(three, partition="horizontal", ids=ids)
    with pytest.raises(LocalError, match="y= has no ids: give the labels beside their own records"):
        Federation.from_parts(three, partition="vertical", ids=ids, y=[0, 1, 0])
    with pytest.raises(LocalError, match="there are 2 lists of ids for 3 parts"):
        Federation.from_parts(three, partition="vertical", ids=ids[:2])
    with pytest.raises(LocalError, match=r"north.csv has no column 'person' .*every party needs the column of ids"):
        Federation.from_files(files, partition="vertical", id="person")
    pd.DataFrame({"u": [1.0]}).to_csv(files[0].parent / "west.csv", index=False)
    with pytest.raises(LocalError, match=r"west.csv has no column 'patient'"):
        Federation.from_files([*files, files[0].parent / "west.csv"], partition="vertical", id="patient")
