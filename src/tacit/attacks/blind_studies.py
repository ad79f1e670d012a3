"""The attacks against gram SVMs, played on what parties of a blind one have: the dealer, a holder, both together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.attacks.blind_view import (
    BlindView,
    best_error,
    draw_chance,
    pick_lines,
    read_columns,
    read_gram,
    read_kernel,
    watch,
)
from tacit.attacks.far_queries import bells, far_queries, nearest
from tacit.attacks.gram_inversion import gram_inversion
from tacit.attacks.inversion import Inversion
from tacit.attacks.known_column import known_column
from tacit.attacks.one_hidden_column import one_hidden_column
from tacit.attacks.rbf_trilateration import rbf_trilateration
from tacit.attacks.study import Point, Points
from tacit.attacks.unit_queries import unit_queries
from tacit.choreo import Holder
from tacit.federation import Federation
from tacit.protocols.shares.gates import triangle_size
from tacit.registry import Outcome
from tacit.request import Records, Request, Values

FEW = 48  # records: with fewer luck goes further, and with more nothing else does
MORE, DEPTHS = 100, (5.0, 7.0, 10.0)  # of far questions: beyond, answers of 16 bits after the point have no digits left
ASKER = "blind, the asker"
DEALER, HOLDER, CHANCE, BOTH = "the dealer", "a holder", "chance", "both together"
KINDS = LABELS, NUMBERS = "blind", "blind regression"  # of labels, and of labels as numbers
EPSILON = 0.1
Hands = Mapping[str, list[U64]]  # the vectors that an attacker may try, by who it is


@dataclass(frozen=True)
class OnMatrix:
    """An attack on a matrix: how words become one, given their number of records and gamma, and what it finds.

    more: how many more known records than columns are enough.
    """

    read: Callable[[U64, int, float], F64]
    find: Callable[[F64, F64, I64], Inversion]
    wanted: Callable[[F64], F64]
    more: int = 0

    def study(self, X: F64, y: I64) -> Points:
        """Play it on everything that parties of a training have, with half of what is enough known, and enough."""
        X, y = _take_few(X, y)
        n, columns = X.shape
        for name, vectors in _name_all(y, lambda **more: watch_training(X, y, **more)):
            matrices = [self.read(words, n, 1.0 / columns) for words in vectors]
            for count in (columns // 2, columns + self.more):
                known = np.arange(count)
                attack = _Given(self.find, X, known)
                yield Point(name, count, best_error(matrices, attack, self.wanted(X), known))


@dataclass(frozen=True)
class _Given:
    find: Callable[[F64, F64, I64], Inversion]
    X: F64
    known: I64

    def __call__(self, matrix: F64) -> Inversion:
        return self.find(matrix, self.X, self.known)


def _read_kernel(words: U64, n: int, gamma: float) -> F64:
    del gamma
    return read_kernel(words, n)


def _trilaterate(K: F64, X: F64, known: I64) -> Inversion:
    return rbf_trilateration(K, X, known, 1.0 / X.shape[1])


def _find_first_column(gram: F64, X: F64, known: I64) -> Inversion:
    return known_column(gram, X[:, 0], known)


def _find_last_column(gram: F64, X: F64, known: I64) -> Inversion:
    return one_hidden_column(gram, X[:, :-1], X[:, -1:], known)


INVERSION = OnMatrix(read_gram, gram_inversion, lambda X: X)
TRILATERATION = OnMatrix(_read_kernel, _trilaterate, lambda X: X, more=1)
KNOWN_COLUMN = OnMatrix(read_gram, _find_first_column, lambda X: X[:, 0])
HIDDEN_COLUMN = OnMatrix(read_gram, _find_last_column, lambda X: X[:, -1:])


def unit_study(X: F64, y: I64) -> Points:
    """Ask about 0 and unit vectors; attack what parties have of the answers' making."""
    X, y = _take_few(X, y)
    columns = X.shape[1]
    queries = np.vstack([np.zeros(columns), np.eye(columns)])
    for name, vectors in _name_all(y, lambda **more: watch_answers(X, y, queries, **more)):
        for count in (columns // 2, columns):
            told = [read_columns(words, len(queries), 1.0 / columns)[:count] for words in vectors]
            attack = _Asked(queries[1 : count + 1], X)
            yield Point(name, count, best_error(told, attack, X, np.arange(0)))


@dataclass(frozen=True)
class _Asked:
    queries: F64
    X: F64

    def __call__(self, dots: F64) -> Inversion:
        return unit_queries(dots, self.queries, self.X)


def far_study(X: F64, y: I64) -> Points:
    """Ask a blind model along every axis, both ways: of what is found, the record that the asker is surest of."""
    X, y = X[:MORE], y[:MORE]
    n = X.shape[1]
    axes, gamma = np.vstack([np.eye(n), -np.eye(n)]), 1.0 / n
    federation = Federation.simulate(X, y, parties=3, partition="vertical")
    trained = federation.run(ask_training(federation, gamma))
    for depth in DEPTHS:
        queries = far_queries(axes, gamma, 3.0, depth)
        new = federation.split(queries)
        (answers,) = new.run(ask_answers(new, trained, gamma)).result.values()
        found = bells(queries, answers[:, 0], gamma)
        yield Point(ASKER, depth, min(1.0, nearest(found[0].record, X)) if found else 1.0)


# Runs


def _name_all(y: I64, play: Callable[..., Hands]) -> Iterator[tuple[str, list[U64]]]:
    """Yield what each attacker has in each kind of training, under the name of both."""
    numbers = {"epsilon": EPSILON, "target_range": (float(y.min()) - 1.0, float(y.max()) + 1.0)}
    for kind, more in {LABELS: {}, NUMBERS: numbers}.items():
        for who, vectors in play(**more).items():
            yield f"{kind}, {who}", vectors


def watch_training(X: F64, y: I64, **more: Any) -> Hands:
    """Train blindly, and return what could be a kernel matrix in the hands of each attacker."""
    federation, view = watch(Federation.simulate(X, y, parties=3, partition="vertical"))
    federation.run(ask_training(federation, 1.0 / X.shape[1], **more))
    return share_out(federation, view, triangle_size(len(X)))


def watch_answers(X: F64, y: I64, queries: F64, **more: Any) -> Hands:
    """Ask a blind model, and return what could be kernels of new and old records in the hands of each attacker."""
    federation = Federation.simulate(X, y, parties=3, partition="vertical")
    trained = federation.run(ask_training(federation, 1.0 / X.shape[1], **more))
    watched, view = watch(federation.split(queries))
    watched.run(ask_answers(watched, trained, 1.0 / X.shape[1]))
    return share_out(watched, view, len(queries) * len(X))


def ask_training(federation: Federation, gamma: float, **more: Any) -> Request:
    """Return the request of a blind training; more: such as epsilon, of a regression."""
    return Request("gram_blind", {"data": Records()}, {**_said(federation, gamma), **more})


def ask_answers(new: Federation, trained: Outcome, gamma: float) -> Request:
    """Return the request of a blind model's answers about new records."""
    result = trained.result
    share = Values(Holder, result.share)
    follows = {"problems": 1, "trained_on": result.records, "target_range": result.target_range}
    return Request("blind_predict", {"data": Records(), "share": share}, {**_said(new, gamma), **follows})


def _said(federation: Federation, gamma: float) -> dict[str, Any]:
    kernel = {"kernel": "rbf", "gamma": gamma, "degree": 3, "coef0": 0.0}
    return {"partition": federation.partition, **kernel, "C": 1.0}


def share_out(federation: Federation, view: BlindView, size: int) -> Hands:
    """Return the vectors of that size which each attacker has, and as many by chance."""
    holder = list(federation.parts)[1]
    dealt = pick_lines(view.of(federation.coordinator), size)
    held = pick_lines(view.of(holder), size, view.brought_by(holder))
    both = pick_lines(view.of_both(holder), size, view.brought_by(holder))
    return {DEALER: dealt, HOLDER: held, CHANCE: draw_chance(max(dealt, held, key=len)), BOTH: both}


def _take_few(X: F64, y: I64) -> tuple[F64, I64]:
    """Return some records, twice as many as columns at least, centred: a kernel of distances tells no place."""
    few = X[: max(FEW, 2 * X.shape[1])]
    return few - few.mean(axis=0), y[: len(few)]
