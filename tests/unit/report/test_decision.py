"""The first page of a report: short, about the run that happened, and true."""

import dataclasses
import re

import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import tacit
from tacit.choreo.ledger import Learnt
from tacit.protocols.facts import ANSWERS, BALANCE, COLUMNS, MODEL
from tacit.report.decision import UNREVIEWED, decide, list_learnt, say_fact

CONDITIONS = re.compile(r"\bwith \w+=|\bif \w+ is\b|\bin a regression\b")


@pytest.fixture(scope="module")
def trained():
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate(X[:200, :5], y[:200], parties=["north", "south", "east"], partition="horizontal", seed=0)
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(features=20, random_state=0))]
    return tacit.Pipeline(steps).fit(fed)


@pytest.fixture(scope="module")
def regression():
    X, y = load_diabetes(return_X_y=True)
    made = tacit.ELMRegressor(n_hidden=10, random_state=0, alpha=1.0)
    return made.fit(tacit.simulate(X[:150], y[:150], parties=3, partition="horizontal", seed=0))


def first_page(report):
    return "\n".join(line for point in decide(report) for line in (point.heading, *point.lines))


def test_a_first_page_has_at_most_300_words_and_no_condition(trained, regression):
    for model in (trained, regression):
        page = first_page(model.report_)
        assert len(page.split()) <= 300
        assert not CONDITIONS.search(page)
        assert UNREVIEWED in page


def test_no_sentence_of_a_whole_report_has_a_condition(trained, regression):
    for model in (trained, regression):
        assert not CONDITIONS.search(" ".join(model.report_.to_text(200).split()))


def test_everyone_learns_what_the_ledger_says_and_each_fact_once(trained):
    ((who, facts),) = list_learnt(trained.report_)
    assert who == "everyone"
    assert len(set(facts)) == len(facts)
    told = {fact for row in trained.report_.learnt for fact in row.facts}
    assert {COLUMNS, MODEL} <= told
    assert BALANCE not in told
    assert "the weights of the model, rounded and with noise; which of a few alpha was the best" in facts


def test_words_about_parameters_are_those_of_the_run(trained, regression):
    assert "which of a few alpha was the best" in say_fact(MODEL, trained.report_)
    assert "which of a few alpha was the best" not in say_fact(MODEL, regression.report_)
    assert "rounded averages" not in say_fact(MODEL, trained.report_)
    assert say_fact(BALANCE, trained.report_) == ""


def test_who_could_work_out_everything_is_named(trained):
    assert "coordinator, which dealt the random numbers, and any one party" in first_page(trained.report_)


def test_facts_about_single_records_are_no_no(trained):
    more = Learnt("north", (ANSWERS,), "south", "Answer", 1, 8)
    asked = dataclasses.replace(trained.report_, learnt=[*trained.report_.learnt, more])
    assert "By the messages: no, unless" in first_page(trained.report_)
    assert "By the messages: facts above are about single records" in first_page(asked)


def test_privacy_and_release_are_answered_with_yes_or_no(trained):
    said = {point.heading: point.lines for point in decide(trained.report_)}
    assert said["Differential privacy"] == ("No.",)
    assert said["Release check"] == ("Not made: nobody measured what the model reveals.",)
    X, y = load_breast_cancer(return_X_y=True)
    private = tacit.SVC(epsilon=2, features=10, classes=(0, 1), random_state=0).fit(X[:300, :3], y[:300])
    assert first_page(private.report_).count("Yes: epsilon 2") == 1
