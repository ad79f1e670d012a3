"""Every classifier with its defaults on twelve datasets beside SVC with its own: what defaults were chosen by."""

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
from tacit.numeric.groups.least_count import advise_size
from tacit.svm.pan import FEW
from trial import Results, Trial, central, folds, measured, percent

# by rows; constants were chosen on every second of them and judged on the others
BY_ROWS = ("heart", "liver-disorders", "ionosphere", "wdbc", "australian", "diabetes",
           "fourclass", "vowel", "german", "splice", "dna", "optdigits")  # fmt: skip
JUDGING, CHOOSING = BY_ROWS[::2], BY_ROWS[1::2]
NEAR, WORST = 1.5, 3.0  # points below SVC: on average, and on one set
FOLDS = 5
SAMPLE = 1500  # rows at most, with --quick
SEED = 0
THEIRS, PAN, GRAM, ELM, CONSENSUS = "SVC", "PanSVC", "GramSVC", "SecureELM", "ConsensusSVC"

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


def _more_landmarks(data: Data) -> tacit.PanSVC:
    number = 2 * advise_size(*data.X.shape, landmarks=True)
    return tacit.PanSVC(random_state=SEED, verbose=False, landmarks=number)


def _single_rows(data: Data) -> tacit.PanSVC:
    """Return a PanSVC with as many landmarks as by default, on sums of single rows, which nothing protects."""
    number = advise_size(*data.X.shape, landmarks=True)
    unprotected = {"min_count": 1, "accept_risk": True}
    return tacit.PanSVC(random_state=SEED, verbose=False, landmarks=number, **unprotected)


