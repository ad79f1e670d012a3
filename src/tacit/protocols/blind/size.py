"""How long a training in shares takes, and how much memory, before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.numeric.shares.dual_plan import RBF, choose_rounds, describe_linear, plan_dual
from tacit.numeric.shares.losses import HINGE, INSENSITIVE
from tacit.protocols.blind.kernels import LINEAR
from tacit.protocols.blind.numbers import half_of

MANY = 3000  # records, above which a training in shares takes many minutes
SECONDS = 7e-11  # of one core, for a square of words at one party, over the cube of its rows
APPLIED = 4e-10  # likewise, for a product of a matrix with a vector, over the square of its rows
MATRICES = 12  # of words, that a party holds at once
INSTEAD = {False: "SVC()", True: "SVR()"}  # what trains on many rows; whether targets are numbers


def describe_size(records: int, holders: int, asked: Mapping[str, Any]) -> str | None:
    """Return the warning about a training that takes long, with the time and a way out; None if it does not.

    With the linear kernel no matrix of records is squared.
    """
    price = asked["C"] / half_of(asked.get("target_range"))  # which refuses a range without a width
    if records <= MANY:
        return None
    linear = asked["kernel"] == LINEAR
    loss = HINGE if asked.get("tube") is None else INSENSITIVE
    squares = 0 if linear else plan_dual(records, 1, price, loss=loss).squares.levels
    rounds = choose_rounds(records, price, describe_linear(records, 1.0) if linear else RBF)
    seconds = squares * (holders + 1) * SECONDS * records**3 + rounds * (2 * holders + 1) * APPLIED * records**2
    return (
        f"{records} records in shares take about {max(1, round(seconds / 60))} CPU minutes and"
        f" {MATRICES * 8 * records**2 / 1e9:.1f} GB at every party: train on a sample of {MANY}, or by rows use"
        f" {INSTEAD[loss.numbers]}"
    )
