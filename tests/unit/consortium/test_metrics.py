"""Metrics: loopback only, only the listed names, one line where the port is taken."""

import socket
import urllib.error
import urllib.request
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from tacit.choreo import Row
from tacit.choreo.fact import fact_called
from tacit.choreo.ledger import Ledger
from tacit.consortium.site.health import Health
from tacit.consortium.site.metrics import METRICS, figures, render, serve_metrics
from tacit.errors import LocalError

WELL = Health(at=0.0, reachable=True, heard={"clearing": 3.0}, certificate_days=200.5, disk_free=10**10, waiting=("a",))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def row(sender, receiver, size, place="/p"):
    return Row(place, sender, receiver, "holder", "holder", "Masked", (fact_called("nothing"),), ((3,),), size)


def site_with(tmp_path, *rows):
    run = SimpleNamespace(ledger=Ledger(list(rows)))
    live = {"0123456789abcdef": {"run": run, "courier": None, "done": 2, "total": 5}}
    return SimpleNamespace(name="north", state=tmp_path, live=live, started=datetime.now(UTC))


def test_a_scrape_gets_prometheus_text():
    port = free_port()
    with serve_metrics(port, lambda: {"tacit_jobs": [({"state": "running"}, 2)], "tacit_uptime_seconds": [({}, 1.5)]}):
        kind, body = get(port)
    assert kind.startswith("text/plain; version=0.0.4")
    assert "# TYPE tacit_jobs gauge\n" in body
    assert 'tacit_jobs{state="running"} 2\n' in body
    assert "tacit_uptime_seconds 1.5\n" in body


def test_nothing_else_is_served_and_an_error_shows_no_text():
    def broken():
        raise LocalError("cell 42 of patient 7")

    port = free_port()
    with serve_metrics(port, broken):
        with pytest.raises(urllib.error.HTTPError) as lost:
            get(port, "/")
        with pytest.raises(urllib.error.HTTPError) as failed:
            get(port)
        with lost.value as one, failed.value as other:
            assert (one.code, other.code) == (404, 500)
            assert "42" not in other.read().decode()


def test_only_loopback_is_listened_on():
    port = free_port()
    with serve_metrics(port, dict), socket.socket() as other:
        other.bind(("127.0.0.2", port))  # would be taken if all addresses were


def test_the_port_is_free_again_afterwards_and_a_taken_one_is_refused_in_one_line():
    port = free_port()
    with (
        serve_metrics(port, dict),
        pytest.raises(LocalError, match="is taken by another program: stop it, or choose another port in"),
    ):
        serve_metrics(port, dict).__enter__()
    with serve_metrics(port, dict):
        pass


def test_a_name_that_is_not_listed_is_not_shown():
    with pytest.raises(KeyError):
        render({"tacit_weights": [({}, 1)]})


def test_labels_are_escaped():
    assert r'state="a\"b\\c\nd"' in render({"tacit_jobs": [({"state": 'a"b\\c\nd'}, 1)]})


def test_a_site_counts_what_it_sent_and_received_itself(tmp_path):
    site = site_with(tmp_path, row("north", "south", 10), row("east", "north", 7, "/q"), row("east", "south", None))
    told = figures(site, WELL)
    assert set(told) == set(METRICS)
    assert told["tacit_sent_bytes_total"] == [({}, 10)]
    assert told["tacit_received_bytes_total"] == [({}, 7)]
    assert told["tacit_rounds_total"] == [({}, 2)]
    assert told["tacit_build_info"][0][0]["site"] == "north"


def test_how_a_site_is_can_be_scraped(tmp_path):
    text = render(figures(site_with(tmp_path), WELL))
    for line in (
        "tacit_broker_connected 1",
        "tacit_store_broken 0",
        'tacit_member_heard_seconds{member="clearing"} 3',
        "tacit_certificate_days 200.5",
        "tacit_disk_free_bytes 10000000000",
        "tacit_letters_queued 0",
        "tacit_proposals_waiting 1",
    ):
        assert f"{line}\n" in text


def test_figures_can_be_render(tmp_path):
    assert "tacit_rounds_total 1\n" in render(figures(site_with(tmp_path, row("north", "south", 10)), WELL))


def test_a_running_job_shows_its_round_and_how_long_each_peer_has_been_silent(tmp_path, monkeypatch):
    site = site_with(tmp_path)
    job = next(iter(site.live))
    site.live[job]["courier"] = SimpleNamespace(places={"north": "/p", "south": "/q"}, silence=lambda _: 2.04)
    monkeypatch.setattr("tacit.consortium.site.metrics.folders", lambda *_: [SimpleNamespace(id=job)])
    monkeypatch.setattr("tacit.consortium.site.metrics.state_of", lambda _: "running")
    text = render(figures(site, WELL))
    assert 'tacit_round{job="01234567"} 2\n' in text
    assert 'tacit_rounds_planned{job="01234567"} 5\n' in text
    assert 'tacit_peer_silence_seconds{job="01234567",peer="south"} 2\n' in text
    assert 'peer="north"' not in text
