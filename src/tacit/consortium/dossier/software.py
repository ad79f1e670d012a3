"""The software of a site as a bill of materials (CycloneDX 1.6, JSON), from what is installed."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

OURS = "tacit"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # how a requirement begins


@dataclass(frozen=True)
class Package:
    """An installed distribution: what it is called, its version, licence, and what it names as needed."""

    name: str
    version: str
    licence: str
    needs: frozenset[str]

    @property
    def reference(self) -> str:
        """The package URL; tacit has none on an index, where another project has its name."""
        return f"pkg:{'generic' if self.name == OURS else 'pypi'}/{_plain(self.name)}@{self.version}"


def list_software() -> dict[str, Any]:
    """Return the bill of materials: tacit, Python, and every package that tacit needs, directly or through others."""
    found = _closure()
    parts = [_component(each) for name, each in sorted(found.items()) if name != OURS]
    links = [{"ref": each.reference, "dependsOn": _refer(each, found)} for _, each in sorted(found.items())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**_component(found[OURS]), "type": "application"}},
        "components": [_python(), *parts],
        "dependencies": links,
    }


@cache
def _closure() -> dict[str, Package]:
    """Return every installed package that tacit, or something that it needs, names; of tacit also those of extras."""
    found: dict[str, Package] = {}
    waiting = [OURS]
    while waiting:
        name = waiting.pop()
        if name not in found and (package := _read(name)) is not None:
            found[name] = package
            waiting += package.needs
    return found


def _read(name: str) -> Package | None:
    try:
        of = distribution(name)
    except PackageNotFoundError:  # an extra that this site does without
        return None
    said = of.metadata
    named = (NAME.match(text) for text in of.requires or () if name == OURS or "extra ==" not in text)
    needs = frozenset(_plain(match.group()) for match in named if match)
    licence = (said.get_all("License-Expression") or [""])[0]
    return Package(said["Name"], said["Version"], licence, needs - {OURS})


def _refer(of: Package, found: dict[str, Package]) -> list[str]:
    return sorted(found[name].reference for name in of.needs if name in found)


def _component(of: Package) -> dict[str, Any]:
    licences = {"licenses": [{"expression": of.licence}]} if of.licence else {}
    known = {"type": "library", "bom-ref": of.reference, "name": of.name, "version": of.version}
    return {**known, "purl": of.reference, **licences}


def _python() -> dict[str, Any]:
    name, version = platform.python_implementation(), platform.python_version()
    return {"type": "platform", "bom-ref": f"python@{version}", "name": name, "version": version}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
