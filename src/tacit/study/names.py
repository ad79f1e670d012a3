"""What a job calls a study, and its parameter that others need to know."""

from __future__ import annotations

STUDY, SEED = "study", "seed"
