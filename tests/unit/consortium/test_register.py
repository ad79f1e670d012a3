import hashlib
import json
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.consortium.consent.cells import find_few
from tacit.consortium.consent.difference import Footprint, too_close
from tacit.consortium.consent.marks import Rows, rows_of
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs.proposal import propose
from tacit.errors import LocalError
from tacit.federation.part import part_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FIVE = ("north", "south", "east", "west", "centre")
OWN = ("age", "bmi")


@lru_cache
def proposed():
    return propose(
        "gram_vertical",
        {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0},
        partition="vertical",
        parties=FIVE,
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="a test",
        legal_basis="consent",
        labeller="north",
        now=NOW,
    )


def job(parties=FIVE, number=0, dataset="cohort", **columns):
    given = {**dict.fromkeys(parties, "all"), **columns}
    return msgspec.structs.replace(
        proposed(), id=f"{number:032x}", parties=parties, dataset=dataset, columns=given, rows=dict.fromkeys(parties)
    )


def table(n=20, drop=(), change=()):
    X = np.arange(2.0 * n).reshape(n, 2)
    X[list(change)] += 0.5
    keep = [i for i in range(n) if i not in drop]
    return part_of(X[keep], None, None, OWN), keep


@pytest.fixture
def register(tmp_path):
    return Register(tmp_path)


@pytest.fixture
def admit(register):
    def admit(proposal, n=20, drop=(), change=(), own=OWN, *, ids=True, least=5):
        part, keep = table(n, drop, change)
        return register.admit(proposal, own, "north", register.rows_of(part, keep if ids else None), least, NOW)

    return admit


def test_what_was_opened_stays_written(register, admit):
    admit(job())
    (entry,) = Register(register.path.parent).entries()
    assert entry.job == job().digest
    assert entry.dataset == "cohort"
    assert entry.parties == FIVE
    assert entry.rows == 20
    assert entry.columns["north"] == OWN
    assert "gram.matrix" in entry.opens
    assert entry.at == NOW


def test_the_same_job_is_written_once(register, admit):
    assert admit(job()) == admit(job())
    assert len(register.entries()) == 1


def test_the_same_parties_records_and_columns_again_are_allowed(register, admit):
    admit(job())
    admit(job(number=1))
    assert len(register.entries()) == 2


@pytest.mark.parametrize(("without", "who"), [(("centre",), "centre"), (("west", "centre"), "centre and west")])
def test_a_job_without_one_or_two_of_the_holders_is_refused(admit, without, who):
    admit(job())
    with pytest.raises(
        LocalError,
        match=rf"differs from job 0+ on cohort by {who} only, and fewer than 3 holders hide nobody: refuse it",
    ):
        admit(job(tuple(p for p in FIVE if p not in without), number=1))


def test_a_job_with_three_other_holders_is_allowed(register, admit):
    admit(job(("north", "a", "b")))
    admit(job(("north", "a", "b", "c", "d", "e"), number=1))
    assert len(register.entries()) == 2


def test_other_columns_of_one_holder_are_refused_since_they_are_its_data(admit):
    admit(job())
    with pytest.raises(LocalError, match="by north only"):
        admit(job(number=1), own=("age",))
    with pytest.raises(LocalError, match="by south only"):
        admit(job(number=2, south=("pulse",)))


def test_the_order_of_columns_makes_no_difference(admit):
    admit(job())
    admit(job(number=1), own=OWN[::-1])


@pytest.mark.parametrize("ids", [True, False])
def test_a_few_records_more_or_less_are_refused(admit, ids):
    admit(job(), ids=ids)
    with pytest.raises(LocalError, match="by fewer than 5 of this party's records"):
        admit(job(number=1), drop=(3,), ids=ids)
    with pytest.raises(LocalError, match="by fewer than 5"):
        admit(job(number=2), n=24, ids=ids)
    admit(job(number=3), n=25, ids=ids)


def test_a_corrected_value_under_an_old_id_is_another_record(admit):
    admit(job())
    with pytest.raises(LocalError, match="by fewer than 5"):
        admit(job(number=1), change=(3,))


