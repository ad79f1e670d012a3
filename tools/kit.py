"""`make kit`: one archive from which a machine without a network installs tacit.

    tacit-kit-VERSION-PLATFORM-pyXY.zip
        wheels/           tacit and all it needs, with the extras of a party
        EXTRAS            which extras that is
        MADE_FOR          the system and the Python that the wheels are for
        SHA256SUMS        of every other file
        site/             the documentation
        deploy/           configurations to start from, units of systemd, rules of a firewall
        install.py        checks the sums, then installs from wheels/ alone

It is made for the platform and the Python that make it: make it on a machine like the clinic's.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = "party"  # Spark and GPUs are no matter of one site's desk
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Build, collect, sum and pack."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--extras", default=EXTRAS, help="extras whose wheels go in")
    asked.add_argument("--site", type=Path, default=ROOT / "build" / "site", help="the documentation, built")
    asked.add_argument("--out", type=Path, default=ROOT / "dist", help="where the archive goes")
    chosen = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder)
        collect(kit / "wheels", chosen.extras)
        if chosen.site.is_dir():
            shutil.copytree(chosen.site, kit / "site", ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
        shutil.copytree(ROOT / "deploy", kit / "deploy")
        shutil.copy(Path(__file__).with_name("kit_install.py"), kit / "install.py")
        (kit / "EXTRAS").write_text(f"{chosen.extras}\n", encoding="utf-8")
        (kit / "MADE_FOR").write_text(f"{platform.system()} {platform.machine()}, Python {PYTHON}\n", encoding="utf-8")
        sums = "".join(f"{sum_of(path)}  {name}\n" for name, path in files(kit))
        (kit / "SHA256SUMS").write_text(sums, encoding="utf-8", newline="\n")
        print(pack(kit, chosen.out))
        print(f"tell who installs it by another way: SHA256SUMS has {sum_of(kit / 'SHA256SUMS')}")


def collect(wheels: Path, extras: str) -> None:
    """Build tacit's wheel, and fetch those that it needs here."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)], check=True)  # noqa: S603 - pip
    own = next(wheels.glob("tacit-*.whl"))
    fetch = ["download", "--only-binary", ":all:", "--dest", str(wheels)]
    subprocess.run([*pip, *fetch, f"{own}[{extras}]"], check=True)  # noqa: S603 - pip


def files(kit: Path) -> list[tuple[str, Path]]:
    """Return the files of the kit by name, in one order on every machine."""
    found = (path for path in kit.rglob("*") if path.is_file())
    return sorted((path.relative_to(kit).as_posix(), path) for path in found)


def sum_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pack(kit: Path, out: Path) -> Path:
    """Write the archive; the same files give the same bytes."""
    version = next((kit / "wheels").glob("tacit-*.whl")).name.split("-")[1]
    here = f"{platform.system()}-{platform.machine()}-py{PYTHON.replace('.', '')}".lower()
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"tacit-kit-{version}-{here}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in files(kit):
            packed.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


if __name__ == "__main__":
    main()
