"""All attacks on models with differential privacy off and on: breast cancer, standardised, three parties.

Twins have 200 of 400 records each; ELMs have 40 nodes, and their sum H'H 200 nodes of 400 rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step, Table
from tacit.attacks.attribute_inference import attribute_inference
from tacit.attacks.elm_leverage import tell_apart
from tacit.attacks.membership_inference import membership_inference
from tacit.attacks.repeated_release import try_releases
from tacit.attacks.twins import target_twins, train_between, train_twins
from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.numeric.features.elm import hidden, layer_of, targets_of, words_needed
from tacit.numeric.privacy.descent import find_diagonal, multiply_rows
from tacit.numeric.privacy.features import R
from tacit.numeric.privacy.hidden import Rows
from tacit.numeric.ring.draws import public_words
from tacit.protocols.noisy.noisy_sum import agree_on_budget

PARTIES, DELTA, CLASSES = ("north", "east", "south"), 1e-4, (0, 1)
MODELS: dict[str, Any] = {
    "SecureELMClassifier": tacit.SecureELMClassifier(n_hidden=40, classes=CLASSES),
    "PanSVC(kernel='linear')": tacit.PanSVC(kernel="linear", classes=CLASSES),
}
BUDGETS: tuple[float | None, ...] = (None, 8.0, 1.0)
ASKED = 0.02  # members found at 1 % false alarms, at epsilon = 1
NODES, MEMBERS = 200, 400


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Attack models without epsilon, and with 8 and 1."""
    X, y = _records()
    rows, twins, trials = [], 8 if quick else 32, 6 if quick else 12
    with threadpool_limits(1):
        for k, (name, epsilon) in enumerate((name, epsilon) for name in MODELS for epsilon in BUDGETS):
            yield Step("attacks with noise off and on", k, len(MODELS) * len(BUDGETS))
            train = train_between(_choose(MODELS[name], epsilon), PARTIES, "horizontal")
            targets = target_twins(train_twins(train, X[:MEMBERS], y[:MEMBERS], count=twins))
            found = membership_inference(targets)
            guessed = max(0.0, attribute_inference(targets, X[:MEMBERS], y[:MEMBERS]).advantage)
            first = try_releases(train, X[:300], y[:300], candidates=20, trials=trials).share_first(20)
            lever = f"{_lever(X, y, epsilon):.2f}" if "ELM" in name else ""
            said = (f"{found.auc:.3f}", f"{found.true_positives:.1%}", f"{guessed:.1%}", f"{first:.0%}", lever)
            rows.append((name, "none" if epsilon is None else f"{epsilon:g}", *said))
            if epsilon == BUDGETS[-1]:
                text = f"{name}, epsilon = {epsilon:g}: members found at 1 % false alarms, {twins} twins"
                yield Figure(text, f"{found.true_positives:.2%}", f"{ASKED:.0%}", found.true_positives <= ASKED)
    columns = ("model", "epsilon", "membership: area", "at 1 %", "attribute", "repeated, of 20", "leverage: area")
    yield Table("attacks with differential privacy off and on", columns, tuple(rows))


def _choose(estimator: Any, epsilon: float | None) -> Any:
    made = clone(estimator)
    return made.set_params(classes=None) if epsilon is None else made.set_params(epsilon=epsilon, delta=DELTA)


def _records() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], y[chosen]


def _lever(X: np.ndarray, y: np.ndarray, epsilon: float | None) -> float:
    """Return how well leverage tells rows of H'H from others; of a noisy one, however the attacker steadies it."""
    members, others, columns = X[:MEMBERS], X[MEMBERS:], X.shape[1]
    W, b = layer_of(public_words(1, words_needed(columns, NODES)), NODES, "sigmoid", 1.0, columns)

    def layer(x: np.ndarray) -> np.ndarray:
        return np.asarray(hidden(x, W, b, "sigmoid"))

    if epsilon is None:
        H = layer(members)
        return tell_apart(H.T @ H, layer, members, others)
    rows = Rows(W, b, "sigmoid", 1.0, 1)
    M = multiply_rows(rows.make(members, targets_of(y[:MEMBERS], 2), np.ones(MEMBERS))).astype(np.float64)
    noise = agree_on_budget(epsilon, DELTA, 2, holders=3, rows=MEMBERS).noise(R**4 // 2, 1.0)
    drawn = draw_noise(bytes(32), M.size, 3 * noise.variance).astype(np.float64)
    drawn[find_diagonal(rows.size)] *= np.sqrt(2)
    values, V = np.linalg.eigh(rows.read(M + drawn)[0])
    steadied = ((V * np.maximum(values, steady * values.mean())) @ V.T for steady in (1e-3, 1e-1, 10.0))
    return max(tell_apart(A, layer, members, others) for A in steadied)


if __name__ == "__main__":
    for each in figures(quick=False):
        print(each, flush=True)
