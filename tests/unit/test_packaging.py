"""The package as others get it: versions said once, locked parts, licences, words, and a kit that needs no network."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
TOOLS = ("podman", "docker", "buildah")
WEAK = {"gmpy2"}  # LGPL: a library of its own that its user may replace, and behind an extra


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["CITATION.cff", "tools/conda/recipe.yaml"])
def test_every_file_names_the_version_of_the_project(name):
    assert f"version: {PROJECT['version']}\n" in read(name)


def test_the_recipe_of_conda_requires_what_the_project_requires():
    recipe = read("tools/conda/recipe.yaml").replace("matplotlib-base", "matplotlib")
    asked = [Requirement(each) for each in PROJECT["dependencies"]]
    assert [each.name for each in asked if f"- {each.name} {each.specifier}\n" not in recipe] == []


def test_every_requirement_is_in_the_lock():
    locked = set(re.findall(r"^([a-z0-9.-]+)==", read("requirements-dev.lock"), re.MULTILINE))
    extras = PROJECT["optional-dependencies"]
    asked = {Requirement(each).name.lower() for extra in set(extras) - {"gpu"} for each in extras[extra]}
    assert (asked | {Requirement(each).name for each in PROJECT["dependencies"]}) - locked == {"tacit"}


def test_the_image_of_a_party_has_a_base_by_its_digest_and_all_that_a_party_needs():
    text = read("deploy/Containerfile")
    assert re.search(r"^ARG BASE=\S+:\S+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert "'/src[party]'" in text
    party = Requirement(PROJECT["optional-dependencies"]["party"][0])
    assert {"nats", "page", "sql", "he"} <= party.extras


def call(*words, **options):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, **options)  # noqa: S603 - found


def container_tool():
    """Return the command of a container tool that works here, or None."""
    return next((tool for tool in filter(shutil.which, TOOLS) if call(tool, "info").returncode == 0), None)


def base_of_image(tool):
    """Return the pinned base if a registry has it for us, else one that is here and was named, else None."""
    pinned = re.search(r"^ARG BASE=(\S+)$", read("deploy/Containerfile"), re.MULTILINE)[1]
    return pinned if call(tool, "pull", pinned).returncode == 0 else os.environ.get("TACIT_TEST_BASE")


def run_in_image(tool, *command):
    """Return what a command prints in the image, as its user."""
    smoke = ["-v", f"{ROOT / 'tools' / 'smoke.py'}:/smoke.py:ro"]
    if tool != "buildah":
        return call(tool, "run", "--rm", *smoke, "--entrypoint", command[0], "tacit-test", *command[1:])
    made = call(tool, "from", "tacit-test").stdout.strip()
    try:
        return call(tool, "run", *smoke, made, "--", *command)
    finally:
        call(tool, "rm", made)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_image_of_a_party_is_built_and_trains():
    tool = container_tool()
    if tool is None:
        pytest.skip("no container tool works here")
    base = base_of_image(tool)
    if base is None:
        pytest.skip("no registry gives the image's base here: TACIT_TEST_BASE may name another one with Python and pip")
    built = call(tool, "build", "--build-arg", f"BASE={base}", "-t", "tacit-test", "-f", "deploy/Containerfile", ".")
    assert built.returncode == 0, built.stderr
    told = run_in_image(tool, "python", "/smoke.py")
    assert f"tacit {PROJECT['version']} on Python" in told.stdout, told.stderr
    assert run_in_image(tool, "python", "-c", "import os; print(os.getuid())").stdout == "10001\n"
    extras = "import adbc_driver_postgresql, duckdb, gmpy2, nats, onnx, rbcl, skops, starlette, tenseal, uvicorn"
    assert run_in_image(tool, "python", "-c", extras).returncode == 0


def test_the_image_is_built_from_files_that_make_a_wheel():
    copied = re.findall(r"^COPY (.+) /src/\S*$", read("deploy/Containerfile"), re.MULTILINE)
    assert [name for line in copied for name in line.split() if not (ROOT / name).exists()] == []
    built = tomllib.loads(read("pyproject.toml"))
    needed = {
        PROJECT["readme"],
        *PROJECT["license-files"],
        built["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["path"],
    }
    assert needed <= {name for line in copied for name in line.split()}


def test_the_lock_names_no_host():
    assert re.findall(r"(?:https?|file):/\S*|--index\S*", read("requirements-dev.lock")) == []


def test_the_pythons_that_are_claimed_are_those_that_are_run():
    tree = ast.parse(read("noxfile.py"))
    listed = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PYTHONS"
    )
    assert listed == PYTHONS
    assert f"python: {json.dumps(PYTHONS)}" in read(".github/workflows/ci.yml")


def licence_of(name):
    told = distribution(name).metadata
    classifiers = [each for each in told.get_all("Classifier") or [] if each.startswith("License ::")]
    return " ".join([told.get("License-Expression") or "", (told.get("License") or "")[:60], *classifiers])


def runtime_parts():
    """Name everything that tacit and its extras bring along, without what only developers take."""
    found, left = set(), ["tacit[nats,export,spark,page,sql,he]"]
    while left:
        asked = Requirement(left.pop())
        try:
            needs = distribution(asked.name).requires or []
        except PackageNotFoundError:
            continue  # a marker of another platform
        for need in map(Requirement, needs):
            extras = [{"extra": extra} for extra in asked.extras] or [{"extra": ""}]
            here = need.marker is None or any(need.marker.evaluate(each) for each in extras)
            if here and str(need) not in found:
                found.add(str(need))
                left.append(f"{need.name}[{','.join(need.extras)}]" if need.extras else need.name)
    return {Requirement(each).name for each in found} - {"tacit"}


def test_no_part_that_runs_has_a_licence_that_binds_its_user():
    parts = runtime_parts()
    assert {"numpy", "starlette", "pyspark"} <= parts
    bound = {
        name for name in parts if re.search(r"\b[AL]?GPL|GNU", licence_of(name)) and not _may_choose(licence_of(name))
    }
    assert bound <= WEAK


def _may_choose(licence):
    return re.search(r"\bOR\b", licence) is not None


def test_no_word_is_misspelt():
    papers = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    folders = ["docs", "src", "examples", "tools", "deploy"]
    quiet = [
        "--quiet-level=2",
        "--skip=*.png,*.json,*.js,*.svg,*.ipynb",
        f"--ignore-words={ROOT / 'tools' / 'words.txt'}",
    ]
    ended = subprocess.run(  # noqa: S603 - the tool of this environment
        [sys.executable, "-m", "codespell_lib", *quiet, *papers, *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == ""


def test_repo_review_finds_no_failure_that_is_not_argued():
    command = [sys.executable, "-m", "repo_review", "--format", "json", str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - of this environment
    checks = json.loads(ended.stdout)["checks"]
    assert len(checks) > 50
    assert {name: each["description"] for name, each in checks.items() if each["result"] is False} == {}


def build(out):
    """Return sdist and wheel of this source."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)], check=True, env=environment)  # noqa: S603
    return next(out.glob("tacit-*.tar.gz")), next(out.glob("tacit-*.whl"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


def try_wheel(python, wheel, folder, *more):
    """Install a wheel into an empty environment of an interpreter, and train with it; return what that says."""
    subprocess.run([python, "-m", "venv", str(folder / "empty")], check=True)  # noqa: S603 - it was found
    inside = str(folder / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel), *more], check=True)  # noqa: S603 - pip
    smoke = [inside, str(ROOT / "tools" / "smoke.py")]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run(smoke, cwd=folder, env=clean, capture_output=True, text=True, check=True)  # noqa: S603
    return told.stdout


