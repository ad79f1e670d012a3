"""What a look at a table gives away: nothing of few records, or of whose they are; and several looks no more than one.

Whoever is no coordinator sees published messages only. These must be the same for tables that differ in what is not to
be told, and no count of fewer than min_count records may stand in any of them, nor follow from several of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from tacit.choreo import Coordinator, Holder, Roster, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.scores.histogram import cells_of, counts_of, join_cells
from tacit.protocols.columns import overview
from tacit.protocols.columns.counts import Fewest
from tacit.protocols.columns.overview import (
    HIDDEN,
    Looked,
    Overview,
    describe_columns,
    describe_table,
    show_counts,
)
from tacit.protocols.settings import Protected
from tacit.runtimes.together import Together

HOLDERS = ("p1", "p2", "p3")
ROSTER = Roster({Holder: HOLDERS, Coordinator: ("coordinator",)})
TEXTS = ("EU", "Mars", "US", "Venus")


def look(X: Any, least: int = 5, *, order: Any = None, columns: bool = False) -> Overview:
    """Describe a table of a number and a text, whose rows are dealt to the holders in turn."""
    order = np.arange(len(X)) if order is None else order
    rows = {p: X[order[k::3]] for k, p in enumerate(HOLDERS)}
    if columns:
        rows = {"p1": X, "p2": X[:, :0], "p3": X[:, :0]}
    names = ("mass", "region")
    held = {p: part_of(own, None, None, names[: own.shape[1]], texts={"region": TEXTS}) for p, own in rows.items()}
    asked: Any = {"looked": Looked(numbers=("mass",), texts=("region",)), "fewest": Fewest(min_count=least, min_rows=1)}
    with Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"r")) as run:
        data = run.hold(Holder, held)
        if columns:
            return describe_columns(run, data, **asked)
        return describe_table(run, data, **asked, protected=Protected())


def told(found: Overview) -> bytes:
    """All that everybody is told, as bytes."""
    return encode((found.records, found.columns, found.unlike)).join()


def table(n: int = 90, seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.normal(70, 9, n), draw.choice([0.0, 2.0], n)])


def test_all_that_is_told_is_the_same_whoever_has_which_record():
    X = table()
    first = look(X)
    again = look(X, order=np.random.default_rng(1).permutation(len(X)))
    assert first.unlike == again.unlike
    for name, one in first.columns.items():
        other = again.columns[name]
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_allclose([one.mean, one.var], [other.mean, other.var], rtol=1e-12)


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("others", [(1.0, 1.0, 1.0), (3.0, 3.0, 3.0), (1.0, 3.0, 3.0)])
def test_all_that_is_told_is_the_same_whatever_the_rare_texts_are(others, columns):
    X = table()
    X[:3, 1] = 1.0
    Y = X.copy()
    Y[:3, 1] = others
    assert told(look(X, columns=columns)) == told(look(Y, columns=columns))


def test_an_outlier_moves_mean_and_variance_and_is_in_no_part_of_its_own():
    X = table()
    X[0, 0] = 1e6
    found = look(X).columns["mass"]
    assert all(n == 0 or n >= 5 for n in found.counts)
    assert found.edges[-1] < 1e6, "nor is it an end of the histogram"


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@given(seed=st.integers(0, 10_000), least=st.integers(3, 9))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_count_of_few_records_is_told(columns, seed, least):
    draw = np.random.default_rng(seed)
    X = np.column_stack([draw.standard_t(2, 60), draw.choice(4, 60, p=[0.5, 0.05, 0.4, 0.05])])
    X[draw.random(60) < 0.2, 0] = np.nan
    for each in look(X, least, columns=columns).columns.values():
        assert all(n == 0 or n >= least for n in each.counts)
        shown = each.times[each.times != HIDDEN]
        assert (shown >= least).all()
        rest = each.present - shown.sum()
        assert not len(shown) or rest == 0 or rest >= least, "what is left is of nobody, or of enough"


@given(
    st.lists(st.sampled_from([0, 1, 3, 4, 5, 8, 40]), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(2, 9),
    st.integers(1, 9),
)
def test_several_looks_with_another_min_count_tell_no_more_than_the_finest(counts, unnamed, least, more):
    total, n = np.array([counts], dtype=np.uint64), float(sum(counts) + unnamed)
    fine, coarse = (show_counts(total, np.array([n]), (len(counts),), m).counts[0] for m in (least, least + more))
    assert ((coarse == HIDDEN) | (coarse == fine)).all()


def nearest_counts(x: Any, cuts: Any) -> int:
    """By how few values two of these cuts differ, if they differ."""
    below = np.unique([(x < cut).sum() for cut in cuts])
    return int(np.diff(below).min(initial=len(x)))


def parts_of_column(x: Any, bins: int, least: int) -> list[float]:
    """Where the parts of a histogram begin, of so many bins, that hold no value or so many."""
    low, high = (np.array([x.mean() + side * overview.REACH * x.std()]) for side in (-1, 1))
    counts = counts_of(cells_of(x[:, None], low, high, bins), bins)[0]
    return [float(low[0] + start * (high - low)[0] / bins) for start, _ in join_cells(counts, least)[1:]]


def test_the_cuts_of_all_looks_at_a_table_have_no_value_alone_between_them():
    """With a number of bins to choose they had one in each of the 30 columns."""
    columns = load_breast_cancer().data.T
    for x in columns:
        every = [cut for least in range(5, 60) for cut in parts_of_column(x, overview.BINS, least)]
        assert nearest_counts(x, every) >= 5
    chosen = [[cut for k in range(1, 7) for bins in (2**k, 3 * 2**k) for cut in _equal(x, bins)] for x in columns]
    assert sum(nearest_counts(x, cuts) == 1 for x, cuts in zip(columns, chosen, strict=True)) == 30


def _equal(x: Any, bins: int) -> list[float]:
    """The cuts of a histogram whose parts of fewer than 5 values are joined with the next, whatever its bins."""
    edges, held, cuts = np.linspace(x.mean() - 4 * x.std(), x.mean() + 4 * x.std(), bins + 1), 0, []
    for a, b in pairwise(edges[:-1]):
        held += int(((x >= a) & (x < b)).sum())
        if held >= 5:
            cuts.append(float(b))
            held = 0
    return cuts


def test_the_coordinator_sees_counts_that_nobody_else_is_told(monkeypatch):
    """As `overview` says: not protected."""
    seen: list[Any] = []
    honest = overview.join_parts
    monkeypatch.setattr(overview, "join_parts", lambda total, least: seen.append(total) or honest(total, least))
    found = look(table()).columns["mass"]
    assert ((seen[0] > 0) & (seen[0] < 5)).any()
    assert seen[0].sum() == found.counts.sum() == 90
