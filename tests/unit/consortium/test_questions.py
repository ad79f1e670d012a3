"""Jobs that ask a model.

What they need not say, how many new records they may ask about, and what is not compared with what.
"""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from consortium_study import altered
from earlier_jobs import KERNEL, NOW, PUBLIC, job, put, question

from tacit.consortium.consent.decision import UNFIT, Case, Holdings, decide
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Question, Register
from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import Grounds, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.questions import asking_protocol, readers_of
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError, PeerError
from tacit.federation.part import part_of

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
    assert (asked.protocol, asked.builds_on, asked.parties) == ("gram_predict", (trained.id,), trained.job.parties)
    assert (asked.roles.asker, asked.roles.coordinator, asked.partition) == ("north", "clearing", "vertical")
    assert asked.columns["north"] == ("age", "bmi")
    assert {name: asked.arguments[name] for name in ("squares", "support", "method")} == {
        "squares": True,
        "support": 3,
        "method": "pairwise",
    }
    assert grounds_of(tmp_path, asked, NOW).model.id == trained.id
    assert ask(ASK.format(trained.id) + 'asker = "east"\n').roles.asker == "east"


def test_cells_are_asked_by_their_own_protocol_and_with_their_own_products(tmp_path, ask):
    pytest.importorskip("tenseal")
    made = job("gram_arbitrary", {**KERNEL, "engine": "bfv", "feature_range": 4.0})
    asked = ask(ASK.format(put(tmp_path, made).id))
    assert asked.protocol == "gram_arbitrary_predict"
    assert (asked.params["partition"], asked.params["feature_range"]) == ("vertical", 4.0)
    assert "fraction_bits" not in asked.arguments


def test_a_search_is_asked_as_its_split_asks_for(tmp_path):
    search = job("gram_search", {"candidates": ({"C": 1.0},)})
    rows = msgspec.structs.replace(
        search, id="d" * 32, partition="horizontal", params={**search.params, "partition": "horizontal"}
    )
    assert asking_protocol(put(tmp_path, search)) == "gram_predict"
    assert asking_protocol(put(tmp_path, rows)) == "gram_arbitrary_predict"


def test_the_jobs_of_the_page_about_deployment_can_be_submitted(tmp_path, ask):
    pytest.importorskip("rbcl")
    page = (Path(__file__).parents[3] / "docs" / "deploy.md").read_text(encoding="utf-8")
    asking_, aligning = (
        page.split(f"## {title}")[1].split("\n## ")[0]
        for title in ("Ask a model about new records", "Align the records")
    )
    trained = put(tmp_path, job())
    assert ask(block(asking_, "builds_on").replace("3fa2...", trained.id)).protocol == "gram_predict"
    made = ask(block(aligning, "protocol"))
    assert (made.protocol, made.params) == ("align", {"min_records": 100})


def block(text, first):
    """The fenced lines that begin with this key."""
    return next(part.split("\n```")[0] for part in text.split("```toml\n")[1:] if part.startswith(f"{first} ="))


def test_a_training_on_aligned_records_is_between_the_sites_of_the_alignment(tmp_path, ask):
    pytest.importorskip("rbcl")
    aligned = put(tmp_path, job("align"), public={"count": 60})
    text = ASK.format(aligned.id) + 'estimator = "GramSVC"\nlabeller = "south"\n'
    trained = ask(text)
    assert (trained.protocol, trained.builds_on, trained.roles.labeller) == ("gram_vertical", (aligned.id,), "south")
    assert trained.parties == aligned.job.parties


def test_the_weights_of_a_linear_model_are_shared_first(tmp_path, ask):
    pytest.importorskip("gmpy2")
    trained = put(tmp_path, job(params={"kernel": "linear"}), public={**PUBLIC, "classes": ("a", "b", "c")})
    with pytest.raises(LocalError, match=r"is linear: build protocol = 'gram_weights' on it, then ask that job"):
        ask(ASK.format(trained.id))
    shared = ask(ASK.format(trained.id) + 'protocol = "gram_weights"\n')
    assert (shared.params["problems"], shared.params["partition"]) == (3, "vertical")
    put(tmp_path, shared, public={})
    asked = ask(ASK.format(shared.id))
    assert (asked.protocol, asked.params["problems"], asked.builds_on) == ("gram_linear_predict", 3, (shared.id,))


@pytest.mark.parametrize(
    ("name", "public", "words"),
    [
        ("f" * 32, PUBLIC, "0 jobs here begin with 'f{32}': give the id of one"),
        (None, None, r"what is public of job .* is not here: follow it to its end \(tacit resume"),
    ],
)
def test_an_earlier_job_that_is_not_known_here_is_refused_before_anything_is_sent(tmp_path, ask, name, public, words):
    trained = put(tmp_path, job())
    if public is None:
        (trained.path / "public.bin").unlink()
    with pytest.raises(LocalError, match=words):
        ask(ASK.format(name or trained.id))


def test_an_alignment_cannot_be_asked_and_a_file_without_sites_says_what_is_missing(tmp_path, ask):
    with pytest.raises(LocalError, match="name an estimator, a protocol or steps"):
        ask(ASK.format(put(tmp_path, job("align")).id))
    with pytest.raises(LocalError, match="'parties', 'coordinator' is missing: add it"):
        ask('dataset = "new"\npurpose = "x"\nlegal_basis = "y"\nestimator = "GramSVC"\n')


