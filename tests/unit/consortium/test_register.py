"""The register: what repetition it refuses, what it keeps, and how a file from a backup is noticed."""

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from editions_of import OWN, edition_of

from job_files import one_step, with_step
from tacit.choreo.declaration import plain
from tacit.consortium.consent.bill import bill
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Limits, Question, Register, question_digest
from tacit.consortium.consent.register_file import Head, Heads
from tacit.consortium.jobs.proposal import propose
from tacit.errors import LocalError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FIVE = ("north", "south", "east", "west", "centre")
MANY = Limits(1000, {}, lists=1000)
POLICY = Policy(protocols="any", columns={"cohort": "all"}, automatic=True)


@lru_cache
def proposed():
    return propose(
        "study",
        one_step("SVC", kernel="linear", gamma=1.0, degree=3, coef0=0.0, alpha=1.0),
        partition="horizontal",
        parties=FIVE,
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="a test",
        legal_basis="consent",
        now=NOW,
    )


def job(parties=FIVE, number=0, dataset="cohort", alpha=1.0):
    params = with_step(proposed(), alpha=alpha)
    changes = {"columns": dict.fromkeys(parties, "all"), "rows": dict.fromkeys(parties), "params": params}
    return msgspec.structs.replace(proposed(), id=f"{number:032x}", parties=parties, dataset=dataset, **changes)


@pytest.fixture
def register(tmp_path):
    return Register(tmp_path)


@pytest.fixture
def admit(register):
    def admit(proposal, limits=MANY, question=None, **table):
        return register.admit(proposal, OWN, "north", edition_of(register, **table), limits, NOW, question)

    return admit


def test_what_was_opened_stays_written(register, admit):
    admit(job())
    (entry,) = Register(register.path.parent).entries()
    assert (entry.job, entry.dataset, entry.parties, entry.rows) == (job().digest, "cohort", FIVE, 60)
    assert entry.columns["north"] == OWN
    assert "core.sizes" in entry.opens
    assert entry.at == NOW


def test_the_same_job_is_written_once(register, admit):
    assert admit(job()) == admit(job())
    assert len(register.entries()) == 1


@pytest.mark.parametrize(("without", "who"), [(("centre",), "centre"), (("west", "centre"), "centre and west")])
def test_a_job_without_one_or_two_of_the_parties_is_refused(admit, without, who):
    admit(job())
    with pytest.raises(LocalError, match=rf"by {who} only, and fewer than 3 parties hide nobody: refuse it"):
        admit(job(tuple(p for p in FIVE if p not in without), number=1))


def test_a_job_with_three_other_parties_is_allowed(register, admit):
    admit(job(("north", "a", "b")))
    admit(job(("north", "a", "b", "c", "d", "e"), number=1))
    assert len(register.entries()) == 2


def test_records_under_another_name_are_the_same_records(admit):
    admit(job())
    with pytest.raises(LocalError, match="by centre only"):
        admit(job(FIVE[:4], number=1, dataset="copy"))
    admit(job(FIVE[:4], number=2, dataset="copy"), first=1000)  # other persons


def test_so_many_studies_of_an_edition_are_allowed_and_a_new_edition_has_its_own(admit):
    three = Limits(3, {})
    for k in range(3):
        admit(job(number=k, alpha=10.0**k), three)
    with pytest.raises(LocalError, match="policy studies = 3 allows no more of them"):
        admit(job(number=3, alpha=3.0), three)
    admit(job(number=4), three, n=120)


def with_columns(number, names):
    own = job(number=number)
    return msgspec.structs.replace(own, columns=dict.fromkeys(own.parties, names))


def test_so_many_lists_of_columns_are_allowed_and_a_list_may_be_used_again(admit):
    two = Limits(1000, {}, lists=2)
    admit(with_columns(0, ("age", "dose")), two)
    admit(with_columns(1, ("age",)), two)
    with pytest.raises(LocalError, match="in columns or their preparation, and policy column_lists = 2"):
        admit(with_columns(2, ("dose",)), two)
    again = msgspec.structs.replace(with_columns(3, ("age",)), params=with_step(job(), alpha=3.0))
    admit(again, two)
    admit(with_columns(4, ("dose",)), two, n=120)


