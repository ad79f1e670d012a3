"""Digests of whole runs: of every conformance case with three parties, and of every estimator through its public face.

    python tests/vectors/record.py > runs.json

All secrets are fixed, so the same code gives the same digests on one machine. `compare.py` records two states of the
repository and says where they differ. What is digested does not depend on names: published values in their order,
results, models, predictions.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

sys.path.insert(0, str(Path(__file__).parents[1]))

import tacit
from conformance.case import merged
from conformance.cases import CASES
from tacit.choreo.message import Record
from tacit.crypto.pads import entropy
from tacit.runtimes.together import Together

PARTIES = 3


def digest(value: Any) -> str:
    """Of a value of any kind that a run leaves, whatever its class is called."""
    h = hashlib.sha256()
    for part in _parts(value):
        h.update(len(part).to_bytes(8, "little") + part)
    return h.hexdigest()[:32]


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _parts(value[key])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _parts(each)
    elif isinstance(value, Record):
        for name in value.field_names():
            yield from _parts(getattr(value, name))
    elif isinstance(value, np.ndarray):
        yield str(value.dtype).encode()
        yield np.ascontiguousarray(value).tobytes() if value.dtype != object else repr(value.tolist()).encode()
    else:
        yield repr(value).encode()


def case_digest(case: Any) -> str:
    """What a protocol opens and leaves."""
    roster = case.roster(max(PARTIES, case.least))
    roots = {party: hashlib.sha256(party.encode()).digest() for party in roster.parties}
    with Together(roster, job=b"vectors", entropy=entropy.RootEntropy(roster.parties, b"vectors", roots)) as run:
        result = merged({"all": case.run(run, case.inputs(roster))})
        return digest([result, len(run.ledger), run.ledger.rounds, run.ledger.bytes])


def tables() -> tuple[Any, ...]:
    """Small tables of two and of three classes."""
    wine, iris = load_wine(), load_iris()
    X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    return X, wine.target, (wine.target > 0).astype(int), iris.data, iris.target


def estimator_runs() -> dict[str, Callable[[], Any]]:
    """Every estimator on a small table, through `fit` and what follows it."""
    X, three, two, flowers, kinds = tables()

    def fitted(model: Any, partition: str, y: Any, X: Any = X, parties: int = 3) -> Any:
        fed = tacit.Federation.simulate(X, y, parties=parties, partition=partition, seed=3)
        model.fit(fed)
        return [
            model.predict(X),
            np.asarray(getattr(model, "decision_function", model.predict)(X)),
            model.report_.rounds,
            model.report_.bytes,
        ]

    risk = {"accept_risk": True}
    runs: dict[str, Callable[[], Any]] = {
        "SVC rows": lambda: fitted(tacit.SVC(**risk), "horizontal", two),
        "SVC rows, three classes": lambda: fitted(tacit.SVC(**risk), "horizontal", three),
        "SVC rows, linear, probability": lambda: fitted(
            tacit.SVC(kernel="linear", probability=True, **risk), "horizontal", three
        ),
        "SVC columns": lambda: fitted(tacit.SVC(partition="vertical", **risk), "vertical", two),
        "SVC columns, three classes": lambda: fitted(tacit.SVC(partition="vertical"), "vertical", three),
        "SVC columns, probability": lambda: fitted(tacit.SVC(partition="vertical", probability=True), "vertical", two),
        "SVR": lambda: fitted(tacit.SVR(partition="vertical"), "vertical", X[:, 0] * 1.0, X[:, 1:]),
        "ELM rows": lambda: fitted(tacit.ELMClassifier(n_hidden=10, **risk), "horizontal", three),
        "ELM regression": lambda: fitted(
            tacit.ELMRegressor(n_hidden=10, **risk), "horizontal", X[:, 0] * 1.0, X[:, 1:]
        ),
        "search": lambda: fitted(
            tacit.FederatedGridSearch(tacit.SVC(**risk), {"C": [0.5, 5.0]}),
            "horizontal",
            kinds,
            flowers,
        ),
        "pipeline": lambda: fitted(
            tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(**risk))]),
            "horizontal",
            kinds,
            flowers,
        ),
    }
    return runs


def main() -> int:
    """Print all digests as JSON."""
    warnings.simplefilter("ignore")
    found: dict[str, str] = {}
    for name, case in CASES.items():
        found[f"case {name}"] = _tried(lambda case=case: case_digest(case))
    for name, run in estimator_runs().items():
        found[name] = _tried(lambda run=run: digest(run()))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


def _tried(work: Callable[[], str]) -> str:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - what fails in one state must fail in the other too
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
