"""The walks of the pages, as a reader takes them: every block in order, in an empty folder, between real processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import tacit
from organisations.row_sites import check_alike, dealt, started
from organisations.test_study import rows_with_gaps, study
from tacit.consortium.site.settings import Terms

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some

CLONE = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_under(page: str, heading: str) -> list[tuple[str, str]]:
    """Return the language and the text of every block of a section."""
    text = (CLONE / page).read_text()
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"{page} has no section {heading!r}"
    return FENCE.findall(section[1])


def as_script(kind: str, text: str) -> str:
    """Return a block as a part of a shell script; a file that it shows has its name in the first line."""
    if kind == "sh":
        return text
    command = "python -" if kind == "python" else f"cat > {text.split()[1]}"
    return f"{command} <<'END'\n{text}END\n"


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


@pytest.mark.timeout(300)
def test_a_person_who_follows_the_page_has_three_sites_running_the_study(tmp_path):
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, words in {"tacit": "-m tacit.cli", "python": ""}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (commands / name).chmod(0o755)
    walk = tmp_path / "walk"
    walk.mkdir()
    parts = blocks_under("docs/deploy.md", "Three sites on one machine, by hand")
    script = "\n".join(as_script(*part) for part in parts)
    env = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "CLONE": str(CLONE), "PORT": str(free_port())}
    shell = subprocess.Popen(  # noqa: S603 - our own page
        ["/bin/bash", "-euo", "pipefail", "-c", script], cwd=walk, env=env, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = shell.communicate(timeout=280)
    finally:
        with contextlib.suppress(ProcessLookupError):  # all of them have ended
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, err[-2000:]
    assert "finished" in out
    assert "held-out records" in (walk / "report.html").read_text()
    lines = (walk / "predictions.csv").read_text().splitlines()
    assert lines[0].startswith("patient,label")
    assert len(lines) == 21


def test_the_text_of_the_study_runs_between_organisations(tmp_path, monkeypatch):
    rows = rows_with_gaps()
    (_, whom), (kind, first), *_ = blocks_under("docs/study.md", "Between organisations")
    assert kind == "python"
    assert {*tomllib.loads(whom)["study"]} <= {*Terms.__struct_fields__}
    pipeline = study()
    names = {"steps": pipeline.steps[:-1], "search": pipeline.steps[-1][1]}
    with started(rows, tmp_path) as sites, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        monkeypatch.chdir(sites.folder("analyst"))
        exec(compile(first, "docs/study.md", "exec"), names)  # noqa: S102 - our own page
        alone = study().fit(dealt(sites))
    X = rows["h1"][0]
    check_alike(alone, names["model"], X)
    loaded = tacit.load(sites.folder("analyst") / "model.tacit")
    np.testing.assert_array_equal(loaded.predict_proba(X), names["model"].predict_proba(X))
