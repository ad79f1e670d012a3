"""What a person reads where Spark is not there, or set so that it would compute a mask twice.

None of this starts Java.
"""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tacit.errors import LocalError, install_command
from tacit.runtimes.spark.session import check, find_java

FIT = (
    "import numpy as np; from tacit import SVC; SVC(runtime='spark', min_count=1,"
    " accept_risk=True).fit(np.eye(6), [0, 1] * 3)"
)


def last_line(code, **environment):
    kept = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"}
    command = [sys.executable, "-c", code]
    # ours
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_without_pyspark_one_line_names_the_extra():
    line = last_line(f"import sys; sys.modules['pyspark'] = None; {FIT}")
    assert line == f"tacit.errors.MissingExtraError: Spark needs the extra 'spark': {install_command('spark')}"


def test_without_java_one_line_names_the_package():
    pytest.importorskip("pyspark")
    line = last_line(FIT, PATH="/nowhere")
    assert line.startswith("tacit.errors.LocalError: Spark needs Java 17 or newer, which is not installed. ")
    assert "apt install openjdk-17-jre-headless" in line


def test_a_java_home_without_java_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(LocalError, match=f"which is not in JAVA_HOME={tmp_path}"):
        find_java()


def context(master="local[2]", **settings):
    return SimpleNamespace(getConf=lambda: settings, master=master, getCheckpointDir=lambda: None)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"spark.speculation": "true"}, "spark.speculation=true computes the same masked sum twice: set it to false"),
        ({"spark.task.maxFailures": "1"}, "spark.task.maxFailures is below 4"),
        ({}, r"a cluster needs a folder for checkpoints .*setCheckpointDir\('hdfs:///...'\) first"),
    ],
)
def test_settings_that_break_the_rules_are_refused(settings, words):
    with pytest.raises(LocalError, match=words):
        check(context("spark://cluster:7077", **settings))
