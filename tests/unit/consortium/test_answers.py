"""What is signed before a run: no coordinator can begin one that somebody refused, or slip in a key of its own."""

from datetime import UTC, datetime

import msgspec
import pytest
from consortium_study import PARTIES, Study, altered

from tacit.consortium.jobs.answers import Answer, Ended, Finished, Proposal, Start, id_in, read
from tacit.crypto.pads.agreement import public_key
from tacit.errors import PeerError

NOT_ITS = (
    r"a signature on {} is not that of {} \(key .*\): it was altered, or {} uses another key; compare fingerprints"
    r" with {}"
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


def not_its(what, name):
    return NOT_ITS.format(what, *[name] * 3)


# proposals


def test_a_proposal_gives_back_the_job_that_was_signed(study):
    assert study.proposal().verify(study.members) == study.job


def test_an_altered_job_is_refused(study):
    proposal = study.proposal()
    longer = altered(proposal, job=proposal.job.replace('"retention_days":30', '"retention_days":90'))
    assert longer != proposal
    with pytest.raises(PeerError, match=not_its("proposal", "analyst")):
        longer.verify(study.members)


def test_a_job_signed_by_another_than_its_submitter_is_refused(study):
    own = Proposal.of(study.job, study.sites["north"])
    with pytest.raises(PeerError, match=rf"job {study.job.id} of analyst is signed by north: refuse it"):
        own.verify(study.members)


def test_a_forged_submitter_is_refused(study):
    forged = altered(Proposal.of(study.job, study.sites["north"]), submitter="analyst")
    with pytest.raises(PeerError, match=not_its("proposal", "analyst")):
        forged.verify(study.members)


def test_a_signature_of_another_kind_is_no_proposal(study):
    data = study.job.canonical()
    other = altered(study.proposal(), signature=study.sites["analyst"].sign("consent", data).hex())
    with pytest.raises(PeerError, match=not_its("proposal", "analyst")):
        other.verify(study.members)


# answers


@pytest.mark.parametrize("verdict", ["accept", "refuse"])
def test_an_answer_of_a_site_passes(study, verdict):
    answer = study.answer("north", verdict)
    answer.check(study.job, study.members)
    assert answer.accepts is (verdict == "accept")
    assert bool(answer.key) is bool(answer.key_signature) is answer.accepts


def test_an_answer_to_another_job_is_refused(study):
    answer = study.answer("north", job=study.another())
    with pytest.raises(
        PeerError, match=f"an answer of north is not to job {study.job.id}: ask its author to submit the job again"
    ):
        answer.check(study.job, study.members)


def test_an_answer_in_another_sites_name_is_refused(study):
    with pytest.raises(PeerError, match="an answer of north is not to job"):
        study.answer("north", party="south").check(study.job, study.members)
    with pytest.raises(PeerError, match=not_its("consent", "south")):
        altered(study.answer("north", party="south"), site="south").check(study.job, study.members)


def test_an_answer_of_somebody_who_has_no_part_in_the_job_is_refused(study):
    with pytest.raises(PeerError, match="an answer of analyst is not to job"):
        study.answer("analyst", "refuse").check(study.job, study.members)


def test_a_refusal_that_was_turned_into_a_yes_is_refused(study):
    refusal = study.answer("north", "refuse")
    yes = study.answer("north")
    turned = altered(yes, signature=refusal.signature)
    with pytest.raises(PeerError, match=not_its("consent", "north")):
        turned.check(study.job, study.members)


def test_a_run_key_that_was_exchanged_is_refused(study):
    mine = public_key(bytes([9]) * 32).hex()
    for swapped in (
        altered(study.answer("north"), key=mine),
        altered(study.answer("north"), key=study.answer("south").key),
        altered(
            study.answer("north"), key=study.answer("south").key, key_signature=study.answer("south").key_signature
        ),
        altered(study.answer("north"), key_signature=study.answer("north").signature),
        altered(study.answer("north"), key="", key_signature=""),
    ):
        with pytest.raises(PeerError, match=not_its("key of a run", "north")):
            swapped.check(study.job, study.members)


def test_a_run_key_of_another_job_is_refused(study):
    earlier = study.answer("north", job=study.another())
    replayed = altered(study.answer("north"), key=earlier.key, key_signature=earlier.key_signature)
    with pytest.raises(PeerError, match=not_its("key of a run", "north")):
        replayed.check(study.job, study.members)


# starts


def test_a_start_with_every_yes_gives_every_key(study):
    keys = study.start().keys(study.job, study.members)
    assert keys == {name: public_key(private) for name, private in study.private.items()}
    assert set(keys) == {*PARTIES, "clearing"}


@pytest.mark.parametrize("name", [*PARTIES, "clearing"])
def test_a_start_without_somebodys_answer_is_refused(study, name):
    with pytest.raises(PeerError, match=f"the start of job {study.job.id} lacks the answer of {name}: refuse it"):
        study.start(**{name: None}).keys(study.job, study.members)


@pytest.mark.parametrize("name", PARTIES)
def test_a_start_against_a_refusal_is_refused(study, name):
    with pytest.raises(
        PeerError, match=f"the start of job {study.job.id} goes against the refusal of {name}: refuse it"
    ):
        study.start(**{name: study.answer(name, "refuse")}).keys(study.job, study.members)


def test_a_start_in_which_the_coordinator_exchanged_a_key_is_refused(study):
    own = study.answer("clearing").key
    with pytest.raises(PeerError, match=not_its("key of a run", "south")):
        study.start(south=altered(study.answer("south"), key=own)).keys(study.job, study.members)


def test_a_start_of_answers_to_another_job_is_refused(study):
    with pytest.raises(PeerError, match="an answer of east is not to job"):
        study.start(east=study.answer("east", job=study.another())).keys(study.job, study.members)


def test_every_signature_of_a_start_counts(study):
    start, zero = study.start(), "00" * 64
    for i, answer in enumerate(start.answers):
        for field, what in (("signature", "consent"), ("key_signature", "key of a run")):
            answers = (*start.answers[:i], altered(answer, **{field: zero}), *start.answers[i + 1 :])
            with pytest.raises(PeerError, match=not_its(what, answer.site)):
                altered(start, answers=answers).keys(study.job, study.members)


def test_the_answer_of_a_member_that_was_revoked_is_refused(tmp_path):
    study = Study(tmp_path)
    start = study.start()
    study.consortium.registrar.revoke("south")
    with pytest.raises(PeerError, match="the key of south was revoked by the registrar"):
        start.keys(study.job, study.members)


# what travels


def test_what_was_said_comes_back_as_it_was(study):
    done = Finished(job=study.job.id, site="north", attempt=2, ok=True, rounds=7, bytes=99, seconds=0.5)
    for said in (study.proposal(), study.answer("north"), study.answer("north", "refuse"), study.start(), done):
        assert read(said.dump(), type(said)) == said


@pytest.mark.parametrize("kind", [Proposal, Answer, Start, Finished])
@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"job": 3}', b'{"extra": 1}'])
def test_bytes_that_are_nothing_of_the_kind_are_the_peers_fault(kind, data):
    with pytest.raises(PeerError, match=f"a malformed {kind.__name__} arrived: do both sites run the same version"):
        read(data, kind)


