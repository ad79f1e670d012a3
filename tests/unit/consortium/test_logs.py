"""Logs: one line each, as text or JSON; what a step's error says stays at its site."""

import io
import json
import logging

import pytest
from consortium_study import Study

from tacit.consortium.audit.comparison import compare
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.site.common import Site
from tacit.consortium.site.logs import setup_logging
from tacit.consortium.site.tables import Tables
from tacit.errors import LocalError

log = logging.getLogger("tacit")


@pytest.fixture(autouse=True)
def no_handlers():
    logging.getLogger().handlers = []


def logged(format, site="north"):  # noqa: A002 - as in the module
    stream = io.StringIO()
    setup_logging(format, stream, site=site)
    return stream


def test_text_is_one_line_with_time_and_message():
    stream = logged("text")
    log.info("job %s starts", "0123abcd")
    log.warning("two\n  lines")
    first, second = stream.getvalue().splitlines()
    assert first.endswith(" job 0123abcd starts")
    assert second.endswith(" WARNING: two | lines")


def test_json_lines_hold_time_level_site_event_message_and_what_is_known_of_the_job():
    stream = logged("json")
    log.info("job %s starts (attempt %d)", "0123abcd", 2)
    line = json.loads(stream.getvalue())
    assert line["event"] == "job %s starts (attempt %d)"
    assert line["message"] == "job 0123abcd starts (attempt 2)"
    assert (line["level"], line["site"], line["job"]) == ("info", "north", "0123abcd")
    assert line["time"].endswith("+00:00")


def test_a_traceback_stays_in_its_line_of_json():
    stream = logged("json")
    try:
        raise RuntimeError("unforeseen")  # noqa: TRY301 - something to log
    except RuntimeError:
        log.exception("job %s stopped", "0123abcd")
    (line,) = stream.getvalue().splitlines()
    assert "unforeseen" in json.loads(line)["traceback"]


def test_other_libraries_are_quiet_and_a_second_setup_replaces_the_first():
    first, second = logged("text"), logged("text")
    for name in ("nats", "asyncio", "aiohttp.client"):
        logging.getLogger(name).warning("chatter")
    logging.getLogger("elsewhere").info("chatter")
    log.debug("detail")
    log.info("once")
    assert first.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1


def test_the_text_of_a_steps_error_is_logged_here_and_told_to_nobody(tmp_path):
    study, site = Study(tmp_path / "study"), object.__new__(Site)
    site.name, site.live, site.identity = "north", {}, study.sites["north"]
    site.tables = Tables("north", tmp_path, {})
    folder = folder_of(tmp_path, study.job.id)
    folder.propose(study.proposal())

    def failing(*_):
        raise LocalError("cell 42 of patient 7 is no number: correct it")

    site._run, site.admit = failing, lambda _: None
    stream = logged("text")
    told = site._outcome(folder, study.job, study.start()).dump()
    assert "patient 7" in stream.getvalue()
    assert b"patient" not in told
    assert b'"kind":"LocalError"' in told
    assert compare([folder.path / "audit-1.jsonl"], study.members.keys()) == []
    assert "patient" not in (folder.path / "audit-1.jsonl").read_text()
