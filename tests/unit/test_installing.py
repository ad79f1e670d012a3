"""What to type where an extra is missing: a command that works in whichever folder it is typed."""

import json
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tacit import errors
from tacit.errors import MissingExtraError, install_command

CLONE = Path(errors.__file__).parents[2]


@pytest.fixture
def installed(monkeypatch):
    """Lets this installation have come from somewhere else, and with or without pip."""

    def install(told, *, pip=True):
        class Distribution:
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
        (None, "'tacit[nats]'"),
    ],
)
def test_the_command_names_where_this_installation_came_from(installed, told, source):
    installed(told)
    assert install_command("nats") == f"{shlex.quote(sys.executable)} -m pip install {source}"


def test_an_environment_without_pip_was_made_by_uv(installed):
    installed(None, pip=False)
    assert install_command("he") == f"uv pip install --python {shlex.quote(sys.executable)} 'tacit[he]'"


def test_the_error_is_one_line_that_ends_in_the_command():
    text = str(MissingExtraError("an .onnx file", "export"))
    assert text == f"an .onnx file needs the extra 'export': {install_command('export')}"
    assert "\n" not in text
