"""Other systems: what they lack is taken away here, and a party still trains, keeps its journal and locks its folder.

`make test-all` has mypy look at every line as on macOS and on Windows; this runs what a party runs.
"""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LACKING = {
    "os": [
        "posix_fallocate", "pread", "pwrite", "fdatasync", "memfd_create", "sched_getaffinity", "fork", "geteuid",
        "getuid", "chown", "sync", "mkfifo",
    ],
    "signal": ["SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM"],
    "mmap": ["MADV_DONTNEED"],
    "socket": ["AF_UNIX"],
}  # fmt: skip
BLOCKED = ["fcntl", "pwd", "grp", "resource", "termios"]

SCRIPT = """
import asyncio, importlib, os, sys, tempfile, types
from pathlib import Path

import numpy as np
import sklearn.datasets, sklearn.svm, numba, pyarrow, matplotlib  # others' code looks at the real system

calls = []
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK = 2
msvcrt.locking = lambda *call: calls.append(call)
sys.modules["msvcrt"] = msvcrt
for name in {blocked}:
    sys.modules[name] = None
for name, lacking in {lacking}.items():
    module = importlib.import_module(name)
    for each in lacking:
        delattr(module, each)
sys.platform = "win32"
import tacit.consortium.disk
sys.platform = "linux"

import tacit
import tacit.cli.one_machine
import tacit.consortium.site.daemon
from tacit.consortium.disk import lock_folder
from tacit.consortium.journal.store import Store
from tacit.errors import LocalError
from tacit.scratch import make_array, release
"""


def run(body: str) -> str:
    """Return what a fresh interpreter prints that lacks all of this."""
    head = SCRIPT.format(blocked=BLOCKED, lacking=LACKING)
    ended = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", head + textwrap.dedent(body)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_a_party_trains_keeps_a_journal_and_locks_its_folder_without_what_windows_lacks() -> None:
    told = run("""
        X, y = sklearn.datasets.load_iris(return_X_y=True)
        fed = tacit.simulate(X, y, parties=3, partition="horizontal", seed=1)
        print(tacit.ELMClassifier(random_state=1).fit(fed).score(fed) > 0.9)

        array = make_array((1000, 100), np.float64)
        array[:] = 1.0
        release(array)
        print(array.sum() == 100_000)

        with tempfile.TemporaryDirectory() as folder:
            sys.platform = "win32"
            with lock_folder(Path(folder) / "state", "the folder", "taken"):
                print(len(calls) == 1)
            sys.platform = "linux"
            store = Store(Path(folder) / "journal")
            store.sync()
            store.close()
            again = Store(Path(folder) / "journal")
            again.close()
            print(True)
    """)
    assert told.split() == ["True"] * 4


@pytest.mark.slow
def test_products_with_bfv_say_in_one_line_that_they_need_linux() -> None:
    told = run("""
        from tacit.papers.gram.engines.seal_bytes import Memory
        try:
            Memory().__enter__()
        except LocalError as error:
            print(error)
    """)
    assert told.splitlines() == [
        "engine='bfv' needs files in memory, which this system does not have: use Linux, or engine='paillier'"
    ]


@pytest.mark.parametrize("folder", ["src", "tools"])
def test_every_text_file_says_its_encoding_which_windows_has_another_of(folder: str) -> None:
    silent = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"read_text", "write_text"}:
                said = {word.arg for word in node.keywords}
                of_path = "distribution" not in ast.unparse(node.func)  # it has a file of that name, always in UTF-8
                silent += [f"{path.name}:{node.lineno}"] * (of_path and "encoding" not in said)
    assert silent == []
