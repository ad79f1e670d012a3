"""Attribute inference: what a model gives away of one value of a record whose other values are known.

    v_1, ..., v_m                     what the value may be
    z(v) = (s(x_v) - m_out) / sqrt(v_out)     how much surer the model is of the record with v than twins without it
    guess v with the largest z

A model that learnt from the record is surer of it as it was than of any other version. What anybody could guess from
the population is guessed of other records as well, so the advantage is the share of members that are guessed minus
that of records that the model has not seen.

Source: the setting of Fredrikson, Jha, Ristenpart (2015), judged as by Yeom et al. (2018), with the twins of LiRA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.attacks.learners import Point, Points, list_learners
from tacit.attacks.membership_inference import COUNTS, expect
from tacit.attacks.twins import Target, measure_sureness, target_twins, train_twins

COLUMNS, VALUES, RECORDS, TARGETS = 8, 5, 80, 16  # that are tried: more of them change no figure by much


@dataclass(frozen=True)
class Attribute:
    """The column that is guessed best: its number, and by how much better of members than of others."""

    column: int
    advantage: float


def attribute_inference(targets: Sequence[Target], X: F64, y: Array, seed: int = 0) -> Attribute:
    """Attack all targets on some records, column by column; what is judged is all of them together."""
    rng = np.random.default_rng(seed)
    rows, varied = rng.permutation(len(X))[: count_tried(targets)], np.flatnonzero(np.ptp(X, axis=0) > 0)
    columns = rng.permutation(varied)[:COLUMNS]
    tried = [
        Attribute(int(j), _advantage(*counts))
        for j, counts in zip(columns, count_guesses(targets, X, y, columns, rows), strict=True)
    ]
    return max(tried, key=lambda each: each.advantage, default=Attribute(-1, 0.0))


def count_tried(targets: Sequence[Target]) -> int:
    """Return on how many records guesses are tried: the fewer targets there are, the more of each."""
    return RECORDS * TARGETS // max(1, len(targets))


def count_guesses(targets: Sequence[Target], X: F64, y: Array, columns: I64, rows: I64) -> I64:
    """Return for every column how many members are guessed, how many there are, and the same of others."""
    found = [_attack_column(targets, X, y, rows, int(j)) for j in columns]
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def _advantage(right: int, members: int, other_right: int, others: int) -> float:
    return float(right / members - other_right / others) if members and others else 0.0


def _attack_column(targets: Sequence[Target], X: F64, y: Array, rows: I64, column: int) -> tuple[int, int, int, int]:
    """Return of how many members, and of how many others, the values of a column are guessed."""
    values = find_values(X[:, column])
    truth = np.abs(X[rows, column, None] - values).argmin(axis=1)
    surely = cache(partial(_vary, X=X[rows], y=y[rows], column=column, values=values))
    hit = np.array([_guess(target, rows, surely) == truth for target in targets])
    member = np.array([target.member[rows] for target in targets])
    return int(hit[member].sum()), int(member.sum()), int(hit[~member].sum()), int((~member).sum())


def find_values(column: F64) -> F64:
    """Return what a value may be: all that occur if they are few, else the middles of as many equal shares."""
    known = np.unique(column)
    if len(known) <= VALUES:
        return known
    return np.unique(np.quantile(column, (np.arange(VALUES) + 0.5) / VALUES))


def _vary(model: Any, X: F64, y: Array, column: int, values: F64) -> F64:
    """Return how sure a model is of every record with every value in the column: a line each."""
    versions = np.repeat(X, len(values), axis=0)
    versions[:, column] = np.tile(values, len(X))
    return measure_sureness(model, versions, np.repeat(y, len(values))).reshape(len(X), len(values))


def _guess(target: Target, rows: I64, surely: Callable[[Any], F64]) -> I64:
    """Return the number of the value that is guessed of every record."""
    twins, own = target.twins, surely(target.model)
    every = np.array([surely(model) for model in twins.models])
    without = np.repeat(~twins.member[:, rows, None], own.shape[1], axis=2)
    mean, variance = expect(every.reshape(len(twins), -1), without.reshape(len(twins), -1))
    z = (own - mean.reshape(own.shape)) / np.sqrt(variance.reshape(own.shape))
    return np.asarray(z.argmax(axis=1))


def study(X: F64, y: I64) -> Points:
    """Yield the advantage by how many twins the attacker trains, of every learner with a public model."""
    for learner in list_learners():
        twins = train_twins(learner.train, X, y, count=max(COUNTS) + 1)
        for count in COUNTS:
            targets = target_twins(twins.first(count + 1))
            yield Point(learner.name, count, max(0.0, attribute_inference(targets, X, y).advantage))
