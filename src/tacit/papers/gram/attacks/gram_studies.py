"""The studies of attacks against gram SVMs: what each finds by what is known, under rules that stop it and without."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.learners import Point, Points, scale, steps
from tacit.federation import Federation
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.gram.attacks.bfv_noise import bfv_noise
from tacit.papers.gram.attacks.far_queries import bells, far_queries, nearest
from tacit.papers.gram.attacks.gram_inversion import gram_inversion
from tacit.papers.gram.attacks.gram_view import GramView, gram_of, gram_view
from tacit.papers.gram.attacks.known_column import known_column
from tacit.papers.gram.attacks.one_hidden_column import one_hidden_column
from tacit.papers.gram.attacks.rbf_trilateration import rbf_trilateration
from tacit.papers.gram.attacks.small_exponent import play as exponents_found
from tacit.papers.gram.attacks.token_frequency import token_frequency
from tacit.papers.gram.attacks.unit_queries import model_extraction, unit_queries

FEW = 8  # columns, where every polynomial of degree 2 has 45 coefficients


def inversion_study(X: F64, y: I64) -> Points:
    """Study the gram matrix in full precision, and as the coordinator receives it."""
    received = gram_view(_by_columns(X, y), X[:1]).gram
    for name, gram in (("exact", X @ X.T), ("as the coordinator receives it", received)):
        for known in steps(X.shape[1]):
            yield Point(name, known, gram_inversion(gram, X, np.arange(known)).error)


def trilateration_study(X: F64, y: I64) -> Points:
    """Study K of an exact gram matrix and a known gamma, and K as the coordinator receives it, gamma found."""
    gamma = 1.0 / X.shape[1]
    received = gram_view(_by_columns(X, y), X[:1]).gram
    for name, gram, given in (
        ("exact", X @ X.T, gamma),
        ("as the coordinator has it, gamma not known", received, None),
    ):
        K = Kernel("rbf", gamma).from_dots(gram.copy(), np.diag(gram), np.diag(gram))
        for known in (k for k in steps(X.shape[1] + 1) if k != 1):  # of one record only the place is known
            yield Point(name, known, min(1.0, rbf_trilateration(K, X, np.arange(known), given).error))


def column_study(X: F64, y: I64) -> Points:
    """Study the first column, of which some values are known.

    The gram matrix is in full precision, and as the coordinator receives it.
    """
    received = gram_view(_by_columns(X, y), X[:1]).gram
    for name, gram in (("exact", X @ X.T), ("as the coordinator receives it", received)):
        for known in steps(X.shape[1]):
            yield Point(name, known, min(1.0, known_column(gram, X[:, 0], np.arange(known)).error))


def hidden_study(X: F64, y: I64) -> Points:
    """Study hidden last columns, where the others are the coordinator's own or a friend's."""
    gram = gram_view(_by_columns(X, y), X[:1]).gram
    for hidden in sorted({1, 2, X.shape[1] // 2}):
        for known in sorted({0, 1, 2, *steps(hidden)}):
            found = one_hidden_column(gram, X[:, :-hidden], X[:, -hidden:], np.arange(known))
            yield Point(f"{hidden} hidden", known, min(1.0, found.error))


def empty_study(X: F64, y: I64) -> Points:
    """Study one holder's first column, while the two others bring so many columns between them."""
    for others in (0, 1, 2):
        if others < X.shape[1]:
            gram = gram_of(X[:, : 1 + others], y)
            yield Point(
                "nothing known", others, min(1.0, one_hidden_column(gram, X[:, :0], X[:, :1], np.arange(0)).error)
            )


