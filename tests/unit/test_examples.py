"""Every example runs as a reader would run it, and says what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "01_four_hospitals.py": [
        "together     0.9",
        "everyone knows the weights of the model, rounded and with noise",
        "report: four_hospitals.html",
    ],
    "02_bank_and_insurers.py": [
        "labels at bank",
        '"contains_records_of": {}',
        "accuracy on 100 new customers: 0.9",
    ],
    "03_pipeline_and_grid_search.py": [
        "best: {'svc__alpha':",
        "the clone agrees: True",
        "in shares: {'alpha':",
    ],
    "06_heart_disease.py": [
        "generated records of the same shape",
        "together beats the mean of the sites alone by",
        "report: heart_disease.html",
    ],
    "07_any_cut.py": [
        "of them at all three",
        "columns: 9",
        "cells: 9",
        "nobody can work out records of others without coordinator",
    ],
    "04_rows_of_many.py": [
        "together         0.9",
        "landmarks are synthetic",
        "from a plain scikit-learn pipeline: True",
        "report: rows_of_many.html",
    ],
}


ELSEWHERE = {"05_spark_submit.py"}  # tests/spark runs it, where there is Java


def test_every_example_is_listed():
    assert sorted({*SAYS, *ELSEWHERE}) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_promises(name, tmp_path):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    # our own files
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)  # noqa: S603
    assert done.stderr == ""
    for words in SAYS[name]:
        assert words in done.stdout
