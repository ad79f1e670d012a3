"""SVC with device="cuda" on generated rows of 28 columns between five parties; needs a GPU.

Run it alone, `python benchmarks/gpu.py --rows 11000000`, or with all suites by benchmarks/run.py. The local pass is
timed by itself: sums of features of a party's own rows, the only step whose time grows with them. With --steps it says
how long each step of a training on the GPU took: wall time, from its first party's beginning to its last one's end.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit
from figures import Figure, MissingDataError, Step
from tacit.choreo import Run
from tacit.numeric.devices import find_gpu
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.features.landmarks import draw_landmarks, standard_distribution
from tacit.protocols.features.local import add_rows
from tacit.protocols.features.maps import map_kernel

ROWS, COLUMNS, LANDMARKS, PARTIES = 11_000_000, 28, 1000, 5
GAMMA = 1 / 56
SAMPLE = 200_000  # rows on which the processor does the same
TEST = 50_000


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure time, rounds, memory and accuracy on the GPU, and the same on the processor on fewer rows."""
    yield from measure(SAMPLE if quick else ROWS, 200 if quick else LANDMARKS)


def measure(
    rows: int, landmarks: int, watch: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Figure | Step]:
    """Train on so many rows on the GPU, watched, and before on a sample of them on both."""
    try:
        find_gpu()
    except tacit.LocalError as error:
        raise MissingDataError(str(error)) from None
    warnings.simplefilter("ignore", UserWarning)
    yield Step("generate rows", 0, 3)
    X, y = generate(rows + TEST)
    test = X[rows:], y[rows:]
    yield Step("sample", 1, 3)
    few = min(SAMPLE, rows)
    sample, size = tacit.Federation.simulate(X[:few], y[:few], parties=PARTIES), min(landmarks, 200)
    yield warm_up(sample, size, watch)
    here, there = (train(sample, size, device) for device in ("cpu", "cuda"))
    yield Figure(f"{few} rows, {size} landmarks: processor, GPU", f"{here[1]:.1f} s, {there[1]:.1f} s")
    scores = [model.score(*test) for model, _ in (here, there)]
    yield Figure("the same: accuracy of the processor, the GPU", f"{scores[0]:.4f}, {scores[1]:.4f}",
                 "within 0.002", abs(scores[0] - scores[1]) <= 0.002)  # fmt: skip
    yield from compare_elms(sample, test)
    yield from compare_passes(sample, size)
    yield Step("all rows", 2, 3)
    whole = tacit.Federation.simulate(X[:rows], y[:rows], parties=PARTIES)
    del X
    with watch():
        model, seconds = train(whole, landmarks, "cuda")
    what = f"{rows} x {COLUMNS}, {landmarks} landmarks, {PARTIES} parties"
    yield Figure(f"{what}: time on the GPU, all parties in turn", f"{seconds:.1f} s")
    start = time.perf_counter()
    score = model.score(*test)
    yield Figure("the same: accuracy, and the time to predict", f"{score:.4f}, {time.perf_counter() - start:.2f} s")
    yield from measure_pass(whole, landmarks, what)
    yield Figure("the same: peak memory of the GPU", f"{peak_memory() / 2**30:.1f} GiB")


def warm_up(sample: tacit.Federation, landmarks: int, watch: Callable[[], AbstractContextManager[None]]) -> Figure:
    """Return how long a training takes, landmarks included, before kernels are compiled and loaded, and after."""
    spent = []
    for _ in range(2):
        with watch():
            spent.append(train(sample, landmarks, "cuda")[1])
    return Figure("warm-up: the first training on the GPU, the same again", f"{spent[0]:.1f} s, {spent[1]:.1f} s")


def compare_elms(sample: tacit.Federation, test: tuple[NDArray[np.float64], NDArray[np.int64]]) -> Iterator[Figure]:
    """Train the same ELM over rows on the processor and on the GPU, and let both predict."""
    found = []
    for device in ("cpu", "cuda"):
        start = time.perf_counter()
        elm = tacit.ELMClassifier(n_hidden=200, device=device, random_state=0, verbose=False).fit(sample)
        found.append((time.perf_counter() - start, elm.score(*test)))
    (here, score), (there, other) = found
    yield Figure("an ELM of 200 nodes on the same rows: processor, GPU", f"{here:.1f} s, {there:.1f} s")
    yield Figure("the same: accuracy of the processor, the GPU", f"{score:.4f}, {other:.4f}",
                 "within 0.002", abs(other - score) <= 0.002)  # fmt: skip


