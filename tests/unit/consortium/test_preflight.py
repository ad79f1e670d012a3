import dataclasses
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from job_files import one_step
from tacit.choreo.declaration import plain
from tacit.consortium.consent import risks
from tacit.consortium.jobs import preflight
from tacit.consortium.jobs.preflight import (
    CODES,
    Problem,
    combine,
    concerns,
    local_checks,
    public_code,
    render,
    report_of,
)
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.settings import Dataset
from tacit.federation.part import part_of
from tacit.registry import PROTOCOLS

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PARTIES = ("north", "south", "east")


@lru_cache
def proposed():
    return propose(
        "study",
        one_step("SVC", kernel="linear", gamma=1.0, degree=3, coef0=0.0, alpha=0.1),
        partition="vertical",
        parties=PARTIES,
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        labeller="north",
        rows=dict.fromkeys(PARTIES, 10),
        classes=("no", "yes"),
        columns={"north": ("age", "bmi")},
        now=NOW,
    )


def job(**changes):
    return msgspec.structs.replace(proposed(), **changes)


def by_rows(**changes):
    return job(partition="horizontal", labeller=None, params={**job().params, "partition": "horizontal"}, **changes)


def table(n=10, features=("age", "bmi"), y=("no", "yes"), low=20.0):
    labels = None if y is None else np.array([y[i % len(y)] for i in range(n)])
    return part_of(low + np.arange(float(n * len(features))).reshape(n, -1), labels, None, features)


DECLARED = Dataset(path=Path("cohort.csv"), ranges={"age": (0, 120)})


def codes(proposal=None, part=None, now=NOW, *, declared=DECLARED, **site):
    return [
        p.code for p in local_checks(proposal or job(), part or table(), now, party="north", declared=declared, **site)
    ]


def reports(**changes):
    """Three parties and a coordinator without a problem, but for what is given."""
    parts = {p: None if p == "clearing" else table() for p in job().roster.parties}
    made = {p: report_of(job(), p, part, NOW, []) for p, part in parts.items()}
    return {p: msgspec.structs.replace(report, **changes.get(p, {})) for p, report in made.items()}


def test_a_site_in_order_has_no_problem(tmp_path):
    assert codes(expires=NOW + timedelta(days=90), state=tmp_path) == []
    assert render(combine(job(), reports())) == "preflight: every check passed"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"part": table(features=("age", "height"))}, "features"),
        ({"part": table(n=11)}, "records"),
        ({"part": table(low=110.0)}, "cells"),
        ({"part": table(y=("no", "perhaps"))}, "classes"),
        ({"part": table(y=None)}, "labels"),
        ({"part": table(y=(0, 1))}, "dtypes"),
        ({"part": table(low=np.nan), "declared": None}, "cells"),
        ({"proposal": job(version="9.9")}, "version"),
        ({"proposal": job(source="0" * 64)}, "source"),
        ({"expires": NOW + timedelta(hours=3)}, "certificate"),
    ],
)  # fmt: skip
def test_each_check_has_its_code(change, code):
    assert codes(**change) == [code]


def test_clocks_sixty_seconds_apart_are_close_enough():
    assert combine(job(), reports(north={"clock": NOW + timedelta(seconds=60)})) == []


def test_only_the_labeller_needs_labels():
    assert [p.code for p in local_checks(job(), table(y=None), NOW, party="south")] == []


def test_records_that_a_study_holds_out_count_as_declared_and_are_checked_like_the_others():
    whole, part, held_out = table(10), table(6), table(4)
    assert codes(part=whole) == codes(part=part, held_out=held_out) == []
    assert codes(part=part) == codes(part=part, held_out=table(5)) == ["records"]
    assert codes(part=part, held_out=table(4, y=("no", "perhaps"))) == ["classes"]
    assert codes(part=part, held_out=table(4, low=100.0)) == []
    assert codes(part=part, held_out=table(4, low=120.0)) == ["cells"]


