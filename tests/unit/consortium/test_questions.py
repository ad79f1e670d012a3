"""Jobs that ask a model.

What they need not say, how many new records they may ask about, and what is not compared with what.
"""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from consortium_study import altered
from earlier_jobs import NOW, job, put, question
from editions_of import OWN, edition_of

from job_files import one_step
from tacit.consortium.consent.decision import UNFIT, Case, Holdings, decide
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Limits, Question, Register
from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import Grounds, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.questions import readers_of
from tacit.consortium.jobs.requests import protocols_of
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError, PeerError

ASK = 'builds_on = "{}"\ndataset = "new"\npurpose = "triage"\nlegal_basis = "consent"\n'


@pytest.fixture
def ask(tmp_path):
    """The job of a file, at a submitter that has earlier ones."""

    def ask(text):
        (tmp_path / "ask.toml").write_text(text)
        return job_of_file(tmp_path / "ask.toml", submitter="analyst", state=tmp_path)

    return ask


def test_a_question_says_which_job_which_records_and_why_and_nothing_else(tmp_path, ask):
    trained = put(tmp_path, job(columns={"north": ("age", "bmi"), "south": "all", "east": "all"}))
    asked = ask(ASK.format(trained.id[:6]))
    assert (asked.protocol, asked.builds_on, asked.parties) == ("study_answers", (trained.id,), trained.job.parties)
    assert (asked.asker, asked.coordinator, asked.partition) == ("north", "clearing", "vertical")
    assert asked.columns["north"] == ("age", "bmi")
    assert asked.params == trained.job.params
    assert grounds_of(tmp_path, asked, NOW).model.id == trained.id
    assert ask(ASK.format(trained.id) + 'asker = "east"\n').asker == "east"


def test_a_model_is_judged_by_a_job_that_builds_on_it_and_has_an_evaluation(tmp_path, ask):
    trained = put(tmp_path, job(params=one_step(features=10)))
    judged = ask(ASK.format(trained.id) + "[evaluate]\n")
    assert (judged.protocol, judged.arguments["evaluate"]) == ("study_scores", {})
    assert protocols_of(ask(ASK.format(trained.id))) == ("answer_svm",)


def test_the_jobs_of_the_page_about_deployment_can_be_submitted(tmp_path, ask):
    pytest.importorskip("rbcl")
    page = (Path(__file__).parents[3] / "docs" / "deploy.md").read_text(encoding="utf-8")
    asking_, aligning = (
        page.split(f"## {title}")[1].split("\n## ")[0]
        for title in ("Ask a model about new records", "Align the records")
    )
    trained = put(tmp_path, job())
    assert ask(block(asking_, "builds_on").replace("3fa2...", trained.id)).protocol == "study_answers"
    made = ask(block(aligning, "protocol"))
    assert (made.protocol, made.params) == ("align", {"min_records": 100})


def block(text, first):
    """The fenced lines that begin with this key."""
    return next(part.split("\n```")[0] for part in text.split("```toml\n")[1:] if part.startswith(f"{first} ="))


def test_a_training_on_aligned_records_is_between_the_sites_of_the_alignment(tmp_path, ask):
    pytest.importorskip("rbcl")
    aligned = put(tmp_path, job("align"), public={"count": 60})
    text = ASK.format(aligned.id) + 'estimator = "SVC"\npartition = "vertical"\nlabeller = "south"\n'
    trained = ask(text)
    assert (trained.protocol, trained.builds_on, trained.labeller) == ("study", (aligned.id,), "south")
    assert trained.parties == aligned.job.parties


def test_an_earlier_job_that_is_not_known_here_is_refused_before_anything_is_sent(tmp_path, ask):
    put(tmp_path, job())
    with pytest.raises(LocalError, match=r"0 jobs here begin with 'f{32}': give the id of one"):
        ask(ASK.format("f" * 32))


