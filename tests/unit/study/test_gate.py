"""The release gate between organisations: sites attack a model on their own records before its analyst gets it."""

from __future__ import annotations

import copy
import io
import zipfile
from datetime import UTC, datetime
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from in_house import Sites, write_table
from sklearn.datasets import load_breast_cancer

import tacit
from tacit.attacks.membership_inference import membership_inference
from tacit.attacks.twins import target_model, train_between, train_twins
from tacit.base import release_between
from tacit.base.release_between import USUALLY, promise_of
from tacit.consortium.audit.chain import Reading
from tacit.consortium.consent.people import Pending
from tacit.consortium.consent.proposals import brief
from tacit.consortium.dossier.contents import make_report
from tacit.consortium.dossier.dpia import write_dpia
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.fitted import fit_from
from tacit.errors import LocalError, PeerError
from tacit.numeric.privacy.accountant import mu_of
from tacit.report.release import Limits
from tacit.study.gate import NotReleasedError, choose_gate

NAMES = ("north", "south", "west")
PLAIN = tacit.ELMClassifier(n_hidden=8, random_state=0)
GREEDY = tacit.ELMClassifier(n_hidden=90, activation="tanh", alpha=0.001, random_state=0)
FILE = """
dataset = "cohort"
purpose = "a test"
legal_basis = "none"
parties = ["north", "south", "west"]
coordinator = "clearing"
seed = 3

[[step]]
use = "ELMClassifier"
n_hidden = 8

[release]
twins = 5
"""
STEP = FILE[FILE.index("[[step]]") : FILE.index("[release]")]


def records(rows=360):
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:rows]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen, :6], y[chosen]


def consortium(root, rows=360, judge=0.0, turned=(), **policy):
    X, y = records(rows)
    tables = {}
    for k, name in enumerate(NAMES):
        y[k::3] ^= name in turned
        write_table(root / f"{name}.csv", [f"x{j}" for j in range(6)], X[k::3], y[k::3])
        tables[name] = {"cohort": root / f"{name}.csv"}
    return Sites(root, tables, judge=judge, **policy)


def waiting(job):
    return Pending(job, (), (), 1, "waiting")


def by_limit(found):
    return {line.limit: line for line in found.lines}


def test_a_plain_model_passes_the_gate_and_its_report_has_the_table(tmp_path) -> None:
    sites = consortium(tmp_path, membership_auc="0.65", attribute_advantage="0.3")
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("elm", PLAIN)]).fit(sites.connect().gated(twins=4))
    found = model.report_.release
    assert not found.refused, str(found)
    assert {*by_limit(found)} == {"stored_records", "membership_auc", "true_positives", "attribute_advantage"}
    assert by_limit(found)["membership_auc"].allowed == 0.65  # of the policies
    assert "3 of 3 sites trained 4 twins each on their own records, and each was attacked by all others" in found.how
    text = model.report_.to_text(width=300)
    assert "membership: area under the curve" in text
    assert "has seen the model already" in text
    told = {row.fact.identifier for row in model.report_.facts if "release" in row.fact.identifier}
    assert told == {"release.limits", "core.release"}
    assert model.predict(pd.DataFrame(records()[0], columns=[f"x{j}" for j in range(6)])).shape == (360,)


def test_a_model_that_gives_too_much_away_stays_with_its_sites(tmp_path) -> None:
    sites = consortium(tmp_path)
    with pytest.raises(NotReleasedError, match=r"is not released, membership.*Who took part .* already") as no:
        GREEDY.fit(sites.connect().gated(twins=6))
    assert by_limit(no.value.release)["membership_auc"].refused
    job = sites.jobs[-1]
    sent, kept = (folder_of(sites.state(name), job.id) for name in ("analyst", "north"))
    assert [*vars(sent.public)["values"]] == ["gate"]  # nothing of the model was sent
    assert "ended" in vars(kept.public)["values"]  # and the sites have it, with its table
    for folder in (kept, sent):  # the dossier of a site has it in its report, and so has that of the analyst
        assert make_report(job, folder, Reading.of_lines([]), kept.finished).release.refused


LOOSE = {"membership_auc": "1.0", "true_positives": "1.0", "attribute_advantage": "1.0"}


def test_a_site_keeps_a_model_that_is_wrong_on_its_own_records(tmp_path) -> None:
    """No bound on sums shows turned labels: the records of whoever did not turn any do."""
    turned = consortium(tmp_path, turned=("south", "west"), most_errors="0.4", **LOOSE).connect()
    with pytest.raises(NotReleasedError, match=r"too often wrong: 1, and 0 is allowed") as caught:
        PLAIN.fit(turned.gated(twins=4))
    assert by_limit(caught.value.release)["most_errors"].refused


