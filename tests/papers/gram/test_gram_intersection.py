"""The intersection of binary records refuses other values, splits that do not fit, and cells of two owners.

Holders see points only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.papers.gram.intersection import gram_intersection
from tacit.runtimes.together import Together


def played(partition: str, *tables: Any) -> tuple[Any, Together]:
    parts = {
        f"p{i + 1}": part_of(np.array(t, float), None, None, tuple(f"x{j}" for j in range(len(t[0]))))
        for i, t in enumerate(tables)
    }
    roster = Roster({Holder: tuple(parts), Coordinator: ("site",)})
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        return gram_intersection(run, run.hold(Holder, parts), partition=partition)._entries["site"], run


def test_the_paper_s_own_example():
    x1, x2 = [1, 0, 1, 1, 0, 0, 0, 1, 0, 1], [0, 0, 0, 1, 0, 0, 0, 1, 1, 0]
    np.testing.assert_array_equal(played("horizontal", [x1], [x2])[0], [[5, 2], [2, 3]])


def test_holders_are_sent_points_and_sizes_only():
    _, run = played("arbitrary", [[1, 0], [0, 0]], [[0, 0], [1, 0]], [[0, 1], [0, 1]])
    assert {row.type for row in run.ledger if row.receiver != "site"} == {"Shape", "Features"}


def test_columns_of_two_parties_have_no_token_in_common():
    G, _ = played("vertical", [[1], [1]], [[1, 0], [1, 1]])
    np.testing.assert_array_equal(G, [[2, 2], [2, 3]])


@pytest.mark.parametrize(
    ("partition", "tables", "error", "said"),
    [
        (
            "horizontal",
            ([[1, 0]], [[0.5, 1]]),
            LocalError,
            "takes zeros and ones, and row 1 of p2 has another value in column 1",
        ),
        (
            "horizontal",
            ([[1, 0]], [[1]]),
            LocalError,
            "a horizontal split needs as many features at every party: p1 2, p2 1",
        ),
        (
            "vertical",
            ([[1], [0]], [[1]]),
            LocalError,
            "a vertical split needs as many records at every party: p1 2, p2 1",
        ),
        (
            "diagonal",
            ([[1]], [[1]]),
            LocalError,
            "partition must be 'horizontal', 'vertical' or 'arbitrary', got 'diagonal'",
        ),
        ("arbitrary", ([[1, 1]], [[0, 1]]), PeerError, "a cell is owned by two parties"),
    ],
)
def test_what_does_not_fit_is_refused(partition, tables, error, said):
    with pytest.raises(error, match=said):
        played(partition, *tables)