def test_a_site_with_no_record_left_after_the_hold_out_says_so_in_one_line():
    whole = table(10)
    none = part_of(whole.X[:0], whole.y[:0], None, whole.features)
    (found,) = local_checks(job(), none, NOW, party="north", held_out=whole)
    assert found == Problem("north", "left", "all 10 are to judge by")
    assert public_code(found.code) == "data"  # others hear no more than that


def test_undeclared_columns_and_rows_are_not_checked():
    assert (
        codes(job(columns=dict.fromkeys(PARTIES, "all"), rows=dict.fromkeys(PARTIES)), table(n=7, features=("u",)))
        == []
    )


def test_a_full_disk_is_found(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")  # noqa: PYI024 - as shutil's
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda _: usage(10, 10, 100))
    (problem,) = local_checks(job(), table(), NOW, party="north", state=tmp_path)
    assert problem.code == "disk"


def test_more_than_one_blas_thread_is_found(monkeypatch):
    monkeypatch.setattr(
        preflight,
        "threadpool_info",
        lambda: [{"user_api": "blas", "num_threads": 4}, {"user_api": "openmp", "num_threads": 8}],
    )
    assert codes() == ["blas"]


def test_a_coordinator_checks_its_own_site_only():
    assert local_checks(job(), None, NOW, party="clearing") == []


def test_a_report_holds_codes_and_no_value():
    part = table(n=4321, low=98765.0, y=("secret-class", "yes"))
    problems = local_checks(job(), part, NOW, party="north", declared=DECLARED)
    assert {p.code for p in problems} == {"records", "cells", "classes"}
    report = report_of(job(), "north", part, NOW, problems)
    assert report.codes == ("data",)
    sent = (
        msgspec.json.encode(report)
        .decode()
        .replace(report.source, "")
        .replace(report.features, "")
        .replace(report.order, "")
    )  # digests may have any digits
    assert not any(word in sent for word in ("4321", "98765", "secret-class", "age", "bmi"))


def test_whatever_is_wrong_with_the_data_the_report_is_the_same():
    wrong = [
        table(n=11),
        table(low=110.0),
        table(y=("no", "perhaps")),
        table(low=np.nan),
        table(n=3, low=500.0, y=("a", "b")),
    ]
    told = [
        report_of(job(), "north", part, NOW, local_checks(job(), part, NOW, party="north", declared=DECLARED))
        for part in wrong
    ]
    assert {report.codes for report in told} == {("data",)}


def test_halving_the_range_of_a_job_finds_no_value():
    """Once 28 proposals gave a party's largest value exactly.

    Answers must not depend on values, whatever a job says of their range.
    """

    def with_range(value):
        step = plain("steps", ({"use": "GramSVC", "kernel": "linear", "feature_range": value},))
        return job(params={**job().params, "steps": step})

    small, large, ranges = table(low=1.0), table(low=1e6), [2.0**i for i in range(18, 24)]
    answers = [[codes(with_range(each), part, declared=None) for each in ranges] for part in (small, large)]
    assert answers[0] == answers[1]
    declared = Dataset(path=Path("cohort.csv"), largest=2e6)
    answers = [[codes(with_range(each), part, declared=declared) for each in ranges] for part in (small, large)]
    assert answers[0] == answers[1] == [["bounds"]] * 3 + [[]] * 3


def test_one_report_has_every_problem_of_every_party():
    found = combine(
        job(),
        reports(
            north={"codes": ("disk", "data")}, south={"version": "0.0.1"}, east={"clock": NOW + timedelta(minutes=5)}
        ),
    )
    assert found == [
        Problem("north", "disk"),
        Problem("north", "data"),
        Problem("south", "version"),
        Problem("east", "clock"),
    ]
    text = render(found)
    assert text.splitlines()[0] == "preflight: 4 problems, nothing was started"
    assert "  east has a clock more than 60 s off: set it by network time (NTP)" in text.splitlines()


