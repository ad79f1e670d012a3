#!/usr/bin/env -S uv run
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Sessions for every Python that is here: `nox -s smoke` builds a wheel and tries it, `nox -s tests` runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Check style, types and layers."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    for system in ("linux", "darwin", "win32"):
        session.run("mypy", "--platform", system, "--cache-dir", f".mypy_cache/{system}")
    session.run("lint-imports")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests that take seconds; further words go to pytest."""
    session.install("-e", ".[dev]")
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "not slow", *session.posargs)


@nox.session(python=PYTHONS, default=False)
def smoke(session: nox.Session) -> None:
    """Build a wheel, install it with nothing but what it requires, and train with it."""
    made = Path(session.create_tmp()).resolve()
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(made / "dist"), silent=True)
    session.run("python", "-m", "venv", "--clear", str(made / "empty"))
    python = str(made / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python")
    wheel = max((made / "dist").glob("*.whl"), key=os.path.getmtime)
    session.run(python, "-m", "pip", "install", "--quiet", str(wheel), external=True)
    session.run(python, "tools/smoke.py", external=True)


if __name__ == "__main__":
    nox.main()
