"""What the drawings of paper 004 show, measured: each a generator of steps that returns its values."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from figures import Data, Step, dataset
from paper004 import (
    ADULT,
    AS_THE_PAPER,
    COD_RNA,
    DNA,
    FOURCLASS,
    LETTER,
    LEUKEMIA_3,
    LEUKEMIA_4,
    LUNG,
    SMALL,
    SPLICE,
    VOWEL,
    Task,
)
from tacit.numeric.features.feature_map import basis_of, nystroem
from tacit.numeric.features.landmarks import centres
from tacit.numeric.svm.kernels import Kernel
from trial import Key, Learner, Results, Trial, central, cross_validated, federation, folds, measured, pan, repeated

T = TypeVar("T")
Cells = dict[Key, Callable[[], list[Trial]]]
LARGE = (ADULT, COD_RNA)
ALL = (*SMALL, SPLICE, FOURCLASS, *LARGE)
CLASSES = (LEUKEMIA_3, LEUKEMIA_4, DNA, VOWEL, LUNG, LETTER)
CURVES = (LEUKEMIA_3, LEUKEMIA_4, DNA, LUNG)  # of Figs 4.8 and 4.9
PAN, LIBSVM, FEWER = "PAN", "LIBSVM", "LIBSVM, as many rows as landmarks"
ROWS = {DNA.name: 600, LETTER.name: 1500}  # of datasets that would take too long
BARS = 0.55  # the share of Fig. 4.6


@dataclass(frozen=True)
class Extent:
    """How much is measured: shares of Figs 3.5, 4.5 and 4.8, numbers of landmarks of 3.11, repeats."""

    shares: tuple[float, ...] = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85)
    wide: tuple[float, ...] = (0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85)
    narrow: tuple[float, ...] = (0.25, 0.35, 0.45, 0.55)
    numbers: tuple[int, ...] = (50, 100, 200, 400, 700, 1000)
    repeats: int = 2
    rows: int | None = None


QUICK = Extent((0.05, 0.25, 0.85), (0.25, 0.55, 0.85), (0.25, 0.55), (50, 100, 200), 1, 3000)


# Chapter 3


def by_share(extent: Extent) -> Generator[Step, None, Results]:
    """Measure Fig. 3.5: five folds; splice by its publisher's split."""
    cells: Cells = {}
    for task in (*SMALL, SPLICE):
        judge = (
            partial(repeated, data=_split_of_splice(), seeds=1)
            if task == SPLICE
            else partial(cross_validated, data=task.load(), seeds=1)
        )
        for share in extent.shares:
            cells[task.name, f"{share:.2f}"] = partial(judge, pan(landmarks=share, **AS_THE_PAPER, **task.svm))
    return measured("Fig. 3.5", cells)


def _split_of_splice() -> Data:
    train, test = SPLICE.raw(), dataset("splice", split="test")
    scaler = MinMaxScaler((-1, 1)).fit(train.X)
    return Data(scaler.transform(train.X), train.y, scaler.transform(test.X), test.y)


def by_size(extent: Extent) -> Generator[Step, None, Results]:
    """Measure Fig. 3.10: all rows, default landmarks; once where rows are many."""
    return measured("Fig. 3.10", {
        (task.name,): partial(repeated, pan(**task.svm), _rows(task, extent), 1 if task in LARGE else 3) for task in ALL
    })  # fmt: skip


def sizes(extent: Extent) -> dict[str, tuple[int, int]]:
    """Return rows and features of the datasets of Fig. 3.10."""
    shapes = {task.name: _rows(task, extent).X.shape for task in ALL}
    return {name: (shape[0], shape[1]) for name, shape in shapes.items()}


def _rows(task: Task, extent: Extent) -> Data:
    return task.load().sample(extent.rows if task in LARGE else None)


def by_number(extent: Extent) -> Generator[Step, None, Results]:
    """Measure Fig. 3.11: seconds by the number of landmarks."""
    cells: Cells = {
        (task.name, str(n)): partial(repeated, pan(landmarks=n, **AS_THE_PAPER, **task.svm), data, 1)
        for task, data in ((task, _rows(task, extent)) for task in (*LARGE, SPLICE, SMALL[3]))
        for n in extent.numbers
        if n <= 0.5 * len(data.X)
    }
    return measured("Fig. 3.11", cells)


