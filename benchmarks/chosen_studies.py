"""An adversary that chooses twenty studies from the menu and combines all that they reveal: how many records it finds.

Six sites have one table by rows. Three targets are declared: the label; the label of which six persons of one site are
another class; and one that singles out one person. In a second edition that person is gone. The adversary chooses
targets, columns, alpha, balanced weights, a kernel or a layer, lists of sites, and editions. It is given more than any
study reveals: the exact matrix S of each linear model, so that H = (S + a I) w is each right-hand side Z'T but for
noise and rounding. It tries every H, every w, and every sum and difference of two.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from figures import Figure, Step, Table, dataset
from tacit.choreo import Coordinator, Holder, Roster
from tacit.consortium.editions.edition import Edition, Fixed, Target, make_edition
from tacit.consortium.editions.memory import Memory
from tacit.crypto.pads.entropy import RootEntropy, prf
from tacit.federation.part import Part, part_of
from tacit.federation.table import as_table
from tacit.protocols.features.maps import features_of
from tacit.protocols.learners import rounding
from tacit.registry import execute_together

F64 = NDArray[np.float64]
NAMES = (
    "wdbc", "german", "diabetes", "heart", "ionosphere", "australian", "breast-cancer", "liver-disorders", "splice",
    "optdigits",
)  # fmt: skip
SITES = ("a", "b", "c", "d", "e", "f")
MOST, COLUMNS = 600, 12  # records and columns of a table
FLIPPED, ALONE = 6, 0  # persons of site a that the second target calls otherwise, and the one whom the third names
FOUND = 0.05  # how near, of its length, a record is that was read; by chance strangers are at 0.1 to 0.2
LINEAR = {"kernel": "linear", "gamma": 1.0, "degree": 1, "coef0": 0.0}
RBF = {"kernel": "rbf", "gamma": 0.1, "degree": 3, "coef0": 0.0, "features": 100}


@dataclass(frozen=True)
class Choice:
    """A study of the menu: which target, on all columns or all but the last, of whom, and what it trains."""

    target: int = 0
    columns: int = 0
    sites: tuple[str, ...] = SITES
    later: bool = False
    balanced: bool = False
    alpha: float = 0.3
    how: str = "linear"


def choose_studies() -> list[Choice]:
    """Return twenty studies: those whose differences would tell most, if sites did not fix what they use."""
    plain = [Choice(target=t, balanced=b) for t in range(3) for b in (False, True)]
    once_more = [Choice(target=t, alpha=10.0) for t in range(3)]
    fewer = [Choice(target=t, columns=1) for t in range(3)]
    few_sites = [Choice(target=t, sites=SITES[:3]) for t in range(3)]
    later = [Choice(target=t, later=True) for t in range(3)]
    return [*plain, *once_more, *fewer, *few_sites, *later, Choice(how="rbf"), Choice(how="rbf", later=True)]


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Return how many records are found on each dataset, with what sites fix and without."""
    names = NAMES[:1] if quick else NAMES
    rows, shipped, off = [], 0, 0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, name in enumerate(names):
            yield Step("datasets", k, len(names))
            X, y = take_table(name)
            found, nearest = attack(X, y, fixed=True)
            before, near = attack(X, y, fixed=False)
            rows.append((name, f"{before}", f"{near:.3f}", f"{found}", f"{nearest:.3f}"))
            shipped, off = shipped + found, off + (before > 0)
    heads = ("", "found without the rules", "nearest", "found", "nearest")
    yield Table("records that twenty studies tell", heads, tuple(rows))
    yield Figure("records found on any dataset", f"{shipped}", "0", shipped == 0)
    yield Figure("  without the rules, datasets on which some are", f"{off} of {len(names)}", "all", off == len(names))


def take_table(name: str) -> tuple[F64, NDArray[np.int64]]:
    """Return records of two classes: standardised columns that vary, and no two records alike."""
    held = dataset(name)
    rows = np.random.default_rng(0).permutation(len(held.X))[:MOST]
    X, y = np.nan_to_num(held.X[rows]), held.y[rows]
    X = X[:, X.std(axis=0) > 0]
    X = X[:, np.argsort(-np.array([len(np.unique(x)) for x in X.T]), kind="stable")[:COLUMNS]]
    which = np.sort(np.unique(X, axis=0, return_index=True)[1])
    X = X[which]
    names, times = np.unique(y, return_counts=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y[which] == names[times.argmax()]).astype(np.int64)


