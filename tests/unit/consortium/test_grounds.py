"""What a job builds on: the result of an earlier job that is here, has ended well, may still be kept, and fits."""

import numpy as np
import pytest
from earlier_jobs import ASKS, NOW, PUBLIC, job, put, question

from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import GroundsError, grounds_of, params_from
from tacit.registry import job_protocols, kind_of, makers_of


def test_a_model_is_found_with_its_share_its_columns_and_its_dataset(tmp_path):
    trained = put(tmp_path, job(), own={"share": np.arange(3.0)}, used=Used(features=("age", "bmi")))
    grounds = grounds_of(tmp_path, question(trained, dataset="new"), NOW)
    assert np.array_equal(grounds.share("share"), np.arange(3.0))
    assert grounds.features == ("age", "bmi")
    assert grounds.training.job.dataset == "cohort"
    assert grounds.rows is None
    with pytest.raises(GroundsError, match="left no share of a model here: train again"):
        grounds.share("dual")


def test_a_job_that_builds_on_nothing_has_no_grounds(tmp_path):
    grounds = grounds_of(tmp_path, job(), NOW)
    assert (grounds.model, grounds.alignment, grounds.training, list(grounds.digests())) == (None, None, None, [])


@pytest.mark.parametrize(
    ("earlier", "asked", "words"),
    [
        ({"started": False}, {}, "is proposed at this site: build on one that has finished"),
        ({"ok": False}, {}, "is stopped at this site: build on one that has finished"),
        ({"days": 31}, {}, "the retention of job .*, 30 days, is over: what it left may not be used; run it again"),
        (
            {},
            {"parties": ("south", "north", "east")},
            "was vertical, between north, south, east, coordinated by clearing: build on it",
        ),
        (
            {},
            {"params": {**ASKS, "partition": "vertical", "gamma": 3.0}},
            r"the job has gamma = 3.0, and the model of job .* needs 1.0",
        ),
        (
            {},
            {"params": {**ASKS, "partition": "vertical", "trained_on": 61}},
            "the job has trained_on = 61, and the model of job .* needs 60",
        ),
        (
            {},
            {"params": {**ASKS, "partition": "vertical", "problems": 3}},
            "the job has problems = 3, and the model of job .* needs 1",
        ),
        ({}, {"builds_on": ("0" * 32,)}, "job 0{32} is not here: it was purged, or never was"),
        (
            {},
            {"builds_on": ()},
            "blind_predict builds on one finished gram_blind and at most one alignment",
        ),
    ],
)
def test_what_cannot_be_built_on_is_refused_in_one_line(tmp_path, earlier, asked, words):
    trained = put(tmp_path, job(), **earlier)
    with pytest.raises(GroundsError, match=words) as error:
        grounds_of(tmp_path, question(trained, **asked), NOW)
    assert "\n" not in str(error.value)


def test_the_result_of_another_protocol_is_refused(tmp_path):
    other = put(tmp_path, job("align"))
    with pytest.raises(GroundsError, match="blind_predict builds on one finished gram_blind and at most one"):
        grounds_of(tmp_path, question(other), NOW)
    asked = put(tmp_path, question(put(tmp_path, job())))
    with pytest.raises(GroundsError, match=r"is a blind_predict, and gram_blind builds on align: correct builds_on"):
        grounds_of(tmp_path, job(builds_on=(asked.id,)), NOW)


def test_an_alignment_that_only_counted_leaves_nothing(tmp_path):
    counted = put(tmp_path, job("align", {"count_only": True}))
    with pytest.raises(GroundsError, match="left nothing to build on, since it has count_only = true"):
        grounds_of(tmp_path, job(builds_on=(counted.id,)), NOW)


def test_classes_make_problems_and_a_regression_is_one(tmp_path):
    several = put(tmp_path, job(), public={**PUBLIC, "classes": ("a", "b", "c")})
    assert params_from(several)["problems"] == 3
    numbers = put(tmp_path, job(id="1" * 32), public={**PUBLIC, "classes": (), "target_range": (0.0, 2.0)})
    assert (params_from(numbers)["problems"], params_from(numbers)["target_range"]) == (1, (0.0, 2.0))


def test_a_public_model_is_known_to_everybody_who_is_asked(tmp_path):
    machine = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 0.0, "alpha": 0.1, "features": 10}
    public = {"map": "the map", "weights": np.ones((3, 1)), "classes": (0, 1)}
    trained = put(tmp_path, job("train_svm", machine), public=public)
    grounds = grounds_of(tmp_path, job("answer_svm", builds_on=(trained.id,), dataset="new"), NOW)
    assert (grounds.share("model").map, grounds.training.id) == ("the map", trained.id)
    assert params_from(trained) == {}


def test_a_table_is_aligned_by_an_alignment_and_a_question_by_one_beside_its_model(tmp_path):
    rows = np.array([4, 0, 2])
    aligned = put(tmp_path, job("align"), own={"rows": rows}, used=Used(ids="digest"))
    assert np.array_equal(grounds_of(tmp_path, job(builds_on=(aligned.id,)), NOW).rows, rows)
    trained = put(tmp_path, job(id="1" * 32))
    both = grounds_of(tmp_path, question(trained, builds_on=(aligned.id, trained.id)), NOW)
    assert (both.alignment.id, both.model.id) == (aligned.id, trained.id)
    assert len(set(both.digests())) == 2
    again = put(tmp_path, job("align", id="2" * 32), own={"rows": rows})
    with pytest.raises(GroundsError, match="at most one alignment"):
        grounds_of(tmp_path, job(builds_on=(aligned.id, again.id)), NOW)


def test_every_protocol_that_needs_an_earlier_result_says_whose():
    needing = {p for p, known in job_protocols().items() if any(b.source == "earlier" for b in known.brings.values())}
    assert needing == {p for p in job_protocols() if makers_of(p)}
    assert {p: kind_of(p) for p in ("gram_blind", "align", "blind_predict", "answer_svm")} == {
        "gram_blind": "records", "align": "ids", "blind_predict": "answers", "answer_svm": "answers"
    }  # fmt: skip
