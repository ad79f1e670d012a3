"""Audits: the files of several sites, dropped here, are checked and compared; nothing of them is kept."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import UploadFile
from starlette.responses import Response

from tacit.consortium.audit.chain import Reading
from tacit.consortium.audit.comparison import Difference, compare, shown
from tacit.page.visit import Views, Visit
from tacit.report.words import clean

LARGEST = 64 << 20  # bytes of all files together
LARGER = {"/audit": LARGEST}


@dataclass(frozen=True)
class Given:
    """A file that was given: its name there, whose it says it is, and how many rows it has."""

    name: str
    party: str
    rows: int


def show(visit: Visit) -> Response:
    """Show where to drop the files."""
    return visit.page("audit.html", given=[], found=[], fault="", most=LARGEST)


def check(visit: Visit) -> Response:
    """Compare the files, each under a name of our own: what a browser calls them leads nowhere."""
    uploads = [each for each in visit.form.getlist("files") if isinstance(each, UploadFile) and each.filename]
    if not uploads:
        fault = "no file was given: choose the audit.jsonl of at least one site"
        return visit.page("audit.html", 400, given=[], found=[], fault=fault, most=LARGEST)
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for number, upload in enumerate(uploads, 1):
            path = Path(folder) / f"{number}.jsonl"
            with path.open("wb") as file:
                shutil.copyfileobj(upload.file, file)
            paths[path] = clean(Path(upload.filename or "").name)
        found = [_named(difference, paths) for difference in compare(list(paths), visit.desk.members.keys())]
        given = [_describe(path, name) for path, name in paths.items()]
    return visit.page("audit.html", given=given, found=found, fault="", most=LARGEST)


def _named(found: Difference, paths: dict[Path, str]) -> Difference:
    """Return a finding about a file under the name that it has where it came from."""
    named = {str(path): name for path, name in paths.items()}
    return Difference(named.get(found.where, found.where), found.what, found.says)


def _describe(path: Path, name: str) -> Given:
    reading = Reading.of(path)
    return Given(name, shown(reading.begin.party) if reading.begin else "nobody", len(reading.entries))


VIEWS: Views = {("GET", "/audit"): show, ("POST", "/audit"): check}
