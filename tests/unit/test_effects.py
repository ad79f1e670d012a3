"""What every public parameter changes is said in docs/effects.toml, and "none" is what a rehearsal finds."""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.base.parameters import rules_of
from tacit.choreo.declaration import Either, Number
from tacit.consortium.jobs.requests import facts_by_role, list_told
from tacit.errors import TacitError

DOCS = Path(__file__).parents[2] / "docs"
HERE = {"verbose", "runtime", "device", "n_parties", "partition", "random_state"}  # of this process: not in a rehearsal
REHEARSED = (
    (tacit.SVC, "horizontal"),
    (tacit.SVC, "vertical"),
    (tacit.ELMClassifier, "horizontal"),
    (tacit.FederatedScaler, "horizontal"),
    (tacit.FederatedImputer, "horizontal"),
    (tacit.TableVectorizer, "horizontal"),
)


@cache
def reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", reference().list_public())
def test_every_parameter_says_what_it_changes_in_accuracy_cost_and_disclosure(name):
    told = reference().effects_of(name, reference().list_public()[name], reference().read_effects())
    assert [each for each, said in told.items() if len(said) != 3 or not all(said)] == []


def test_no_line_is_of_a_parameter_that_nothing_has():
    public = reference().list_public()
    known = {each for found in public.values() for each in reference().parameters_of(found)}
    known |= {f"{name}.{each}" for name, found in public.items() for each in reference().parameters_of(found)}
    assert set(reference().read_effects()) - known == set()


def other_values(kind, value):
    """Yield values that are not the default: each of a few, or a number twice as large, or half."""
    for each in kind.kinds if isinstance(kind, Either) else (kind,):
        if isinstance(each, Number):
            base = value if isinstance(value, int | float) and not isinstance(value, bool) else max(each.least, 1)
            numbers = [int(n) if each.whole else float(n) for n in (base * 2, base / 2)]
            yield from [n for n in numbers if n != value and each.allows(n)][:1]
        else:
            yield from (named for named in each.named if named != value)


def rehearse(federation, model):
    seen = federation.rehearse(model)
    facts = {role: set(list_told(found)) for role, found in facts_by_role(seen.disclosure).items()}
    return facts, (seen.cost.rounds, max(seen.cost.bytes.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "partition"), REHEARSED, ids=lambda each: getattr(each, "__name__", each))
def test_a_parameter_that_is_said_to_open_and_to_cost_nothing_does_not(kind, partition):
    X = np.random.default_rng(0).normal(size=(400, 8))
    federation = tacit.simulate(X, np.arange(400) % 2, parties=4, partition=partition, seed=0)
    usual = kind()
    facts, cost = rehearse(federation, usual)
    said = reference().effects_of(kind.__name__, kind, reference().read_effects())
    wrong, tried = [], 0
    for name, rule in rules_of(kind).items():
        for value in other_values(rule, getattr(usual, name)) if name not in HERE else ():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    seen = rehearse(federation, kind(**{name: value}))
                except TacitError:
                    continue  # it needs another parameter beside it
            tried += 1
            wrong += [(name, value, "opens")] * (said[name][2].startswith("none") and seen[0] != facts)
            wrong += [(name, value, "costs")] * (said[name][1].startswith("none") and seen[1] != cost)
    assert tried > 1
    assert wrong == []
