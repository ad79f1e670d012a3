"""Steps of a study: written down, read back, and refused in one line."""

import pytest
from sklearn.preprocessing import StandardScaler

import tacit
from tacit.errors import LocalError
from tacit.study.steps import StepsKind, read_pipeline, write_steps


def test_a_pipeline_is_written_as_names_and_what_is_not_at_its_default():
    steps = write_steps(
        tacit.Pipeline(
            [
                ("gaps", tacit.FederatedImputer("median")),
                ("svm", tacit.FederatedGridSearch(tacit.SVC(probability=True), {"C": [1, 3]})),
            ]
        )
    )
    assert steps == (
        {"name": "gaps", "use": "FederatedImputer", "strategy": "median"},
        {
            "name": "svm",
            "use": "FederatedGridSearch",
            "estimator": {"use": "SVC", "probability": True},
            "param_grid": {"C": [1, 3]},
        },
    )


def test_what_is_read_is_what_was_written_with_the_seed_of_the_study():
    asked = (
        {"use": "FederatedScaler"},
        {"use": "FederatedGridSearch", "estimator": "SVC", "grid": {"C": [1.0, 3.0]}},
    )
    made = read_pipeline(asked, 11)
    assert [name for name, _ in made.steps] == ["step1", "step2"]
    assert made[1].estimator.random_state == 11
    assert made[1].param_grid == {"C": [1.0, 3.0]}
    again = read_pipeline(write_steps(made), 12)
    assert str(again) == str(made)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"use": "MinMaxScaler"}, "step 1 has use = 'MinMaxScaler': name one of"),
        ({}, "step 1 has use = None"),
        ({"use": "Pipeline"}, "step 1 has use = 'Pipeline'"),
        ({"use": "SVC", "c": 1.0}, "step 1: SVC has no parameter 'c': it takes"),
        ({"use": "SVC", "n_parties": 4}, "SVC has no parameter 'n_parties'"),
        ({"use": "FederatedGridSearch", "estimator": 4, "grid": {}}, "step 1 has estimator = 4"),
        (
            {"use": "FederatedGridSearch", "estimator": "LinearSVC", "grid": {}},
            "the estimator of step 1 has use = 'LinearSVC'",
        ),
        ({"use": "FederatedGridSearch"}, "cannot be made of these parameters"),
    ],
)
def test_a_step_that_nobody_can_play_is_refused_in_one_line(step, says):
    with pytest.raises(LocalError) as told:
        read_pipeline((step,), 0)
    assert says in str(told.value)
    assert "\n" not in str(told.value)


def test_two_steps_of_one_name_are_refused():
    with pytest.raises(LocalError, match="two steps are called 'a'"):
        read_pipeline(({"name": "a", "use": "FederatedScaler"}, {"name": "a", "use": "SVC"}), 0)


def test_an_estimator_that_sites_cannot_look_up_is_not_written():
    with pytest.raises(LocalError, match="a StandardScaler is unknown to the sites of a study"):
        write_steps(tacit.Pipeline([("scale", StandardScaler()), ("svm", tacit.SVC())]))


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ([{"pairs": [["use", "SVC"]]}], True),
        ([], False),
        ("SVC", False),
        ([["SVC"]], False),
        ([{"pairs": [["use", [[[[[[[[[1]]]]]]]]]]]}], False),
        ([{"pairs": [["use", list(range(30_000))]]}], False),
    ],
)
def test_a_job_takes_steps_that_are_neither_too_many_nor_too_deep(value, good):
    assert StepsKind().accepts(value) is good