def test_records_written_anew_with_another_column_are_known_by_their_ids(register, admit):
    admit(job())
    wider = part_of(np.arange(57.0).reshape(19, 3), None, None, (*OWN, "pulse"))
    found = register.objection(job(number=1), OWN, "north", register.rows_of(wider, range(19)), 5)
    assert found
    assert found[0].words == "by fewer than 5 of this party's records"


def test_one_of_two_equal_records_is_missed():
    twins = part_of(np.ones((2, 1)), None, None, ("u",))
    single = part_of(np.ones((1, 1)), None, None, ("u",))
    assert len(rows_of(b"salt", twins).contents ^ rows_of(b"salt", single).contents) == 1


def test_a_job_on_other_records_is_no_neighbour(register, admit):
    admit(job())
    part = part_of(np.arange(40.0).reshape(20, 2) - 1000, None, None, OWN)
    register.admit(
        job(("north", "south", "east"), number=1), OWN, "north", register.rows_of(part, range(100, 120)), 5, NOW
    )
    assert len(register.entries()) == 2


def test_a_torn_last_line_is_dropped_and_written_over(register, admit):
    admit(job())
    whole = register.path.read_bytes()
    admit(job(number=1))
    torn = register.path.read_bytes()[:-7]
    register.path.write_bytes(torn)
    assert [e.id for e in register.entries()] == [job().id]
    admit(job(number=2))
    assert [e.id for e in register.entries()] == [job().id, job(number=2).id]
    assert register.path.read_bytes().startswith(whole)


def test_every_cut_of_the_file_reads_as_a_beginning_of_it(register, admit):
    admit(job())
    admit(job(number=1))
    data, entries = register.path.read_bytes(), register.entries()
    start = data.index(b"\n") + 1
    for end in range(start, len(data), 97):
        register.path.write_bytes(data[:end])
        assert register.entries() == entries[: data[start:end].count(b"\n")]


def test_damage_in_the_middle_is_refused_with_the_line(register, admit):
    admit(job())
    admit(job(number=1))
    register.path.write_bytes(register.path.read_bytes().replace(b"gram_vertical", b"gram_verticel", 1))
    with pytest.raises(LocalError, match=r"line 2 of the register .* is damaged: restore the file from a backup"):
        register.entries()


def test_a_register_that_vanished_is_missed(register, admit):
    admit(job())
    register.path.unlink()
    with pytest.raises(LocalError, match=r"site.register is gone, but its records are not: restore it"):
        admit(job(number=1))


def test_neither_ids_nor_values_stand_in_the_files(register):
    part = part_of(np.full((20, 2), 1234.5), None, None, OWN)
    register.admit(job(), OWN, "north", register.rows_of(part, [f"patient-{i}" for i in range(20)]), 5, NOW)
    written = b"".join(f.read_bytes() for f in register.path.parent.rglob("*") if f.is_file())
    assert b"patient" not in written
    assert np.float64(1234.5).tobytes() not in written
    assert register.path.stat().st_mode & 0o077 == 0


# Several datasets


@pytest.mark.parametrize("ids", [True, False])
def test_the_same_records_offered_as_two_datasets_are_the_same_records(register, admit, ids):
    admit(job(), ids=ids)
    with pytest.raises(
        LocalError, match=r"differs from job 0+ on cohort by fewer than 5 of this party's records: refuse it"
    ):
        admit(job(number=1, dataset="snapshot"), drop=(3,), ids=ids)
    with pytest.raises(LocalError, match=r"differs from job 0+ on cohort by west only"):
        admit(job(tuple(p for p in FIVE if p != "west"), number=2, dataset="snapshot"), ids=ids)
    admit(job(number=3, dataset="snapshot"), n=25, ids=ids)
    assert [entry.dataset for entry in register.entries()] == ["cohort", "snapshot"]


def test_all_datasets_are_marked_under_one_salt(register):
    part, keep = table()
    assert register.rows_of(part, keep) == Register(register.path.parent).rows_of(part, keep)
    assert [file.name for file in register.path.parent.glob("*.register")] == ["site.register"]


