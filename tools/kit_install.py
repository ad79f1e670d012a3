"""Install tacit from this folder, without a network: python3 install.py FOLDER [--extras nats,page].

Takes the Python that the kit was made with and nothing else. It looks at the sum of every file first, and installs
nothing if one is wrong or missing. It prints the sum of SHA256SUMS: compare that with what you were told on the phone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

KIT = Path(__file__).resolve().parent
SITE = KIT / "site" / "index.html"


def main() -> None:
    """Check, then install."""
    asked = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    asked.add_argument("folder", type=Path, help="where the environment is made, for example /opt/tacit")
    asked.add_argument("--extras", help="what this machine needs beyond the library; all that is in the kit by default")
    chosen = asked.parse_args()
    check_machine()
    check_sums()
    check_folder(chosen.folder)
    extras = chosen.extras or (KIT / "EXTRAS").read_text(encoding="utf-8").strip()
    print(f"installing into {chosen.folder}, about a minute", flush=True)
    scripts = install(chosen.folder, extras)
    print(f"installed; try it: {scripts / 'tacit'} demo")
    if SITE.exists():
        print(f"documentation, in a browser: {SITE}")
    print(f"configurations to start from: {KIT / 'deploy' / 'examples'}")


def check_machine() -> None:
    """Stop unless this system and this Python are those whose wheels are here; runs on every Python 3.7 or newer."""
    made_for = (KIT / "MADE_FOR").read_text(encoding="utf-8").strip()
    here = f"{platform.system()} {platform.machine()}, Python {sys.version_info[0]}.{sys.version_info[1]}"
    if here != made_for:
        python = "python" + made_for.rpartition(" ")[2]
        remedy = f"run install.py with {python}, or get a kit that was made on a machine like this one"
        sys.exit(f"this kit is for {made_for}, and this is {here}: {remedy}")


def check_sums() -> None:
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


def check_folder(folder: Path) -> None:
    """Stop if an environment in that folder would mix with other files."""
    if KIT in (folder.resolve(), *folder.resolve().parents):
        sys.exit(f"{folder} lies in the kit, which must stay as it was made: name a folder outside, such as /opt/tacit")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists():
        sys.exit(f"{folder} has other files in it: name a folder that is new or empty")


def install(folder: Path, extras: str) -> Path:
    """Make the environment, and install into it from the wheels alone; return the folder of its programs."""
    try:
        venv.create(folder, with_pip=True)
    except (OSError, ValueError) as error:
        sys.exit(f"{folder} cannot be made ({error}): name a folder that you may write to, or ask who may")
    except subprocess.CalledProcessError:
        remedy = "install your system's python3-venv package, and remove the folder"
        sys.exit(f"this Python cannot make the environment {folder}: {remedy}")
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    wheel = next((KIT / "wheels").glob("tacit-*.whl"))
    pip = [str(scripts / "python"), "-m", "pip", "--disable-pip-version-check", "--isolated", "install", "--quiet"]
    local = ["--no-index", "--find-links", str(KIT / "wheels"), f"{wheel}[{extras}]"]
    ended = subprocess.run([*pip, *local], check=False)  # noqa: S603 - pip, and the wheels whose sums were right
    if ended.returncode:
        sys.exit(f"nothing was installed, for the reason above: send it to who made the kit, and remove {folder}")
    return scripts


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
