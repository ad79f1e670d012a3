"""LIBSVM files that stay sparse, and the rows that come of them."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import tacit
from tacit.choreo import decode, encode
from tacit.cli.app import app
from tacit.errors import LocalError
from tacit.federation import Federation, read, readers
from tacit.federation.part import SparseRows

WIDTH = 30
DENSE = random_array((240, WIDTH), density=0.2, rng=np.random.default_rng(0)).toarray()
LABELS = (DENSE.sum(axis=1) > np.median(DENSE.sum(axis=1))).astype(float)


@pytest.fixture
def files(tmp_path):
    """Return a LIBSVM file of each of three parties; the second one's last columns are 0."""
    paths = []
    for k, suffix in enumerate(("svm", "libsvm", "svmlight")):
        cells = DENSE[k::3].copy()
        cells[:, -2:] *= k != 1
        paths.append(tmp_path / f"site{k}.{suffix}")
        dump_svmlight_file(cells, LABELS[k::3], str(paths[-1]), zero_based=False)
    return paths


def test_files_of_rows_are_trained_on_as_they_are(files):
    settings = {"partition": "horizontal", "n_features": WIDTH}
    sparse, dense = (Federation.from_files(files, sparse=keep, **settings) for keep in (True, False))
    assert sparse.sparse
    assert not dense.sparse
    models = [tacit.SVC(kernel="linear", random_state=0).fit(each) for each in (sparse, dense)]
    assert np.allclose(models[0].model_.weights, models[1].model_.weights, rtol=0, atol=1e-9)


def test_a_file_of_many_cells_stays_sparse_by_itself(files, monkeypatch):
    monkeypatch.setattr(readers, "WIDE", 100)
    assert Federation.from_files(files, partition="horizontal", n_features=WIDTH).sparse
    assert read(files[0], n_features=WIDTH).X.shape == (80, WIDTH)
    assert isinstance(read(files[0], sparse=False).X, np.ndarray)


def test_widths_that_differ_have_to_be_declared_and_the_error_says_how_much(files):
    with pytest.raises(LocalError, match=rf"'site1' has \d+ features, .* pass n_features={WIDTH} or more"):
        Federation.from_files(files, partition="horizontal", sparse=True)


def test_an_index_that_would_make_huge_sums_is_refused(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1 2000000:1\n")
    with pytest.raises(LocalError, match=r"an index of 2000000, nearly all zeros: correct the index, or declare"):
        read(path, sparse=True)
    assert read(path, sparse=True, n_features=2_000_000).X.shape == (1, 2_000_000)


def test_the_command_line_trains_and_predicts_on_sparse_files(files, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "WIDE", 100)
    out = str(tmp_path / "model.tacit")
    named = ["--partition", "horizontal", "--estimator", "SVC", "--set", "kernel=linear", "--out", out]
    trained = CliRunner().invoke(app, ["train", *map(str, files), "--n-features", str(WIDTH), *named])
    assert trained.exit_code == 0, trained.output
    assert [type(step).__name__ for step in tacit.load(out)] == ["FederatedScaler", "SVC"]
    told = CliRunner().invoke(app, ["predict", out, str(files[0]), "--out", str(tmp_path / "told.csv")])
    assert told.exit_code == 0, told.output
    assert len((tmp_path / "told.csv").read_text().splitlines()) == 1 + len(LABELS[::3])


def test_sparse_rows_have_a_wire_form():
    rows = SparseRows.from_scipy(csr_array(DENSE)) - DENSE.mean(axis=0)
    back = decode(encode(rows).join())
    assert np.array_equal(back.toarray(), rows.toarray())
    assert "0." not in repr(rows)


@pytest.mark.parametrize("shift", [None, DENSE.mean(axis=0)], ids=["as they are", "centred"])
def test_sparse_rows_do_what_arrays_do(shift):
    rows = SparseRows.from_scipy(csr_array(DENSE))
    rows, cells = (rows, DENSE) if shift is None else (rows - shift, DENSE - shift)
    some, W = np.array([5, 2, 9]), np.random.default_rng(1).normal(size=(WIDTH, 4))
    pairs = [
        (rows[some].toarray(), cells[some]),
        (rows[cells[:, 0] > 0].toarray(), cells[cells[:, 0] > 0]),
        (rows[3:9].toarray(), cells[3:9]),
        (rows[:, [4, 1]].toarray(), cells[:, [4, 1]]),
        (rows[some, np.array([1, 2, 3])], cells[some, [1, 2, 3]]),
        (rows[4], cells[4]),
        (rows @ W, cells @ W),
        (rows @ W[:, 0], cells @ W[:, 0]),
        (rows.T @ cells, cells.T @ cells),
        (cells.T @ rows, cells.T @ cells),
        ((rows / (1.0 + W[:, 0] ** 2)).toarray(), cells / (1.0 + W[:, 0] ** 2)),
        ((rows * 3.0).toarray(), cells * 3.0),
        (rows.each(np.abs).toarray(), np.abs(cells)),
        (rows.sum(), cells.sum()),
        (rows.sum(axis=0), cells.sum(axis=0)),
        (rows.sum(axis=1), cells.sum(axis=1)),
        (rows.max(axis=0, initial=0.1), cells.max(axis=0, initial=0.1)),
    ]
    for sparse, dense in pairs:
        assert np.allclose(sparse, dense, rtol=0, atol=1e-12)


def test_nothing_makes_an_array_of_all_cells_by_accident():
    rows = SparseRows.from_scipy(csr_array(DENSE))
    for accident in (np.asarray, np.array, np.linalg.norm):
        with pytest.raises(LocalError, match=r"needs all cells: make the records dense before \(X\.toarray\(\)\)"):
            accident(rows)
