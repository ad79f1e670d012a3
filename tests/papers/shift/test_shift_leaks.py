"""What the shared shift gives away: which attack succeeds on the view of which variant, and what holders see."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from conformance.case import flat
from tacit.choreo import Asker, Coordinator, Frames, Holder, Labeller, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.papers.shift import ring, secret, vertical
from tacit.papers.shift.attacks.column_minimum import shift_column_minimum
from tacit.papers.shift.attacks.ica import ica
from tacit.papers.shift.attacks.initiator import shift_initiator
from tacit.papers.shift.attacks.one_record import shift_one_record
from tacit.runtimes.together import Together

NAMES = ("p1", "p2", "p3", "p4")
COLUMNS = 6
KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ring.Around,
        ring.Collected,
        ring.Completed,
        secret.MovedRows,
        vertical.MovedColumns,
    )
}
SETTING: dict[str, Any] = {"kernel": "rbf", "gamma": 0.3, "C": 1.0}


class Tapped(Together):
    """Keeps every table of rows by its receiver."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[str, str, Any]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        kind = KINDS.get(re.sub(r"#\d+$", "", place.rsplit("/", 1)[-1]))
        if kind:
            for (sender, receiver), frames in outbox.items():
                self.seen.append((sender, receiver, decode_as(kind, Frames.split(frames.join()))))
        return super()._exchange(place, outbox, wanted, missing)

    def tables(self, receiver: str) -> list[Any]:
        """Everything that arrived there, table by table, in its order."""
        return [table for _, to, message in self.seen if to == receiver for table in tables_in(message)]


def tables_in(message: Any) -> tuple[Any, ...]:
    (value,) = (getattr(message, name) for name in message.field_names())
    return value if isinstance(value, tuple) else (value,)