def test_a_model_that_is_right_on_the_records_of_all_sites_is_kept_by_none(tmp_path) -> None:
    elm = PLAIN.fit(consortium(tmp_path, most_errors="0.4", **LOOSE).connect().gated(twins=4))
    line = by_limit(elm.report_.release)["most_errors"]
    assert (line.figure, line.refused) == (0.0, False)


@pytest.mark.slow
def test_a_policy_may_let_the_same_model_go(tmp_path) -> None:
    model = GREEDY.fit(consortium(tmp_path, **LOOSE).connect().gated(twins=6))
    assert model.report_.release.lines[1].figure > 0.6
    assert not model.report_.release.refused


@pytest.mark.slow
def test_with_records_held_out_each_site_attacks_the_model_itself_and_the_figures_are_theirs(tmp_path) -> None:
    (tmp_path / "study.toml").write_text(FILE)
    sites = consortium(tmp_path, 540, judge=0.25, **LOOSE)  # so that each site has enough records to judge by
    job = job_of_file(tmp_path / "study.toml", submitter="analyst")
    model = fit_from(job, sites.play(job))
    found = by_limit(model.report_.release)
    assert "the model itself was attacked" in model.report_.release.how
    parts = {name: [sites.tables[name].part(job, held_out=held) for held in (False, True)] for name in NAMES}
    areas, weights, unnamed = [], [], copy.copy(model[-1])
    del unnamed.feature_names_in_
    for learn, judge in parts.values():
        X, y = np.vstack([learn.X, judge.X]), np.concatenate([learn.y, judge.y])
        member = np.arange(len(X)) < len(learn.X)
        train = train_between(model[-1], NAMES, "horizontal")
        twins = train_twins(train, X, y, count=5, share=min(0.75, member.mean()))
        own = membership_inference(target_model(unnamed, X, y, member, twins))
        areas.append((own.auc, own.loss_auc))
        weights.append(member.sum())
    expected = np.average(areas, axis=0, weights=weights).max()
    assert found["membership_auc"].figure == pytest.approx(expected, abs=0.05)  # twins have noise of their own


def test_with_epsilon_no_figure_of_records_is_made_and_the_promise_stands_in_its_place(tmp_path) -> None:
    private = tacit.ELMClassifier(n_hidden=8, epsilon=1.0, delta=1e-4, classes=(0, 1))
    model = private.fit(consortium(tmp_path).connect().gated())
    assert "release_figures" not in {opened.protocol for opened in model.report_.opens}
    line = by_limit(model.report_.release)["true_positives"]
    assert line.name.startswith("promise of epsilon")
    assert line.figure == pytest.approx(NormalDist().cdf(NormalDist().inv_cdf(0.01) + mu_of(1.0, 1e-4)), abs=6e-4)
    assert not line.refused


def test_the_promise_of_a_large_epsilon_is_refused_and_so_is_one_that_leaves_a_step_out() -> None:
    private = tacit.ELMClassifier(n_hidden=8, epsilon=4.0, delta=1e-4)
    assert promise_of(tacit.Pipeline([("elm", private)]), Limits()).refused
    found = promise_of(tacit.Pipeline([("scale", tacit.FederatedScaler()), ("elm", private)]), Limits())
    assert found.refused
    assert found.verdict == "not measured: epsilon does not cover the steps scale"


@pytest.mark.parametrize("stays", ["true", "true\nunmeasured = true", "false"])
def test_what_cannot_be_measured_keeps_a_model_back_only_where_a_policy_requires_it(tmp_path, stays) -> None:
    fed = consortium(tmp_path, rows=120, minimum_rows="30", required=stays).connect()
    if stays == "true":
        with pytest.raises(NotReleasedError, match="not measured, fewer than 3 sites have"):
            PLAIN.fit(fed)
        return
    report = PLAIN.fit(fed).report_
    assert "not measured" in str(report.release)
    assert "Not measured: fewer than 3 sites have 50 records" in report.to_text(width=300)


def test_a_model_that_leaves_its_sites_is_attacked_unless_its_analyst_says_otherwise(tmp_path) -> None:
    sites = consortium(tmp_path, membership_auc="0.65", attribute_advantage="0.3")
    model = PLAIN.fit(sites.connect())
    assert f"trained {USUALLY} twins each" in model.report_.release.how
    told = dict(brief(waiting(sites.jobs[-1]), "north"))["Release check"]
    assert told == ("Yes: each site attacks the model; the strictest policy decides.",)
    without = tacit.ELMClassifier(n_hidden=7, random_state=0).fit(sites.connect().ungated())
    assert without.report_.release is None
    assert "Not made: nobody measured what the model reveals." in without.report_.to_text(width=300)
    told = dict(brief(waiting(sites.jobs[-1]), "north"))["Release check"]
    assert told == ("No: analyst leaves it out.",)


