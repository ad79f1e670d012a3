"""Nine owners of a table, by rows, by columns and cell by cell (001, Fig.

4), in one process and with every party apart.
"""

from __future__ import annotations

from functools import partial

import pytest

from conformance import cells_reference as cells
from conformance.case import Case, Inputs
from conformance.test_conformance import apart_in_threads, together
from tacit.choreo import Holder, Roster

OWNERS = 9


@pytest.mark.parametrize("harness", [together, apart_in_threads])
@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_nine_owners_get_the_model_of_the_pooled_table(partition, harness):
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, cells.parts(roster[Holder], partition, "2"))}

    case = Case("nine", inputs, partial(cells.play, partition=partition, kernel="rbf", ask=False), lambda _, __: None)
    result, _ = harness(case, case.roster(OWNERS))
    cells.check(result, {}, partition=partition, kernel="rbf", target="2")