def test_an_alignment_cannot_be_asked_and_a_file_without_sites_says_what_is_missing(tmp_path, ask):
    with pytest.raises(LocalError, match="name an estimator, a protocol or steps"):
        ask(ASK.format(put(tmp_path, job("align")).id))
    with pytest.raises(LocalError, match="'parties', 'coordinator' is missing: add it"):
        ask('dataset = "new"\npurpose = "x"\nlegal_basis = "y"\nestimator = "SVC"\n')


@pytest.mark.parametrize("builds_on", [("a" * 31,), ("../../etc",), ("a" * 32, "a" * 32)])
def test_only_ids_can_be_built_on(builds_on):
    with pytest.raises(LocalError, match="give the ids, of 32 hex digits, of earlier jobs, each once"):
        msgspec.structs.replace(job(), builds_on=builds_on)


def test_the_split_of_a_job_is_that_of_its_protocol():
    with pytest.raises(
        LocalError, match="align is for columns of the same records, and the job's partition is 'horizontal'"
    ):
        msgspec.structs.replace(job("align"), partition="horizontal")
    made = msgspec.structs.replace(job(), params={**job().params, "partition": "horizontal"}, partition="horizontal")
    with pytest.raises(LocalError, match="its parameter partition differs: leave the parameter out"):
        msgspec.structs.replace(made, partition="vertical")
    own = b'"partition":"horizontal","protocol'
    with pytest.raises(PeerError, match="its parameter partition differs"):
        Job.from_bytes(made.canonical().replace(own, own.replace(b"horizontal", b"vertical")))
    assert readers_of(made) == made.parties
    assert readers_of(job()) == ("north",)


# What a party says to them


@pytest.fixture
def party(tmp_path):
    """How a party with a training of its dataset `cohort` judges a question about its dataset `new`."""

    class Party:
        trained = put(tmp_path, job(), used=Used(features=("age", "bmi")))
        register = Register(tmp_path / "registers")

        def facts(self, n=8, names=("age", "bmi"), start=0):
            X = np.arange(start, start + n * len(names), dtype=float).reshape(n, len(names))
            return Holdings(names, edition_of(self.register, X=X, first=start, network=b"k" * 32))

        def admit(self, asked, n, question=None, start=0):
            edition = self.facts(n, start=start).edition
            return self.register.admit(asked, OWN, "north", edition, Limits(20, {}), NOW, question)

        def judge(self, asked, facts, policy="", grounds=None):
            text = example_policy("new", automatic=True).replace("predictions = 100", f"predictions = 20{policy}")
            (tmp_path / "p.toml").write_text(re.sub(r"(?m)^protocols = .*$", 'protocols = "any"', text))
            grounds = grounds or grounds_of(tmp_path, asked, NOW)
            policy = Policy.from_toml(tmp_path / "p.toml")
            return decide(Case(asked, policy, facts, self.register, "north", NOW, grounds))

    return Party()


def test_few_new_records_may_be_asked_about_until_the_quota_is_used_up(party):
    asked = question(party.trained, dataset="new")
    assert party.judge(asked, party.facts(8)).verdict == "accept"
    counted = Question("cohort", 8, 20)
    party.admit(asked, 8, counted)
    party.admit(asked, 8, counted)  # the run goes on
    assert party.register.count_left(counted) == 12
    assert party.judge(question(party.trained, dataset="new", submitter="another"), party.facts(12)).verdict == "accept"
    unsaid = party.judge(question(party.trained, dataset="new"), party.facts(13))
    assert (unsaid.verdict, unsaid.rule, unsaid.reason) == (
        "refuse",
        "data",
        UNFIT,
    )  # how many records a table has is told to nobody
    declared = altered(question(party.trained, dataset="new"), rows=dict.fromkeys(("north", "south", "east"), 13))
    refused = party.judge(declared, party.facts(13))
    assert (refused.verdict, refused.rule) == ("refuse", "predictions")
    assert (
        refused.reason
        == "policy p.toml: predictions = 20, of which 12 are left under models of 'cohort', the job asks about more:"
        " ask about fewer, or that party"
    )


