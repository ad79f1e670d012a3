"""Install tacit from this folder, without a network: python3 install.py FOLDER [--extras nats,page].

Takes Python 3.11 or newer and nothing else. It looks at the sum of every file first, and installs nothing if one is
wrong or missing. Compare SHA256SUMS itself with the sum that you were given on another way: it prints it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

KIT = Path(__file__).resolve().parent


def main() -> None:
    """Check, then install."""
    asked = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    asked.add_argument("folder", type=Path, help="where the environment is made, for example /opt/tacit")
    asked.add_argument("--extras", help="what this machine needs beyond the library; all that is in the kit by default")
    chosen = asked.parse_args()
    check()
    extras = chosen.extras or (KIT / "EXTRAS").read_text(encoding="utf-8").strip()
    venv.create(chosen.folder, with_pip=True)
    scripts = chosen.folder / ("Scripts" if os.name == "nt" else "bin")
    wheel = next((KIT / "wheels").glob("tacit-*.whl"))
    pip = [str(scripts / "python"), "-m", "pip", "--disable-pip-version-check", "--isolated", "install", "--quiet"]
    local = ["--no-index", "--find-links", str(KIT / "wheels"), f"{wheel}[{extras}]"]
    subprocess.run([*pip, *local], check=True)  # noqa: S603 - pip, and the wheels whose sums were right
    print(f"installed: {scripts / 'tacit'} --help; documentation: {KIT / 'site' / 'index.html'}")


def check() -> None:
    """Stop unless every file has its sum and no other file lies here."""
    listed = {}
    for line in (KIT / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    here = {path.relative_to(KIT).as_posix() for path in KIT.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    wrong = sorted(here ^ set(listed)) or sorted(name for name in listed if _sum(KIT / name) != listed[name])
    if wrong:
        sys.exit(f"this kit is not as it was made: {wrong[0]} is missing, changed or not on the list; get it again")
    print(f"{len(listed)} files have their sums; SHA256SUMS has {_sum(KIT / 'SHA256SUMS')}")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
