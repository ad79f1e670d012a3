"""Helpers of the suite import each other as `conformance.cases`, `leaks.enumeration`.

Child processes inherit the path.
"""

import logging
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from tacit.consortium.site.logs import QUIET

sys.path.insert(0, str(Path(__file__).parent))
from postgres_server import running_postgres  # found by the line above

settings.register_profile("any machine", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("any machine")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Compute with one thread as every site does, here, in libraries loaded later, and in child processes.

    Results depend on the number of threads, and the two workers of the suite share two cores.
    """
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call():
    """Let an estimator without a random state, which draws from numpy's own generator, do the same in every run.

    Here and not in a fixture: pytest-randomly seeds numpy anew, with another seed in each run, after all fixtures.
    """
    np.random.seed(0)  # noqa: NPY002 - it is scikit-learn's generator where random_state is None


@pytest.fixture(autouse=True)
def same_log():
    """Undo what a command that was run in this process set up for logging: its stream is closed with its test."""
    root = logging.getLogger()
    handlers, levels = list(root.handlers), {name: logging.getLogger(name).level for name in ("", "tacit", *QUIET)}
    yield
    root.handlers = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL that runs."""
    with running_postgres() as server:
        yield server


LONG = (
    "organisations",
    "spark",
    "conformance",
)  # first, so that no worker has minutes of them left when the other is through
SLOW = (
    "organisations",
    "spark",
)  # left to `make test-all`, but for what shows that jobs run between organisations at all
ALWAYS = ("test_rows.py",)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    """Mark the tests of slow folders; single ones elsewhere say so themselves."""
    if item.path.parent.name in SLOW and item.path.name not in ALWAYS:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Folders of long tests before the others, in random order within each."""
    items.sort(key=lambda item: item.path.parent.name not in LONG)
