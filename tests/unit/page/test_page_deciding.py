"""People who decide: they log in, read what a job means, and sign what they say to it."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import msgspec
import pytest

from tacit.choreo.fact import GRANULARITIES, KINDS, Fact
from tacit.consortium.consent.people import Record
from tacit.consortium.jobs.answers import Answer
from tacit.page.pictures import inline_plot
from tacit.page.readers import BY_GRANULARITY, BY_KIND, list_readers, rank
from tacit.page.sessions import FAILURES, FORGOTTEN, IDLE, address_of
from tacit.report.plots import traffic
from unit.page.page_sites import PASS, proposed, proposed_gram


def text_of(page):
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


def test_a_person_reads_who_wants_what_and_who_will_learn_what_the_gravest_first(hospital, browser):
    job = proposed()
    hospital.propose(job)
    assert "1 proposal waits for people here" in text_of(browser.get("/proposals"))
    shown = text_of(browser.get(f"/proposals/{job.id}"))
    for words in (
        "analyst asks for: readmission within 30 days. Legal basis: research consent.",
        "Of us: 60 records of 2 columns of cohort", "alpha, not reviewed by anyone outside the project",
        "Who will know what when it is over", "How long it takes, and how much it sends",
        f"{job.cost.rounds} rounds",
        "We accepted no job on cohort before", "What was opened before from cohort Nothing",
    ):  # fmt: skip
        assert words in shown, words
    readers = list_readers(job, messages=False)
    for reader in readers:
        ranks = [rank(fact) for fact in reader.facts]
        assert ranks == sorted(ranks)
        for fact in reader.facts:
            assert " ".join(fact.prose.split()) in shown.replace("&#39;", "'")


def test_what_is_about_single_records_comes_before_what_is_about_whole_sites():
    of_sites = Fact("example.classes", "holder", "label", "party", "which classes each party has")
    of_records = Fact("example.scores", "holders", "answer", "record", "scores in fine bins")
    assert sorted([of_sites, of_records], key=rank) == [of_records, of_sites]


def test_every_kind_of_fact_has_its_place_among_the_grave_and_the_harmless():
    assert set(BY_KIND) == set(KINDS)
    assert set(BY_GRANULARITY) == set(GRANULARITIES)


def test_the_picture_of_coalitions_says_who_joins_and_whose_records_are_worked_out(hospital, browser):
    job = proposed_gram()
    hospital.propose(job)
    page = browser.get(f"/proposals/{job.id}").text
    row = re.search(r'class="coalitions">.*?<tbody>.*?</tbody>', page, re.DOTALL)[0]
    assert row.count('class="role joins"') == 1
    assert row.count('class="role may-be-worked-out"') == 3
    assert "clearing and all other parties together can work out the column of any one of" in row


def test_two_people_approve_with_their_passphrases_and_the_votes_are_those_of_the_command_line(hospital, browser):
    job = proposed()
    hospital.propose(job)
    assert browser.decide(job, "approve").headers["location"] == f"/proposals/{job.id}"
    assert hospital.votes(job).state == "waiting"
    assert "1 of 2 approvals (dr-lee)" in text_of(browser.get(f"/proposals/{job.id}"))
    other = hospital.browser()
    other.log_in("dpo")
    other.decide(job, "approve")
    assert hospital.votes(job).state == "approved"
    assert hospital.desk.consent.record(job.id, datetime.now(UTC)).by == ("dr-lee", "dpo")


def test_a_refusal_needs_a_reason_and_one_is_enough(hospital, browser):
    job = proposed()
    hospital.propose(job)
    refused = browser.decide(job, "refuse")
    assert refused.status_code == 400
    assert "write one line for the submitter" in refused.text
    assert browser.decide(job, "refuse", reason="no ethics vote").status_code == 303
    assert hospital.votes(job).state == "refused"
    assert "no ethics vote" in hospital.desk.consent.record(job.id, datetime.now(UTC)).reason


def test_an_approval_is_taken_back_until_the_run_starts(hospital, browser):
    job = proposed()
    hospital.propose(job)
    browser.decide(job, "approve")
    assert "take my approval back" in browser.get(f"/proposals/{job.id}").text
    browser.decide(job, "withdraw")
    assert hospital.votes(job).approved == ()


def test_a_wrong_passphrase_decides_nothing(hospital, browser):
    job = proposed()
    hospital.propose(job)
    answer = browser.decide(job, "approve", passphrase="not the one")  # noqa: S106 - of nobody
    assert answer.status_code == 403
    assert "this name and this passphrase do not belong together; nothing was decided" in answer.text
    assert hospital.votes(job).approved == ()


def test_two_people_who_decide_at_once_both_count(hospital):
    job = proposed()
    hospital.propose(job)
    people = [hospital.browser(), hospital.browser()]
    for name, browser in zip(("dr-lee", "dpo"), people, strict=True):
        browser.log_in(name)
    forms = [browser.form(f"/proposals/{job.id}") for browser in people]
    said = {"verdict": "approve", "passphrase": PASS}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda b, f: b.client.post(f"/proposals/{job.id}", data={"form": f, **said}), people, forms))
    assert set(hospital.votes(job).approved) == {"dr-lee", "dpo"}


def test_who_is_no_approver_reads_and_cannot_decide(hospital):
    job = proposed()
    hospital.propose(job)
    hospital.desk.people.add("auditor", PASS)
    browser = hospital.browser()
    browser.log_in("auditor")
    assert "does not name you as an approver" in browser.get(f"/proposals/{job.id}").text
    answer = browser.decide(job, "approve")
    assert answer.status_code == 400
    assert "is not one of its approvers (dr-lee, dpo)" in text_of(answer).replace("&#39;", "'")
    assert hospital.votes(job).approved == ()


def test_a_job_that_the_policy_refused_says_by_which_rule(hospital, browser):
    job = proposed(purpose="too few rows")
    folder = hospital.propose(job, waits=False)
    record = Record.of(job, "north", "refuse", rule="minimum_rows", reason="policy: minimum_rows = 50, the job has 9")
    folder.answer = Answer.of(job, record, hospital.identities["north"])
    shown = text_of(browser.get(f"/proposals/{job.id}"))
    assert "This site refused: rule minimum_rows . policy: minimum_rows = 50, the job has 9" in shown
    assert "refused" in text_of(browser.get("/proposals"))


def test_a_person_sees_what_differs_from_the_last_job_that_the_site_accepted(hospital, browser):
    earlier, job = proposed(purpose="the first"), proposed(purpose="the second", retention_days=90)
    folder = hospital.propose(earlier, waits=False)
    yes = Record.of(earlier, "north", "accept", by=("dr-lee",))
    folder.answer = Answer.of(earlier, yes, hospital.identities["north"], key=bytes(32))
    hospital.propose(job)
    shown = text_of(browser.get(f"/proposals/{job.id}"))
    assert "purpose the first the second" in shown
    assert "retention 30 days 90 days" in shown
    assert "legal basis research consent research consent" not in shown


def test_a_session_ends_when_nobody_uses_it_and_a_form_sent_then_decides_nothing(hospital, browser):
    job, now = proposed(), [1000.0]
    hospital.propose(job)
    form = browser.form(f"/proposals/{job.id}")
    hospital.web.sessions.clock = lambda: now[0] + 10**9
    answer = browser.client.post(f"/proposals/{job.id}", data={"form": form, "verdict": "approve", "passphrase": PASS})
    assert answer.status_code == 403
    assert "the session is over: log in again" in answer.text
    assert hospital.votes(job).approved == ()
    assert browser.get("/proposals").headers["location"] == "/login"
    assert IDLE < 3600


def test_who_guesses_has_to_wait(hospital):
    browser, now = hospital.browser(), [0.0]
    hospital.web.patience.clock = lambda: now[0]
    for _ in range(FAILURES):
        assert browser.log_in(passphrase="a guess that is wrong").status_code == 403  # noqa: S106 - of nobody
    assert browser.log_in().status_code == 429
    now[0] = FORGOTTEN + 1
    assert browser.log_in().status_code == 303


def test_who_guesses_elsewhere_keeps_nobody_out(hospital):
    other, person = hospital.browser(("192.0.2.7", 1)), hospital.browser()
    for _ in range(FAILURES):
        other.log_in(passphrase="a guess that is wrong")  # noqa: S106 - of nobody
    assert other.log_in().status_code == 429
    assert person.log_in().status_code == 303


def test_who_has_a_passphrase_of_their_own_gets_no_more_guesses_at_another(hospital):
    browser, said = hospital.browser(), []
    for _ in range(FAILURES):
        said.append(browser.log_in("dpo", "a guess that is wrong").status_code)
        said.append(browser.log_in().status_code)
        browser.client.cookies.clear()
    assert said[-1] == 429


@pytest.mark.parametrize(
    ("host", "counts"),
    [("192.0.2.7", "192.0.2.7"), ("2001:db8:1:2::7", "2001:db8:1:2::/64"), ("testclient", "testclient")],
)
def test_hosts_of_one_network_of_version_6_are_one_address(host, counts):
    assert address_of(host) == counts


def test_a_name_that_nobody_has_is_refused_in_the_same_words(hospital):
    said = {re.search(r'role="alert">([^<]+)', hospital.browser().log_in(name, "wrong one").text)[1] for name in
            ("dr-lee", "nobody", "../../etc/passwd")}  # fmt: skip
    assert len(said) == 1


def test_a_plot_has_its_look_in_attributes_which_the_policy_of_the_page_allows():
    drawn = inline_plot(traffic([(1, 100), (2, 300)]))
    assert 'style="' not in drawn
    assert 'fill="#' in drawn
    assert "font-size=" in drawn


@pytest.mark.parametrize("damage", [b"", b"{}"])
def test_a_damaged_job_hides_no_other(hospital, browser, damage):
    job, other = proposed(), proposed(purpose="another")
    hospital.propose(job)
    hospital.propose(other)
    (hospital.desk.consent.folder / f"{job.id}.job").write_bytes(damage)
    shown = browser.get("/proposals").text
    assert "holds no job: remove it" in shown
    assert "another" in shown


def test_a_vote_that_was_written_by_hand_does_not_count(hospital, browser):
    job = proposed()
    hospital.propose(job)
    browser.decide(job, "approve")
    file = hospital.desk.consent.folder / f"{job.id}.dr-lee.vote"
    vote = msgspec.json.decode(file.read_bytes())
    (hospital.desk.consent.folder / f"{job.id}.dpo.vote").write_bytes(msgspec.json.encode({**vote, "approver": "dpo"}))
    assert "1 of 2 approvals" in text_of(browser.get(f"/proposals/{job.id}"))


def test_a_job_that_has_not_run_leaves_no_dossier_and_one_is_made_only_for_a_form_of_ours(hospital, browser):
    job = proposed()
    hospital.propose(job)
    assert "Dossier for auditors" not in text_of(browser.get(f"/runs/{job.id}"))
    answer = browser.post(f"/runs/{job.id}/dossier", f"/runs/{job.id}")
    assert (answer.status_code, "left no audit of a run" in text_of(answer)) == (400, True)
    assert browser.get(f"/runs/{job.id}/dossier").status_code == 405


def test_people_release_a_result_that_the_policy_holds_back(hospital, browser):
    job = proposed("held back")
    folder = hospital.propose(job)
    policy = hospital.home / "policy.toml"
    policy.write_text(policy.read_text().replace("hold_results = false", "hold_results = true"))
    at = f"/runs/{job.id}"
    assert "Release the result" not in text_of(browser.get(at))
    folder.held = True
    shown = text_of(browser.get(at))
    assert "Release the result to analyst" in shown
    assert "analyst gets nothing before it is released here" in shown
    wrong = browser.post(f"{at}/release", at, passphrase="another one")  # noqa: S106 - of nobody
    assert "nothing was released" in text_of(wrong)
    assert browser.post(f"{at}/release", at, passphrase=PASS).headers["location"] == at
    assert hospital.desk.consent.list_released(job) == ("dr-lee",)
    assert hospital.desk.consent.holds(job)  # two have to
    other = hospital.browser()
    other.log_in("dpo")
    other.post(f"{at}/release", at, passphrase=PASS)
    assert not hospital.desk.consent.holds(job)
