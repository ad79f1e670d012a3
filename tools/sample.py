"""`make sample`: the dossier that docs/sample.md shows, from a study between real processes of this machine.

The keys of the demonstration are made for it and thrown away; what is kept is the archive, and the registrar's
fingerprint by which it is verified.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "docs" / "sample"
SITE = "north"


def main() -> None:
    """Play the study, write the dossier of one site, and verify it."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        call("demo", "--network", "--keep", str(kept), "--out", str(Path(folder) / "report.html"))
        config = kept / SITE / f"{SITE}.toml"
        (job,) = (kept / SITE / "state" / "jobs").iterdir()
        SAMPLE.mkdir(exist_ok=True)
        archive = SAMPLE / "dossier.zip"
        archive.unlink(missing_ok=True)
        call("dossier", job.name, "-o", str(archive), "--config", str(config))
        fingerprint = tomllib.loads(config.read_text(encoding="utf-8"))["ca_fingerprint"]
    (SAMPLE / "fingerprint.txt").write_text(f"{fingerprint}\n", encoding="utf-8")
    call("dossier", "verify", str(archive), "--ca", fingerprint)


def call(*words: str) -> None:
    """Run a command of tacit; stop if it fails."""
    subprocess.run([sys.executable, "-m", "tacit", *words], check=True)  # noqa: S603 - our own command line


if __name__ == "__main__":
    main()
