"""Model files that 0.1.0 wrote are refused in one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import tacit

FILES = Path(__file__).parent / "of_0_1_0"


@pytest.mark.parametrize("name", ["consensus", "elm", "gram", "pan", "scaler", "shift"])
def test_a_model_of_0_1_0_is_refused_with_what_to_do(name):
    said = r"does not hold a model that this version reads: train again with this one, or use the version that wrote it"
    with pytest.raises(tacit.LocalError, match=rf"{name}.tacit {said} \(version 0.2") as error:
        tacit.load(FILES / f"{name}.tacit")
    assert "\n" not in str(error.value)