def attack(X: F64, y: NDArray[np.int64], *, fixed: bool) -> tuple[int, float]:
    """Return how many records the adversary finds, and how near the nearest guess is, relative to a record's length."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as off:
        if not fixed:
            off.enter_context(patch.object(rounding, "FINE", 60))
            off.enter_context(patch.object(rounding, "add_noise", lambda w, *_: w))
        sites = {site: OneSite(Path(folder) / site, X[i::6], y[i::6], i, fixed=fixed) for i, site in enumerate(SITES)}
        seen: dict[tuple[int, str], list[F64]] = {}
        for number, choice in enumerate(choose_studies()):
            parts = {site: sites[site].part(choice) for site in choice.sites}
            model = train(parts, choice, fixed=fixed, seed=number)
            Z = features_of(model.map, np.concatenate([part.X for part in parts.values()]))
            told = [model.weights[:, j] for j in range(model.weights.shape[1])]
            S = Z.T @ Z + model.alpha * np.eye(Z.shape[1])
            seen.setdefault((choice.columns, choice.how), []).extend([*told, *(S @ w for w in told)])
            sites["a"].maps[choice.columns, choice.how] = model.map
        nearest = np.full(len(X), np.inf)
        for key, vectors in seen.items():
            records = features_of(sites["a"].maps[key], X[:, : X.shape[1] - key[0]])[:, :-1]
            for v in (*vectors, *(a + sign * b for a, b in combinations(vectors, 2) for sign in (-1, 1))):
                nearest = np.minimum(nearest, measure(v, records))
    return int((nearest < FOUND).sum()), float(nearest.min())


def measure(v: F64, records: F64) -> F64:
    """Return how far a vector, up to its length, is from each record, relative to the record's length."""
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.linalg.norm(v[:-1] / v[-1] - records, axis=1) / np.linalg.norm(records, axis=1)
    return np.asarray(np.nan_to_num(away, nan=np.inf))


class OneSite:
    """A site: its records, three targets of them, and, if it fixes them, their editions."""

    def __init__(self, folder: Path, X: F64, y: NDArray[np.int64], number: int, *, fixed: bool) -> None:
        self.X, self.number, self.fixed = X, number, fixed
        other, alone = y.copy(), y.copy()
        if number == 0:
            other[np.flatnonzero(y == y[ALONE])[:FLIPPED]] = 1 - y[ALONE]
            alone[ALONE] = 2
        self.targets = (y, other, alone)
        self.memory = Memory(folder)
        self.maps: dict[tuple[int, str], Any] = {}

    def part(self, choice: Choice) -> Part:
        """Return what the site brings to a study."""
        there = np.arange(len(self.X)) > ALONE if choice.later and self.number == 0 else np.ones(len(self.X), bool)
        wanted = self.X.shape[1] - choice.columns
        names = tuple(f"x{j}" for j in range(wanted))
        if not self.fixed:
            part = part_of(self.X[there][:, :wanted], self.targets[choice.target][there], None, names)
            return replace(part, key=b"one map for all")
        edition = self.edition(choice.target, there)
        table, which = edition.choose(judged=False)
        part = part_of(table.X[:, :wanted], table.y, None, names)
        key = self.memory.key + edition.digest.encode()
        return replace(part, folds=edition.parts[which], unlabelled=edition.unlabelled[which], key=key)

    def edition(self, target: int, there: NDArray[np.bool_]) -> Edition:
        """Return the edition of a target, as the site makes it, and write down that it was used."""
        before: list[Target] = []
        ids = np.flatnonzero(there) + 1000 * self.number
        for number in range(target + 1):
            table = as_table(self.X[there], self.targets[number][there])
            made = make_edition(self.memory, table, ids, None, Fixed(label=f"target {number}"), before)
            before.append(made.target())
        self.memory.use(made.digest, made.persons, made.dealt)
        return made


def train(parts: dict[str, Part], choice: Choice, *, fixed: bool, seed: int) -> Any:
    """Return the model of a study, trained as between organisations, or without a least class."""
    roster = Roster({Holder: tuple(parts), Coordinator: ("dealer",)})
    asked: dict[str, Any] = {**(RBF if choice.how == "rbf" else LINEAR), "partition": "horizontal"}
    asked |= {"alpha": choice.alpha, "balanced": choice.balanced, **({} if fixed else {"least_class": 1})}
    job = b"%d" % seed
    roots = {party: prf(job.ljust(32), party.encode()) for party in roster.parties}
    kept = {site: prf(b"kept".ljust(32), site.encode()) for site in parts} if fixed else {}  # as sites keep one
    entropy = RootEntropy(roster.parties, job, roots, lasting=kept)
    asked_of = {"data": (Holder, parts)}
    return execute_together(roster, "train_svm", asked_of, asked, job=job, entropy=entropy).result