def unit_study(X: F64, y: I64) -> Points:
    """Study questions: of the records half are learnt from, some are the asker's own, and some judge."""
    learnt, (own, fresh) = X[::2, :FEW], np.array_split(X[1::2, :FEW], 2)
    federation, n, rng = _by_columns(learnt, y[::2]), learnt.shape[1], np.random.default_rng(0)
    units, made = (
        np.vstack([np.eye(n), np.zeros(n)]),
        own[rng.integers(0, len(own), 16 * n)] + rng.normal(size=(16 * n, n)) / 2,
    )
    asked = {name: (kernel, made if kernel != "linear" else units[::-1]) for kernel, name in _ANSWERS.items()}
    for name, (kernel, queries) in asked.items():
        view = gram_view(federation, np.vstack([queries, fresh]), kernel=kernel, gamma=1.0 / n)
        told, truth = np.split(view.answers, [len(queries)])
        for q in _asked(n, len(queries)):
            yield Point(name, q, min(1.0, model_extraction(view.kernel, queries[:q], told[:q], fresh, truth).error))
    view = gram_view(federation, units, gamma=1.0 / n)
    for q in _asked(n, n):
        yield Point(
            "support vectors, by the coordinator's help",
            q,
            unit_queries(view.dots[:q], units[:q], learnt[view.support]).error,
        )


_ANSWERS = {"linear": "linear, answers alone", "poly": "poly of degree 2, answers alone", "rbf": "rbf, answers alone"}


def _asked(n: int, most: int) -> list[int]:
    """Return how many questions to try: around the number of columns, and of coefficients of degree 2."""
    return sorted(
        q for q in {0, n // 2, n - 1, n, n + 1, 2 * n, 4 * n, (n + 1) * (n + 2) // 2, 8 * n, 16 * n} if q <= most
    )


def far_study(X: F64, y: I64) -> Points:
    """Study questions along every axis, both ways; of all that is found, what the attacker is surest of."""
    n = X.shape[1]
    axes, federation, gamma = np.vstack([np.eye(n), -np.eye(n)]), _by_columns(X, y), 1.0 / n
    for depth in (5.0, 10.0, 15.0, 20.0, 25.0, 30.0):
        queries = far_queries(axes, gamma, 3.0, depth)
        view = gram_view(federation, queries, gamma=gamma)
        for name, decimals in (("answers as they are", 17), ("of 9 decimals", 9), ("of 3 decimals", 3)):
            yield Point(name, depth, _surest(view, queries, view.answers.round(decimals), X[view.support]))


def _surest(view: GramView, queries: F64, answers: F64, support: F64) -> float:
    found = bells(queries, answers, view.kernel.gamma)
    return min(1.0, nearest(found[0].record, support)) if found else 1.0


def noise_study(X: F64, _: I64) -> Points:
    """Study a reply without one of its protections, and with all."""
    whole = scale(X[:, :4], 1 << 20)
    protections = {"no mask": "masked", "no fresh encryption": "encrypted", "no flood": "flooded", "all three": ""}
    for name, left_out in protections.items():
        for rows in (2, 8):
            guess = bfv_noise(whole[rows : rows + 100], whole[:rows], **({left_out: False} if left_out else {}))
            # a guess that is only near may be luck
            yield Point(name, rows, float(np.mean(guess.matrix == whole[:rows])))


def exponent_study(X: F64, _: I64) -> Points:
    """Study entries of few bits and of as many as cells have, with fresh noise and without."""
    for name, bits, randomised in (
        ("as printed, 8 bits", 8, False),
        ("as printed, 20 bits", 20, False),
        ("re-randomised, 8 bits", 8, True),
    ):
        cells = scale(X[:10, :2], 1 << bits)
        for known in (0, 1, 2):
            yield Point(
                name, known, exponents_found(cells, np.arange(known), randomised=randomised, bound=1 << bits).error
            )


def token_study(X: F64, _: I64) -> Points:
    """Study matching by frequencies alone, and by co-occurrence too."""
    table = np.hstack([cut < X for cut in (-0.5, 0.0, 0.5, 1.0)]).astype(np.float64)
    truth, others = np.array_split(table[:, table.any(axis=0)], 2)
    seen = truth[:, np.random.default_rng(0).permutation(truth.shape[1])]
    for known in (25, 50, 100, 200):
        for name, together in (("frequencies", False), ("frequencies and co-occurrence", True)):
            yield Point(name, known, token_frequency(seen, others[:known], truth, together=together).ones)


def _by_columns(X: F64, y: I64) -> Federation:
    return Federation.simulate(X, y, parties=3, partition="vertical")
