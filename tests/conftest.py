"""Helpers of the suite import each other as `conformance.cases`, `leaks.enumeration`; child processes inherit the path."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("any machine", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("any machine")
