"""A package of another house brings a protocol and an estimator, which a study between organisations uses."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from organisations.row_sites import rows_of_three
from tacit.cli.one_machine import one_machine
from tacit.consortium.site.example_files import example_policy
from tacit.protocols import template

pytest.importorskip("nats")

ESTIMATOR = '''
"""Columns less their means over all parties."""

import numpy as np

from house.means import column_means
from tacit import Records, Request
from tacit.base.parameters import parameterized
from tacit.models.prepared import Scaled
from tacit.preprocessing.transformer import FederatedTransformer


@parameterized
class Centred(FederatedTransformer):
    """Subtracts the mean of every column over all parties."""

    def _request(self, federation):
        return Request(column_means, {"data": Records()})

    def _model(self, federation, result):
        return Scaled(result, np.ones(len(result)), {"mean_": result})

    def _names_out(self, names):
        return names
'''
ENTRIES = """
[tacit.protocols]
column_means = house.means:COLUMN_MEANS

[tacit.estimators]
Centred = house.centred:Centred
"""
STUDY = """
dataset = "cohort"
purpose = "a test"
legal_basis = "none"
parties = ["h1", "h2", "h3"]
coordinator = "clearing"
partition = "horizontal"
seed = 7

[[step]]
use = "Centred"

[[step]]
use = "SVC"

[evaluate]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which pip installed the package's wheel."""
    root = tmp_path_factory.mktemp("house")
    about = "house-1.0.dist-info"
    files = {
        "house/__init__.py": '"""A package of another house."""\n',
        "house/means.py": Path(template.__file__).read_text(),
        "house/centred.py": ESTIMATOR,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: house\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": ENTRIES,
    }
    record = f"{about}/RECORD"
    with zipfile.ZipFile(root / "house-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, record: "".join(f"{name},,\n" for name in (*files, record))}.items():
            wheel.writestr(name, text)
    target = root / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir"]
    subprocess.run([*command, "--target", target, *root.glob("*.whl")], check=True)  # noqa: S603 - ours
    return target


@pytest.fixture(scope="module")
def sites(installed, tmp_path_factory):
    """Hospitals that have the package, whose policies do not name its protocol."""
    rows = rows_of_three()
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    with (
        pytest.MonkeyPatch.context() as patch,
        one_machine(tmp_path_factory.mktemp("net"), records, labels, keep=True) as made,
    ):
        patch.setenv("PYTHONPATH", paths)
        for site in made.sites:
            made.start(site)
        made.wait()
        (made.folder("analyst") / "study.toml").write_text(STUDY)
        yield made


def submit(made) -> subprocess.CompletedProcess[str]:
    """The analyst's command, in a process that has the package, too."""
    folder = made.folder("analyst")
    command = [sys.executable, "-m", "tacit.cli", "submit", folder / "study.toml"]
    asked = ["--report", folder / "report.html", "--config", made.config("analyst")]
    return subprocess.run([*command, *asked], capture_output=True, text=True, check=False, timeout=240)  # noqa: S603


def test_a_study_uses_what_the_package_brings_once_every_policy_names_it(sites):
    refused = submit(sites)
    assert refused.returncode == 2
    assert "policy policy.toml: " in refused.stderr
    assert "column_means" in refused.stderr
    shipped = tomllib.loads(example_policy())["protocols"]
    for name in sites.hospitals:
        policy = example_policy(automatic=True, protocols=[*shipped, "column_means"])
        (sites.folder(name) / "policy.toml").write_text(policy)
    done = submit(sites)
    assert done.returncode == 0, done.stderr
    page = (sites.folder("analyst") / "report.html").read_text()
    assert "the mean of every column" in page  # a fact of the package
    assert "held-out records" in page
