"""Helpers of the suite import each other as `conformance.cases`, `leaks.enumeration`; child processes inherit the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
