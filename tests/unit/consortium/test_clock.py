"""Sites compare their clocks by the broker's, whenever each of them asks; a real server."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tacit.consortium.broker.clock import Reading, parse_time, read_clock
from tacit.consortium.broker.server import find_server
from tacit.consortium.jobs.preflight import combine, report_of
from tacit.errors import MissingExtraError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from control_network import ControlNetwork  # needs the extra


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    with ControlNetwork(tmp_path_factory.mktemp("clock")).serving() as made:
        with made.site("clearing") as clearing:
            clearing.broker.call(clearing.control.prepare())
        yield made


def test_a_party_and_the_coordinator_read_the_broker_s_clock_and_their_round_trip(network):
    for name in ("clearing", "north"):
        with network.site(name) as site:
            reading = read_clock(site.broker, network.tokens[name])
        assert abs(reading.ahead) < timedelta(seconds=0.5)  # one machine, one clock
        assert 0 < reading.round_trip < 2


def test_a_broker_that_tells_no_time_is_no_error(network):
    with network.site("north") as site:
        assert read_clock(site.broker, network.tokens["south"]) is None  # the server refuses to tell of another's


def test_the_server_s_nanoseconds_are_read():
    exact = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    assert parse_time("2030-01-02T03:04:05.678901234Z") == exact
    assert parse_time("2030-01-02T03:04:05.5Z") == exact.replace(microsecond=500000)
    assert parse_time("2030-01-02T03:04:05Z") == exact.replace(microsecond=0)


def reports(network, checked, wrong):
    """Each site's report, of when it checked in true time, by a clock that is wrong by so much."""
    job = network.job
    made = {}
    for party in job.roster.parties:
        true = checked.get(party, datetime(2030, 1, 1, tzinfo=UTC))
        here = true + wrong.get(party, timedelta(0))
        made[party] = report_of(job, party, None, here, [], reading=Reading(here, true, 0.01))
    return made


def test_a_site_that_checks_a_job_hours_after_the_others_is_not_called_off(network):
    late = {"north": datetime(2030, 1, 1, 9, tzinfo=UTC)}
    assert [p for p in combine(network.job, reports(network, late, {})) if p.code == "clock"] == []


def test_a_clock_that_is_wrong_is_found_whenever_its_site_checks(network):
    late = {"north": datetime(2030, 1, 1, 9, tzinfo=UTC)}
    for minutes in (-3, 3):
        found = combine(network.job, reports(network, late, {"north": timedelta(minutes=minutes)}))
        assert [(p.party, p.code) for p in found if p.code == "clock"] == [("north", "clock")]
    shown = msgspec.json.decode(msgspec.json.encode(reports(network, late, {})["north"]))
    assert shown["clock"] == shown["broker"] == "2030-01-01T09:00:00Z"
