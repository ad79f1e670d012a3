"""Combinations of what runs open: how many records attacks find under groups of rows, and under 0.1.0's rule."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from atoms import task
from figures import Figure, Step, Table
from tacit.attacks.atom_inversion import Sum, atom_inversion, closest_sums, nested_sums
from tacit.attacks.coordinator import deal_rows, opened_sums
from tacit.attacks.few_violators import read
from tacit.attacks.margin_tracking import margin_tracking, match_records
from tacit.attacks.pairwise_rule import View, pairwise_rule
from tacit.attacks.set_lattice import found_rows, heavy_class, neighbouring_jobs, set_lattice
from tacit.numeric.groups.least_count import least_count, unknowns
from tacit.protocols.planes.feature_map import FeatureMap, map_records

F64 = NDArray[np.float64]
NAMES = (
    "wdbc", "german", "diabetes", "heart", "ionosphere", "australian", "breast-cancer", "liver-disorders", "splice",
    "optdigits",
)  # fmt: skip
MOST, FEATURES, FEW = 600, 100, 3  # records of a table, Fourier features, columns of margin tracking
PRICES = (0.1, 1.0, 10.0, 30.0, 100.0)
NEAR = 1e-4  # how near a record is found
LARGE, TOO_MANY = 25, 100  # rows of a sum from which one pursuit has to do, and from which none is tried
ATTACKS = ("set_lattice", "few_violators", "atom_inversion", "margin_tracking", "heavy class", "neighbouring jobs")
NONE = np.empty((0, 0))


@dataclass(frozen=True)
class Case:
    """Mapped rows with their signs, the map, and of how many rows a group is by min_count="auto"."""

    the_map: FeatureMap
    X: F64
    F: F64
    y: F64
    least: int

    def view(self, C: float, *, groups: bool, weight: F64 | None = None, past: dict[str, object] | None = None) -> View:
        """Return what a coordinator sees of one training, under the new rule or the old one."""
        if not groups:
            return pairwise_rule(self.F, self.y, C=C, weight=weight)
        return View(opened_sums(deal_rows(self.F, self.y, weight), C=C, min_count=self.least, past=past))


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Return a table of what each attack finds on each dataset, and the sums of its columns."""
    names, prices = (NAMES[:1], PRICES[2:3]) if quick else (NAMES, PRICES)
    jobs, rows, every, sizes = 6 if quick else 21, [], [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, name in enumerate(names):
            yield Step(name, i, len(names))
            new, old = (found_on(name, prices, jobs, sizes, groups=groups) for groups in (True, False))
            rows.append((name, *(f"{a} / {b}" for a, b in zip(new, old, strict=True))))
            every.append((new, old))
    yield Table(
        f"records found by {2 * len(prices)} runs a dataset: groups / 0.1.0's rule", ("dataset", *ATTACKS), tuple(rows)
    )
    new, old = np.sum(every, axis=0)
    for attack, found, before in zip(ATTACKS, new, old, strict=True):
        yield Figure(f"{attack}: records found, with {before} under 0.1.0's rule", str(found), "0", bool(found == 0))
    tried = sum(size <= TOO_MANY for size in sizes)
    yield Figure(
        f"closest sums over groups that atom_inversion tried: those of at most {TOO_MANY} rows",
        f"{tried} of {len(sizes)}",
    )


def found_on(name: str, prices: tuple[float, ...], jobs: int, sizes: list[int], *, groups: bool) -> list[int]:
    """Return how many different records each attack finds on a dataset, all runs together.

    `sizes` gets the rows of sums over groups.
    """
    given = task(name)
    X, y = given.X[:MOST], np.where(given.y[:MOST] > 0, 1.0, -1.0)
    found: dict[str, set[int]] = {attack: set() for attack in ATTACKS}
    for case, C in product((linear(X, y), fourier(X, y)), prices):
        view = case.view(C, groups=groups)
        found["set_lattice"] |= hits(set_lattice(view), case.F)
        alone = np.array([one.features for one in read(view.sums, np.ones(1))]).reshape(-1, case.F.shape[1])
        found["few_violators"] |= hits(alone, case.F)
        if case.the_map.source == "fourier":
            between = nested_sums(view, case.the_map, case.least) if groups else closest_sums(view, case.the_map)
            sizes += [len(between.of)] if groups else []
            found["atom_inversion"] |= hits(invert(between, X.shape[1]), X)
    few = linear(X[:, :FEW], y)
    lines = [few.view(C, groups=True) if groups else pairwise_rule(few.F, y, C=C, tol=1e-9) for C in prices]
    found["margin_tracking"] = set(match_records(margin_tracking(lines), few.X).tolist())
    case = linear(X, y)
    for light in (1.0, -1.0):
        for candidates in heavy_class(case.view(1e6, groups=groups, weight=np.where(y == light, 1e-8, 1.0))):
            found["heavy class"] |= hits(candidates, X)
    past: dict[str, object] = {}
    many = [case.view(float(C), groups=groups, past=past) for C in np.linspace(1.0, 1.05, jobs)]
    found["neighbouring jobs"] = hits(neighbouring_jobs(many), X)
    return [len(found[attack]) for attack in ATTACKS]


def linear(X: F64, y: F64) -> Case:
    """Return the columns as they are."""
    the_map = FeatureMap("identity", "linear", 1.0, 3, 0.0, NONE, NONE, 0, X.shape[1])
    return Case(the_map, X, X, y, least_count(X.shape[1], unknowns(X, X.shape[1]), 0.0))


def fourier(X: F64, y: F64) -> Case:
    """Return Fourier features of an RBF kernel."""
    the_map = FeatureMap("fourier", "rbf", 1.0 / X.shape[1], 3, 0.0, NONE, NONE, 1, FEATURES)
    return Case(the_map, X, np.asarray(map_records(the_map, X)), y, least_count(FEATURES, unknowns(X, FEATURES), 0.0))


def invert(between: Sum, columns: int) -> F64:
    """Return rows that have this sum, by a few pursuits; none if there are too many to try."""
    rows = len(between.of)
    if rows > TOO_MANY:
        return np.empty((0, columns))
    return atom_inversion([between], columns, pursuits=5 if rows <= LARGE else 1).rows


def hits(candidates: F64, truth: F64) -> set[int]:
    """Return which records are among the candidates."""
    return set(found_rows(candidates, truth, NEAR).tolist())
