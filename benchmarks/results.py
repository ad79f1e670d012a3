"""What a suite measured, as a file that the pages of the documentation draw from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from figures import Figure, Picture, Table


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One run of a suite: where, how, and what came of it."""

    suite: str
    about: str
    machine: str
    quick: bool
    seconds: float
    figures: Iterable[Figure]
    tables: Iterable[Table]
    pictures: Iterable[Picture] = ()

    def write(self, folder: Path) -> Path:
        """Write NAME.json and the pictures into the folder, with the date, the version and the command to repeat it."""
        folder.mkdir(parents=True, exist_ok=True)
        told = {
            "suite": self.suite,
            "about": self.about,
            "command": f"python benchmarks/run.py --only {self.suite}{' --quick' * self.quick} --results docs/results",
            "quick": self.quick,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "version": version("tacit"),
            "machine": self.machine,
            "seconds": round(self.seconds),
            "figures": [asdict(figure) for figure in self.figures],
            "tables": [asdict(table) for table in self.tables],
            "pictures": [{"file": picture.file, "title": picture.title} for picture in self.pictures],
        }
        for picture in self.pictures:
            (folder / picture.file).write_bytes(picture.image)
        path = folder / f"{self.suite}.json"
        text = json.dumps(told, indent=1, ensure_ascii=False, default=bool)  # comparisons of NumPy's numbers
        path.write_text(f"{text}\n", encoding="utf-8")
        return path