def compare_passes(sample: tacit.Federation, features: int) -> Iterator[Figure]:
    """Add up the features of the same rows on the processor and on the GPU."""
    (here, took), (there, taken) = (pass_rows(sample, features, device) for device in ("cpu", "cuda"))
    yield Figure(f"the local pass of SVC over the same rows, {features} features: processor, GPU",
                 f"{sum(took):.1f} s, {sum(taken):.1f} s")  # fmt: skip
    apart = float(np.abs(there - here).max() / np.abs(here).max())
    yield Figure("the same: largest difference of its sums", f"{apart:.1e}", "at most 1e-9", apart <= 1e-9)


def measure_pass(whole: tacit.Federation, features: int, what: str) -> Iterator[Figure]:
    """Time the local pass of SVC over all rows on the GPU."""
    _, spent = pass_rows(whole, features, "cuda")
    yield Figure(f"{what}: local pass of SVC on the GPU, of the slowest party, of all in turn",
                 f"{max(spent):.1f} s, {sum(spent):.1f} s")  # fmt: skip


def pass_rows(federation: tacit.Federation, features: int, device: str) -> tuple[NDArray[np.float64], list[float]]:
    """Return the sum of the features' products over all rows, and how long each party took for its own."""
    landmarks = draw_landmarks(standard_distribution(COLUMNS, 0), features)
    the_map = map_kernel(Kernel("rbf", GAMMA), landmarks)
    total, spent = np.zeros((the_map.size, the_map.size)), []
    for part in federation.parts.values():
        signs = np.where(part.y == 1, 1.0, -1.0)[:, None]
        start = time.perf_counter()
        total += add_rows(part.X, signs, None, the_map, np.eye(1), device).S
        spent.append(time.perf_counter() - start)
    return total, spent


def generate(rows: int, columns: int = COLUMNS) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows of which a smooth function with noise is the class."""
    draw = np.random.default_rng(0)
    w, V = draw.normal(size=columns), draw.normal(size=(columns, 6)) / 3.0
    X, y = np.empty((rows, columns)), np.empty(rows, dtype=np.int64)
    for i in range(0, rows, 1 << 18):
        some = X[i : i + (1 << 18)]
        some[:] = draw.normal(size=some.shape)
        value = np.tanh(some @ w / 5.0) + np.sin(some @ V).sum(axis=1) / 3.0 + 0.3 * some[:, 0] * some[:, 1]
        y[i : i + (1 << 18)] = value + 0.5 * draw.normal(size=len(some)) > 0.0
    return X, y


def train(federation: tacit.Federation, landmarks: int, device: str) -> tuple[tacit.SVC, float]:
    """Return the model and the seconds that it took."""
    start = time.perf_counter()
    model = tacit.SVC(features=landmarks, gamma=GAMMA, alpha=0.1, device=device, random_state=0, verbose=False).fit(
        federation
    )
    return model, time.perf_counter() - start


def peak_memory() -> int:
    """Return the most bytes of the GPU that arrays took."""
    xp = find_gpu().xp
    return int(xp.cuda.max_memory_allocated() if xp.__name__ == "torch" else xp.get_default_memory_pool().total_bytes())


@contextmanager
def watched_steps(most: int = 20) -> Iterator[None]:
    """Print how much wall time the steps of a run take, longest first."""
    spent: Counter[str] = Counter()
    local = Run.local

    def timed(run: Run, role: Any, step: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        start = time.perf_counter()
        try:
            return local(run, role, step, *args, **kwargs)
        finally:
            spent[getattr(step, "__name__", "")] += time.perf_counter() - start

    Run.local, start = timed, time.perf_counter()  # type: ignore[method-assign]  # for as long as this lasts
    try:
        yield
    finally:
        Run.local = local  # type: ignore[method-assign]
    whole = time.perf_counter() - start
    for name, seconds in spent.most_common(most):
        print(f"    {name:24s} {seconds:7.2f} s", flush=True)
    print(f"    {'between steps':24s} {whole - sum(spent.values()):7.2f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--landmarks", type=int, default=LANDMARKS)
    parser.add_argument("--steps", action="store_true")
    options = parser.parse_args()
    for found in measure(options.rows, options.landmarks, watched_steps if options.steps else nullcontext):
        print(found, flush=True)
