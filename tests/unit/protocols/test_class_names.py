"""Classes that sites write in different ways are refused, by the difference, before anything else is opened."""

import numpy as np
import pytest

import tacit
from tacit.choreo import Holder
from tacit.errors import LocalError
from tacit.protocols.classes import check_class_names, frequent_classes
from tacit.registry import execute_together
from tacit.study import inside

SVC = {"use": "SVC", "features": 10, "alpha": 0.1}


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (
            {"a": (0, 1), "b": ("g", "h")},
            r"the classes of b are texts \('g', 'h'\), those of a numbers \(0, 1\): write",
        ),
        ({"a": ("G", "h"), "b": ("g", "h")}, "a has a class 'G' and b a class 'g': write classes alike at every site"),
        ({"a": ("yes ",), "c": (), "b": ("yes",)}, "a has a class 'yes ' and b a class 'yes'"),
        ({"a": ("0", "1"), "b": ("0.0", "1.0")}, "a has a class '0' and b a class '0.0'"),
    ],
)
def test_another_way_to_write_a_class_is_named(said, says):
    with pytest.raises(LocalError, match=says):
        check_class_names(said)


@pytest.mark.parametrize(
    "said", [{"a": (0, 1), "b": (0.0, 2.0)}, {"a": (0,), "b": (1,)}, {"a": (0, 1), "b": (2, 3), "c": (1, 2)}, {}]
)
def test_sites_may_have_other_classes_as_long_as_some_connect_them(said):
    check_class_names(said, declare=True)


def test_classes_of_which_none_is_the_same_must_be_declared():
    apart = {"a": ("ill", "well"), "b": ("gesund", "krank")}
    check_class_names(apart)
    with pytest.raises(LocalError, match=r"a has the classes 'ill', 'well', b has 'gesund', 'krank', and none is the"):
        check_class_names(apart, declare=True)


def test_a_class_of_a_few_records_is_not_told_by_its_name():
    y = np.array(["flu"] * 9 + ["Huntington"] * 4)
    assert frequent_classes(y, 5) == ("flu",)
    assert frequent_classes(np.linspace(0, 1, 40), 5) == ()
    assert frequent_classes(None, 5) == ()


def parts_with(*labels):
    """Three sites with 40 records each, labelled by two words of their own."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(120, 3))
    held = [(X[i * 40 : (i + 1) * 40], np.array(words)[np.arange(40) % 2]) for i, words in enumerate(labels)]
    return tacit.from_parts(held, names=("a", "b", "c"), partition="horizontal")


@pytest.mark.parametrize("learner", [tacit.SVC, tacit.ELMClassifier])
def test_no_single_training_takes_two_spellings_for_two_classes(learner):
    fed = parts_with(("g", "h"), ("G", "h"), ("g", "h"))
    with pytest.raises(LocalError, match="a has a class 'g' and b a class 'G': write classes alike at every site"):
        learner(partition="horizontal").fit(fed)


def play_study(fed, **asked):
    held = {each: (Holder, dict(fed.parts)) for each in ("data", "judge")}
    steps = ({"use": "FederatedScaler"}, SVC)
    return execute_together(fed.roster, "study", held, {"steps": steps, "seed": 1, "partition": "horizontal", **asked})


def test_a_study_finds_it_before_its_first_step_opens_anything(monkeypatch):
    asked = []
    monkeypatch.setattr(inside.InRun, "run", lambda _self, _fed, request: asked.append(request))
    with pytest.raises(LocalError, match="none is the same: write classes alike at every site, or declare all of them"):
        play_study(parts_with(("ill", "well"), ("krank", "gesund"), ("ill", "well")))
    assert asked == []


def test_classes_that_the_job_declares_are_told_by_nobody():
    fed = parts_with(("ill", "well"), ("ill", "well"), ("ill", "well"))
    told = play_study(fed).ledger.template()
    silent = play_study(fed, class_names=("ill", "well")).ledger.template()
    assert "/study/OwnClasses: holder > everyone: core.classes" in told
    assert "OwnClasses" not in silent
