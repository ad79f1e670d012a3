"""Every protocol as a case: its inputs, how it is played, and the plain centralised reference it must equal.

A file `cases_*.py` for each family of the core, and `cases.py` in the folder of each paper, found by their names.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
OURS = [f"conformance.{file.stem}" for file in sorted(HERE.glob("cases_*.py"))]
PAPERS = [f"papers.{file.parent.name}.cases" for file in sorted(HERE.parent.glob("papers/*/cases.py"))]
FAMILIES = [import_module(name) for name in (*OURS, *PAPERS)]
CASES = {case.name: case for family in FAMILIES for case in family.CASES}
