"""Errors name a way out that exists: each is provoked in the words of a user, who then does what it says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import remedies_of_tables
import remedies_of_training
from sklearn.base import BaseEstimator

import tacit
from tacit import LocalError
from tacit.federation import read

PACKAGE = Path(tacit.__file__).parent
CASES = {**remedies_of_tables.CASES, **remedies_of_training.CASES}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.txt").write_text("a")


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("ignore")  # of few rounds, and of risks that were accepted
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_who_does_what_an_error_says_gets_further(case):
    with pytest.raises(LocalError) as said:
        case.wrong()
    assert case.says in str(said.value)
    assert case.right() is not None


PREPARING = ("federation", "base", "preprocessing", "pipeline.py")
TRAINING = ("svm", "model_selection", "metrics.py", "models", "protocols", "numeric")
NAMED = re.compile(r"(?<![\w.'-])([a-z_]{2,})=(?![=<>])")
OTHERS = {"shape", "fixed", "symmetric", "threshold"}  # scikit-learn's words; arguments of who writes protocols


def texts_of_errors() -> Iterator[tuple[str, str]]:
    """Yield where an error of the local interface is raised, and the words in it that are written out."""
    for room in (*PREPARING, *TRAINING):
        place = PACKAGE / room
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "LocalError":
                    words = (
                        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                    )
                    yield f"{file.relative_to(PACKAGE)}:{node.lineno}", " ".join(words)


def parameters_of_users() -> set[str]:
    """Return the names of everything that a user can pass: to estimators, federations and functions of `tacit`."""
    offered = [getattr(tacit, name) for name in dir(tacit) if not name.endswith("Error")]
    fits = [made.fit for made in offered if isinstance(made, type) and issubclass(made, BaseEstimator)]
    federations = [getattr(tacit.Federation, name) for name in dir(tacit.Federation) if not name.startswith("_")]
    called = [each for each in [*offered, *fits, *federations, read] if callable(each)]
    return {name for each in called for name in inspect.signature(each).parameters}


def test_every_parameter_that_an_error_names_exists():
    known = parameters_of_users() | OTHERS
    found = [(where, name) for where, text in texts_of_errors() for name in NAMED.findall(text) if name not in known]
    assert found == []
