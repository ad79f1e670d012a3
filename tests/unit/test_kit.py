"""The kit, which installs tacit on a machine without a network: what it checks, refuses and says."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HERE = f"{platform.system()} {platform.machine()}, Python {sys.version_info[0]}.{sys.version_info[1]}"


def pack_by_hand(kit, made_for=HERE):
    """Write a kit whose wheel needs what is not there."""
    files = {"EXTRAS": "party\n", "MADE_FOR": f"{made_for}\n", "wheels/tacit-9.0-py3-none-any.whl": "no wheel"}
    (kit / "wheels").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "kit_install.py", kit / "install.py")
    for name, text in files.items():
        (kit / name).write_text(text)
    sums = [f"{hashlib.sha256((kit / name).read_bytes()).hexdigest()}  {name}\n" for name in (*files, "install.py")]
    (kit / "SHA256SUMS").write_text("".join(sums))
    return kit


def install(kit, folder):
    """Return what the kit says on stdout and as its last line on stderr, and check that it shows no traceback."""
    command = [sys.executable, str(kit / "install.py"), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the kit's own
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    return ended.stdout, ended.stderr.splitlines()[-1]


def test_a_kit_for_another_python_says_which_one_to_use(tmp_path):
    kit = pack_by_hand(tmp_path / "kit", "Linux x86_64, Python 3.99")
    said = install(kit, tmp_path / "tacit")[1]
    assert said.startswith(
        f"this kit is for Linux x86_64, Python 3.99, and this is {HERE}: run install.py with python3.99"
    )
    assert not (tmp_path / "tacit").exists()


def test_an_environment_does_not_mix_with_other_files(tmp_path):
    kit = pack_by_hand(tmp_path / "kit")
    assert "lies in the kit, which must stay as it was made: name a folder outside" in install(kit, kit / "tacit")[1]
    assert install(kit, tmp_path)[1] == f"{tmp_path} has other files in it: name a folder that is new or empty"
    assert [path.name for path in tmp_path.iterdir()] == ["kit"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    kit = pack_by_hand(tmp_path / "kit")
    (tmp_path / "file").touch()
    said = install(kit, tmp_path / "file" / "tacit")[1]
    assert said.startswith(f"{tmp_path / 'file' / 'tacit'} cannot be made (")
    assert said.endswith("name a folder that you may write to, or ask who may")


def test_what_pip_refuses_is_told_with_what_to_do(tmp_path):
    out, said = install(pack_by_hand(tmp_path / "kit"), tmp_path / "tacit")
    assert f"installing into {tmp_path / 'tacit'}" in out
    assert (
        said
        == f"nothing was installed, for the reason above: send it to who made the kit, and remove {tmp_path / 'tacit'}"
    )


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    command = [sys.executable, str(ROOT / "tools" / "kit.py"), "--extras", "nats,page", "--site", str(folder / "none")]
    made = subprocess.run([*command, "--out", str(folder)], capture_output=True, text=True, check=False)  # noqa: S603
    if made.returncode:
        pytest.skip(f"the index of packages cannot be reached: {made.stderr[-200:]}")
    archive, told = made.stdout.splitlines()
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder / "kit")
    assert told.endswith(hashlib.sha256((folder / "kit" / "SHA256SUMS").read_bytes()).hexdigest())
    return folder / "kit"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_kit_installs_without_a_network_and_trains(kit, tmp_path):
    nowhere = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_INDEX_URL": "http://127.0.0.1:9/"}
    command = [sys.executable, str(kit / "install.py"), str(tmp_path / "tacit")]
    said = subprocess.run(command, check=True, env=nowhere, capture_output=True, text=True)  # noqa: S603 - the kit's own
    examples = Path(said.stdout.partition("configurations to start from: ")[2].strip())
    assert {"party.toml", "policy.toml", "coordinator.toml"} <= {path.name for path in examples.iterdir()}
    python = tmp_path / "tacit" / "bin" / "python"
    told = subprocess.run(  # noqa: S603 - what was just installed
        [str(python), str(ROOT / "tools" / "smoke.py")],
        env=nowhere,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"tacit {PROJECT['version']} on Python" in told.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_kit_that_was_changed_installs_nothing(kit, tmp_path):
    (kit / "wheels" / "one-more.txt").write_text("x")
    command = [sys.executable, str(kit / "install.py"), str(tmp_path / "tacit")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the kit's own
    (kit / "wheels" / "one-more.txt").unlink()
    assert ended.returncode == 1
    assert "wheels/one-more.txt is missing, changed or not on the list" in ended.stderr
    assert not (tmp_path / "tacit").exists()
