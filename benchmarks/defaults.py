"""Every classifier with its defaults on twelve datasets beside a pooled SVC: what defaults were chosen by."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Data, Figure, Step, Table, dataset
from trial import Results, Trial, central, folds, measured, percent

# by rows; constants were chosen on every second of them and judged on the others
BY_ROWS = ("heart", "liver-disorders", "ionosphere", "wdbc", "australian", "diabetes",
           "fourclass", "vowel", "german", "splice", "dna", "optdigits")  # fmt: skip
JUDGING, CHOOSING = BY_ROWS[::2], BY_ROWS[1::2]
NEAR, WORST = 1.5, 3.0  # points below the pooled SVC: on average, and on one set
FEW = 1000  # rows
FOLDS = 5
SAMPLE = 1500  # rows at most, with --quick
SEED = 0
THEIRS = "pooled"  # scikit-learn's SVC() on all records
MACHINE, LAYER = "SVC", "ELMClassifier"

Make = Callable[[Data], Any]  # a classifier, that may depend on how many rows and columns there are


@dataclass(frozen=True)
class Candidate:
    """A default that was considered: of which parameter, and the classifier that has it; `held` where it is so now."""

    of: str
    value: str
    make: Make
    held: bool = False


def _fixed(kind: type, **params: Any) -> Make:
    return lambda _: kind(random_state=SEED, verbose=False, **params)


DEFAULTS: dict[str, Make] = {MACHINE: _fixed(tacit.SVC), LAYER: _fixed(tacit.ELMClassifier)}
CANDIDATES = (
    Candidate("SVC", "least squares, C found in shares", DEFAULTS[MACHINE], held=True),
    Candidate("SVC: loss", "hinge", _fixed(tacit.SVC, loss="hinge")),
    Candidate("SVC: kernel", "linear", _fixed(tacit.SVC, kernel="linear")),
    Candidate("SVC: features", "100", _fixed(tacit.SVC, features=100)),
    Candidate("SVC: features", "400", _fixed(tacit.SVC, features=400)),
    Candidate("ELMClassifier", "nodes by rows", DEFAULTS[LAYER], held=True),
    Candidate("ELMClassifier: n_hidden", "50", _fixed(tacit.ELMClassifier, n_hidden=50)),
    Candidate("ELMClassifier: n_hidden", "400", _fixed(tacit.ELMClassifier, n_hidden=400)),
)


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure all defaults on all sets, then what else could have been the default on the sets for choosing."""
    data = {name: dataset(name).sample(SAMPLE if quick else None) for name in BY_ROWS}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rows are few is what is measured
        yield from _defaults(data, number=1 if quick else FOLDS)
        if not quick:
            yield from _candidates(data, number=3)


# The defaults


def _defaults(data: dict[str, Data], number: int) -> Iterator[Figure | Step | Table]:
    found = yield from measured("defaults", {
        (name, method): partial(_trials, data[name], DEFAULTS.get(method), number)
        for name in BY_ROWS for method in (THEIRS, *DEFAULTS)
    })  # fmt: skip
    title = (
        f"Accuracy in % with all defaults, {number} of {FOLDS} folds, three parties; columns standardised, by"
        " StandardScaler for the pooled SVC, by FederatedScaler for others, over rows"
    )
    rows = tuple(_row(name, data[name], found) for name in BY_ROWS)
    yield Table(title, ("dataset", "rows x columns", "classes", "for", THEIRS, *DEFAULTS), rows)
    large = [name for name in BY_ROWS if len(data[name].X) >= FEW]
    small = [name for name in BY_ROWS if name not in large]
    yield from _bars(found, large, judged=number == FOLDS)
    for method in DEFAULTS:
        told = f"{_lost(found, method, small):.2f}, {_lost(found, method, large):.2f} points"
        yield Figure(f"{method}: below the pooled SVC on the sets under {FEW} rows, on the larger ones, mean", told)


def _bars(found: Results, large: list[str], *, judged: bool) -> Iterator[Figure]:
    mean, each = _lost(found, MACHINE, large), {name: _lost(found, MACHINE, [name]) for name in large}
    worst = max(each, key=lambda name: each[name])
    yield Figure(
        f"SVC: below the pooled SVC on the sets of {FEW} rows or more, mean",
        f"{mean:.2f} points",
        f"at most {NEAR}" if judged else "",
        mean <= NEAR if judged else None,
    )
    yield Figure(
        "SVC: below the pooled SVC on one of them, most",
        f"{each[worst]:.2f} points ({worst})",
        f"at most {WORST}" if judged else "",
        each[worst] <= WORST if judged else None,
    )


def _row(name: str, data: Data, found: Results) -> tuple[str, ...]:
    rows, columns = data.X.shape
    used = "choosing" if name in CHOOSING else "judging"
    scores = (f"{percent(found[name, method]):.1f}" for method in (THEIRS, *DEFAULTS))
    return (name, f"{rows} x {columns}", str(len(np.unique(data.y))), used, *scores)


def _lost(found: Results, method: str, names: list[str]) -> float:
    """Return by how many points a method is below the pooled SVC on these sets, on average."""
    return float(np.mean([percent(found[name, THEIRS]) - percent(found[name, method]) for name in names]))


# What they were chosen among


def _candidates(data: dict[str, Data], number: int) -> Iterator[Step | Table]:
    found = yield from measured("candidates", {
        (name, each.of, each.value): partial(_trials, data[name], each.make, number)
        for name in CHOOSING for each in CANDIDATES
    })  # fmt: skip
    rows = []
    for each in CANDIDATES:
        scores = [percent(found[name, each.of, each.value]) for name in CHOOSING]
        value = each.value + (" (default)" if each.held else "")
        rows.append((each.of, value, *(f"{score:.1f}" for score in scores), f"{np.mean(scores):.2f}"))
    title = f"Accuracy in % on the sets for choosing, {number} of {FOLDS} folds: one default changed"
    yield Table(title, ("default", "value", *CHOOSING, "mean"), tuple(rows))


# One classifier on one set


def _trials(data: Data, make: Make | None, number: int) -> list[Trial]:
    """Return trials on so many of five folds; of the pooled SVC, where no other classifier is given."""
    learn = central(lambda: make_pipeline(StandardScaler(), SVC())) if make is None else partial(_across, make)
    return [learn(fold, SEED) for fold, _ in zip(folds(data, SEED, FOLDS), range(number), strict=False)]


def _across(make: Make, fold: Data, seed: int) -> Trial:
    """Train between three parties that standardise their columns together, and judge on records standardised alike."""
    model = make(fold)
    rows = tacit.Federation.simulate(fold.X, fold.y, parties=3, partition=model.partition_, seed=seed)
    scaler = tacit.FederatedScaler(verbose=False).fit(rows)
    model.fit(scaler.transform(rows))
    return Trial(100 * float(np.mean(model.predict(scaler.transform(fold.Z)) == fold.z)))
