"""PanSVC beside scikit-learn's Nystroem and SGDClassifier on generated rows of 28 columns, five parties, CPU time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step
from gpu import COLUMNS, PARTIES, generate

GAMMA = 1 / 56
TEST = 50_000
DEFAULT = 1000  # landmarks that "auto" comes to where rows are many


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure both on the same rows in one run."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _beside(100_000 if quick else 1_000_000, 200, 1.5, "" if quick else "5.8 times")
        if not quick:
            yield from _beside(200_000, "auto", 1.2, "2.9 times")


def _beside(rows: int, landmarks: int | str, at_most: float, before: str) -> Iterator[Figure | Step]:
    what = f"{rows} x {COLUMNS}, {landmarks} landmarks"
    yield Step(what, 0, 2)
    X, y = generate(rows + TEST)
    train, test = (X[:rows], y[:rows]), (X[rows:], y[rows:])
    federation = tacit.Federation.simulate(*train, parties=PARTIES)
    pan, mine = _cpu(lambda: tacit.PanSVC(landmarks=landmarks, gamma=GAMMA).fit(federation))
    yield Step(what, 1, 2)
    size = landmarks if isinstance(landmarks, int) else DEFAULT
    peer, theirs = _cpu(lambda: make_pipeline(Nystroem(gamma=GAMMA, n_components=size, random_state=0),
                                              SGDClassifier(random_state=0)).fit(*train))  # fmt: skip
    told = f"{mine:.1f} s, {theirs:.1f} s, {mine / theirs:.2f} times"
    yield Figure(f"{what}: PanSVC, Nystroem + SGD", told, f"at most {at_most} times", mine <= at_most * theirs,
                 before=before)  # fmt: skip
    score, reference = pan.score(*test), peer.score(*test)
    yield Figure(f"{what}: accuracy of both", f"{score:.2%}, {reference:.2%}", "higher", score > reference)
    yield Figure(f"{what}: rounds, gap", f"{pan.n_iter_}, {list(pan.report_.figures.values())[1]:.2f}")


def _cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start