def test_other_columns_of_the_same_records_are_refused_unless_three_holders_list_others(register, admit):
    admit(job(south=("u",), east=("v",)))
    with pytest.raises(LocalError, match="by north only"):
        admit(job(number=1, dataset="labs", south=("u",), east=("v",)), own=("sodium",))
    admit(job(number=2, dataset="labs", south=("s",), east=("t",)), own=("sodium",))
    assert len(register.entries()) == 2


# Combinations of columns, over any number of jobs


def test_all_columns_and_a_list_of_all_of_them_are_the_same_columns_so_that_nobody_hides_there(admit):
    admit(job())
    listed = {p: ("u", "v") for p in FIVE if p != "north"}
    with pytest.raises(LocalError, match="can be combined to what north alone brought"):
        admit(job(number=1, **listed), own=("age",))


def test_a_third_job_that_completes_a_combination_about_one_holder_is_refused(register, admit):
    three = ("north", "south", "east")

    def used(number, own, south, east):
        return admit(job(three, number=number, south=south, east=east), own=own)

    used(0, ("age", "bmi"), ("u", "v"), ("x", "y"))
    used(1, ("bmi",), ("v",), ("y",))
    with pytest.raises(
        LocalError,
        match=r"can be combined to what (north|south|east)( and (north|south|east))? alone brought: refuse it",
    ):
        used(2, ("age",), ("u", "v", "w"), ("x", "y", "z"))
    used(3, ("age",), ("u",), ("x",))
    assert len(register.entries()) == 3


def by_rows(number, names):
    made = job(number=number, **dict.fromkeys(FIVE, names))
    return msgspec.structs.replace(
        made, protocol="gram_arbitrary", partition="horizontal", params={**made.params, "partition": "horizontal"}
    )


def test_over_rows_gram_matrices_that_differ_by_a_column_or_two_are_refused(register, admit):
    five = ("age", "bmi", "pulse", "sodium", "iron")
    admit(by_rows(0, five), own=five)
    for number, fewer in ((1, five[:4]), (2, five[:3]), (3, five[:1])):
        with pytest.raises(
            LocalError, match="gram matrices can be combined to those of fewer than 3 columns: refuse it"
        ):
            admit(by_rows(number, fewer), own=fewer)
    admit(by_rows(4, five), own=five)
    assert len(register.entries()) == 2


def test_over_rows_the_same_columns_one_by_one_are_what_all_of_them_were(register, admit):
    three = ("north", "south", "east")
    everything = msgspec.structs.replace(
        by_rows(0, OWN), columns=dict.fromkeys(three, "all"), parties=three, rows=dict.fromkeys(three)
    )
    admit(everything, own=OWN)
    listed = msgspec.structs.replace(
        by_rows(1, OWN), columns=dict.fromkeys(three, OWN), parties=three, rows=dict.fromkeys(three)
    )
    admit(listed, own=OWN)
    admit(msgspec.structs.replace(everything, id="f" * 32), own=OWN)
    assert len(register.entries()) == 3


def test_a_refusal_over_records_says_what_would_be_accepted(register, admit):
    admit(job())
    part, ids = table(drop=(3,))
    close, _ = register.objection(job(number=1), OWN, "north", register.rows_of(part, ids), 5)
    assert close.of_records
    assert close.remedy == "offer exactly the records of that job, or wait until 5 have changed, come or gone"


# Records that come, go or are corrected between two jobs by rows


@pytest.fixture
def by_patients(register):
    """Admit a job by rows on patients with ids; `ill` are those of one class, the others are healthy."""
    numbers = iter(range(100))

    def admit(patients, ill, corrected=(), least=5):
        ids = sorted(patients)
        X = np.array([[i, i * i + (0.5 if i in corrected else 0.0)] for i in ids], dtype=float)
        part = part_of(X, np.array([int(i in ill) for i in ids]), None, OWN)
        return register.admit(by_rows(next(numbers), OWN), OWN, "north", register.rows_of(part, ids), least, NOW)

    return admit


