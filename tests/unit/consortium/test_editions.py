"""What a site fixes of a dataset: who is in the sets of jobs, the dealing, constant columns and small classes."""

from itertools import pairwise

import numpy as np
import pytest

from tacit.consortium.editions.dealing import FOLDS, JUDGED, deal_persons
from tacit.consortium.editions.memory import Memory
from tacit.consortium.editions.persons import find_persons
from tacit.consortium.editions.smoothing import NONE, flatten_rare, merge_small
from tacit.federation.table import as_table

LEAST = 5
KEY = b"k" * 32


def people(numbers, values=None, columns=2, memory=None):
    """Persons of a table with these ids; `values` are its cells."""
    X = np.tile(np.asarray(numbers, dtype=float)[:, None], columns) if values is None else values
    return find_persons(memory.key if memory else KEY, as_table(X), np.array([f"p{n}" for n in numbers]))


def sets_of(memory, persons):
    """The numbers, in the table, of those who learn and of those who judge, as the memory chooses them."""
    parts = memory.deal(persons)
    kept = memory.choose(persons, parts, LEAST)
    return kept, parts


def use(memory, dataset, numbers, values=None):
    """Let a job use a table; return the two sets of its persons, by number."""
    persons = people(numbers, values, memory=memory)
    kept, parts = sets_of(memory, persons)
    own = find_persons(memory.key, as_table(persons_table(numbers, values)[kept]), names(numbers)[kept])
    memory.use(f"{dataset} {len(own)} {hash(own.marks.tobytes())}", own, parts[kept])
    ids = np.asarray(numbers)
    return {*ids[kept & (parts != JUDGED)].tolist()}, {*ids[kept & (parts == JUDGED)].tolist()}


def persons_table(numbers, values):
    return np.tile(np.asarray(numbers, dtype=float)[:, None], 2) if values is None else values


def names(numbers):
    return np.array([f"p{n}" for n in numbers])


def test_a_deal_follows_from_key_and_person_alone_and_has_about_the_share_it_should():
    persons = people(range(5000))
    dealt = deal_persons(KEY, persons.digests, 0.2)
    again = deal_persons(KEY, people(range(4999, -1, -1)).digests, 0.2)[::-1]
    np.testing.assert_array_equal(dealt, again)
    assert np.mean(dealt == JUDGED) == pytest.approx(0.2, abs=0.02)
    assert {*dealt.tolist()} == {JUDGED, *range(FOLDS)}
    assert np.mean(dealt != deal_persons(b"other" * 6, persons.digests, 0.2)) > 0.5