def test_two_questions_that_were_accepted_at_once_do_not_both_pass_the_quota(party):
    for dataset, n in (("new", 15), ("old", 5)):
        party.admit(question(party.trained, dataset=dataset), n, Question("cohort", n, 20))
    with pytest.raises(
        LocalError, match="models of cohort may be asked about no more new records than policy predictions says"
    ):
        party.admit(question(party.trained, dataset="new"), 1, Question("cohort", 1, 20))


def test_a_model_that_is_trained_again_has_no_quota_of_its_own(party, tmp_path):
    asked = question(party.trained, dataset="new")
    party.admit(asked, 20, Question("cohort", 20, 20))
    again = put(tmp_path, job(), used=Used(features=("age", "bmi")))
    assert again.id != party.trained.id
    declared = altered(question(again, dataset="new"), rows=dict.fromkeys(("north", "south", "east"), 1))
    assert party.judge(declared, party.facts(1)).rule == "predictions"


def test_models_of_two_datasets_that_share_records_have_one_quota(party):
    party.admit(job(dataset="cohort"), 60)
    party.admit(job(dataset="snapshot"), 60)
    party.admit(job(dataset="strangers"), 60, start=1000)
    party.admit(question(party.trained, dataset="new"), 8, Question("snapshot", 8, 20))
    left = {name: party.register.count_left(Question(name, 1, 20)) for name in ("cohort", "snapshot", "strangers")}
    assert left == {"cohort": 12, "snapshot": 12, "strangers": 20}


def test_by_rows_everybodys_records_count_and_have_to_be_declared(party):
    params = {**party.trained.job.params, "partition": "horizontal"}
    asked = question(party.trained, dataset="new", partition="horizontal", params=params)
    grounds = Grounds(party.trained)
    refused = party.judge(asked, party.facts(3), grounds=grounds)
    assert "the job does not say how many new records each party has: declare them in [rows]" in refused.reason
    rows = {"north": 3, "south": 10, "east": 8}
    assert party.judge(msgspec.structs.replace(asked, rows=rows), party.facts(3), grounds=grounds).rule == "predictions"
    assert (
        party.judge(msgspec.structs.replace(asked, rows={**rows, "east": 7}), party.facts(3), grounds=grounds).rule
        != "predictions"
    )


@pytest.mark.parametrize("names", [("age",), ("age", "weight"), ("age", "bmi", "weight")])
def test_columns_that_the_model_was_not_trained_on_are_refused(party, names):
    refused = party.judge(question(party.trained, dataset="new"), party.facts(8, names))
    assert refused.rule == "builds_on"
    assert refused.reason.startswith("the columns of 'new' in the job are not those that the model was trained on")
    assert party.judge(question(party.trained, dataset="new"), party.facts(8, ("bmi", "age"))).verdict == "accept"


def test_an_alignment_needs_ids_and_a_least_number_of_common_records(party):
    pytest.importorskip("rbcl")
    aligning = job("align", dataset="new")
    facts = party.facts(8)
    assert party.judge(aligning, facts).verdict == "accept"
    unnamed = party.judge(aligning, Holdings(facts.columns, facts.edition, identified=False))
    assert "dataset 'new' has no column of ids: have that party name it" in unnamed.reason
    few = party.judge(job("align", {"min_records": 2}, dataset="new"), facts)
    assert "parameters.min_records = at least 10, the job has 2" in few.reason


def test_answers_are_not_compared_and_trainings_and_alignments_are_with_each_other(party):
    pytest.importorskip("rbcl")
    party.admit(job("align", dataset="new"), 20)
    party.admit(question(party.trained, dataset="new"), 18, Question("cohort", 18, 20))
    for other in (job(dataset="new"), job("align", dataset="new")):
        with pytest.raises(LocalError, match=r"register: the job differs .* by a few persons"):
            party.admit(other, 17)
