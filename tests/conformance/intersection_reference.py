"""Sets in the clear: common ids by Python's own sets."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from tacit.choreo import At, Run
from tacit.protocols.align.alignment import align


def digested(names: Sequence[str]) -> Any:
    return np.frombuffer(b"".join(sha256(name.encode()).digest() for name in names), np.uint8).reshape(-1, 32)


def id_sets(parties: Sequence[str]) -> dict[str, Any]:
    """Fourteen ids that all have, some that each two share, some of one's own; in an order of one's own."""
    rng, sets = np.random.default_rng(4), {}
    for i, party in enumerate(parties):
        shared = [f"{sorted((party, other))}" for other in parties if other != party]
        names = [*(f"all {j}" for j in range(14)), *shared, *(f"{party} {j}" for j in range(3 + 2 * i))]
        sets[party] = digested([names[j] for j in rng.permutation(len(names))])
    return sets


def play_align(run: Run, ids: At[Any], **params: Any) -> Any:
    return align(run, ids, block=128, **params)


def check_align(result: Any, ids: dict[str, Any], *, count_only: bool = False) -> None:
    common = set.intersection(*({row.tobytes() for row in held} for held in ids.values()))
    assert result["count"] == len(common) >= 14
    assert ("rows" in result) is not count_only
    if not count_only:
        found = {party: [ids[party][row].tobytes() for row in result["rows"][party]] for party in ids}
        first = next(iter(found.values()))
        assert set(first) == common
        assert all(other == first for other in found.values())
