"""The sample dossier of the documentation is a real one: it verifies, and says what the page about it says."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from typer.testing import CliRunner

from tacit.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
ARCHIVE, FINGERPRINT = DOCS / "sample" / "dossier.zip", (DOCS / "sample" / "fingerprint.txt").read_text().strip()


def test_the_sample_verifies_by_the_fingerprint_beside_it():
    done = CliRunner().invoke(app, ["dossier", "verify", str(ARCHIVE), "--ca", FINGERPRINT], prog_name="tacit")
    assert done.exit_code == 0, done.output


def test_it_does_not_verify_by_another_fingerprint():
    other = FINGERPRINT[::-1]
    done = CliRunner().invoke(app, ["dossier", "verify", str(ARCHIVE), "--ca", other], prog_name="tacit")
    assert done.exit_code != 0


def test_the_page_lists_every_file_of_it():
    with zipfile.ZipFile(ARCHIVE) as packed:
        names = {name.partition("/data/")[2] for name in packed.namelist() if "/data/" in name}
        annex = json.loads(packed.read(next(name for name in packed.namelist() if name.endswith("annex.json"))))
    told = re.findall(r"`([\w./-]+\.(?:json|jsonl|html))`", (DOCS / "sample.md").read_text(encoding="utf-8"))
    assert names - {"ro-crate-metadata.json", "ro-crate-preview.html"} <= {*told}
    assert {one["name"] for one in annex["recipients"]} == {"north", "south", "east", "clearing", "analyst"}
