"""Metrics of a site in Prometheus' text format, on loopback only.

Counts, sizes and times of its own jobs, and nothing of their content.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from threading import Thread
from typing import TYPE_CHECKING, Any

from tacit.consortium.disk import port_error
from tacit.consortium.jobs.folder import folders, state_of

if TYPE_CHECKING:
    from tacit.consortium.site.common import Site
    from tacit.consortium.site.health import Health

LOOPBACK = "127.0.0.1"
KIND = "text/plain; version=0.0.4; charset=utf-8"
METRICS = {  # all that is ever shown
    "tacit_build_info": ("gauge", "The version that runs here."),
    "tacit_uptime_seconds": ("gauge", "Since this process started."),
    "tacit_jobs": ("gauge", "Jobs in this site's folder, by state."),
    "tacit_rounds_total": ("counter", "Communication rounds played since this process started."),
    "tacit_sent_bytes_total": ("counter", "Bytes of messages sent since this process started, before sealing."),
    "tacit_received_bytes_total": ("counter", "Bytes of messages received since this process started, before sealing."),
    "tacit_round": ("gauge", "The round a job is in."),
    "tacit_rounds_planned": ("gauge", "How many rounds the job takes at most."),
    "tacit_peer_silence_seconds": ("gauge", "Seconds since a peer was heard of, by job."),
    "tacit_broker_connected": ("gauge", "1 if the message server is reached."),
    "tacit_store_broken": ("gauge", "1 if the message server of this site cannot store messages."),
    "tacit_member_heard_seconds": ("gauge", "Seconds since a member was heard of outside runs."),
    "tacit_certificate_days": ("gauge", "Days until the certificate of this site ends."),
    "tacit_clock_offset_seconds": ("gauge", "By how much the clock is ahead of the message server's."),
    "tacit_disk_free_bytes": ("gauge", "Free bytes where the state lies."),
    "tacit_letters_queued": ("gauge", "Letters that wait to be taken by the message server."),
    "tacit_proposals_waiting": ("gauge", "Jobs that wait for people of this site."),
}
Samples = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


@contextmanager
def serve_metrics(port: int, snapshot: Callable[[], Samples]) -> Iterator[None]:
    """Answer http://127.0.0.1:<port>/metrics while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/metrics":
                self.send_error(404)
                return
            try:
                body = render(snapshot()).encode()
            except Exception:  # noqa: BLE001 - its text is not for whoever asks
                self.send_error(500)
                return
            self.send_response(200)
            self.send_header("Content-Type", KIND)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Log nothing: that somebody reads metrics is not worth a line."""

    try:
        server = ThreadingHTTPServer((LOOPBACK, port), Handler)
    except OSError as error:
        raise port_error(error, LOOPBACK, port, "metrics_port") from None
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="tacit-metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def render(samples: Samples) -> str:
    """Return samples in Prometheus' text format; a name that is not in `METRICS` raises."""
    lines = []
    for name, values in samples.items():
        kind, told = METRICS[name]
        lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(labels)} {value:{'g' if value % 1 else '.0f'}}" for labels, value in values]
    return "\n".join(lines) + "\n"


def figures(site: Site, health: Health) -> Samples:
    """Return the figures that a site may tell of itself."""
    return {**_figures_of_runs(site), **_figures_of(health)}


def _figures_of(health: Health) -> Samples:
    offset: list[tuple[dict[str, str], float]] = (
        [] if health.clock_offset is None else [({}, round(health.clock_offset, 3))]
    )
    return {
        "tacit_broker_connected": [({}, int(health.reachable))],
        "tacit_store_broken": [({}, int(bool(health.store)))],
        "tacit_member_heard_seconds": [({"member": name}, round(ago, 1)) for name, ago in health.heard.items()],
        "tacit_certificate_days": [({}, round(health.certificate_days, 2))],
        "tacit_clock_offset_seconds": offset,
        "tacit_disk_free_bytes": [({}, health.disk_free)],
        "tacit_letters_queued": [({}, health.queue)],
        "tacit_proposals_waiting": [({}, len(health.waiting))],
    }


def _figures_of_runs(site: Site) -> Samples:
    live = {job: dict(known) for job, known in list(site.live.items())}
    rows = [row for known in live.values() for row in list(known["run"].ledger.rows)]
    states = Counter(state_of(folder) for folder in folders(site.state))
    running = [folder.id for folder in folders(site.state, live.__contains__) if state_of(folder) == "running"]
    playing = {job: live[job] for job in running}
    return {
        "tacit_build_info": [({"version": version("tacit"), "site": site.name}, 1)],
        "tacit_uptime_seconds": [({}, round(time.time() - site.started.timestamp(), 1))],
        "tacit_jobs": [({"state": state}, n) for state, n in sorted(states.items())],
        "tacit_rounds_total": [({}, sum(known["run"].ledger.rounds for known in live.values()))],
        "tacit_sent_bytes_total": [({}, sum(row.bytes or 0 for row in rows if row.sender == site.name))],
        "tacit_received_bytes_total": [({}, sum(row.bytes or 0 for row in rows if row.receiver == site.name))],
        "tacit_round": [({"job": job[:8]}, known.get("done", 0)) for job, known in playing.items()],
        "tacit_rounds_planned": [({"job": job[:8]}, known.get("total", 0)) for job, known in playing.items()],
        "tacit_peer_silence_seconds": [
            ({"job": job[:8], "peer": peer}, round(known["courier"].silence(peer), 1))
            for job, known in playing.items()
            for peer in known["courier"].places
            if peer != site.name
        ],
    }


def _labels(labels: Mapping[str, str]) -> str:
    escaped = {k: v.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for k, v in labels.items()}
    return "{" + ",".join(f'{k}="{v}"' for k, v in escaped.items()) + "}" if labels else ""