def test_unknown_fields_are_refused(study):
    data = study.proposal().dump()
    with pytest.raises(PeerError, match="a malformed Proposal arrived"):
        read(data.replace(b"{", b'{"extra":1,', 1), Proposal)


def test_how_a_run_ended_has_no_room_for_an_errors_text():
    assert {f.name for f in msgspec.structs.fields(Finished)} == {
        "job", "site", "attempt", "ok", "party", "place", "kind", "rounds", "bytes", "seconds"
    }  # fmt: skip


# Checks, and ends


def test_reports_of_everybody_without_a_problem_clear_a_job(study):
    study.cleared().check(study.job, study.members)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (lambda _: {"south": None}, "south sent no report"),
        (lambda s: {"south": s.checked("south", codes=("disk",))}, "south has too little free disk"),
        (
            lambda s: {"south": s.checked("south", clock=datetime(2030, 1, 1, 1, tzinfo=UTC))},
            "south has a clock more than 60 s off",
        ),
        (lambda s: {"south": s.checked("south", s.another())}, "is not about job"),
        (
            lambda s: {"south": altered(s.checked("south"), signature=s.checked("east").signature)},
            "is not that of south",
        ),
        (lambda s: {"south": altered(s.checked("east"), site="south")}, "is not about job"),
        (lambda s: {"twice": s.checked("south")}, "has not"),
    ],
)
def test_whatever_else_is_said_to_clear_a_job_does_not(study, changes, words):
    with pytest.raises(PeerError, match=words):
        study.cleared(**changes(study)).check(study.job, study.members)


def test_an_end_is_told_in_lines_that_a_terminal_can_show():
    made = Ended.of("a" * 32, "refused", "south", "no\n\x1b[2J basis", *["x" * 5000] * 300)
    made.check()
    assert made.reasons[0] == "no ?[2J basis"
    assert (len(made.reasons), len(made.reasons[1])) == (100, 2000)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"job": "{}", "submitter": "a", "signature": ""}', b'{"job": "' + b"[" * 5000]
)
def test_an_id_that_cannot_be_read_is_none(body):
    assert id_in(body) is None