ELM, SCALER = {"use": "ELMClassifier"}, {"use": "FederatedScaler"}


@pytest.mark.parametrize(
    ("said", "steps", "partition", "parties", "gate"),
    [
        (None, [SCALER, ELM], "horizontal", NAMES, {}),
        (None, [{"use": "FederatedGridSearch", "estimator": "SVC", "grid": {"C": [1, 10]}}], "horizontal", NAMES, {}),
        (True, [ELM], "horizontal", NAMES, {}),
        ({"twins": 5}, [ELM], "horizontal", NAMES, {"twins": 5}),
        (False, [ELM], "horizontal", NAMES, None),
        (None, [SCALER], "horizontal", NAMES, None),
        (None, [], "horizontal", NAMES, None),
        (None, [{"use": "SVC", "features": "exact", "loss": "hinge"}], "horizontal", NAMES, None),  # stays in shares
        (None, [ELM], "vertical", NAMES, None),  # no site could attack
        (None, [ELM], "horizontal", NAMES[:2], None),  # a sum of two would be the figures of one
    ],
)
def test_which_studies_have_a_gate(said, steps, partition, parties, gate) -> None:
    assert choose_gate(said, steps, partition, parties) == gate


def test_a_file_may_leave_the_gate_out(tmp_path) -> None:
    text = FILE.replace("[release]\ntwins = 5\n", "")
    (tmp_path / "usual.toml").write_text(text)
    (tmp_path / "without.toml").write_text(f"release = false\n{text}")
    jobs = [job_of_file(tmp_path / f"{name}.toml", submitter="analyst") for name in ("usual", "without")]
    assert [job.arguments.get("release") for job in jobs] == [{}, None]
    for job, words in zip(jobs, ("part of the study, which has not ended", "no"), strict=True):
        with zipfile.ZipFile(io.BytesIO(write_dpia(job, "north", datetime.now(UTC)))) as assessment:
            assert f"release check: {words}</text:p>" in assessment.read("content.xml").decode()


def test_an_epsilon_that_promises_less_than_a_policy_asks_is_refused_before_any_run(tmp_path) -> None:
    private = tacit.ELMClassifier(n_hidden=8, epsilon=4.0, delta=1e-4, classes=(0, 1))
    sites = consortium(tmp_path)
    with pytest.raises(PeerError, match=r"true_positives = 0.05, and the epsilon .* less than 0\.1.*release = false"):
        private.fit(sites.connect())
    assert not sites.jobs
    assert private.fit(sites.connect().ungated()).report_.release is None


def test_a_policy_that_asks_for_the_gate_refuses_a_study_without_it(tmp_path) -> None:
    sites = consortium(tmp_path, required="true")
    with pytest.raises(PeerError, match=r"release.required = true, and the job has no release gate: propose a study"):
        PLAIN.fit(sites.connect().ungated())
    sites.connect().describe()  # a look at a table makes no model


def test_a_rehearsal_trains_no_twin(tmp_path, monkeypatch) -> None:
    def refuse(*_, **__):
        raise AssertionError("a rehearsal trained a twin")

    monkeypatch.setattr(release_between, "train_twins", refuse)
    seen = str(consortium(tmp_path).connect().gated().rehearse(PLAIN))
    assert "release_figures opens to coordinator: how well attacks on the model tell members from others" in seen


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("twins = 5", "twins = 2"), r"The 'twins' parameter of \[release\] must be .* in the range"),
        (("twins = 5", "membership_auc = 0.9"), "it takes twins; limits are those of the sites' policies"),
        ((STEP, "[describe]\n"), "no model to release"),
        ((STEP, '[[step]]\nuse = "FederatedScaler"\n'), "is not one: leave"),
    ],
)
def test_a_gate_that_cannot_be_is_refused_before_anything_is_proposed(tmp_path, change, words) -> None:
    (tmp_path / "study.toml").write_text(FILE.replace(*change))
    with pytest.raises(LocalError, match=words):
        job_of_file(tmp_path / "study.toml", submitter="analyst")


def test_a_model_in_shares_has_nothing_to_release(tmp_path) -> None:
    fed = consortium(tmp_path).connect("vertical", labeller="north").gated()
    with pytest.raises(LocalError, match=r"\[release\] needs a public model of records that sites hold by rows"):
        fed.rehearse(tacit.SVC())


def test_release_check_of_records_at_sites_says_when_the_gate_is(tmp_path) -> None:
    sites = consortium(tmp_path)
    model = PLAIN.fit(sites.connect().ungated())
    with pytest.raises(LocalError, match=r"check a model before it is sent: use fit\(federation.gated\(\)\)"):
        model.release_check(sites.connect())