@pytest.mark.parametrize("builds_on", [("a" * 31,), ("../../etc",), ("a" * 32, "a" * 32)])
def test_only_ids_can_be_built_on(builds_on):
    with pytest.raises(LocalError, match="give the ids, of 32 hex digits, of earlier jobs, each once"):
        msgspec.structs.replace(job(), builds_on=builds_on)


def test_the_split_of_a_job_is_that_of_its_protocol():
    for protocol in ("align", "gram_predict"):
        with pytest.raises(
            LocalError, match=f"{protocol} is for columns of the same records, and the job's partition is 'horizontal'"
        ):
            msgspec.structs.replace(job(), protocol=protocol, partition="horizontal")
    params = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0, "partition": "horizontal"}
    made = msgspec.structs.replace(job("align"), protocol="gram_arbitrary", params=params, partition="horizontal")
    with pytest.raises(LocalError, match="its parameter partition differs: leave the parameter out"):
        msgspec.structs.replace(made, partition="vertical")
    with pytest.raises(PeerError, match="its parameter partition differs"):
        Job.from_bytes(made.canonical().replace(b'"partition":"horizontal","', b'"partition":"vertical","'))
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
            return Holdings(names, self.register.rows_of(part_of(X, None, None, names)))

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
    party.register.admit(asked, ("age", "bmi"), "north", party.facts(8).rows, 50, NOW, counted)
    party.register.admit(asked, ("age", "bmi"), "north", party.facts(8).rows, 50, NOW, counted)  # the run goes on
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


def test_two_questions_that_were_accepted_at_once_do_not_both_pass_the_quota(party, tmp_path):
    other = Register(tmp_path / "registers")
    for register, dataset, n in ((party.register, "new", 15), (other, "old", 5)):
        asked = question(party.trained, dataset=dataset)
        register.admit(asked, ("age",), "north", party.facts(n).rows, 50, NOW, Question("cohort", n, 20))
    with pytest.raises(
        LocalError, match="models of cohort may be asked about no more new records than policy predictions says"
    ):
        party.register.admit(
            question(party.trained, dataset="new"),
            ("age",),
            "north",
            party.facts(1).rows,
            50,
            NOW,
            Question("cohort", 1, 20),
        )


def test_a_model_that_is_trained_again_has_no_quota_of_its_own(party, tmp_path):
    asked = question(party.trained, dataset="new")
    party.register.admit(asked, ("age",), "north", party.facts(20).rows, 50, NOW, Question("cohort", 20, 20))
    again = put(tmp_path, job(), used=Used(features=("age", "bmi")))
    assert again.id != party.trained.id
    declared = altered(question(again, dataset="new"), rows=dict.fromkeys(("north", "south", "east"), 1))
    assert party.judge(declared, party.facts(1)).rule == "predictions"


def test_models_of_two_datasets_that_share_records_have_one_quota(party):
    rows = party.facts(60).rows
    party.register.admit(job(dataset="cohort"), ("age", "bmi"), "north", rows, 50, NOW)
    party.register.admit(job(dataset="snapshot"), ("age", "bmi"), "north", rows, 50, NOW)
    party.register.admit(job(dataset="strangers"), ("age", "bmi"), "north", party.facts(60, start=1000).rows, 50, NOW)
    party.register.admit(
        question(party.trained, dataset="new"),
        ("age", "bmi"),
        "north",
        party.facts(8).rows,
        50,
        NOW,
        Question("snapshot", 8, 20),
    )
    left = {name: party.register.count_left(Question(name, 1, 20)) for name in ("cohort", "snapshot", "strangers")}
    assert left == {"cohort": 12, "snapshot": 12, "strangers": 20}


def test_by_rows_everybodys_records_count_and_have_to_be_declared(party):
    params = {"squares": True, "partition": "horizontal"}
    asked = question(
        party.trained, dataset="new", protocol="gram_arbitrary_predict", partition="horizontal", params=params
    )
    grounds = Grounds(party.trained, None, party.trained)
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
    unnamed = party.judge(aligning, Holdings(facts.columns, facts.rows, identified=False))
    assert "dataset 'new' has no column of ids: have that party name it" in unnamed.reason
    few = party.judge(job("align", {"min_records": 2}, dataset="new"), facts)
    assert "parameters.min_records = at least 10, the job has 2" in few.reason


def test_answers_trainings_and_alignments_are_not_compared_with_each_other_but_each_with_its_kind(party):
    pytest.importorskip("rbcl")
    admit = {"least": 5, "now": NOW}
    party.register.admit(job("align", dataset="new"), ("age",), "north", party.facts(20).rows, **admit)
    party.register.admit(job(dataset="new"), ("age",), "north", party.facts(19).rows, **admit)
    asked = question(party.trained, dataset="new")
    party.register.admit(asked, ("age",), "north", party.facts(18).rows, **admit, question=Question("cohort", 18, 20))
    for other in (job(dataset="new"), job("align", dataset="new")):
        with pytest.raises(LocalError, match="by fewer than 5 of this party's records: refuse it"):
            party.register.admit(other, ("age",), "north", party.facts(17).rows, **admit)
