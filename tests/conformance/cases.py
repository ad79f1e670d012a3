"""Every protocol as a case: its inputs, how it is played, and the plain centralised reference it must equal; one file per family."""

from __future__ import annotations

from conformance import cases_columns, cases_consensus, cases_elm, cases_gram, cases_pan, cases_scores, cases_sets, cases_shift, cases_sums

FAMILIES = (cases_columns, cases_consensus, cases_elm, cases_gram, cases_pan, cases_scores, cases_sets, cases_shift, cases_sums)
CASES = {case.name: case for family in FAMILIES for case in family.CASES}
