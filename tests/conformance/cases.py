"""Every protocol as a case: its inputs, how it is played, and the plain centralised reference it must equal.

A file `cases_*.py` for each family, found by its name.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from conformance import cases_study_rows

FAMILIES = [import_module(f"conformance.{file.stem}") for file in sorted(Path(__file__).parent.glob("cases_*.py"))]
CASES = {case.name: case for family in FAMILIES for case in family.CASES}
ON_SPARK = tuple(case.name for case in cases_study_rows.CASES)  # studies of few enough rounds for a cluster
