"""What sites declare of their tables is compared at the proposal, a line for each difference; values never are."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tacit.consortium.jobs.preflight import combine, local_checks, render, report_of
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.settings import Dataset, PartySettings, Schema
from tacit.errors import LocalError
from tacit.federation.part import part_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PARTIES = ("north", "south", "east")


@lru_cache
def proposed(classes=None):
    steps = ({"use": "TableVectorizer"}, {"use": "SVC"})
    terms = {"partition": "horizontal", "parties": PARTIES, "coordinator": "clearing", "dataset": "cohort"}
    why = {"submitter": "analyst", "purpose": "readmission", "legal_basis": "consent", "classes": classes, "now": NOW}
    return propose("study", {"steps": steps, "seed": 1}, **terms, **why)


def part_with(**changes):
    """Ten records of a number, a text and a label."""
    held = {"chol": np.linspace(100, 300, 10), "sex": np.arange(10.0) % 2, "texts": ("f", "m"), "y": ["no", "yes"] * 5}
    held |= changes
    X = np.column_stack([held["chol"], held["sex"]])
    return part_of(X, np.array(held["y"]), None, ("chol", "sex"), texts={"sex": held["texts"]})


def dataset(**declared):
    return Dataset(path=Path("cohort.csv"), label="ill", **declared)


def lines(job=None, part=None, **declared):
    """What everybody is told of three sites that declare this."""
    job = proposed() if job is None else job
    part = part_with() if part is None else part
    made = {p: report_of(job, p, part, NOW, [], dataset(**declared.get(p, {}))) for p in PARTIES}
    reports = {**made, "clearing": report_of(job, "clearing", None, NOW, [])}
    return render(combine(job, reports)).splitlines()[1:]


def test_sites_that_declare_the_same_or_nothing_pass():
    both = {"units": {"chol": "mg/dl"}, "classes": ("no", "yes"), "categories": {"sex": ("f", "m")}}
    assert lines() == []
    assert lines(north=both, east={**both, "categories": {"sex": ("m", "f")}}) == []


@pytest.mark.parametrize(
    ("here", "there", "difference"),
    [
        ({"units": {"chol": "mg/dl"}}, {"units": {"chol": "mmol/l"}}, "column 'chol': mmol/l here, mg/dl at north"),
        ({"columns": {"sex": "text"}}, {"columns": {"sex": "number"}}, "column 'sex': numbers here, texts at north"),
        (
            {"categories": {"sex": ("f", "m")}},
            {"categories": {"sex": ("female", "male")}},
            "column 'sex': the categories 'female', 'male' here, the categories 'f', 'm' at north",
        ),
        ({"classes": ("no", "yes")}, {"classes": (0, 1)}, "the classes 0, 1 here, 'no', 'yes' at north"),
    ],
)
def test_each_difference_is_a_line_that_says_who_what_and_what_to_do(here, there, difference):
    remedy = "write both alike, or correct [datasets.NAME] where it is wrong"
    assert lines(north=here, east=there) == [f"  east declares its table otherwise ({difference}): {remedy}"]


def test_only_what_is_declared_of_the_columns_of_the_job_leaves_a_site():
    job = msgspec.structs.replace(proposed(), columns={"north": ("chol",), "south": "all", "east": "all"})
    declared = dataset(units={"chol": "mg/dl", "hiv": "copies/ml"}, columns={"sex": "text"})
    told = report_of(job, "north", part_with(), NOW, [], declared).declares
    assert told == Schema(units={"chol": "mg/dl"})


def problems(job=None, part=None, **declared):
    job, part = proposed() if job is None else job, part_with() if part is None else part
    return local_checks(job, part, NOW, party="north", declared=dataset(**declared))


@pytest.mark.parametrize(
    ("declared", "detail"),
    [
        ({"columns": {"sex": "number"}}, "column 'sex' holds texts, and this site declares numbers"),
        ({"categories": {"sex": ("f",)}}, "column 'sex' has 5 values that this site does not declare"),
        ({"categories": {"chol": (100.0,)}}, "column 'chol' has 9 values that this site does not declare"),
        ({"classes": ("no",)}, "5 records have a class that this site does not declare"),
    ],
)
def test_a_table_that_is_not_as_its_own_site_declares_is_data_that_does_not_fit(declared, detail):
    (found,) = problems(**declared)
    assert (found.code, found.detail) == ("cells", detail)
    told = report_of(proposed(), "north", part_with(), NOW, [found], dataset(**declared))
    assert told.codes == ("data",), "the others hear no more than that"


def test_a_column_without_any_value_is_of_whatever_kind_was_declared():
    assert problems(part=part_with(chol=np.full(10, np.nan)), columns={"chol": "date"}) == []


def test_classes_of_the_job_are_compared_with_those_that_a_site_declares():
    (found,) = problems(job=proposed(("no", "yes")), classes=("no", "yes", "unknown"))
    assert found.code == "schema"
    assert found.detail == "the classes 'no', 'yes', 'unknown' here, 'no', 'yes' in the job"


PARTY = """
name = "north"
key = "k"
certificate = "c"
members = "m"
ca_fingerprint = "00000000000000000000000000000000"
state = "s"
servers = ["tls://clearing.example:4222"]
policy = "p"

[datasets.cohort]
path = "cohort.csv"
classes = ["no", "yes"]

[datasets.cohort.columns]
chol = "number"

[datasets.cohort.units]
chol = "mg/dl"

[datasets.cohort.categories]
sex = ["f", "m"]
"""


def test_a_site_declares_it_beside_its_dataset(tmp_path):
    (tmp_path / "north.toml").write_text(PARTY)
    found = PartySettings.from_toml(tmp_path / "north.toml", files=False).datasets["cohort"]
    assert found.schema(("chol", "sex")) == Schema(
        columns={"chol": "number"}, units={"chol": "mg/dl"}, categories={"sex": ("f", "m")}, classes=("no", "yes")
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"number"', '"integer"', "datasets.*: Invalid enum value 'integer'"),
        ('["f", "m"]', '["f", "f"]', "datasets.cohort.categories: 'sex' names nothing, or a value twice: name each"),
        ('["no", "yes"]', "[]", "datasets.cohort.classes names nothing, or a value twice"),
    ],
)
def test_a_wrong_declaration_is_refused_in_one_line(tmp_path, old, new, says):
    (tmp_path / "north.toml").write_text(PARTY.replace(old, new))
    with pytest.raises(LocalError, match=says):
        PartySettings.from_toml(tmp_path / "north.toml", files=False)
