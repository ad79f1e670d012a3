"""A list of parts inside every wheel (PEP 770): what tacit was built from, and what its tests ran with.

Hatchling runs this when it builds. The list is CycloneDX 1.6, made from `pyproject.toml` and `requirements-dev.lock`
alone, so that the same source gives the same bytes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)", re.MULTILINE)
REQUIRED = re.compile(r"^[A-Za-z0-9._-]+")


class CustomBuildHook(BuildHookInterface):
    """Writes the list next to what is built, and puts it into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the list to the files of the wheel."""
        del version
        root = Path(self.root)
        written = root / "build" / "tacit.cdx.json"
        written.parent.mkdir(exist_ok=True)
        parts = json.dumps(describe(self.metadata.core, root), indent=1, sort_keys=True)
        written.write_text(f"{parts}\n", encoding="utf-8", newline="\n")
        build_data.setdefault("sbom_files", []).append(str(written))


def describe(project: Any, root: Path) -> dict[str, Any]:
    """Return the parts of the project: required ones, then those of extras and tests."""
    required = {_plain(REQUIRED.match(each)[0]) for each in project.dependencies}  # type: ignore[index]
    lock = (root / "requirements-dev.lock").read_text(encoding="utf-8")
    parts = {_plain(found["name"]): found["version"] for found in LOCKED.finditer(lock)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _part(project.name, project.version, "generic") | {"bom-ref": "tacit"}},
        "components": [
            _part(name, parts[name], "pypi") | {"bom-ref": name, "scope": _scope(name in required)}
            for name in sorted(parts)
        ],
        "dependencies": [{"ref": "tacit", "dependsOn": sorted(required)}],
    }


def _part(name: str, version: str, index: str) -> dict[str, str]:
    """Return a part by its package URL; tacit itself is on no index, where another project has its name."""
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:{index}/{name}@{version}"}


def _scope(required: bool) -> str:  # noqa: FBT001 - a word for a truth
    return "required" if required else "optional"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
