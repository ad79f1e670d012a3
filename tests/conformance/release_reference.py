"""The figures of the release gate on all sites' findings at once, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.protocols.judge.release_figures import BITS, DIGITS, FEWEST, Attacked

COLUMNS = 3


def found_by(parties: Sequence[str], *, idle: int) -> dict[str, Attacked]:
    """What every site found; the last `idle` ones measured nothing."""
    rng = np.random.default_rng(0)
    found = {}
    for k, party in enumerate(parties):
        measured = k < len(parties) - idle
        members, others = int(rng.integers(50, 400)), int(rng.integers(20, 100))
        tried = rng.integers(5, 60, size=(COLUMNS, 2))
        right = rng.integers(0, tried + 1)
        guesses = np.stack([right[:, 0], tried[:, 0], right[:, 1], tried[:, 1]], axis=1).astype(np.float64)
        shares = rng.random(4)
        found[party] = Attacked(
            wrong=k == 1, measured=measured, direct=True, members=members * measured, others=others * measured,
            shares=shares * measured, guesses=guesses * measured,
        )  # fmt: skip
    return found


def check_figures(result: Any, inputs: Any) -> None:
    """Compare with means over all members, and with guesses of all sites together."""
    assert result["wrong"] == sum(each.wrong for each in inputs["attacked"][1].values())
    found: list[Attacked] = [each for each in inputs["attacked"][1].values() if each.measured]
    assert result["sites"] == result["direct"] == len(found)
    assert result["members"] == sum(each.members for each in found)
    assert result["others"] == sum(each.others for each in found)
    if len(found) < FEWEST:
        assert not result["shares"].any()
        assert (result["column"], result["advantage"]) == (-1, 0.0)
        return
    members = [each.members for each in found]
    mean = np.average([each.shares for each in found], axis=0, weights=members)
    off = len(found) * 2.0 ** -(BITS + 1) / sum(members) + 0.5 * 10.0**-DIGITS
    np.testing.assert_allclose(result["shares"], mean, atol=off)
    right, tried, other_right, other_tried = np.sum([each.guesses for each in found], axis=0).T
    apart = right / tried - other_right / other_tried
    assert result["column"] == apart.argmax()
    assert abs(result["advantage"] - apart.max()) <= 0.5 * 10.0**-DIGITS + 1e-9


def check_limits(result: Any, inputs: Any) -> None:
    """Everybody knows everybody's."""
    assert result == inputs["rules"][1]
