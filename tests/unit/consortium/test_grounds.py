"""What a job builds on: the result of an earlier job that is here, has ended well, may still be kept, and fits."""

import numpy as np
import pytest
from earlier_jobs import NOW, job, put, question

from job_files import with_step
from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import GroundsError, grounds_of, params_from
from tacit.registry import job_protocols, kind_of, makers_of


def test_a_model_is_found_with_its_share_its_columns_and_its_dataset(tmp_path):
    trained = put(tmp_path, job(), own={"share": np.arange(3.0)}, used=Used(features=("age", "bmi")))
    grounds = grounds_of(tmp_path, question(trained, dataset="new"), NOW)
    known = grounds.share("own")
    assert np.array_equal(known.held["share"], np.arange(3.0))
    assert known.told.columns == {"north": ("age", "bmi")}
    assert grounds.features == ("age", "bmi")
    assert grounds.model.job.dataset == "cohort"
    assert grounds.rows is None


def test_a_job_that_builds_on_nothing_has_no_grounds(tmp_path):
    grounds = grounds_of(tmp_path, job(), NOW)
    assert (grounds.model, grounds.alignment, list(grounds.digests())) == (None, None, [])


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
        ({}, {"params": with_step(job(), gamma=0.3)}, r"the job has steps = .*0.3.*, and the model of .* needs .*1.0"),
        ({}, {"params": {**job().params, "seed": 2}}, "the job has seed = 2, and the model of job .* needs 1"),
        ({}, {"builds_on": ("0" * 32,)}, "job 0{32} is not here: it was purged, or never was"),
        (
            {},
            {"builds_on": ()},
            "study_answers builds on one finished study and at most one alignment",
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
    with pytest.raises(GroundsError, match="study_answers builds on one finished study and at most one"):
        grounds_of(tmp_path, question(other), NOW)
    asked = put(tmp_path, question(put(tmp_path, job())))
    with pytest.raises(GroundsError, match=r"is a study_answers, and study builds on align: correct builds_on"):
        grounds_of(tmp_path, job(builds_on=(asked.id,)), NOW)


def test_an_alignment_that_only_counted_leaves_nothing(tmp_path):
    counted = put(tmp_path, job("align", {"count_only": True}))
    with pytest.raises(GroundsError, match="only counted records: run it again without count_only"):
        grounds_of(tmp_path, job(builds_on=(counted.id,)), NOW)


def test_a_question_has_steps_seed_and_split_of_its_study(tmp_path):
    trained = put(tmp_path, job())
    assert params_from(trained) == {name: trained.job.arguments[name] for name in ("steps", "seed", "partition")}
    assert params_from(put(tmp_path, job("align"))) == {}


def test_a_table_is_aligned_by_an_alignment_and_a_question_by_one_beside_its_model(tmp_path):
    rows = np.array([4, 0, 2])
    aligned = put(tmp_path, job("align"), own={"rows": rows}, used=Used(ids="digest"))
    assert np.array_equal(grounds_of(tmp_path, job(builds_on=(aligned.id,)), NOW).rows, rows)
    trained = put(tmp_path, job(id="1" * 32))
    both = grounds_of(tmp_path, question(trained, builds_on=(aligned.id, trained.id)), NOW)
    assert (both.alignment.id, both.model.id) == (aligned.id, trained.id)
    assert len(set(both.digests())) == 3  # the model's shares, what is public of it, and the alignment
    again = put(tmp_path, job("align", id="2" * 32), own={"rows": rows})
    with pytest.raises(GroundsError, match="at most one alignment"):
        grounds_of(tmp_path, job(builds_on=(aligned.id, again.id)), NOW)


def test_every_protocol_that_needs_an_earlier_result_says_whose():
    needing = {p for p, known in job_protocols().items() if any(b.source == "earlier" for b in known.brings.values())}
    assert needing == {p for p in job_protocols() if makers_of(p)}
    kinds = {p: kind_of(p) for p in ("study", "align", "study_answers", "study_scores", "blind_predict", "answer_svm")}
    assert kinds == {
        **dict.fromkeys(("study", "study_scores"), "records"), "align": "ids",
        **dict.fromkeys(("study_answers", "blind_predict", "answer_svm"), "answers"),
    }  # fmt: skip
