"""One Spark on this machine for all tests of the process, on the loopback interface; where there is none, the tests say why."""

import os
from pathlib import Path

import pytest

from tacit.errors import LocalError
from tacit.runtimes.spark_session import find_java, quiet, session

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def java():
    """Where Spark can run."""
    pytest.importorskip("pyspark", reason="no pyspark: pip install 'tacit[spark]'")
    try:
        return find_java()
    except LocalError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(java):
    """Executors find the steps of the tests on their path; nothing is left running."""
    del java
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(TESTS)
    made = session()
    with quiet():
        from pyspark import SparkContext  # noqa: PLC0415 - where it is installed

        yield made
        made.stop()
    SparkContext._gateway.shutdown()
    SparkContext._gateway.proc.stdin.close()
    SparkContext._gateway.proc.wait(30)
    SparkContext._gateway = None
    os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