def by_procedure(extent: Extent) -> Generator[Step, None, dict[str, dict[str, float]]]:
    """Measure Fig. 3.12: CPU seconds of all parties, each procedure by itself; training is the rest of the whole."""
    found = {}
    for done, task in enumerate(ALL):
        yield Step(f"Fig. 3.12: {task.name}", done, len(ALL))
        found[task.name] = _procedures(task, _rows(task, extent))
    return found


def _procedures(task: Task, data: Data) -> dict[str, float]:
    whole = pan(**task.svm)(data, 0)
    parts = [part.X for part in federation(data, parties=5, by=None, seed=0).parts.values()]
    share, kernel = whole.landmarks / len(data.X), Kernel("rbf", task.gamma)
    L, clustering = _time(lambda: np.vstack([centres(X, max(1, round(share * len(X))), 5, 0)[0] for X in parts]))
    basis, decomposition = _time(lambda: basis_of(L, kernel))
    _, mapping = _time(lambda: [nystroem(X, L, basis, kernel) for X in parts])
    rest = max(0.0, whole.cpu - clustering - decomposition - mapping)
    return {
        "k-means": clustering,
        "decomposition": decomposition,
        "Nystroem map": mapping,
        "training, masked sums": rest,
    }


def _time(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    return work(), time.process_time() - start


# Chapter 4


def of_classes(extent: Extent) -> Generator[Step, None, Results]:
    """Measure Figs 4.5 to 4.9, by (dataset, "CV1" or "CV2", classifier, share)."""
    cells: Cells = {}
    for task in CLASSES:
        raw = task.raw().sample(ROWS.get(task.name))
        for share in extent.wide:
            cells[task.name, "CV1", PAN, f"{share:.2f}"] = partial(_cv1, task, raw, _pan(task, share), extent)
            cells[task.name, "CV1", FEWER, f"{share:.2f}"] = partial(
                _cv1, task, raw, partial(_on_fewer, task=task, share=share), extent
            )
        for share in extent.narrow if task in CURVES else (BARS,):
            cells[task.name, "CV2", PAN, f"{share:.2f}"] = partial(_cv2, task, raw, _pan(task, share), extent)
        for name, way in (("CV1", _cv1), ("CV2", _cv2)):
            cells[task.name, name, LIBSVM, ""] = partial(way, task, raw, _libsvm(task), extent)
    return measured("Figs 4.5 to 4.9", cells)


def _pan(task: Task, share: float) -> Learner:
    return pan(landmarks=share, **AS_THE_PAPER, **task.svm)


def _libsvm(task: Task) -> Learner:
    return central(lambda: OneVsRestClassifier(SVC(**task.svm)))


def _on_fewer(data: Data, seed: int, *, task: Task, share: float) -> Trial:
    kept = np.random.default_rng(seed).permutation(len(data.X))[: round(share * len(data.X))]
    return _libsvm(task)(Data(data.X[kept], data.y[kept], data.Z, data.z), seed)


def _repeats(task: Task, extent: Extent) -> int:
    """Return how often a dataset is measured: small ones more often."""
    return extent.repeats if task in (LEUKEMIA_3, LEUKEMIA_4, LUNG) else 1


def _cv1(task: Task, raw: Data, learner: Learner, extent: Extent) -> list[Trial]:
    """Return accuracies over five folds, scaled on all rows; of letter, over one of the folds."""
    X = MinMaxScaler((-1, 1)).fit_transform(raw.X) if task.scaled else raw.X
    parts = ((seed, part) for seed in range(_repeats(task, extent)) for part in _folds(task, Data(X, raw.y), seed))
    return [learner(part, seed) for seed, part in parts]


def _cv2(task: Task, raw: Data, learner: Learner, extent: Extent) -> list[Trial]:
    """Return accuracies on a fifth set apart, of the models of five folds of the others, scaled on these."""
    found = []
    for seed in range(_repeats(task, extent)):
        X, Z, y, z = _apart(raw, seed)
        scaler = MinMaxScaler((-1, 1)).fit(X)
        X, Z = (scaler.transform(X), scaler.transform(Z)) if task.scaled else (X, Z)
        found += [learner(Data(part.X, part.y, Z, z), seed) for part in _folds(task, Data(X, y), seed)]
    return found


def _apart(raw: Data, seed: int) -> tuple[np.ndarray, ...]:
    return tuple(train_test_split(raw.X, raw.y, test_size=0.2, random_state=seed, stratify=raw.y))


def _folds(task: Task, data: Data, seed: int) -> Iterator[Data]:
    parts = folds(data, seed)
    return iter([next(parts)]) if task == LETTER else parts
