"""Rows streamed from disk, 28 columns, five parties: SVC with landmarks, linear, and ELM under 2 GB.

The rows are generated into Parquet folders in a temporary folder (TMPDIR), which needs 5 GB for them and as much again
for scratch files; every training is a process of its own, whose peak of resident memory is told. The peer is
scikit-learn's SGDClassifier, one pass of `partial_fit` over the same files. `--rows` is for running it alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step

ROWS, QUICK, COLUMNS, PARTIES = 20_000_000, 200_000, 28, 5
AT_ONCE = 250_000  # rows of a file
MEMORY = 2.0  # GB
TEST = 50_000


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure peak memory, CPU time and accuracy of each training."""
    yield from measure(QUICK if quick else ROWS)


def measure(rows: int) -> Iterator[Figure | Step]:
    """Generate so many rows, and train on them."""
    with tempfile.TemporaryDirectory() as place:
        yield Step("generate rows", 0, 1 + len(MODELS))
        generate(Path(place), rows)
        for done, name in enumerate(("SGDClassifier", *MODELS), 1):
            yield Step(name, done, 1 + len(MODELS))
            yield told(name, train_apart(name, Path(place)))


def told(name: str, found: dict[str, Any]) -> Figure:
    """Return the figure of one training; the peer has no bar."""
    what = f"{name}, {found['rows']:,} x {COLUMNS}: peak memory, CPU to read and to train, accuracy"
    figures = f"{found['peak']:.2f} GB, {found['read']:.0f} s and {found['train']:.0f} s, {found['accuracy']:.2%}"
    if name == "SGDClassifier":
        return Figure(what, figures)
    return Figure(what, figures, f"under {MEMORY:.0f} GB", found["peak"] < MEMORY, before="none")


def generate(folder: Path, rows: int) -> None:
    """Write each party's folder of Parquet files."""
    for party in range(PARTIES):
        own, mine = Path(folder, f"party-{party + 1}"), rows // PARTIES
        own.mkdir(parents=True)
        for k, start in enumerate(range(0, mine, AT_ONCE)):
            X, y = draw((party, k), min(AT_ONCE, mine - start))
            columns = {f"f{j}": X[:, j] for j in range(COLUMNS)}
            parquet.write_table(
                pa.table({**columns, "label": y}), own / f"{k:04}.parquet", row_group_size=1 << 16, compression="none"
            )


def draw(which: tuple[int, int], rows: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return rows of two classes that overlap."""
    w = np.random.default_rng(0).normal(size=COLUMNS)
    rng = np.random.default_rng((1, *which))
    X = rng.normal(size=(rows, COLUMNS))
    return X, (X @ w + 0.5 * X[:, 0] * X[:, 1] + 2.0 * rng.normal(size=rows) > 0).astype(np.int8)


def train_apart(name: str, folder: Path) -> dict[str, Any]:
    """Train in a process of its own, and return what it tells."""
    command = [sys.executable, __file__, "--train", name, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this interpreter
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def train(name: str, folder: Path) -> dict[str, Any]:
    """Train on the files of a folder in this process."""
    warnings.simplefilter("ignore")
    Z, z = draw((PARTIES, 0), TEST)
    start = time.process_time()
    if name == "SGDClassifier":
        rows, model, between = *_stream_peer(folder), start
    else:
        federation = tacit.Federation.from_files(
            sorted(folder.iterdir()), partition="horizontal", stream=True, memory=f"{MEMORY}GB"
        )
        rows, between = federation.n_rows, time.process_time()
        model = MODELS[name]().fit(federation)
    end = time.process_time()
    return {
        "rows": rows,
        "read": between - start,
        "train": end - between,
        "accuracy": float(model.score(Z, z)),
        "peak": peak_memory(),
    }


MODELS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: tacit.SVC(features=100, random_state=0),
    "SVC, linear": lambda: tacit.SVC(kernel="linear"),
    "ELM": lambda: tacit.ELMClassifier(n_hidden=20, random_state=0),
}


def _stream_peer(folder: Path) -> tuple[int, SGDClassifier]:
    model, rows = SGDClassifier(random_state=0), 0
    for file in sorted(folder.rglob("*.parquet")):
        for batch in parquet.ParquetFile(file).iter_batches(1 << 16):
            X = np.column_stack([batch.column(f"f{j}").to_numpy() for j in range(COLUMNS)])
            model.partial_fit(X, batch.column("label").to_numpy(), classes=[0, 1])
            rows += len(X)
    return rows, model


def peak_memory() -> float:
    """Return the peak of this process's resident memory in GB; that of `getrusage` may be of who started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Measure so many rows, or do one training for who measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--train", nargs=2, metavar=("NAME", "FOLDER"))
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.train:
            print(json.dumps(train(options.train[0], Path(options.train[1]))))
            return
        for found in measure(options.rows):
            print(found, flush=True)


if __name__ == "__main__":
    main()