def test_a_problem_found_twice_is_told_once():
    assert combine(job(), reports(south={"version": "0.0.1", "codes": ("version",)})) == [Problem("south", "version")]


def test_of_two_clocks_that_disagree_both_are_named():
    two = {p: r for p, r in reports(south={"clock": NOW + timedelta(minutes=5)}).items() if p in {"north", "south"}}
    assert [p.party for p in combine(job(), two) if p.code == "clock"] == ["north", "south"]


def test_a_party_without_a_report_is_named():
    found = combine(job(), {p: r for p, r in reports().items() if p != "east"})
    assert render(found).splitlines()[1] == "  east sent no report: start tacit party there, and look at its log"


def test_declared_rows_that_differ_do_not_fit_a_vertical_split():
    uneven = job(rows={"north": 10, "south": 11, "east": 10})
    assert combine(uneven, reports()) == [Problem("the job", "job")]
    assert combine(by_rows(rows=uneven.rows), reports()) == []


def test_feature_names_that_differ_or_are_in_another_order_do_not_fit_a_horizontal_split(monkeypatch):
    flat = by_rows(columns=dict.fromkeys(PARTIES, "all"))
    made = {p: report_of(flat, p, table(features=("age", "size" if p == "east" else "bmi")), NOW, []) for p in PARTIES}
    made["clearing"] = report_of(flat, "clearing", None, NOW, [])
    assert combine(flat, made) == [Problem("east", "features")]
    turned = {
        p: report_of(flat, p, table(features=("bmi", "age") if p == "east" else ("age", "bmi")), NOW, [])
        for p in PARTIES
    }
    turned["clearing"] = made["clearing"]
    assert combine(flat, turned) == []  # a study puts them in one order
    plain = dataclasses.replace(PROTOCOLS["study"], orders_columns=False)  # as a protocol that a package brings
    monkeypatch.setattr(preflight, "PROTOCOLS", {"study": plain})
    assert combine(flat, turned) == [Problem("east", "order")]
    assert "east has the same columns in another order: list them in [columns] of the job" in render(
        combine(flat, turned)
    )


def test_a_code_of_a_later_version_does_not_hide_the_report():
    assert "north reports 'moon': install the same version" in render([Problem("north", "moon")])


def test_the_own_site_reads_the_details():
    text = render(local_checks(job(), table(n=11), NOW, party="north"))
    assert (
        "north has another number of records than the job declares, or room for (11 records here, 10 in the job):"
        " correct [rows]" in text
    )


def test_every_code_says_what_and_what_to_do():
    assert all(what and remedy for what, remedy in CODES.values())


@pytest.mark.parametrize("changes", [{}, {"columns": {"north": ("age",), "south": "all", "east": "all"}}])
@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_who_could_work_out_whose_data_is_a_warning_and_no_problem(changes, partition):
    labels = {"labeller": None} if partition == "horizontal" else {}
    asked = job(partition=partition, params={**job().params, "partition": partition}, **labels, **changes)
    found = concerns(asked)
    both = "clearing, which deals the random numbers, and any one of north, south, east together"
    assert found == [f"nobody can work out records of others without {both}: forbid it by agreement"]
    assert render([], found).splitlines() == ["preflight: every check passed", f"  warning: {found[0]}"]


GRAM = "from the gram matrix and the cells they own: forbid it by agreement, or choose a method that opens none"


def test_of_a_protocol_that_opens_a_gram_matrix_people_read_whose_columns_it_gives_away(monkeypatch):
    monkeypatch.setattr(risks, "shows_gram", lambda _: True)
    asked = job(columns={"north": ("age",), "south": ("bmi", "dose"), "east": ("x", "y")})
    lone = f"clearing and all other parties together can work out all data of north, up to a sign, {GRAM}"
    assert lone in concerns(asked)
    assert lone not in concerns(job(columns={**asked.columns, "north": ("age", "z")}))
