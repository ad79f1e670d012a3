"""What a site was asked about its data: counted by submitter and day, written down before it is told."""

from datetime import UTC, datetime, timedelta

import pytest

from tacit.consortium.asked import Asked, Line
from tacit.errors import LocalError

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def line(number=0, submitter="analyst", at=NOW, answer="fits"):
    return Line(at=at, submitter=submitter, job=f"{number:032x}", about="pan_svm on cohort", answer=answer)


def test_a_submitter_gets_so_many_answers_in_a_day(tmp_path):
    asked = Asked(tmp_path / "registers")
    assert asked.left("analyst", 3, NOW) == 3
    for number in range(3):
        asked.note(line(number))
    assert asked.left("analyst", 3, NOW) == 0
    assert asked.left("somebody", 3, NOW) == 3
    assert asked.left("analyst", 3, NOW + timedelta(days=1)) == 3
    assert [each.job for each in asked.lines()] == [f"{n:032x}" for n in range(3)]


def test_the_same_job_again_counts_once(tmp_path):
    asked = Asked(tmp_path)
    for _ in range(5):
        asked.note(line())
    assert asked.left("analyst", 3, NOW) == 2


def test_a_torn_line_is_dropped_and_a_damaged_one_is_told(tmp_path):
    asked = Asked(tmp_path)
    asked.note(line())
    with asked.path.open("ab") as file:
        file.write(b'{"at":"20')
    asked.note(line(1))
    assert len(list(asked.lines())) == 2
    asked.path.write_bytes(b"nonsense\n")
    with pytest.raises(LocalError, match=r"line 1 of .*asked.jsonl is damaged: restore the file"):
        list(asked.lines())


def test_only_its_owner_reads_it(tmp_path):
    asked = Asked(tmp_path)
    asked.note(line())
    assert asked.path.stat().st_mode & 0o777 == 0o600