def test_models_on_the_same_persons_are_judged_by_one_grouping_since_two_may_differ_by_one_record(admit):
    def judged(number, by):
        steps = [{"use": "SVC", "alpha": 10.0**number}]
        asked = {"steps": steps, "seed": 1, "partition": "horizontal", "evaluate": {"by": by} if by else {}}
        params = {name: plain(name, value) for name, value in asked.items()}
        return msgspec.structs.replace(job(number=number), protocol="study", params=params)

    admit(judged(0, {"sex": [0, 1]}))
    admit(judged(1, {"sex": [0, 1]}))
    admit(judged(2, "site"))
    admit(judged(3, None))
    for by in ({"sex_as_registered": [0, 1]}, {"sex": [0, 2]}, "sex"):
        with pytest.raises(LocalError, match="in the groups that it is judged by, and policy groupings = 1 allows no"):
            admit(judged(4, by))
    admit(judged(4, {"stage": [1, 2]}), n=120)


def test_what_models_told_adds_up_in_the_chain_and_is_written_once(register, admit):
    admit(job())
    admit(job(number=1, alpha=3.0))
    before = register.head()
    register.settle(job(), 9.0)
    register.settle(job(), 9.0)
    register.settle(job(number=1, alpha=3.0), 16.0)
    register.settle(job(number=2), 1.0)  # which never began
    again = Register(register.path.parent)
    assert again.sum_told(edition_of(register)) == 5.0
    assert again.head().lines == before.lines + 2
    lines = dict(line for _, lines in bill(again, POLICY, NOW) for line in lines)
    assert lines["noise on weights"].startswith("mu = 5 together: whoever knows all other records can tell")
    assert lines["noise on landmarks"].startswith("1 list of columns of 5: whoever knows all other records tells")


def test_what_was_asked_before_is_not_asked_again_while_its_result_is_there(admit):
    admit(job())
    again = job(number=1)
    assert question_digest(again) == question_digest(job())
    with pytest.raises(LocalError, match=r"in nothing: job 0{32} asked the same"):
        admit(again, Limits(1000, {}, keeps=lambda _: True))
    admit(again, Limits(1000, {}, keeps=lambda _: False))
    assert question_digest(job(alpha=3.0)) != question_digest(job())


def test_a_few_persons_more_wait_and_where_a_few_are_gone_others_stay_away(register, admit):
    before = edition_of(register)
    admit(job())
    assert edition_of(register, n=63).digest == before.digest
    fewer = edition_of(register, drop=(3,))
    assert len(fewer.table.X) == 55
    assert fewer.waiting == 4


def test_over_columns_nobody_is_left_out_by_one_site_alone_and_the_job_is_refused(register, admit):
    admit(job(), network=b"k" * 32)
    assert edition_of(register, network=b"k" * 32).breaks is False
    assert edition_of(register, network=b"k" * 32, drop=(3,)).breaks
    with pytest.raises(LocalError, match="by a few persons, or by a few who were corrected: refuse it"):
        admit(job(number=1), network=b"k" * 32, drop=(3,))


def test_two_jobs_that_were_fixed_at_the_same_time_cannot_both_begin_on_sets_that_differ_by_a_few(register):
    one, other = edition_of(register), edition_of(register, n=61)
    register.admit(job(), OWN, "north", one, MANY, NOW)
    with pytest.raises(LocalError, match="another job has begun on some of these records since"):
        register.admit(job(number=1), OWN, "north", other, MANY, NOW)


