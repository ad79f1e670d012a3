"""Model files that 0.1.0 wrote still load, in a process that has imported nothing else, and answer as they did."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit

FILES = Path(__file__).parent / "of_0_1_0"
ANSWERS = json.loads((FILES / "answers.json").read_text())
RECORDS = np.array(ANSWERS["records"])


def answers(model):
    values = model.transform(RECORDS) if hasattr(model, "transform") else model.decision_function(RECORDS)
    return np.asarray(values).ravel()


@pytest.mark.parametrize("name", sorted(path.stem for path in FILES.glob("*.tacit")))
def test_a_model_of_0_1_0_answers_as_it_did(name):
    model = tacit.load(FILES / f"{name}.tacit")
    np.testing.assert_allclose(answers(model), ANSWERS[name], rtol=1e-9, atol=1e-9)
    assert model.report_.estimator == type(model).__name__


@pytest.mark.parametrize("name", ["gram", "scaler"])
def test_it_loads_in_a_process_that_has_imported_nothing_else(name):
    code = f"import tacit; print(type(tacit.load({str(FILES / name) + '.tacit'!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.strip() == type(tacit.load(FILES / f"{name}.tacit")).__name__