def _half_the_rows(data: Data) -> tacit.SecureELMClassifier:
    return tacit.SecureELMClassifier(random_state=SEED, verbose=False, n_hidden=min(500, len(data.X) // 2))


DEFAULTS: dict[str, Make] = {
    PAN: _fixed(tacit.PanSVC),
    GRAM: _fixed(tacit.GramSVC, partition="vertical"),
    ELM: _fixed(tacit.SecureELMClassifier),
    CONSENSUS: _fixed(tacit.ConsensusSVC),
}
LIMITS: dict[str, Make] = {
    "PanSVC": DEFAULTS[PAN],
    "sums of single rows": _single_rows,
    "C = 3": _fixed(tacit.PanSVC, C=3.0),
    "C = 10": _fixed(tacit.PanSVC, C=10.0),
    "linear kernel": _fixed(tacit.PanSVC, kernel="linear"),
    "Fourier features": _fixed(tacit.PanSVC, landmark_source="fourier"),
    "twice the landmarks": _more_landmarks,
}
CANDIDATES = (
    Candidate("PanSVC", "C=1, ovo, local, auto", DEFAULTS[PAN], held=True),
    Candidate("PanSVC: multi_class", "ovr", _fixed(tacit.PanSVC, multi_class="ovr")),
    Candidate("PanSVC: C", "3", _fixed(tacit.PanSVC, C=3.0)),
    Candidate("PanSVC: C", "10", _fixed(tacit.PanSVC, C=10.0)),
    Candidate("PanSVC: landmark_source", "fourier", _fixed(tacit.PanSVC, landmark_source="fourier")),
    Candidate("PanSVC: landmarks", "twice as many", _more_landmarks),
    Candidate("GramSVC: multi_class", "ovo", DEFAULTS[GRAM], held=True),
    Candidate("GramSVC: multi_class", "ovr", _fixed(tacit.GramSVC, partition="vertical", multi_class="ovr")),
    Candidate("SecureELM: n_hidden", "200 or half the rows", DEFAULTS[ELM], held=True),
    Candidate("SecureELM: n_hidden", "50", _fixed(tacit.SecureELMClassifier, n_hidden=50)),
    Candidate("SecureELM: n_hidden", "100", _fixed(tacit.SecureELMClassifier, n_hidden=100)),
    Candidate("SecureELM: n_hidden", "500 or half the rows", _half_the_rows),
    Candidate("ConsensusSVC: kernel", "linear", DEFAULTS[CONSENSUS], held=True),
    Candidate("ConsensusSVC: kernel", "rbf", _fixed(tacit.ConsensusSVC, kernel="rbf")),
)


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure all defaults on all sets, then what else could have been the default on the sets for choosing."""
    data = {name: dataset(name).sample(SAMPLE if quick else None) for name in BY_ROWS}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rows are few is what is measured
        yield from _defaults(data, number=1 if quick else FOLDS)
        if not quick:
            yield from _limits({name: each for name, each in data.items() if len(each.X) >= FEW}, number=FOLDS)
            yield from _candidates(data, number=3)


# The defaults


def _defaults(data: dict[str, Data], number: int) -> Iterator[Figure | Step | Table]:
    found = yield from measured("defaults", {
        (name, method): partial(_trials, data[name], DEFAULTS.get(method), number)
        for name in BY_ROWS for method in (THEIRS, *DEFAULTS)
    })  # fmt: skip
    title = (
        f"Accuracy in % with all defaults, {number} of {FOLDS} folds, three parties; columns standardised, by"
        " StandardScaler for SVC and by FederatedScaler for the others; GramSVC over columns, the others over rows"
    )
    rows = tuple(_row(name, data[name], found) for name in BY_ROWS)
    yield Table(title, ("dataset", "rows x columns", "classes", "for", THEIRS, *DEFAULTS), rows)
    large = [name for name in BY_ROWS if len(data[name].X) >= FEW]
    small = [name for name in BY_ROWS if name not in large]
    yield from _bars(found, large, judged=number == FOLDS)
    for method in DEFAULTS:
        told = f"{_lost(found, method, small):.2f}, {_lost(found, method, large):.2f} points"
        yield Figure(f"{method}: below SVC on the sets under {FEW} rows, on the larger ones, mean", told)


def _bars(found: Results, large: list[str], *, judged: bool) -> Iterator[Figure]:
    mean, each = _lost(found, PAN, large), {name: _lost(found, PAN, [name]) for name in large}
    worst = max(each, key=lambda name: each[name])
    yield Figure(
        f"PanSVC: below SVC on the sets of {FEW} rows or more, mean",
        f"{mean:.2f} points",
        f"at most {NEAR}" if judged else "",
        mean <= NEAR if judged else None,
    )
    yield Figure(
        "PanSVC: below SVC on one of them, most",
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
    """Return by how many points a method is below SVC on these sets, on average."""
    return float(np.mean([percent(found[name, THEIRS]) - percent(found[name, method]) for name in names]))


# What keeps PanSVC below SVC


def _limits(data: dict[str, Data], number: int) -> Iterator[Step | Table]:
    found = yield from measured("limits", {
        (name, way): partial(_trials, each, make, number)
        for name, each in data.items() for way, make in {THEIRS: None, **LIMITS}.items()
    })  # fmt: skip
    rows = [(name, *(f"{percent(found[name, way]):.1f}" for way in (THEIRS, *LIMITS))) for name in data]
    lost = [
        np.mean([percent(found[name, THEIRS]) - percent(found[name, way]) for name in data])
        for way in (THEIRS, *LIMITS)
    ]
    rows.append(("points below SVC, mean", *(f"{points:.2f}" for points in lost)))
    title = f"Accuracy in % of PanSVC on the sets of {FEW} rows or more, {number} of {FOLDS} folds: one thing changed"
    yield Table(title, ("dataset", THEIRS, *LIMITS), tuple(rows))


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
    """Return trials on so many of five folds; of SVC, where no other classifier is given."""
    learn = central(lambda: make_pipeline(StandardScaler(), SVC())) if make is None else partial(_across, make)
    return [learn(fold, SEED) for fold, _ in zip(folds(data, SEED, FOLDS), range(number), strict=False)]


def _across(make: Make, fold: Data, seed: int) -> Trial:
    """Train between three parties that standardise their columns together, and judge on records standardised alike."""
    model = make(fold)
    rows = tacit.Federation.simulate(fold.X, fold.y, parties=3, partition=model.partition_, seed=seed)
    scaler = tacit.FederatedScaler(verbose=False).fit(rows)
    model.fit(scaler.transform(rows))
    return Trial(100 * float(np.mean(model.predict(scaler.transform(fold.Z)) == fold.z)))
