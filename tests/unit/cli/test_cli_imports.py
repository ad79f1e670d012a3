"""A command at a site starts at once: it imports what it needs and no more."""

import subprocess
import sys

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
