"""One Spark on this machine for all tests of the process, on the loopback interface.

Where there is none, the tests say why.
"""

import os
from pathlib import Path

import pytest

from tacit.errors import LocalError, install_command
from tacit.runtimes.spark.session import find_java, quiet, session

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def java():
    """Where Spark can run."""
    pytest.importorskip("pyspark", reason=f"no pyspark: {install_command('spark')}")
    try:
        return find_java()
    except LocalError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(java):
    """Executors find the steps of the tests on their path; nothing is left running."""
    del java
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTS), before)))
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
