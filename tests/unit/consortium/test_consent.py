import threading
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec
import pytest

from job_files import one_step
from tacit.consortium.consent.people import Consent, Record
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.proposal import propose
from tacit.errors import LocalError, PeerError

PASS = "a bird in the hand"  # noqa: S105 - of nobody
NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=30)
PEOPLE = ("dr-lee", "dpo", "board")


@lru_cache
def proposed():
    return propose(
        "study",
        one_step("SVC", kernel="linear", gamma=1.0, degree=3, coef0=0.0, C=1.0),
        partition="vertical",
        parties=("north", "south", "east"),
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        labeller="north",
        now=NOW,
    )


@pytest.fixture
def job():
    return proposed()


@pytest.fixture
def policy():
    return Policy(protocols="any", columns={"cohort": "all"}, approvers=PEOPLE, approvals_needed=2, file="north.toml")


def register(consent):
    """Let everybody whom the policy names choose a passphrase."""
    for name in consent.policy.approvers:
        consent.approvers.add(name, PASS)
    return consent


@pytest.fixture
def consent(tmp_path, policy, job):
    consent = register(Consent(tmp_path / "pending", policy, "north"))
    consent.submit(job)
    return consent


def test_a_job_waits_until_as_many_people_as_asked_approved_it(consent, job):
    assert [p.job for p in consent.list_pending(NOW)[0]] == [job]
    assert consent.approve(job.id, "dr-lee", NOW, PASS).state == "waiting"
    assert consent.record(job.id, NOW) is None
    assert consent.approve(job.id, "dpo", NOW, PASS).state == "approved"
    assert consent.list_pending(NOW)[0] == []
    record = consent.record(job.id, NOW)
    assert (record.verdict, record.by, record.job, record.party) == ("accept", ("dr-lee", "dpo"), job.digest, "north")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("{id}.job", "holds no job: remove it, and ask its author to submit it again"),
        ("{id}.dpo.vote", "holds no vote: remove it, and vote again"),
    ],
)
def test_a_damaged_file_hides_no_other_job(consent, job, name, words):
    broken = msgspec.structs.replace(job, id="0" * 32)
    consent.submit(broken)
    (consent.folder / name.format(id=broken.id)).write_bytes(b'{"id": 5')
    assert [p.job for p in consent.list_pending(NOW)[0]] == [job]
    (line,) = consent.list_pending(NOW)[1]
    assert words in line
    assert broken.id in line


def test_one_person_counts_once(consent, job):
    for _ in range(3):
        assert consent.approve(job.id, "dr-lee", NOW, PASS).approved == ("dr-lee",)
    assert consent.look(job.id, NOW).state == "waiting"


