"""What a job calls a study, and its parameters that others need to know."""

from __future__ import annotations

STUDY, SEED, HOLDOUT = "study", "seed", "holdout"