def test_records_of_one_person_are_dealt_together_and_count_once():
    table = as_table(np.arange(40.0).reshape(20, 2))
    persons = find_persons(KEY, table, np.arange(20), persons=np.arange(20) // 4)
    assert len(persons) == 5
    assert [*np.bincount(persons.of)] == [4] * 5


def test_a_few_new_persons_wait_until_there_are_enough_of_them(tmp_path):
    memory = Memory(tmp_path)
    first = use(memory, "cohort", range(100))
    assert use(memory, "cohort", range(101)) == first
    assert use(Memory(tmp_path), "cohort", range(103)) == first  # what is written down counts
    learn, judge = use(memory, "cohort", range(200))
    assert len(learn | judge) > 180


def test_where_one_person_is_gone_others_stay_away_and_never_come_back_alone(tmp_path):
    memory = Memory(tmp_path)
    first, _ = use(memory, "cohort", range(100))
    gone = min(first)
    rest = [n for n in range(100) if n != gone]
    second, _ = use(memory, "cohort", rest)
    assert len(first - second) == LEAST
    third, _ = use(memory, "cohort", rest)
    assert third == second
    assert use(memory, "cohort", [n for n in rest if n in second or n % 2])[0] <= second


def test_a_corrected_value_makes_another_person_and_a_column_more_makes_none(tmp_path):
    memory, values = Memory(tmp_path), np.random.default_rng(0).normal(size=(100, 2))
    first, _ = use(memory, "cohort", range(100), values)
    wider = np.column_stack([values, np.ones(100)])
    assert use(memory, "cohort", range(100), wider)[0] == first
    corrected = values.copy()
    who = min(first)
    corrected[who] += 1.0
    second, _ = use(memory, "cohort", range(100), corrected)
    assert who not in second
    assert len(first - second) == LEAST


def test_a_second_dataset_of_nearly_the_same_persons_differs_from_the_first_by_enough_or_by_nobody(tmp_path):
    memory = Memory(tmp_path)
    one = use(memory, "a", range(200))
    two = use(memory, "b", range(1, 200))
    for a, b in zip(one, two, strict=True):
        assert len(a ^ b) == 0 or len(a ^ b) >= LEAST


def cells_of(sets, everybody):
    """How many persons were in the same ones of these sets, for each combination that somebody has."""
    found = {}
    for person in everybody:
        found.setdefault(tuple(person in each for each in sets), []).append(person)
    return {key: len(of) for key, of in found.items()}


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_and_goes_no_sets_of_any_jobs_together_tell_a_few_persons_apart(tmp_path, seed):
    """(1), by brute force: over random histories no cell of all sets ever used has 1 to 4 persons."""
    rng, memory = np.random.default_rng(seed), Memory(tmp_path)
    present = {*range(int(rng.integers(20, 150)))}
    values = rng.normal(size=(400, 2))
    sets, versions = [], {}
    for _ in range(12):
        for _ in range(int(rng.integers(0, 4))):
            act, size = rng.integers(0, 3), int(rng.integers(1, 25))
            if act == 0:
                present |= {*rng.integers(0, 400, size).tolist()}
            elif act == 1 and len(present) > size:
                present -= {*rng.choice(sorted(present), size).tolist()}
            else:
                who = rng.choice(sorted(present), min(size, len(present)), replace=False)
                values[who] += 1.0
                versions |= {int(w): versions.get(int(w), 0) + 1 for w in who}
        numbers = sorted(present)
        offered = [n for n in numbers if rng.random() < 0.9] if rng.random() < 0.3 else numbers
        dataset = ("a", "b")[int(rng.random() < 0.2)]
        used = use(memory, dataset, offered, values[offered])
        sets += [{(n, versions.get(n, 0)) for n in part} for part in used]
    everybody = set().union(*sets)
    sizes = cells_of(sets, everybody)
    assert all(size >= LEAST for size in sizes.values()), sizes
    assert sum(a != b for a, b in pairwise(sets)) > 1


def test_a_column_in_which_a_few_persons_differ_is_constant_and_others_stay():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=300), np.arange(300) == 7, np.arange(300) < 6, np.where(rng.random(300) < 0.01, np.nan, 1.0)]
    )
    X[:, 3] = 1.0
    X[4, 3] = np.nan
    flat, which = flatten_rare(X, np.ones(300, bool), np.arange(300), LEAST)
    assert which == (1, 3)
    assert flat[:, 1].tolist() == [0.0] * 300
    np.testing.assert_array_equal(flat[:, [0, 2]], X[:, [0, 2]])
    assert flatten_rare(X[:, :1], np.ones(300, bool), np.arange(300), LEAST)[0].base is X


def test_records_of_one_person_do_not_make_a_column_common():
    X = (np.arange(300) < 20).astype(float)[:, None]
    of = np.maximum(np.arange(300) - 20, 0)  # the first twenty records are of one person
    assert flatten_rare(X, np.ones(300, bool), of, LEAST)[1] == (0,)


@pytest.mark.parametrize("seed", range(20))
def test_no_cell_of_the_refinement_of_all_targets_is_small(seed):
    rng = np.random.default_rng(seed)
    targets = [rng.choice(4, p=(0.55, 0.4, 0.04, 0.01), size=200) for _ in range(3)]
    merged = merge_small(targets, np.arange(200), LEAST)
    cells = np.unique(np.stack(merged), axis=1, return_counts=True)[1]
    assert cells.min() >= LEAST
    for before, after in zip(targets, merged, strict=True):
        assert np.all((before == after) | (after == NONE))
    assert np.mean(np.array(merged[0]) != NONE) > 0.9


def test_a_stray_label_costs_the_labels_of_a_few_others_and_no_class():
    codes = np.repeat([0, 1, 2], [40, 30, 1])
    (merged,) = merge_small([codes], np.arange(71), 5)
    assert np.bincount(merged + 1).tolist() == [5, 36, 30]