def test_questions_about_models_are_counted_also_under_another_name_of_the_records(register, admit):
    admit(job())
    admit(job(number=1, dataset="copy"))
    asked = msgspec.structs.replace(job(number=2), protocol="study_answers")
    admit(asked, question=Question("cohort", 7, 10))
    assert register.count_left(Question("cohort", None, 10)) == 3
    assert register.count_left(Question("copy", None, 10)) == 3
    assert register.count_left(Question("other", None, 10)) == 10
    with pytest.raises(LocalError, match="no more new records than policy predictions says"):
        admit(msgspec.structs.replace(asked, id="3" * 32), question=Question("copy", 4, 10))


def test_a_run_that_opened_nothing_gives_its_place_to_the_one_that_began_instead(register):
    edition = edition_of(register)
    register.admit(job(), OWN, "north", edition, MANY, NOW)
    fewer = job(FIVE[:4], number=1)
    register.admit(fewer, OWN, "north", edition, MANY, NOW, instead_of=[job().digest])
    assert [entry.job for entry in register.entries()] == [fewer.digest]


def test_a_party_that_consented_to_be_left_out_is_no_difference(register):
    edition = edition_of(register)
    register.admit(job(), OWN, "north", edition, MANY, NOW)
    register.admit(job(FIVE[:4], number=1), OWN, "north", edition, MANY, NOW, left=["centre"])


@pytest.mark.parametrize("spoil", [
    lambda lines: [lines[1], lines[0]],
    lambda lines: lines[1:],
    lambda lines: [lines[0].replace(b'"rows":60', b'"rows":61'), lines[1]],
])  # fmt: skip
def test_a_line_that_is_changed_dropped_or_moved_breaks_the_chain(register, admit, spoil):
    admit(job())
    admit(job(number=1, alpha=3.0))
    register.path.write_bytes(b"\n".join(spoil(register.path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(LocalError, match=r"line 1 of the register .* is damaged: restore"):
        register.entries()


def test_a_line_that_a_crash_has_torn_is_dropped(register, admit):
    admit(job())
    with register.path.open("ab") as file:
        file.write(b"0123 {half")
    assert len(register.entries()) == 1
    admit(job(number=1, alpha=3.0))
    assert len(register.entries()) == 2


def test_an_older_register_and_another_story_contradict_what_was_seen(register, admit, tmp_path):
    begin = register.head()
    admit(job())
    middle = register.head()
    admit(job(number=1, alpha=3.0))
    last = register.head()
    assert [begin.lines, middle.lines, last.lines] == [0, 1, 2]
    heads = Heads(tmp_path / "elsewhere")
    heads.note({"north": last})
    heads.note({"north": middle})  # never back
    seen = Heads(tmp_path / "elsewhere").read()["north"]
    assert seen == last
    assert middle.contradicts(seen, NOW)
    assert Head(lines=2, chain=middle.chain).contradicts(seen, NOW)
    assert not last.contradicts(seen, NOW)
    assert not Head(lines=3, chain="f" * 32).contradicts(seen, NOW)
    said = msgspec.structs.replace(seen, at=NOW)
    assert not middle.contradicts(said, NOW - timedelta(seconds=1))  # a report from before, read late
    assert middle.contradicts(said, NOW + timedelta(seconds=1))


def test_the_register_of_an_older_version_is_refused_in_one_line(tmp_path):
    (tmp_path / "site.records").mkdir()
    with pytest.raises(LocalError, match=r"has the register of tacit 0\.2 .*offer other records, or move that folder"):
        Register(tmp_path)


def test_no_id_and_no_value_stands_in_the_files(register, tmp_path):
    names = np.array([f"patient-{k:05d}" for k in range(60)])
    X = np.column_stack([np.full(60, 1234.5678), np.arange(60.0)])
    from tacit.consortium.editions.edition import Fixed, make_edition  # noqa: PLC0415 - with ids of its own
    from tacit.federation.table import as_table  # noqa: PLC0415 - as above

    edition = make_edition(register.memory, as_table(X), names, None, Fixed())
    register.admit(job(), OWN, "north", edition, MANY, NOW)
    content = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"patient-0" not in content
    assert np.float64(1234.5678).tobytes() not in content
    assert json.loads(register.path.read_bytes().splitlines()[0].split(b" ", 1)[1])["rows"] == 60
