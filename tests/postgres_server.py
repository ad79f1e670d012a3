"""A PostgreSQL of the tests' own, in a folder of its own, run by a user without rights; skipped where there is none."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

USER, PASSWORD = "hospital", "correct-horse"
FAST = "-c fsync=off -c shared_buffers=8MB -c listen_addresses="  # reached by its socket only


@dataclass(frozen=True)
class Postgres:
    """A server that runs."""

    folder: Path

    def url(self, user: str = USER, password: str = PASSWORD, name: str = "postgres") -> str:
        """Return a connection, as a site's IT writes it."""
        return f"postgresql://{user}:{password}@/{name}?host={self.folder}"

    def do(self, *statements: str) -> None:
        """Change something, as the hospital's other programs do."""
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra

        with dbapi.connect(self.url(), autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


def find_programs() -> Path | None:
    """Return the folder of initdb and pg_ctl: Debian keeps it off the PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server; it refuses to be run by root, who therefore lends it another user."""
    pytest.importorskip("adbc_driver_postgresql", reason="no ADBC driver: pip install '.[sql]'")
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    try:
        (folder / "password").write_text(PASSWORD)
        if user is not None:
            for path in (folder, folder / "password"):
                os.chown(path, pwd.getpwnam(user).pw_uid, -1)

        def call(program: str, *words: str) -> None:
            command = [str(programs / program), "-D", str(folder / "data"), *words]
            subprocess.run(command, user=user, cwd="/", check=True, stdout=subprocess.DEVNULL, timeout=60)  # noqa: S603 - ours

        password = f"--pwfile={folder / 'password'}"
        call("initdb", "-U", USER, "-A", "scram-sha-256", password, "--no-sync", "-E", "UTF8", "--locale=C")
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"{FAST} -k {folder}", "start")
        try:
            yield Postgres(folder)
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str | None:
    if os.geteuid():
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)
