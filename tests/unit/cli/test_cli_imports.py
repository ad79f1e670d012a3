"""A command at a site starts at once: it imports what it needs and no more."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from tacit.cli.one_machine import one_machine

HEAVY = ("sklearn", "scipy.stats", "pandas", "matplotlib", "pyspark", "nats", "tacit.base", "tacit.study")
LOOK = """
import sys
from typer.testing import CliRunner
from tacit.cli.app import app
done = CliRunner().invoke(app, sys.argv[1:], prog_name="tacit", catch_exceptions=False)
assert done.exit_code == 0, done.output
print(*sys.modules)
"""


def imported_by(*args):
    """The modules that a command imports."""
    command = [sys.executable, "-c", LOOK, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("command", [("party", "pending"), ("party", "approve"), ("status",)], ids=" ".join)
def test_the_help_of_a_command_at_a_site_imports_no_mathematics(command):
    assert not {"numpy", "scipy", "pyarrow", "tacit.registry", *HEAVY} & imported_by(*command, "--help")


@pytest.mark.parametrize("command", [("party", "pending"), ("status",)], ids=" ".join)
def test_a_command_at_a_site_imports_neither_estimators_nor_the_network(command, tmp_path):
    with one_machine(tmp_path, {name: np.ones((4, 2)) for name in "abc"}, np.arange(4) % 2, keep=True) as made:
        assert not {*HEAVY} & imported_by(*command, "--config", made.config("a"))


def test_the_status_of_a_site_at_work_reads_what_its_process_wrote_and_imports_no_protocol(tmp_path):
    with one_machine(tmp_path, {name: np.ones((4, 2)) for name in "abc"}, np.arange(4) % 2, keep=True) as made:
        job = "0123456789abcdef" * 2
        line = {"job": job, "state": "finished", "says": "it is over"}
        (made.folder("a") / "state" / "jobs" / job).mkdir(parents=True)
        (made.folder("a") / "state" / "status.json").write_text(json.dumps({"at": time.time(), "jobs": [line]}))
        found = imported_by("status", "--config", made.config("a"))
        assert not {"numpy", "scipy", "cryptography", "tacit.registry", "tacit.consortium.jobs.job", *HEAVY} & found


def test_a_study_finds_everything_loaded_at_a_site_that_has_loaded_ahead():
    ask = """
import sys
from tacit.consortium.site.daemon import load_ahead
load_ahead()
before = set(sys.modules)
from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.jobs.rehearsal import disclosure_of
steps = ({"use": "FederatedScaler"}, {"use": "SVC", "probability": True})
asked = {"steps": steps, "seed": 1, "partition": "horizontal", "evaluate": {}}
disclosure_of("study", asked, Roster({Holder: ("a", "b", "c"), Asker: ("a",), Coordinator: ("d",)}))
print(len(before), *(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)  # noqa: S603
    count, *later = done.stdout.split()
    assert int(count) > 1000
    assert not {name for name in later if name.startswith(("tacit", "numba", "sklearn"))}