def records(rows: int = 120) -> Any:
    """Counts and amounts: none below 0, 0 in every column, and nothing gaussian."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.exponential(size=rows), rng.integers(0, 4, rows), rng.uniform(0, 3, rows),
                         rng.integers(0, 2, rows),
                         rng.exponential(size=rows) ** 1.3, rng.integers(0, 9, rows)])  # fmt: skip
    return X - X.min(axis=0)


def played(variant: str, X: Any) -> tuple[Tapped, dict[str, Any], list[Any]]:
    """A whole training over rows; the blocks of the holders beside it."""
    y = (X[:, 0] + X[:, 2] > np.median(X[:, 0] + X[:, 2])).astype(int)
    roster = Roster({Holder: NAMES, Labeller: ("p1",), Asker: ("p1",), Coordinator: ("coordinator",)})
    cut = np.array_split(np.arange(len(X)), len(NAMES))
    parts = {p: part_of(X[c], y[c], None, tuple("abcdef")) for p, c in zip(NAMES, cut, strict=True)}
    width = dict.fromkeys(NAMES, np.full(COLUMNS, 20.0))
    with Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        data, widths = run.hold(Holder, parts), run.hold(Holder, width)
        if variant == "plain":
            result = flat(ring.shift_ring)(run, data, widths, **SETTING)
        else:
            result = flat(secret.shift_secret_rows)(run, data, widths, rotation=variant == "rotation", **SETTING)
        shifts = dict(result.shifts._entries)
    return run, shifts, [X[c] for c in cut]


def whole(run: Tapped, variant: str) -> Any:
    """The table on which the coordinator trains."""
    tables = run.tables("coordinator")
    if variant == "plain":
        tables = [tables[0], *tables[len(NAMES) :]]
    return np.concatenate(tables)


@pytest.fixture(scope="module", params=["plain", "secret", "rotation"])
def view(request):
    X = records()
    run, shifts, blocks = played(request.param, X)
    return request.param, X, run, shifts, blocks


def test_only_the_plain_shift_lets_the_initiator_read_the_holders_shifts(view):
    variant, _, run, shifts, blocks = view
    true = np.array([shifts[p].r for p in NAMES[:-1]])
    found = shift_initiator(run.tables("coordinator"), true, blocks[1:], last=shifts[NAMES[-1]].r)
    if variant == "plain":
        assert found.error < 1e-12
        assert found.records_error < 1e-12
    else:
        assert len(found.shifts) == 0
        assert found.error == 1.0
        assert found.records_error == 1.0


def test_only_the_rotation_stops_whoever_knows_the_minimum_of_the_columns(view):
    variant, X, run, _, _ = view
    found = shift_column_minimum(whole(run, variant), X)
    assert found.error > 0.5 if variant == "rotation" else found.error < 1e-12


def test_nothing_stops_known_records_one_for_a_shift_and_two_per_column_for_a_rotation(view):
    variant, X, run, _, _ = view
    table = whole(run, variant)
    one = shift_one_record(table, X, np.array([7]))
    assert one.error > 0.5 if variant == "rotation" else one.error < 1e-12
    many = shift_one_record(table, X, np.arange(2 * COLUMNS), rotated=variant == "rotation")
    assert many.error < 1e-10


def test_a_rotation_falls_with_one_known_record_more_than_columns_and_not_with_half_of_them():
    X = records()
    table = whole(played("rotation", X)[0], "rotation")
    assert shift_one_record(table, X, np.arange(COLUMNS + 1), rotated=True).error < 1e-10
    assert shift_one_record(table, X, np.arange(COLUMNS // 2), rotated=True).error > 0.1


def test_nothing_stops_independent_component_analysis_of_columns_that_are_independent():
    X = records(1500)
    for variant in ("plain", "secret", "rotation"):
        found = ica(whole(played(variant, X)[0], variant), X)
        assert found.share >= 0.6
        assert found.error < 0.4


def test_component_analysis_finds_nothing_in_gaussian_columns():
    X = np.random.default_rng(1).normal(size=(1500, COLUMNS))
    Q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(COLUMNS, COLUMNS)))
    assert ica(X @ Q + 40.0, X).share < 0.5


def test_on_the_plain_ring_every_holder_sees_the_row_differences_of_all_others():
    run, _, blocks = played("plain", records())
    for i, party in enumerate(NAMES):
        seen = [np.diff(table, axis=0) for table in run.tables(party)]
        for k, block in enumerate(blocks):
            known = any(
                d.shape == (len(block) - 1, COLUMNS) and np.allclose(d, np.diff(block, axis=0), atol=1e-9) for d in seen
            )
            assert known == (k != i)


def test_on_the_plain_ring_two_holders_open_the_block_after_the_first_of_them():
    run, shifts, blocks = played("plain", records())
    first, second, *_ = run.tables("p4")
    between = (first - blocks[0] - shifts["p1"].r).mean(axis=0)  # p1 knows both
    np.testing.assert_allclose(second - between, blocks[1], atol=1e-9)


@pytest.mark.parametrize("variant", ["secret", "rotation"])
def test_under_a_secret_shift_holders_receive_no_table_and_the_coordinator_each_block_once(variant):
    run, _, _ = played(variant, records())
    assert {receiver for _, receiver, _ in run.seen} == {"coordinator"}
    assert len(run.tables("coordinator")) == len(NAMES)
    kinds = {row.type for row in run.ledger if row.receiver == "p3"}
    assert kinds == {"PublicKey", "GroupKey", "Classes"}


def test_the_group_key_crosses_the_border_only_under_pads_that_differ():
    seen: list[bytes] = []

    class Keys(Tapped):
        def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
            if place.endswith("GroupKey"):
                seen.extend(frames.join() for (s, r), frames in outbox.items() if s != r)
            return super()._exchange(place, outbox, wanted, missing)

    roster = Roster({Holder: NAMES, Coordinator: ("coordinator",)})
    with Keys(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        keys = dict(secret.agree(run)._entries)
    assert len(set(keys.values())) == 1
    assert len(seen) == len(set(seen)) == 3
    assert not any(keys["p1"][i : i + 8] in frame for frame in seen for i in range(0, 32, 8))