def test_ten_new_patients_are_accepted_where_five_of_each_class_came(register, by_patients):
    ill = set(range(0, 100, 2))
    by_patients(range(60), ill)
    by_patients(range(70), ill)
    by_patients(range(10, 70), ill)
    assert len(register.entries()) == 3


def test_a_patient_who_is_alone_of_a_class_among_those_who_came_is_not_given_away(by_patients):
    ill = {*range(0, 60, 2), 61}
    by_patients(range(60), ill)
    with pytest.raises(LocalError, match="by fewer than 5 of this party's records of one class"):
        by_patients(range(70), ill)


def test_a_third_job_that_tells_a_few_patients_apart_is_refused(by_patients):
    ill = set(range(0, 100, 2))
    by_patients(range(60), ill)
    by_patients(range(80), ill)
    with pytest.raises(LocalError, match="by fewer than 5"):
        by_patients(range(78), ill)  # the first two differ by 20, this one from the second by 2
    with pytest.raises(LocalError, match="by fewer than 5"):
        by_patients([*range(60), *range(62, 90)], ill)  # by 12 from the second, which have 2 of these alone


def test_one_corrected_value_is_refused_and_enough_of_each_class_are_not(register, by_patients):
    ill = set(range(0, 60, 2))
    by_patients(range(60), ill)
    with pytest.raises(LocalError, match="by fewer than 5"):
        by_patients(range(60), ill, corrected={7})
    with pytest.raises(LocalError, match="by fewer than 5"):
        by_patients(range(60), ill ^ {7})  # another diagnosis
    by_patients(range(60), ill, corrected=set(range(10)))
    assert len(register.entries()) == 2


def test_a_policy_may_ask_for_more_to_change(by_patients):
    ill = set(range(0, 100, 2))
    by_patients(range(60), ill, least=20)
    with pytest.raises(LocalError, match="by fewer than 20"):
        by_patients(range(70), ill, least=20)
    by_patients(range(100), ill, least=20)


def test_a_refusal_by_rows_says_what_would_be_accepted(register, by_patients):
    by_patients(range(60), set(range(0, 60, 2)))
    part = part_of(np.arange(118.0).reshape(59, 2), np.arange(59) % 2, None, OWN)
    close, _ = register.objection(by_rows(9, OWN), OWN, "north", register.rows_of(part, range(59)), 5)
    every = "5 of every class that changes have changed, come or gone"
    assert close.remedy == f"offer exactly the records of that job, or wait until {every}"


def test_classes_that_version_0_1_did_not_write_down_are_made_up_for_by_many_records(register, by_patients):
    ill = set(range(0, 200, 2))
    by_patients(range(60), ill)
    as_version_0_1(register, "cohort")
    with pytest.raises(LocalError, match="by fewer than 50"):
        by_patients(range(80), ill)
    by_patients(range(120), ill)


# Registers of version 0.1: a file for each dataset, and no word of it in the lines


def as_version_0_1(register, name):
    """Make of the site's register one that version 0.1 would have written for a dataset."""
    head, *lines = register.path.read_bytes().splitlines()
    contents = [json.loads(line.partition(b" ")[2]) for line in (head, *lines)]
    contents[0]["register"] = name
    for content in contents[1:]:
        del content["dataset"], content["partition"], content["classes"]
    texts = [json.dumps(content, separators=(",", ":")).encode() for content in contents]
    folder = register.path.parent
    register.path.unlink()
    folder.joinpath(f"{name}.register").write_bytes(
        b"".join(hashlib.sha256(t).hexdigest()[:16].encode() + b" " + t + b"\n" for t in texts)
    )
    folder.joinpath("site.records").rename(folder / f"{name}.records")


@pytest.mark.parametrize("dataset", ["cohort", "snapshot"])
@pytest.mark.parametrize("old", ["cohort", "site"])
def test_what_version_0_1_opened_stays_opened_under_whatever_name(register, admit, old, dataset):
    admit(job())
    as_version_0_1(register, old)
    assert [entry.dataset for entry in register.entries()] == [old]
    with pytest.raises(
        LocalError, match=rf"differs from job 0+ on {old} by fewer than 5 of this party's records: refuse it"
    ):
        admit(job(number=1, dataset=dataset), drop=(3,))
    before = register.path.parent.joinpath(f"{old}.register").read_bytes()
    admit(job(number=2, dataset=dataset))
    assert [(entry.dataset, entry.id[-1]) for entry in register.entries()] == [(old, "0"), (dataset, "2")]
    assert register.path.parent.joinpath(f"{old}.register").read_bytes().startswith(before)
    assert b'"dataset":"' in register.path.read_bytes()


