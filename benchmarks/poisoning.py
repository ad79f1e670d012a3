"""Parties that lie about their sums: how good the public model is without bounds on them, and with.

Attacks are those of `tacit.attacks.poisoning`. A party is named, and the run ends, or the model has an accuracy. Two
tables, by rows in equal parts, a quarter held out; means over three splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

import tacit
from figures import Figure, Step, Table
from tacit.attacks.poisoning import hide_in_targets, lying, replace_model, scale_sums, turn_targets
from tacit.errors import PeerError
from tacit.protocols.learners import fitting
from tacit.protocols.learners.targets import OwnSums

F64 = NDArray[np.float64]
ALPHA, FEATURES, SPLITS = 0.1, 60, 3
LIARS = ((1, 3), (1, 5), (2, 5))
NAMED = "named"
ROOM = 2.0  # points below the honest model, beside the share of the rows


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Return the accuracy with each attack, without bounds and with them."""
    tables = {"breast cancer": load_breast_cancer(return_X_y=True), "digits, odd or even": load_odd()}
    splits, rows, missed, blamed = 1 if quick else SPLITS, [], 0, 0
    wanted = [(name, liars) for name in tables for liars in LIARS]
    for k, (name, (liars, parties)) in enumerate(wanted):
        yield Step("tables and liars", k, len(wanted))
        X, y = tables[name]
        honest = [train(X, y, parties, seed) for seed in range(splits)]
        blamed += honest.count(None)
        rows.append((name, f"{liars} of {parties}", "none", percent(honest), percent(honest)))
        for attack, forge in attacks(round(0.75 * len(X))).items():
            ends = []
            for bounded in (False, True):
                with lying([f"p{i + 1}" for i in range(parties - liars, parties)], forge):
                    ends.append([train(X, y, parties, seed, bounded=bounded) for seed in range(splits)])
            rows.append((name, f"{liars} of {parties}", attack, *map(percent, ends)))
            least = 100 * (1 - liars / parties) - ROOM - 100
            missed += sum(
                a is not None and h is not None and 100 * (a - h) < least for a, h in zip(ends[1], honest, strict=True)
            )
    heads = ("table", "liars", "attack", "without bounds", "with bounds")
    yield Table("accuracy of the public model, in percent", heads, tuple(rows))
    yield Figure(
        "attacks that are not named and cost more than the liars' share of the rows and 2 points",
        f"{missed}",
        "0",
        missed == 0,
    )
    yield Figure("honest runs in which somebody is named", f"{blamed}", "0", blamed == 0)


def load_odd() -> tuple[F64, NDArray[np.int64]]:
    """Return written digits, and whether they are odd."""
    X, y = load_digits(return_X_y=True)
    return X / 16.0, (y % 2).astype(np.int64)


def attacks(records: int) -> dict[str, Callable[[OwnSums], OwnSums]]:
    """Return what a liar brings, by name."""
    return {
        "another model": partial(replace_by_opposite, records=records),
        "scaled by -1,000": partial(scale_sums, by=-1e3),
        "scaled by 1,000,000": partial(scale_sums, by=1e6),
        "targets as long as they may be, turned": hide_in_targets,
        "labels turned": turn_targets,
    }


def replace_by_opposite(own: OwnSums, records: int) -> OwnSums:
    """Return sums that make the model say the opposite of what the party's own says."""
    W = np.linalg.solve(own.S + ALPHA * np.eye(len(own.S)), own.H)
    return replace_model(own, -W, records)


def train(X: F64, y: NDArray[np.int64], parties: int, seed: int, *, bounded: bool = True) -> float | None:
    """Return the accuracy on records that were held out; None if somebody is named."""
    learn, judge, learnt, judged = train_test_split(X, y, random_state=seed, stratify=y)
    mean, scale = learn.mean(axis=0), learn.std(axis=0)
    scale[scale == 0] = 1.0
    names = [f"p{i + 1}" for i in range(parties)]
    machine = tacit.SVC(features=FEATURES, alpha=ALPHA, random_state=seed, verbose=False)
    with patch.object(fitting, "check_brought", fitting.check_brought if bounded else lambda *_: None):
        try:
            machine.fit(tacit.simulate((learn - mean) / scale, learnt, parties=names))
        except PeerError:
            return None
    return float(machine.score((judge - mean) / scale, judged))


def percent(ends: list[float | None]) -> str:
    """Return the mean accuracy, or that all were named, or both."""
    kept = [end for end in ends if end is not None]
    if not kept:
        return NAMED
    said = f"{100 * float(np.mean(kept)):.1f}"
    return said if len(kept) == len(ends) else f"{said}, {NAMED} in {len(ends) - len(kept)} of {len(ends)}"