def test_one_refusal_is_enough_and_its_reason_is_kept(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    assert consent.refuse(job.id, "board", "not in this quarter", NOW, PASS).state == "refused"
    record = consent.record(job.id, NOW)
    assert (record.verdict, record.by, record.reason, record.rule) == (
        "refuse",
        ("board",),
        "not in this quarter",
        "approvers",
    )


def test_whoever_approved_may_still_refuse_while_others_are_awaited(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    assert consent.refuse(job.id, "dr-lee", "read it again", NOW, PASS).state == "refused"


def test_what_is_decided_stays_decided(consent, job):
    consent.refuse(job.id, "dpo", "no basis", NOW, PASS)
    with pytest.raises(
        LocalError, match=rf"job {job.id} is refused, and that is final: ask its author to submit it again"
    ):
        consent.approve(job.id, "dr-lee", NOW, PASS)
    assert consent.refuse(job.id, "dpo", "no basis", NOW, PASS).state == "refused"


def test_people_the_policy_does_not_name_decide_nothing(consent, job):
    with pytest.raises(
        LocalError, match=r"policy north.toml: 'intern' is not one of its approvers \(dr-lee, dpo, board\)"
    ):
        consent.approve(job.id, "intern", NOW, PASS)
    with pytest.raises(LocalError, match="not one of its approvers"):
        consent.refuse(job.id, "../dpo", "x", NOW, PASS)


def test_people_who_left_the_policy_no_longer_count(consent, job, policy):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    consent.approve(job.id, "dpo", NOW, PASS)
    fewer = msgspec.structs.replace(policy, approvers=("dpo", "board"))
    assert Consent(consent.folder, fewer, "north").look(job.id, NOW).state == "waiting"


def test_an_expired_job_waits_no_longer_and_cannot_be_approved(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    assert consent.look(job.id, LATER).state == "expired"
    assert consent.list_pending(LATER)[0] == []
    with pytest.raises(LocalError, match="is expired, and that is final"):
        consent.approve(job.id, "dpo", LATER, PASS)


def test_what_was_approved_in_time_stays_approved(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    consent.approve(job.id, "dpo", NOW, PASS)
    assert consent.look(job.id, LATER).state == "approved"
    assert consent.record(job.id, LATER).canonical() == consent.record(job.id, NOW).canonical()


def test_a_vote_is_for_the_very_job_that_was_read(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    exchanged = msgspec.structs.replace(job, purpose="something else")
    (consent.folder / f"{job.id}.job").write_bytes(exchanged.canonical())
    assert consent.look(job.id, NOW).approved == ()


def test_the_same_job_again_is_no_harm_and_another_under_its_id_is_refused(consent, job):
    consent.submit(job)
    with pytest.raises(PeerError, match="was proposed before with another content"):
        consent.submit(msgspec.structs.replace(job, purpose="something else"))


def test_a_job_is_found_by_the_beginning_of_its_id(consent, job):
    assert consent.look(job.id[:6], NOW).job == job
    with pytest.raises(LocalError, match=rf"0 jobs that wait begin with 'zz': give the id of one \({job.id}\)"):
        consent.look("zz", NOW)
    other = msgspec.structs.replace(job, id=job.id[:20] + "0" * 12)
    consent.submit(other)
    with pytest.raises(LocalError, match="2 jobs that wait begin with"):
        consent.look(job.id[:20], NOW)


def test_a_reason_is_one_line_of_text(consent, job):
    with pytest.raises(LocalError, match="write one line for the submitter"):
        consent.refuse(job.id, "dpo", "\x1b[2J", NOW, PASS)


def test_damaged_files_are_named(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    (consent.folder / f"{job.id}.dr-lee.vote").write_bytes(b"{")
    with pytest.raises(LocalError, match=r"dr-lee.vote holds no vote: remove it, and vote again"):
        consent.look(job.id, NOW)
    (consent.folder / f"{job.id}.job").write_bytes(b"{")
    with pytest.raises(LocalError, match=r"holds no job: remove it, and ask its author"):
        consent.look(job.id, NOW)


def test_a_job_that_is_over_waits_no_longer_and_what_people_said_stays(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    Consent.close(consent.folder, job.id)
    assert consent.list_pending(NOW)[0] == []
    assert [file.name for file in consent.folder.iterdir()] == [f"{job.id}.dr-lee.vote"]


def test_nothing_pends_where_nothing_was_proposed(tmp_path, policy):
    assert Consent(tmp_path / "none", policy, "north").list_pending(NOW)[0] == []


@pytest.mark.slow
def test_people_who_vote_at_the_same_time_all_count_while_the_daemon_reads(tmp_path, job):
    names = tuple(f"person-{i}" for i in range(8))
    policy = Policy(protocols="any", columns={}, approvers=names, approvals_needed=8)
    consent = register(Consent(tmp_path / "pending", policy, "north"))
    consent.submit(job)
    seen = []
    threads = [threading.Thread(target=consent.approve, args=(job.id, name, NOW, PASS)) for name in names]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen.append(len(consent.look(job.id, NOW).approved))
    for thread in threads:
        thread.join()
    assert seen == sorted(seen)
    assert consent.look(job.id, NOW).approved == names


def test_the_record_of_a_policy_names_no_people(job, policy):
    reason = "policy north.toml: minimum_parties = 9, the job has 3"
    record = Record.of(job, "north", "refuse", rule="minimum_parties", reason=reason, policy=policy.digest, at=NOW)
    assert record.by == ()
    assert record.policy == policy.digest
    assert record.canonical().startswith(b"tacit consent 1\n{")


def test_a_vote_that_somebody_wrote_by_hand_does_not_count(consent, job):
    consent.approve(job.id, "dr-lee", NOW, PASS)
    forged = (consent.folder / f"{job.id}.dr-lee.vote").read_bytes().replace(b"dr-lee", b"dpo")
    (consent.folder / f"{job.id}.dpo.vote").write_bytes(forged)
    assert consent.look(job.id, NOW).approved == ("dr-lee",)


def test_a_yes_can_be_taken_back_and_given_again(consent, job):
    for person in ("dr-lee", "dpo"):
        consent.approve(job.id, person, NOW, PASS)
    assert consent.withdraw(job.id, "dpo", NOW, PASS).state == "waiting"
    assert consent.record(job.id, NOW) is None
    assert consent.approve(job.id, "dpo", NOW, PASS).state == "approved"
    assert consent.refuse(job.id, "dpo", "after all not", NOW, PASS).state == "refused"
