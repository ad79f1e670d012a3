"""What was opened of a site's records is remembered by record, over restarts, files and datasets."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tacit.choreo import decode, encode
from tacit.consortium.consent.marks import record_marks
from tacit.consortium.consent.opened import FILE, Opened
from tacit.errors import LocalError
from tacit.federation.part import part_of
from tacit.protocols.sums.atoms import HoldBack, Told, begin, split_by_part

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2
TOLD = Told((("identity", 3),))


def marks_of(opened: Opened, rows: np.ndarray) -> list[bytes]:
    part = part_of(X[rows], Y[rows], None, ("a", "b", "c"))
    return record_marks(opened.salt, part, rows.tolist())


def run(opened: Opened, job: str, rows: np.ndarray, least: int = 4, cut: float | None = None):
    """One run of a job that splits its groups at a value of the first column, where pieces are large enough."""
    marks = marks_of(opened, rows)
    past = opened.begin(job, marks)
    part = dataclasses.replace(part_of(X[rows], Y[rows], None, ("a", "b", "c")), past=past)
    atoms = begin(part, Y[rows].astype(np.int64), TOLD, HoldBack(least, accept_risk=True))
    if cut is not None:
        side = X[rows, 0] > cut
        sizes = {g: min(side[atoms.group == g].sum(), (~side[atoms.group == g]).sum()) for g in np.unique(atoms.group)}
        atoms = split_by_part(
            atoms, np.array([side[i] and sizes[g] >= least for i, g in enumerate(atoms.group)], dtype=np.int64)
        )
    opened.keep(job, marks, atoms.past)
    return atoms


ALL = np.arange(40)


def labels(opened: Opened, rows: np.ndarray = ALL) -> np.ndarray:
    return opened.begin("look", marks_of(opened, rows)).label


def partition(label: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(label == own).tolist()) for own in np.unique(label[label >= 0])}


def test_labels_survive_a_restart_and_another_order_of_the_records(tmp_path):
    atoms = run(Opened(tmp_path), "first", ALL, cut=0.0)
    again = Opened(tmp_path)
    assert partition(labels(again)) == partition(atoms.past.label)
    turned = ALL[::-1].copy()
    assert partition(labels(again, turned)[::-1]) == partition(atoms.past.label)
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_what_was_told_is_counted_over_runs_and_a_map_that_is_known_costs_nothing(tmp_path):
    opened = Opened(tmp_path)
    run(opened, "first", ALL)
    told = opened.begin("second", marks_of(opened, ALL)).told.sum()
    assert told == pytest.approx(0.25)
    run(opened, "second", ALL)
    assert opened.begin("third", marks_of(opened, ALL)).told.sum() == pytest.approx(told)


def test_records_under_another_dataset_or_in_a_longer_file_keep_their_labels(tmp_path):
    opened = Opened(tmp_path)
    atoms = run(opened, "first", ALL[:30], cut=0.0)
    past = opened.begin("second", marks_of(opened, ALL))
    assert partition(past.label[:30]) == partition(atoms.past.label)
    assert (past.label[30:] == -1).all()
    assert past.maps == ("identity",)


def test_records_that_are_gone_are_counted_for_those_that_shared_their_atom(tmp_path):
    opened = Opened(tmp_path)
    run(opened, "first", ALL)
    past = opened.begin("second", marks_of(opened, ALL[2:]))
    assert past.absent.tolist() == [1] * 38


def test_an_atom_that_stays_out_because_few_of_its_records_are_gone_stays_whole(tmp_path):
    """Else it would be taken for an atom of its own the next time."""
    opened = Opened(tmp_path)
    run(opened, "first", ALL)
    atoms = run(opened, "second", ALL[2:])
    assert (atoms.group == -1).all()
    assert opened.begin("third", marks_of(opened, ALL[2:])).absent.tolist() == [1] * 38


def test_an_atom_that_was_summed_without_many_of_its_records_is_told_apart_from_them(tmp_path):
    opened = Opened(tmp_path)
    run(opened, "first", ALL)
    atoms = run(opened, "second", ALL[20:])
    assert (atoms.group >= 0).all()
    label = opened.begin("third", marks_of(opened, ALL)).label
    assert set(label[20:]).isdisjoint(label[:20])
    assert partition(labels(opened)) == {frozenset(range(a, b, 2)) for a, b in ((0, 20), (1, 20), (20, 40), (21, 40))}


def test_a_run_that_another_one_has_overtaken_stops_and_is_not_taken_up(tmp_path):
    opened = Opened(tmp_path)
    marks = marks_of(opened, ALL)
    past = opened.begin("first", marks)
    opened.begin("second", marks)
    with pytest.raises(LocalError, match="another job has begun to sum these records since: propose this one again"):
        opened.keep("first", marks, past)
    with pytest.raises(LocalError, match="another job has begun to sum these records since"):
        opened.check("first", marks)
    opened.check("second", marks)


def test_a_run_that_is_played_again_does_not_make_labels_coarser(tmp_path):
    opened = Opened(tmp_path)
    marks = marks_of(opened, ALL)
    coarse = run(opened, "first", ALL).past
    fine = run(opened, "first", ALL, cut=0.0).past
    opened.keep("first", marks, coarse)
    assert partition(labels(opened)) == partition(fine.label)


def test_twins_are_two_records(tmp_path):
    opened = Opened(tmp_path)
    part = part_of(np.zeros((6, 2)), np.zeros(6, int), None, ("a", "b"))
    assert len(set(record_marks(opened.salt, part, None))) == 6


def test_a_damaged_file_is_said_to_be_damaged(tmp_path):
    run(Opened(tmp_path), "first", ALL)
    (tmp_path / FILE).write_bytes(b"x" * 100)
    with pytest.raises(LocalError, match="is damaged: restore it from a backup"):
        labels(Opened(tmp_path))


def test_no_id_and_no_value_stands_in_the_file(tmp_path):
    opened = Opened(tmp_path)
    part = part_of(X[:20], Y[:20], None, ("a", "b", "c"))
    marks = record_marks(opened.salt, part, [f"patient-{i:04d}" for i in range(20)])
    opened.begin("first", marks)
    content = (tmp_path / FILE).read_bytes()
    assert b"patient" not in content
    assert not any(X[i].tobytes() in content for i in range(20))


def changed_marks(opened: Opened, rows: np.ndarray, changed: int) -> tuple[list[bytes], list[bytes]]:
    """Marks of the records by their ids, and of their contents, of which the first so many were corrected."""
    values = X[rows].copy()
    values[:changed] += 1.0
    part = part_of(values, Y[rows], None, ("a", "b", "c"))
    return marks_of(opened, rows), record_marks(opened.salt, part, None)


@pytest.mark.parametrize(("changed", "kept_out"), [(0, False), (2, True), (40, False)])
def test_an_atom_of_which_a_few_records_were_corrected_stays_out(tmp_path, changed, kept_out):
    """Two sums over it would differ by the corrections; where all records changed, they differ by as many."""
    opened = Opened(tmp_path)
    marks, contents = changed_marks(opened, ALL, 0)
    past = opened.begin("first", marks, contents)
    part = dataclasses.replace(part_of(X, Y, None, ("a", "b", "c")), past=past)
    opened.keep("first", marks, begin(part, Y.astype(np.int64), TOLD, HoldBack(4, accept_risk=True)).past, contents)
    absent = opened.begin("second", *changed_marks(opened, ALL, changed)).absent
    assert (0 < absent.min() < 4) == kept_out


def test_small_groups_are_put_together_among_the_records_that_were_summed_first_and_nowhere_else(tmp_path):
    """Beside other neighbours they could be told apart; a simulated federation goes by the same rule."""
    first = ALL[:36]
    for later, together in ((first, True), (ALL, False), (first[4:], False)):
        opened = Opened(tmp_path / str(len(later)))
        atoms = run(opened, "first", first, least=4, cut=0.0)
        small = {own for own in np.unique(atoms.past.label) if np.sum(atoms.past.label == own) < 12}
        assert small
        known = labels(opened, first)
        again = run(opened, "second", later, least=12)
        of_small = [again.group[i] for i, row in enumerate(later) if row < 36 and known[row] in small]
        assert bool(max(of_small) >= 0) is together


def test_hidden_layers_of_runs_that_differ_by_a_few_records_are_counted_by_these_few(tmp_path):
    opened = Opened(tmp_path)
    for job, rows in (("first", ALL[:34]), ("second", ALL)):
        marks = marks_of(opened, rows)
        past = opened.begin(job, marks)
        assert past.fewest == (6 if job == "second" else 0)
        opened.keep(job, marks, dataclasses.replace(past, layered=True))
    assert Opened(tmp_path).begin("third", marks_of(opened, ALL)).fewest == 6


def test_a_file_without_frames_is_read_and_small_groups_stay_out(tmp_path):
    atoms = run(Opened(tmp_path), "first", ALL, least=4, cut=0.0)
    kept = decode((tmp_path / FILE).read_bytes())
    older = dataclasses.replace(kept, frame=np.empty(0, np.int64), layered=np.empty(0, np.int64))
    (tmp_path / FILE).write_bytes(encode(older).join())
    past = Opened(tmp_path).begin("second", marks_of(Opened(tmp_path), ALL))
    assert partition(past.label) == partition(atoms.past.label)
    assert (past.absent == len(ALL)).all()
