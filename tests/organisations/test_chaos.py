"""Whatever is killed, whenever, however often: the run ends with the model it would have had."""

from __future__ import annotations

import random

import pytest

from organisations.chaos import disturbed
from organisations.study_sites import StudySites, disturbed_study, is_alike

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some


def test_runs_under_random_kills_end_with_the_undisturbed_model(sites, undisturbed):
    for run in range(3):
        assert disturbed(sites, random.Random(run), kills=2) == undisturbed  # noqa: S311 - no secret
    assert sites.check_masks() >= 4 * 3 * sites.moments


def test_a_noisy_step_never_puts_two_forms_of_a_message_on_the_wire(sites, analyst):
    job = sites.job()
    analyst.submit(job)
    for moment, options in ((10, ("--noise", "1e-6")), (25, ("--noise", "1e-6")), (35, ())):
        sites.await_(lambda m=moment: sites.messages(job, "h1") >= m)
        sites.kill("h1")
        sites.start("h1", *options)
    sites.ends_well(analyst, job)
    assert sites.check_masks()


def test_a_study_under_random_kills_ends_like_the_simulated_one(tmp_path):
    with StudySites(tmp_path, studies=1, timeout=300.0) as sites:
        job, fitted = disturbed_study(sites, 0, kills=2)
        assert is_alike(sites, job, fitted)
        assert sites.check_masks()
