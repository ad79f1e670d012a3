"""What a whole run of the core's machines shows beside its content: rounds and sizes, which do not depend on data.

They follow from what is revealed: from the landmarks, how many of which are too near to each other to count, from
balanced weights, and over columns and cells from the size of features without a bound. Where these are the same, so is
every message's size. And the facts of the core are all that is told: every message tells one of them, or nothing, a
key, or that somebody is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from machines import DEALER, edition, names_of, play

from tacit.federation.part import part_of
from tacit.federation.plan import by_cells
from tacit.federation.table import as_table
from tacit.protocols.learners import rounding

ROWS, COLUMNS, HOLDERS = 240, 6, 3
CORE = {f"core.{name}" for name in ("sizes", "classes", "balance", "model", "landmarks")}
RNG = np.random.default_rng(3)
PLAIN = RNG.normal(size=(ROWS, COLUMNS))
WILD = RNG.standard_cauchy((ROWS, COLUMNS)) * 10.0 ** np.arange(-9, 9, 3)
ODD = np.where(RNG.uniform(size=(ROWS, COLUMNS)) < 0.5, 7.0, WILD)
ODD[:, 0] = 0.0
LABELS = {"plain": (PLAIN, (PLAIN[:, 0] > 0).astype(int)), "odd": (ODD, (np.arange(ROWS) % 20 == 11).astype(int))}
SPLITS = ("horizontal", "vertical", "arbitrary")


def deal(table: str, partition: str, *, numbers: bool = False, same_classes: bool = False) -> dict[str, Any]:
    """Return a table between three holders, of which the first one has labels unless all have their own rows."""
    X, y = LABELS[table]
    if numbers:
        y = X[:, 1]
    if same_classes:
        y = np.sort(LABELS["plain"][1])
    names = [f"p{k}" for k in range(HOLDERS)]
    if partition == "horizontal":
        cut = np.array_split(np.arange(ROWS), HOLDERS)
        return {p: part_of(X[rows], y[rows], None, names_of(X)) for p, rows in zip(names, cut, strict=True)}
    if partition == "vertical":
        cut = np.array_split(np.arange(COLUMNS), HOLDERS)
        return {
            p: part_of(X[:, own], y if p == "p0" else None, None, tuple(f"x{j}" for j in own))
            for p, own in zip(names, cut, strict=True)
        }
    owner = np.random.default_rng(2).integers(0, HOLDERS, X.shape)
    return by_cells({p: owner == k for k, p in enumerate(names)}).cut(as_table(X, y=y), "p0")


def rows_of(table: str, partition: str, *, numbers: bool = False, **chosen: Any) -> Any:
    """Return the ledger of a run. Balanced weights are revealed before the plan is made: they are the same."""
    asked = {"classify": False, "target_range": (-9.0, 9.0)} if numbers else {"classes": (0, 1)}
    parts = deal(table, partition, numbers=numbers, same_classes=bool(chosen.get("balanced")))
    return play(parts, partition=partition, features=12, **asked, **chosen)[0].ledger


def told_of(ledger: Any) -> list[Any]:
    """Return what anybody sees of the messages without reading them."""
    return [(r.place, r.sender, r.receiver, r.type, r.tells, r.shapes, r.bytes) for r in ledger.rows]


CHOSEN: dict[str, dict[str, Any]] = {
    "rbf": {},
    "rbf, one alpha": {"alpha": 1.0},
    "rbf, balanced": {"balanced": True},
    "rbf, probabilities": {"probability": True},
    "numbers": {"numbers": True},
}


def both(partition: str, **chosen: Any) -> tuple[list[Any], list[Any]]:
    first, other = (told_of(rows_of(table, partition, **chosen)) for table in LABELS)
    return first, other


@pytest.mark.parametrize("partition", SPLITS)
@pytest.mark.parametrize("name", CHOSEN)
def test_with_the_same_landmarks_rounds_and_sizes_do_not_depend_on_data(partition, name):
    with edition():
        first, other = both(partition, **CHOSEN[name])
    assert first == other


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_nor_do_they_with_other_kernels_by_rows(kernel):
    with edition():
        first, other = both("horizontal", kernel=kernel)
    assert first == other


@pytest.mark.parametrize("chosen", [{}, {"numbers": True, "tube": 0.3}], ids=["classes", "numbers"])
def test_nor_do_they_with_the_hinge_by_rows(chosen):
    with edition():
        first, other = both("horizontal", loss="hinge", **chosen)
    assert first == other


@pytest.mark.parametrize("partition", SPLITS)
def test_until_there_are_landmarks_they_depend_on_nothing(partition):
    first, other = (
        each[: [row[3] for row in each].index("CoinPart") + 1] for each in both(partition, repeat=None, alpha=1.0)
    )
    assert first == other


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("partition", SPLITS[1:])
def test_with_other_kernels_over_columns_they_follow_from_the_size_of_the_features_that_is_revealed(kernel, partition):
    """Where features have no bound, comparisons of their trace are revealed first, and the plan follows from them."""
    with edition():
        ledgers = both(partition, kernel=kernel, alpha=1.0)
    first, other = ([row for row in each if "/solve_ridge" not in row[0]] for each in ledgers)
    assert first == other


def name_facts(told: Iterable[Any]) -> set[str]:
    """Return the facts that are of data."""
    return {fact.identifier for fact in told if fact.kind not in {"nothing", "key"}}


@pytest.mark.parametrize("partition", SPLITS)
@pytest.mark.parametrize("name", [*CHOSEN, "linear", "poly", "coin"])
def test_the_facts_of_the_core_are_all_that_is_told(partition, name):
    chosen = CHOSEN.get(name, {"kernel": name} if name != "coin" else {"repeat": None})
    ledger = rows_of("plain", partition, **chosen)
    of_data = name_facts(fact for row in ledger.rows for fact in row.tells) - {"run.present"}
    assert {"core.sizes", "core.model", "core.landmarks"} <= of_data <= CORE
    assert name_facts(fact for opened in ledger.opens for fact in opened.facts) <= CORE


@pytest.mark.parametrize("partition", SPLITS)
def test_the_dealer_hears_what_everybody_is_told_and_nothing_else(partition):
    heard = {row.type for row in rows_of("plain", partition, balanced=True).rows if row.receiver == DEALER}
    public = {"PublicKey", "Size", "Published", "Block", "ModelWords", "BalanceWords", "ClassWords", "Ready"}
    assert heard <= public | {"CoinCommitment", "CoinPart", "Within"}


def test_a_message_whose_size_follows_from_data_is_noticed(monkeypatch):
    find_size = rounding.find_size

    def skip(run: Any, dealing: Any, w: Any, *, size: int, bits: int) -> int:
        """Compare once more where the first comparison said so."""
        e = find_size(run, dealing, w, size=size, bits=bits)
        return find_size(run, dealing, w, size=size, bits=bits) if e % 2 else e

    monkeypatch.setattr(rounding, "find_size", skip)
    ledgers = [told_of(rows_of("plain", "horizontal", alpha=alpha)) for alpha in (0.1, 100.0, 1000.0)]
    assert ledgers[0] != ledgers[1] or ledgers[1] != ledgers[2]
