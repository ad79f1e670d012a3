"""The time before a run: what a machine and a link make of a cost, and what a site keeps of its measurements."""

from __future__ import annotations

import msgspec
import pytest
from sklearn.datasets import make_classification

import tacit
from job_files import example_job
from tacit.choreo import Coordinator, Holder, Roster
from tacit.choreo.protocol import Cost
from tacit.consortium.consent.people import Brought, Pending
from tacit.consortium.consent.proposals import in_sections, say_time
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.rehearsal import USUAL, cost_of
from tacit.consortium.timing import Link, Machine, Timing, busy, measure_machine, note_round_trip, timing_of
from tacit.consortium.timing.network import count_messages
from tacit.consortium.timing.site import FILE

ROSTER = Roster({Holder: ("a", "b"), Coordinator: ("site",)})
COST = Cost(rounds=10, bytes={"a": 1000, "b": 2000, "site": 3000}, work={"a": 10**9, "b": 3 * 10**9, "site": 10**9})


def test_a_simulated_run_does_the_work_of_all_and_a_real_one_that_of_the_slowest():
    usual = Machine()
    assert usual.simulate(COST) == pytest.approx(5.0, abs=0.1)
    between = Link(round_trip=0.001).seconds(COST, ROSTER, usual)
    assert between == pytest.approx(4.0 + count_messages(COST, usual), abs=0.1)
    assert busy(COST, "a", usual) == pytest.approx(1.0 + count_messages(COST, usual))


def test_a_machine_at_half_the_pace_takes_twice_as_long():
    assert Machine(rounds=2.0, arrays=2.0).simulate(COST) == pytest.approx(2 * Machine().simulate(COST))


def test_a_longer_way_takes_longer_by_a_round_trip_for_each_round():
    near, far = (Link(round_trip=seconds).seconds(COST, ROSTER, Machine()) for seconds in (0.0, 1.0))
    assert far - near == pytest.approx(10.0)


def test_a_machine_is_measured_in_a_moment():
    found = measure_machine()
    assert 0.02 < found.rounds < 50
    assert 0.02 < found.arrays < 50


def test_a_site_measures_once_and_keeps_its_last_round_trip(tmp_path):
    kept = Timing(version=timing_of(tmp_path).version, machine=Machine(rounds=7.0))
    (tmp_path / FILE).write_bytes(msgspec.json.encode(kept))
    note_round_trip(tmp_path, 0.2)
    assert timing_of(tmp_path) == msgspec.structs.replace(kept, round_trip=0.2)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"version": "0", "machine": {"rounds": 9.0}, "round_trip": 0.3}'])
def test_a_damaged_file_or_one_of_another_version_is_measured_again(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    assert timing_of(tmp_path).machine == measure_machine()


def test_a_folder_that_is_not_there_keeps_nothing(tmp_path):
    assert timing_of(tmp_path / "no").machine == measure_machine()
    assert not list(tmp_path.iterdir())


def test_people_are_told_how_long_a_run_takes_and_what_that_assumes(tmp_path):
    file = tmp_path / "job.toml"
    file.write_text(example_job())
    job = job_of_file(file, submitter="research")
    timing = Timing(version="1", machine=Machine(), round_trip=0.1)
    lines = dict(dict(in_sections(Pending(job, (), (), 1, "waiting"), "north", timing))["who, what and why"])
    assert lines["time"].startswith("about ")
    assert "if all sites are as fast as this one; 100 ms to the message server and back, measured here" in lines["time"]


def test_where_nobody_declared_records_people_are_told_by_their_own(tmp_path):
    file = tmp_path / "job.toml"
    file.write_text(example_job(rows=None))
    job, timing = job_of_file(file, submitter="research"), Timing(version="1", machine=Machine())
    assert say_time(Pending(job, (), (), 1, "waiting"), timing) == ""
    told = say_time(Pending(job, (), (), 1, "waiting", Brought(columns=("age",), rows=200)), timing)
    assert told.startswith("about ")
    assert told.endswith("assumed; as if every site had as many records as this one")


def test_a_rehearsal_says_how_long_it_takes():
    X, y = make_classification(60, 4, random_state=0)
    shown = repr(tacit.Federation.simulate(X, y, parties=3, partition="horizontal").rehearse(tacit.PanSVC()))
    assert "takes about" in shown
    assert "simulated on this machine" in shown


def test_more_records_take_longer():
    few, many = (Machine().simulate(_cost(records)) for records in (1_000, 100_000))
    assert many > 3 * few


def _cost(records):
    return cost_of("pan_svm", {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0}, USUAL, records)
