"""Tables that are larger than memory: read in batches, trained on block by block, equal to the same table in memory."""

from __future__ import annotations

import gc
import os
import re
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tacit
from tacit import scratch
from tacit.errors import LocalError
from tacit.federation import streams

BY_ROWS: dict[str, Any] = {"partition": "horizontal"}
MODELS: dict[str, Callable[[], Any]] = {
    "linear": lambda: tacit.SVC(kernel="linear", class_weight="balanced", random_state=0),
    "landmarks": lambda: tacit.SVC(features=20, random_state=0),
    "poly": lambda: tacit.SVC(kernel="poly", degree=2, features=20, random_state=0),
    "machine": lambda: tacit.ELMClassifier(n_hidden=20, random_state=0),
    "regression": lambda: tacit.ELMRegressor(n_hidden=20, random_state=0, activation="tanh"),
}


def write(place: Path, *, rows: int = 1500, columns: int = 5, labels: tuple[Any, Any] = (0, 1)) -> list[Path]:
    """Write a folder of three files for each party, and return the folders."""
    rng, found = np.random.default_rng(7), []
    for party in "abc":
        folder = place / party
        folder.mkdir()
        X = rng.normal(size=(rows, columns))
        y = np.where(X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=rows) > 0, labels[1], labels[0])
        table = pa.table({**{f"f{j}": X[:, j] for j in range(columns)}, "label": y})
        for k, start in enumerate(range(0, rows, rows // 3)):
            parquet.write_table(table.slice(start, rows // 3), folder / f"{k}.parquet")
        found.append(folder)
    return found


def both(folders: list[Path]) -> tuple[tacit.Federation, tacit.Federation]:
    """Return the same files in memory and on disk."""
    return tacit.from_files(folders, **BY_ROWS), tacit.from_files(folders, **BY_ROWS, stream=True)


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small arrays lie on disk, and batches be small."""
    monkeypatch.setattr(scratch, "LARGE", 256)
    monkeypatch.setattr(streams, "CELLS", 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_streamed_table_gives_the_model_of_the_same_table_in_memory(name: str, tmp_path: Path) -> None:
    here, streamed = both(write(tmp_path))
    assert streamed.streamed
    assert not here.streamed
    one, other = MODELS[name]().fit(here), MODELS[name]().fit(streamed)
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)
    np.testing.assert_allclose(one.predict(here), other.predict(streamed), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_columns_of_a_streamed_table_are_scaled_on_disk(tmp_path: Path) -> None:
    here, streamed = both(write(tmp_path))
    scaled = tacit.FederatedScaler().fit(streamed).transform(streamed)
    assert scaled.streamed
    one, other = (
        tacit.Pipeline([("scale", tacit.FederatedScaler()), ("machine", MODELS["machine"]())]).fit(each)
        for each in (here, streamed)
    )
    np.testing.assert_array_equal(one[-1].predict(here), other[-1].predict(here))
    assert np.abs(np.log2(scaled.pooled()[0].std(axis=0))).max() <= 0.27


@pytest.mark.slow
def test_labels_may_be_texts_and_columns_in_another_order(tmp_path: Path) -> None:
    folders = write(tmp_path, labels=("ill", "well"))
    for file in folders[1].iterdir():
        table = parquet.read_table(file)
        parquet.write_table(table.select(table.column_names[::-1]), file)
    here, streamed = both(folders)
    one, other = (MODELS["machine"]().fit(each) for each in (here, streamed))
    assert other.classes_.tolist() == ["ill", "well"]
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)


def test_a_column_may_be_the_name_of_folders(tmp_path: Path) -> None:
    folders = write(tmp_path)
    for folder in folders:
        for k, file in enumerate(sorted(folder.iterdir())):
            (folder / f"year={2020 + k}").mkdir()
            file.rename(folder / f"year={2020 + k}" / file.name)
    here, streamed = both(folders)
    assert streamed.features == here.features
    np.testing.assert_array_equal(streamed.pooled()[0], here.pooled()[0])


def test_one_file_for_each_party_streams_too(tmp_path: Path) -> None:
    files = [folder / "0.parquet" for folder in write(tmp_path)]
    names = ("a", "b", "c")
    here = tacit.from_files(files, **BY_ROWS, names=names)
    streamed = tacit.from_files(files, **BY_ROWS, names=names, stream=True)
    np.testing.assert_array_equal(streamed.pooled()[0], here.pooled()[0])


@pytest.mark.slow
def test_slices_of_a_streamed_table_lie_on_disk(tmp_path: Path) -> None:
    here, streamed = both(write(tmp_path))
    chosen = streamed[["f1", "f0"]]
    assert chosen.streamed
    np.testing.assert_array_equal(chosen.pooled()[0], here.pooled()[0][:, [1, 0]])
    train, test = tacit.train_test_split(streamed, test_size=0.3, random_state=0)
    assert train.streamed
    same, rest = tacit.train_test_split(here, test_size=0.3, random_state=0)
    np.testing.assert_array_equal(train.pooled()[0], same.pooled()[0])
    assert MODELS["machine"]().fit(same).score(rest) == MODELS["machine"]().fit(train).score(test)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
def test_scratch_files_have_no_name_and_are_gone_with_the_federation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, place = write(tmp_path), tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    streamed = tacit.from_files(folders, **BY_ROWS, stream=True)
    model = MODELS["linear"]().fit(streamed)
    assert count_opened(place) > 0
    assert not list(place.iterdir())
    del streamed
    gc.collect()
    assert count_opened(place) == 0
    assert model.model_.weights.size > 0  # the model needs none of it


def count_opened(place: Path) -> int:
    """Return how many files of a folder this process has open."""
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            found += str(place) in str(descriptor.readlink())
        except FileNotFoundError:  # the one by which this folder was listed
            continue
    return found


def peak_of(name: str, federation: tacit.Federation) -> int:
    """Return how many bytes a training takes at its peak."""
    tracemalloc.start()
    try:
        MODELS[name]().fit(federation)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.scratch.LINES", 200)
    monkeypatch.setattr("tacit.scratch.CELLS", 20_000)
    monkeypatch.setattr(streams, "CELLS", 50_000)
    monkeypatch.setattr("tacit.numeric.features.elm.BLOCK", 20_000)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("name", ["linear", "landmarks", "machine"])
def test_memory_does_not_hold_the_cells(name: str, tmp_path: Path) -> None:
    streamed = tacit.from_files(write(tmp_path, rows=6000, columns=100), **BY_ROWS, stream=True)
    peak_of(name, streamed[:1500])  # what is imported and compiled once
    assert peak_of(name, streamed) < 6000 * 100 * 8  # of one party of three


@pytest.mark.slow
@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("name", ["linear", "landmarks"])
def test_memory_does_not_grow_with_rows(name: str, tmp_path: Path) -> None:
    peaks = []
    for rows in (9_000, 27_000):
        place = tmp_path / str(rows)
        place.mkdir()
        peaks.append(peak_of(name, tacit.from_files(write(place, rows=rows), **BY_ROWS, stream=True)))
    assert peaks[1] - peaks[0] < 10 * 18_000, peaks  # bytes a row, where 150 were needed


def test_more_rows_than_the_memory_allows_are_refused_before_they_are_read(tmp_path: Path) -> None:
    folders = write(tmp_path)
    with pytest.raises(LocalError, match=re.escape("memory='100MB' is less: raise memory, or split the rows")):
        tacit.from_files(folders, **BY_ROWS, stream=True, memory="100MB")
    with pytest.raises(LocalError, match=re.escape("'memory' parameter of Federation must be a number of bytes")):
        tacit.from_files(folders, **BY_ROWS, stream=True, memory="much")


def test_what_cannot_be_streamed_says_so(tmp_path: Path) -> None:
    folders = write(tmp_path)
    streamed = tacit.from_files(folders, **BY_ROWS, stream=True)
    with pytest.raises(LocalError, match=r"needs all records in memory.*set loss='least_squares'"):
        tacit.SVC(loss="hinge").fit(streamed)
    with pytest.raises(LocalError, match="this is a vertical split: leave it out"):
        tacit.from_files(folders, partition="vertical", stream=True)
    with pytest.raises(LocalError, match="reads numbers only, and raw is for other values"):
        tacit.from_files(folders, **BY_ROWS, raw=True, stream=True)
    text = tmp_path / "d.csv"
    text.write_text("f0,label\n1,0\n")
    with pytest.raises(LocalError, match=r"reads Parquet files, or folders of them: write d.csv as Parquet"):
        tacit.from_files([text], **BY_ROWS, stream=True)


def test_a_missing_value_is_refused_with_its_place(tmp_path: Path) -> None:
    folders = write(tmp_path)
    table = parquet.read_table(folders[0] / "2.parquet")
    cells = table.column("f1").to_numpy().copy()
    cells[-1] = np.nan
    parquet.write_table(table.set_column(1, "f1", pa.array(cells)), folders[0] / "2.parquet")
    with pytest.raises(LocalError, match=r"Input X contains NaN: column 'f1' of a, from row \d+ on,"):
        tacit.from_files(folders, **BY_ROWS, stream=True)


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    folders = write(tmp_path)
    file = folders[1] / "1.parquet"
    content = bytearray(file.read_bytes())
    content[4:400] = bytes(396)  # pages of the first column; what the file says of itself stands at its end
    file.write_bytes(content)
    with pytest.raises(LocalError, match=r"1.parquet of b is not readable as Parquet: write it again"):
        tacit.from_files(folders, **BY_ROWS, stream=True)


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(LocalError, match=r"No space left on device.*set TMPDIR to a folder on a larger disk"):
        scratch.make_array((10,), np.float64)


def test_scratch_files_are_written_where_the_system_has_no_call_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)  # as on macOS and Windows
    monkeypatch.setattr(scratch, "ZEROS", bytes(64))
    array = scratch.make_array((7, 11), np.float64)
    assert scratch.is_on_disk(array)
    assert not array.any()
    array[:] = np.arange(77.0).reshape(7, 11)
    assert array.sum() == 77 * 38


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no file that is always full")
def test_a_disk_that_fills_up_meanwhile_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        with pytest.raises(LocalError, match=r"No space left on device.*set TMPDIR to a folder on a larger disk"):
            scratch.make_array((10,), np.float64)