def find_python(version):
    """Return an interpreter of a version that works here, or None."""
    of_pyenv = map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for python in filter(None, [shutil.which(f"python{version}"), *of_pyenv]):
        asked = [python, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - it was found
        if told.stdout.strip() == version:
            return python
    return None


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", PYTHONS)
def test_a_wheel_trains_in_an_empty_environment_of_every_python_that_is_here(dist, version, tmp_path):
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} is installed here")
    told = try_wheel(python, dist[1], tmp_path)
    assert told.startswith(f"tacit {PROJECT['version']} on Python {version}.")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the lowest versions are those of the lowest Python")
def test_a_wheel_trains_and_its_commands_work_with_the_lowest_versions_that_it_allows(dist, tmp_path):
    extras = PROJECT["optional-dependencies"]
    party = Requirement(extras["party"][0]).extras
    asked = [*PROJECT["dependencies"], *(each for extra in sorted(party) for each in extras[extra])]
    lowest = [each.replace(">=", "==") for each in asked if ">=" in each]
    testing = ["pytest", "pytest-timeout", "hypothesis", "pandas==2.2.2", "nbconvert", "ipykernel"]
    told = try_wheel(sys.executable, f"{dist[1]}[party]", tmp_path, *lowest, *testing)
    assert "trained, saved, loaded" in told
    old = "-Wdefault::DeprecationWarning"  # what these versions use of newer parts
    command = [tmp_path / "empty" / "bin" / "python", "-m", "pytest", old, "-p", "no:cacheprovider", "-m", "not slow"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "PYTEST_"))}
    more = ["consortium/test_registrar.py", "data/test_queries.py", "report/test_cards.py"]  # each had a floor raised
    tests = [f"tests/unit/{name}" for name in ["cli", *more]]
    ended = call(*command, *tests, env=clean)
    assert ended.returncode == 0, ended.stdout[-4000:]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sdist_and_wheel_are_built_twice_to_the_same_bytes_and_list_their_parts(dist, tmp_path):
    again = build(tmp_path)
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in again] == [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in dist
    ]
    with zipfile.ZipFile(dist[1]) as wheel:
        name = next(each for each in wheel.namelist() if "/sboms/" in each)
        parts = json.loads(wheel.read(name))
    required = {each["name"] for each in parts["components"] if each["scope"] == "required"}
    assert parts["metadata"]["component"]["version"] == PROJECT["version"]
    assert required == {Requirement(each).name for each in PROJECT["dependencies"]}
