"""Workers and executors that die: nothing that the holders keep is lost, and no mask is seen on two values."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spark import killing
from tacit.choreo import Coordinator, Fact, Holder, PeerError, choreography
from tacit.protocols.sums.secure_sum import Masked, mask, protect


def test_a_python_worker_that_is_killed_after_it_masked_has_told_nobody(spark, tmp_path):
    found = killing.play(spark.sparkContext, str(tmp_path), rounds=4, fatal=(1, 2), whom="worker")
    killing.check(found, rounds=4, fatal=(1, 2))


def test_an_executor_that_is_killed_takes_no_key_and_no_state_with_it(java, tmp_path):
    del java
    command = [sys.executable, str(Path(__file__).parent / "executor_loss.py"), str(tmp_path)]
    # our own file
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)  # noqa: S603
    assert done.returncode == 0, done.stderr[-2000:]
    killing.check(json.loads(done.stdout.splitlines()[-1]), rounds=5, fatal=(2,))


@choreography(opens={Coordinator: Fact("tests.nothing_a_test", "nobody", "nothing", "none", "nothing: a test")})
def sent_twice(run, x, between):
    """The same masked vector to the coordinator, twice, with a loss between."""
    by = protect(run)
    noisy = run.local(Holder, killing.disturbed, x)
    masked = run.local(
        Holder, mask, noisy, run.pads(by.seeds, run.tag()), run.who(Holder), killing.FIXED, "noise", killing.Z64
    )
    for _ in range(2):
        run.send(Masked, Holder >> Coordinator, masked)
        between(run)
        run.local(Holder, killing.grown, x)


def test_what_is_sent_again_are_the_same_bytes_though_it_was_lost_and_would_be_computed_anew(spark):
    with killing.Watched(killing.ROSTER, killing.ROSTER[Holder], sc=spark.sparkContext, job=b"a test") as run:

        def lose(run):
            for layer in run._layers._all:
                layer.rdd.unpersist(blocking=True)

        sent_twice(run, run.hold(Holder, dict.fromkeys(killing.ROSTER[Holder], killing.np.zeros(4))), lose)
        first, second = (
            [run.arrived[f"/sent_twice/Masked{n}", p][0].join() for p in killing.ROSTER[Holder]] for n in ("", "#1")
        )
        assert first == second


@choreography(opens={Coordinator: Fact("tests.nothing_a_test", "nobody", "nothing", "none", "nothing: a test")})
def masked_twice(run, x):
    """Two values under one tag."""
    by = protect(run)
    tag = run.tag()
    for value in (x, run.local(Holder, killing.grown, x)):
        pads = run.pads(by.seeds, tag)
        run.send(
            Masked,
            Holder >> Coordinator,
            run.local(Holder, mask, value, pads, run.who(Holder), killing.FIXED, "x", killing.Z64),
        )


def test_a_text_that_puts_one_pad_on_two_values_is_stopped_before_the_second_leaves(spark):
    with killing.Watched(killing.ROSTER, killing.ROSTER[Holder], sc=spark.sparkContext, job=b"a test") as run:
        x = run.hold(Holder, dict.fromkeys(killing.ROSTER[Holder], killing.np.zeros(4)))
        with pytest.raises(ValueError, match=r"p1 stopped at /masked_twice/mask\(\)#1 \(LocalError\)"):
            masked_twice(run, x)
        assert [place for place, _ in run.arrived if "Masked" in place] == ["/masked_twice/Masked"] * 3


def test_a_job_that_fails_ends_the_run(spark, tmp_path):
    (tmp_path / "p2-0").mkdir()
    with killing.Watched(killing.ROSTER, killing.ROSTER[Holder], sc=spark.sparkContext, job=b"a test") as run:
        x = run.hold(Holder, dict.fromkeys(killing.ROSTER[Holder], killing.np.zeros(4)))
        with pytest.raises(PeerError, match=r"a Spark job failed at /always_killed/Masked .*and the run ended with it"):
            always_killed(run, x)
        with pytest.raises(ValueError, match="this run is over"):
            protect(run)


@choreography(opens={Coordinator: Fact("tests.nothing_a_test", "nobody", "nothing", "none", "nothing: a test")})
def always_killed(run, x):
    run.send(Masked, Holder >> Coordinator, run.local(Holder, killing.killed, x))
