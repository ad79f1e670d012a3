"""Every protocol as a case: its inputs, how it is played, and the plain centralised reference it must equal.

One file per family.
"""

from __future__ import annotations

from conformance import (
    cases_blind,
    cases_columns,
    cases_consensus,
    cases_elm,
    cases_gram,
    cases_noisy,
    cases_pan,
    cases_questions,
    cases_scores,
    cases_sets,
    cases_shift,
    cases_study,
    cases_study_rows,
    cases_sums,
)

FAMILIES = (
    cases_blind,
    cases_columns,
    cases_consensus,
    cases_elm,
    cases_gram,
    cases_noisy,
    cases_pan,
    cases_questions,
    cases_scores,
    cases_sets,
    cases_shift,
    cases_study,
    cases_study_rows,
    cases_sums,
)
CASES = {case.name: case for family in FAMILIES for case in family.CASES}
ON_SPARK = tuple(case.name for case in cases_study_rows.CASES)  # studies of few enough rounds for a cluster
