import json
from pathlib import Path

import numpy as np
import pytest

from tacit.choreo import Learnt, Ledger, Row
from tacit.choreo.fact import fact_called
from tacit.errors import LocalError
from tacit.report import Report, default_not_protected, traffic
from tacit.report.disclosures import fold_ledger, list_told
from tacit.report.words import human_bytes, human_seconds


def test_a_report_survives_json(report):
    assert Report.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False))) == report


def test_numpy_figures_survive_json(report_with):
    report = report_with(
        params={"gamma": np.float64(0.5), "n": np.int64(3)}, scores={"together": np.float64(0.9), "east alone": np.nan}
    )
    assert report.params == {"gamma": 0.5, "n": 3}
    assert report.scores == {"together": 0.9}
    assert Report.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False))) == report


def test_an_array_among_the_parameters_is_kept_as_its_shape_only(report_with):
    report = report_with(params={"landmarks": np.full((3, 2), 0.12345)})
    assert report.params == {"landmarks": "array of shape (3, 2)"}
    assert "0.12345" not in json.dumps(report.to_dict())


@pytest.mark.parametrize(
    ("change", "words"),
    [({"rounds": "many"}, "rounds"), ({"opens": [{"role": "holder"}]}, "opens"), ({"traffic": 3}, "traffic")],
)
def test_values_of_the_wrong_shape_are_refused_and_the_field_is_named(report, change, words):
    with pytest.raises(LocalError, match=rf"not a tacit report: .*{words}.*; pass what Report.to_dict\(\) returned"):
        Report.from_dict(report.to_dict() | change)


def test_a_missing_field_is_refused_and_named(report):
    values = report.to_dict()
    del values["parties"]
    with pytest.raises(LocalError, match="missing required field `parties`"):
        Report.from_dict(values)


def test_the_fingerprint_follows_the_content(report, report_with):
    assert report.fingerprint == report_with().fingerprint
    assert report.fingerprint != report_with(warnings=[]).fingerprint


def test_the_repr_is_one_short_line(report):
    assert repr(report) == "<Report 'Breast cancer, four hospitals': 5 sites, 6 rounds, 5.2 MB>"


def test_what_is_not_protected_is_said_by_default():
    text = " ".join(default_not_protected())
    assert "Poisoned inputs" in text
    assert "lies about its data" in text
    assert "differential privacy" in text


def test_traffic_adds_up_to_all_bytes_over_all_rounds(ledger):
    points = traffic(ledger)
    assert [n for n, _ in points] == list(range(1, ledger.rounds + 1))
    assert points[-1][1] == ledger.bytes
    assert points == sorted(points)


def test_equal_rows_of_several_senders_become_one(report):
    rows = fold_ledger(report.learnt, list(report.parties))
    masked = [row for row in rows if row.message == "Masked"]
    assert [(row.who, row.senders, row.times, row.bytes) for row in masked] == [
        ("coordinator", "north, south, east, west", "3 times each", 12 * 432_000)
    ]
    assert [row.who for row in rows if row.message == "Support"] == ["everyone else"]
    assert [row.who for row in rows if row.message == "PublicKey"] == ["everyone"]


def test_rows_that_came_unequally_often_stay_apart():
    rows = fold_ledger(
        [
            Learnt("c", (fact_called("the sum"),), "a", "Masked", 3, 30),
            Learnt("c", (fact_called("the sum"),), "b", "Masked", 2, 20),
        ],
        "abc",
    )
    assert [(row.senders, row.times) for row in rows] == [("a", "3 times"), ("b", "2 times")]


def test_no_byte_of_a_ledger_is_lost_by_merging(report):
    assert sum(row.bytes for row in fold_ledger(report.learnt, list(report.parties))) == report.bytes


def test_figures_read_as_people_say_them():
    assert [human_bytes(n) for n in (0, 999, 1000, 1_402_331, 999_999, 3 * 10**12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.4 MB",
        "1.0 MB",
        "3.0 TB",
    ]
    assert [human_seconds(s) for s in (0.0123, 1.284, 59.96, 125, 3725)] == [
        "12.3 ms",
        "1.3 s",
        "1 min 0 s",
        "2 min 5 s",
        "1 h 2 min",
    ]


def test_the_page_is_written_and_its_path_returned(report, tmp_path):
    path = report.to_html(str(tmp_path / "run.html"))
    assert path == tmp_path / "run.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]


def test_a_failed_write_leaves_the_old_page_and_no_draft(report, tmp_path, monkeypatch):
    path = tmp_path / "run.html"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(LocalError, match="No space left on device"):
        report.to_html(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]


def test_a_missing_directory_is_named(report, tmp_path):
    with pytest.raises(
        LocalError, match=r"cannot be written to .*nowhere.*No such file.*name a file in a directory that exists"
    ):
        report.to_html(tmp_path / "nowhere" / "run.html")


def test_a_directory_is_no_file(report, tmp_path):
    with pytest.raises(LocalError, match=r"cannot be written to .*: Is a directory"):
        report.to_html(tmp_path)
    assert not list(tmp_path.parent.glob("*.tmp"))


def test_facts_say_who_learnt_which_fact_from_whom_how_often():
    label, size = fact_called("tests.label"), fact_called("tests.size")
    ledger = Ledger([Row(f"/{i}/M", "a", "hub", "holder", "coordinator", "M", (label, size), (), 8) for i in range(2)])
    ledger.rows.append(Row("/N", "a", "hub", "holder", "coordinator", "N", (size,), (), 8))
    assert list_told(ledger.learnt()) == [("hub", label, "a", 2), ("hub", size, "a", 3)]


def test_the_facts_of_a_report_are_those_of_its_ledger(report, ledger):
    assert sum(told.times for told in report.facts) == len(ledger)
    assert {told.fact for told in report.facts} == {fact for row in ledger for fact in row.tells}


def test_a_report_of_0_1_0_is_read_with_its_prose(report):
    values = report.to_dict()
    for key, name in (("opens", "what"), ("learnt", "learnt")):
        values[key] = [
            {**line, name: getattr(own, name)} for line, own in zip(values[key], getattr(report, key), strict=True)
        ]
        for line in values[key]:
            del line["facts"]
    again = Report.from_dict(values)
    assert again.to_text() == report.to_text()
    assert [opened.what for opened in again.opens] == [opened.what for opened in report.opens]
