"""What `import tacit` offers: seen in an editor, imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import tacit


def test_every_name_is_shown_and_can_be_had():
    assert set(tacit.__all__) == set(dir(tacit))
    for name in tacit.__all__:
        assert getattr(tacit, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'import_module'"):
        tacit.import_module  # noqa: B018 - looked up


def leaves(kind: type) -> Iterator[str]:
    """Yield the names of our classes of that kind from which no other of ours is made."""
    for each in kind.__subclasses__():
        ours = each.__module__.startswith("tacit.") and not each.__module__.startswith("tacit.papers.")
        if ours and not [one for one in each.__subclasses__() if one.__module__.startswith("tacit.")]:
            yield each.__name__
        yield from leaves(each)


def test_all_estimators_are_shown():
    assert all(hasattr(tacit, name) for name in tacit.__all__)  # which imports them
    made = set(leaves(BaseEstimator))
    assert {"SVC", "Pipeline", "FederatedScaler"} <= made
    assert made <= set(dir(tacit))


def test_the_version_is_that_of_the_package_and_attacks_need_no_import_of_their_own():
    assert tacit.__version__ == version("tacit")
    assert tacit.attacks.__name__ == "tacit.attacks"


def test_federations_are_made_on_the_front_door():
    X, y = np.arange(24.0).reshape(12, 2), [0, 1] * 6
    assert repr(tacit.simulate(X, y, parties=3)) == repr(tacit.Federation.simulate(X, y, parties=3))
    assert len(tacit.from_parts([(X[:4], y[:4]), (X[4:8], y[4:8]), (X[8:], y[8:])], partition="horizontal")) == 3
    assert (tacit.connect, tacit.from_files) == (tacit.Federation.connect, tacit.Federation.from_files)
    import_module("tacit.federation.spark")  # a module of the same name must not stand before it
    assert tacit.spark == tacit.Federation.spark


def test_a_plain_import_waits_for_no_other_package():
    code = "import tacit, sys; dir(tacit); sys.exit(any(name in sys.modules for name in ('numpy', 'sklearn', 'nats')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own


def test_a_site_loads_no_library_that_draws():
    code = "import tacit.consortium.site.daemon, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own


FIRST_FIT = """
import sys, numpy as np, tacit
X = np.random.default_rng(0).normal(size=(90, 3))
tacit.SVC(random_state=0, features=20).fit(tacit.simulate(X, X[:, 0] > 0, parties=3))
unused = {"matplotlib", "pyarrow.parquet", "sklearn.svm", "sklearn.linear_model", "tacit.consortium"}
sys.exit(", ".join(unused & set(sys.modules)) or None)
"""


def test_a_first_fit_loads_nothing_that_draws_reads_files_or_connects():
    done = subprocess.run([sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert (done.returncode, done.stderr) == (0, "")