def test_a_job_that_version_0_1_entered_goes_on_after_an_upgrade(register, admit):
    admit(job())
    as_version_0_1(register, "cohort")
    assert admit(job()).dataset == "cohort"
    assert len(register.entries()) == 1


def test_a_register_of_version_0_1_that_vanished_is_missed(register, admit):
    admit(job())
    as_version_0_1(register, "cohort")
    register.path.parent.joinpath("cohort.register").unlink()
    with pytest.raises(LocalError, match=r"cohort.register is gone, but its records are not: restore it"):
        admit(job(number=1, dataset="snapshot"))


def test_a_register_that_is_put_back_while_the_site_runs_is_not_passed_over(register, tmp_path):
    part, keep = table()
    marked = register.rows_of(part, keep)
    other = Register(tmp_path / "backup")
    tmp_path.joinpath("backup").mkdir()
    other.admit(job(), OWN, "north", other.rows_of(part, keep), 5, NOW)
    as_version_0_1(other, "cohort")
    for file in tmp_path.joinpath("backup").iterdir():
        file.rename(register.path.parent / file.name)
    with pytest.raises(
        LocalError, match=r"cohort.register was added while this site was running: start the site again"
    ):
        register.admit(job(number=1), OWN, "north", marked, 5, NOW)


COLUMNS = st.dictionaries(
    st.sampled_from("ABCDEFG"), st.sampled_from(["all", ("u",), ("u", "v"), ("v", "u")]), min_size=1
)
MARKS = st.frozensets(st.integers(0, 11).map(lambda i: bytes([i])), max_size=12)
FOOTPRINTS = st.builds(lambda columns, rows: Footprint(columns, Rows(rows, rows, "")), COLUMNS, MARKS)


def refused(before, after):
    """The rule, holder by holder."""
    if not any(r in after.rows.ids for r in before.rows.ids):
        return False
    named = [{p: c if c == "all" else sorted(c) for p, c in f.columns.items()} for f in (before, after)]
    return sum(1 for p in "ABCDEFG" if named[0].get(p) != named[1].get(p)) in (1, 2)


@settings(max_examples=300)
@given(FOOTPRINTS, FOOTPRINTS)
def test_the_rule_equals_counting_one_by_one(before, after):
    assert bool(too_close(before, after)) == refused(before, after)
    assert bool(too_close(before, after)) == bool(too_close(after, before))


@given(FOOTPRINTS)
def test_nothing_is_too_close_to_itself(one):
    assert too_close(one, one) is None


def tells_few(before, after, least):
    """Whether a job on `after` tells fewer than `least` records apart that it did not find apart, record by record."""
    records = [bytes([i]) for i in range(12)]
    uses = {r: tuple(r in rows for rows in before) for r in records}
    if not any(r in after for r in records if any(uses[r])):
        return False
    together = [[r for r in records if uses[r] == cell and (r in after) == used] for cell in set(uses.values())
                for used in (False, True)]  # fmt: skip
    whole = [[r for r in records if uses[r] == cell] for cell in set(uses.values()) if any(cell)]
    told = [cell for cell in together if cell and (any(uses[cell[0]]) or cell[0] in after)]
    return any(len(cell) < least and cell not in whole for cell in told)


@settings(max_examples=300)
@given(st.lists(MARKS, min_size=1, max_size=4), MARKS, st.integers(1, 6))
def test_the_rule_for_records_equals_counting_one_by_one(before, after, least):
    jobs = [Rows(rows, rows, "") for rows in before]
    found = find_few(jobs, Rows(after, after, ""), least, by_class=False)
    assert (found is not None) == tells_few(before, after, least)
