"""What a job builds on: the result of an earlier job that is here, has ended well, may still be kept, and fits."""

import numpy as np
import pytest
from earlier_jobs import NOW, PUBLIC, job, put, question

from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import GroundsError, grounds_of, params_from
from tacit.registry import job_protocols, kind_of, makers_of


def test_a_model_is_found_with_its_share_its_columns_and_its_dataset(tmp_path):
    trained = put(tmp_path, job(), own={"columns": np.arange(3.0)}, used=Used(features=("age", "bmi")))
    grounds = grounds_of(tmp_path, question(trained, dataset="new"), NOW)
    assert np.array_equal(grounds.share("columns"), np.arange(3.0))
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
            {"params": {"squares": False, "support": 3}},
            "the job has squares = False, and the model of job .* needs True",
        ),
        ({}, {"params": {"squares": True, "support": 4}}, "the job has support = 4, and the model of job .* needs 3"),
        ({}, {"builds_on": ("0" * 32,)}, "job 0{32} is not here: it was purged, or never was"),
        (
            {},
            {"builds_on": ()},
            "gram_predict builds on one finished gram_vertical or gram_search and at most one alignment",
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
    with pytest.raises(
        GroundsError, match="gram_predict builds on one finished gram_vertical or gram_search and at most one"
    ):
        grounds_of(tmp_path, question(other), NOW)
    asked = put(tmp_path, question(put(tmp_path, job())))
    with pytest.raises(GroundsError, match=r"is a gram_predict, and gram_vertical builds on align: correct builds_on"):
        grounds_of(tmp_path, job(builds_on=(asked.id,)), NOW)


def test_a_search_that_trained_no_model_and_an_alignment_that_only_counted_leave_nothing(tmp_path):
    search = put(tmp_path, job("gram_search", {"candidates": ({"C": 1.0},), "refit": False}))
    with pytest.raises(
        GroundsError, match="left nothing to build on, since it has refit = false: run it again without that"
    ):
        grounds_of(tmp_path, question(search), NOW)
    counted = put(tmp_path, job("align", {"count_only": True}))
    with pytest.raises(GroundsError, match="since it has count_only = true"):
        grounds_of(tmp_path, job(builds_on=(counted.id,)), NOW)


def test_the_best_candidate_of_a_search_is_the_model_that_is_asked(tmp_path):
    kernels = ({"kernel": "rbf"}, {"kernel": "poly"})
    search = put(tmp_path, job("gram_search", {"candidates": kernels}), public={**PUBLIC, "best": 1})
    assert params_from(search) == {"squares": False, "problems": 1, "multi_class": "ovr", "support": 3}


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


def test_a_chain_goes_back_to_the_training_and_breaks_with_it(tmp_path):
    trained = put(tmp_path, job(params={"kernel": "linear"}), public={**PUBLIC, "classes": (0, 1, 2)})
    shared = put(
        tmp_path, job("gram_weights", {"problems": 3}, builds_on=(trained.id,)), own={"result": np.ones(2)}, public={}
    )
    asked = job("gram_linear_predict", {"problems": 3}, builds_on=(shared.id,), dataset="new")
    grounds = grounds_of(tmp_path, asked, NOW)
    assert (grounds.model.id, grounds.training.id) == (shared.id, trained.id)
    assert np.array_equal(grounds.share("weights"), np.ones(2))  # of the one thing that the protocol gives
    trained.purge()
    with pytest.raises(GroundsError, match=f"job {trained.id} is not here: it was purged"):
        grounds_of(tmp_path, asked, NOW)


def test_a_question_to_a_model_of_pairs_has_as_many_problems_as_there_are_pairs_and_says_so(tmp_path):
    trained = put(
        tmp_path, job(params={"kernel": "linear", "multi_class": "ovo"}), public={**PUBLIC, "classes": (0, 1, 2, 3)}
    )
    assert params_from(trained)["problems"] == 6
    wrong = job("gram_weights", {"problems": 4, "multi_class": "ovo"}, builds_on=(trained.id,))
    with pytest.raises(GroundsError, match=f"problems = 4, and the model of job {trained.id} needs 6"):
        grounds_of(tmp_path, wrong, NOW)
    pairs = {"problems": 6, "multi_class": "ovo"}
    shared = put(tmp_path, job("gram_weights", pairs, builds_on=(trained.id,)), own={"result": np.ones(2)}, public={})
    asked = job("gram_linear_predict", pairs, builds_on=(shared.id,), dataset="new")
    assert grounds_of(tmp_path, asked, NOW).training.id == trained.id
    silent = job("gram_linear_predict", {"problems": 6}, builds_on=(shared.id,), dataset="new")
    with pytest.raises(GroundsError, match=f"multi_class = ovr, and the model of job {shared.id} needs ovo"):
        grounds_of(tmp_path, silent, NOW)


def test_every_protocol_that_needs_an_earlier_result_says_whose():
    needing = {p for p, known in job_protocols().items() if any(b.source == "earlier" for b in known.brings.values())}
    assert needing == {p for p in job_protocols() if makers_of(p)}
    assert {p: kind_of(p) for p in ("gram_vertical", "align", "gram_predict", "gram_weights")} == {
        "gram_vertical": "records", "align": "ids", "gram_predict": "answers", "gram_weights": "shares"
    }  # fmt: skip
