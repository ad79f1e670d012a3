"""Whatever is killed, whenever, however often: the run ends with the model it would have had."""

from __future__ import annotations

from organisations.chaos import chaos
from organisations.sites import Sites


def test_runs_under_random_kills_end_with_the_undisturbed_model(tmp_path):
    told = chaos(tmp_path, runs=3, kills=2, seed=3)
    assert told.identical == told.runs
    assert told.messages >= 4 * 45


def test_a_noisy_step_never_puts_two_forms_of_a_message_on_the_wire(tmp_path):
    with Sites(tmp_path, options=("--pace", "0.03", "--noise", "1e-6")) as sites, sites.analyst() as analyst:
        job = sites.job()
        analyst.submit(job)
        for moment, victim in ((5, "h1"), (20, "h2"), (30, "h1")):
            sites.await_(lambda m=moment: sites.messages(job, "h1") >= m)
            sites.kill(victim)
            sites.start(victim)
        sites.ends_well(analyst, job)
        assert sites.check_masks() > 45 * 3
