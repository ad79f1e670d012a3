"""What a site was asked about its data: counted by submitter and day, written down before it is told."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from tacit.consortium.consent.asked import Asked
from tacit.errors import LocalError

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def job(number=0, submitter="analyst"):
    return SimpleNamespace(id=f"{number:032x}", submitter=submitter, protocol="train_svm", dataset="cohort")


def test_a_submitter_gets_so_many_answers_in_a_day(tmp_path):
    asked = Asked(tmp_path / "registers")
    assert asked.count_left(job(9), 3, NOW) == 3
    for number in range(3):
        asked.note(job(number), "fits", "", NOW)
    assert asked.count_left(job(9), 3, NOW) == 0
    assert asked.count_left(job(9, "somebody"), 3, NOW) == 3
    assert asked.count_left(job(9), 3, NOW + timedelta(days=1)) == 3
    assert [each.job for each in asked.lines()] == [f"{n:032x}" for n in range(3)]


def test_the_same_job_again_counts_once(tmp_path):
    asked = Asked(tmp_path)
    for _ in range(5):
        asked.note(job(), "fits", "", NOW)
    asked.note(job(), "data", "11 records here", NOW)
    assert [each.answer for each in asked.lines()] == ["fits", "data"]
    assert asked.count_left(job(9), 3, NOW) == 2
    assert asked.count_left(job(), 3, NOW) == 3


def test_a_torn_line_is_dropped_and_a_damaged_one_is_told(tmp_path):
    asked = Asked(tmp_path)
    asked.note(job(), "fits", "", NOW)
    with asked.path.open("ab") as file:
        file.write(b'{"at":"20')
    asked.note(job(1), "fits", "", NOW)
    assert len(list(asked.lines())) == 2
    asked.path.write_bytes(b"nonsense\n")
    with pytest.raises(LocalError, match=r"line 1 of .*asked.jsonl is damaged: restore the file"):
        list(asked.lines())


def test_only_its_owner_reads_it(tmp_path):
    asked = Asked(tmp_path)
    asked.note(job(), "fits", "", NOW)
    assert asked.path.stat().st_mode & 0o777 == 0o600


def test_a_job_that_was_refused_after_a_rehearsal_counts_too(tmp_path):
    asked = Asked(tmp_path)
    asked.note(job(0), "refused", "parameters", NOW)
    assert asked.count_left(job(9), 3, NOW) == 2
