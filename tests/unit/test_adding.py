"""The recipes of CONTRIBUTING.md are executed: what they add, from outside the package, is used as if it were ours."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from dataclasses import KW_ONLY
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import tacit
from tacit.base.parameters import parameterized, rules_of
from tacit.choreo.declaration import Number, parameter
from tacit.errors import LocalError
from tacit.federation.readers import LOADERS
from tacit.registry import RUNTIMES

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).normal(size=(90, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def recipes(tmp_path_factory):
    """Return the blocks of code as one module of another package."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    file = tmp_path_factory.mktemp("recipes") / "recipes.py"
    file.write_text("\n\n".join(blocks), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("recipes", file)
    sys.modules["recipes"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del RUNTIMES["logged"], LOADERS[".jsonl"], sys.modules["recipes"]


@pytest.fixture
def federation():
    return tacit.simulate(X, Y, parties=("a", "b", "c"))


def test_a_protocol_runs_and_its_ledger_says_what_it_opened(recipes, federation):
    rounding = recipes.Rounding(step=20)
    outcome = federation.run(recipes.count_records, {"data": tacit.Records()}, rounding=rounding)
    assert outcome.result == 80
    assert {recipes.EXACT, recipes.ROUNDED} <= {fact for each in outcome.ledger.opens for fact in each.facts}


def test_a_parameter_that_is_declared_where_it_stands_is_known_to_jobs_and_policies(recipes):
    (own,) = recipes.COUNT_RECORDS.own
    assert (own.name, own.says, own.opens, recipes.COUNT_RECORDS.takes["step"].default) == (
        "step", "to what the number is rounded", True, 10
    )  # fmt: skip
    assert recipes.COUNT_RECORDS.arguments({"step": 5}) == {"rounding": recipes.Rounding(step=5)}
    assert own.kind.accepts(1000)
    assert not own.kind.accepts(1001)


def test_an_estimator_has_a_signature_checks_and_a_search(recipes, federation):
    assert inspect.signature(recipes.LinearSVC).parameters["kernel"].default == "linear"
    assert clone(recipes.LinearSVC(alpha=3.0)).get_params()["alpha"] == 3
    with pytest.raises(LocalError, match=r"The 'kernel' parameter of LinearSVC must be among {'linear'}\. Got 'rbf'"):
        recipes.LinearSVC(kernel="rbf").fit(federation)
    search = tacit.FederatedGridSearch(recipes.LinearSVC(), {"alpha": [0.1, 1.0]}).fit(federation)
    assert type(search.best_estimator_) is recipes.LinearSVC
    assert search.score(X, Y) > 0.8


@parameterized
class Patient(tacit.SVC):
    """A SVC with one parameter more."""

    _: KW_ONLY
    patience: int = parameter(3, Number(1, whole=True), "how many rounds it waits")


def test_a_parameter_of_an_estimator_is_declared_where_it_stands():
    assert list(inspect.signature(Patient).parameters)[:2] == ["patience", "class_weight"]
    assert clone(Patient(patience=5)).patience == 5
    words = r"The 'patience' parameter of Patient must be an int in the range \[1, inf\). Got 0 instead"
    with pytest.raises(LocalError, match=words):
        Patient(patience=0).fit(X, Y)


def test_an_estimator_that_is_no_subclass_of_ours_works_in_a_pipeline(recipes, federation):
    steps = [("centred", recipes.Centred()), ("svm", recipes.LinearSVC())]
    pipeline = tacit.Pipeline(steps, savable=False).fit(federation)
    np.testing.assert_allclose(pipeline[0].mean_, X.mean(axis=0), atol=1e-8)
    assert pipeline.score(federation) > 0.8
    assert pipeline[0].request(federation).name == "column_means"


def test_a_runtime_is_taken_by_name_wherever_one_is(recipes):
    assert "logged" in rules_of(tacit.SVC)["runtime"].named
    recipes.RUNS.clear()
    tacit.SVC(kernel="linear", runtime="logged").fit(X, Y)
    tacit.FederatedScaler().fit(tacit.simulate(X, Y, parties=3, runtime="logged"))
    assert [name for name, _ in recipes.RUNS] == ["train_svm", "prepare_columns"]
    assert all(rounds > 0 for _, rounds in recipes.RUNS)


@pytest.mark.usefixtures("recipes")
def test_a_reader_is_chosen_by_the_suffix(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_text('{"x": 1.5, "label": 0}\n{"x": 2.5, "label": 1}\n')
    fed = tacit.from_files([tmp_path / f"{name}.jsonl" for name in ("a", "b", "c")], partition="horizontal")
    assert fed.pooled()[0].ravel().tolist() == [1.5, 2.5] * 3
