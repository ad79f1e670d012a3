"""A hospital whose records are in a database: what its query selects is what a run uses, or the run says why not."""

import logging
import re
import sqlite3

import pytest

from tacit.consortium.broker.server import find_server
from tacit.consortium.site import party, sources
from tacit.consortium.site.example_files import example_party
from tacit.errors import MissingExtraError

pytest.importorskip("nats", reason="needs the extra 'nats'")
pytest.importorskip("adbc_driver_manager", reason="no ADBC driver: pip install '.[sql]'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

pytestmark = pytest.mark.slow
CREATE = (
    "drop table if exists cohort",
    "create table cohort (patient integer primary key, age double precision, dose double precision, outcome integer)",
    *(f"insert into cohort values ({i}, {i}, {i % 7}.5, {i % 2})" for i in range(60)),  # noqa: S608 - numbers
)
QUERY = "select * from cohort where patient < 1000"
HORSE = "correct-horse"  # the password of the tests' PostgreSQL


class Sqlite:
    """A file, with the methods of the other one."""

    def __init__(self, folder) -> None:
        self.file = folder / "hospital.db"

    def url(self):
        return f"sqlite://{self.file}"

    def do(self, *statements):
        with sqlite3.connect(self.file) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def hospital(request, shared, tmp_path_factory):
    """The consortium, where north has its records in a database."""
    database = (
        Sqlite(tmp_path_factory.mktemp("db")) if request.param == "sqlite" else request.getfixturevalue("postgres")
    )
    database.do(*CREATE)
    home = shared.home("north")
    connection = home / "cohort.connection"
    connection.touch(mode=0o600)
    connection.write_text(f"{database.url()}\n")
    table = f'query = "{QUERY}"\nconnection_file = "cohort.connection"\nlabel = "outcome"\nid = "patient"'
    text = example_party("north", ca_fingerprint=shared.fingerprint, party_timeout=60.0)
    (home / "site.toml").write_text(text.replace('path = "cohort.csv"', table))
    shared.close_site("north")
    shared.open_site("north")
    yield shared, database
    shared.close_site("north")
    shared.prepare("north")
    shared.open_site("north")


@pytest.fixture
def north(hospital, house, caplog, monkeypatch):
    """The consortium and the database as they were, where every proposal has the query run; and what the log says."""
    monkeypatch.setattr(party, "RECENT", 0.0)
    caplog.set_level(logging.INFO, logger="tacit")
    hospital[1].do(*CREATE)
    return house, hospital[1]


def lines(caplog, words):
    return [line.getMessage() for line in caplog.records if words in line.getMessage()]


def wait_for_people(house, name, job):
    """Let everybody but one site say yes."""
    house.set_policy(name, automatic=False)
    house.propose(job)
    others = {"north", "south", "east"} - {name}
    house.until(lambda: {house.state(each, job) for each in others} == {"accepted"})


def test_a_run_uses_what_the_query_selects(north):
    house, database = north
    database.do("insert into cohort values (1000, 1000000, 0.5, 1)")  # which the query leaves out
    job = house.new()
    house.propose(job)
    house.everywhere(job, "finished")
    parts = [house.site("north").tables.part(job, held_out=held_out) for held_out in (False, True)]
    assert parts[0].features == ("age", "dose")
    assert sorted(age for part in parts for age in part.X[:, 0]) == [*range(60)]
    assert sorted({*parts[0].y.tolist()}) == [0, 1]


def test_rows_in_another_order_are_the_same_records(north):
    house, database = north
    job = house.new()
    wait_for_people(house, "east", job)
    database.do("create table again as select * from cohort order by dose", "delete from cohort")
    database.do("insert into cohort select * from again", "drop table again")
    house.set_policy("east", automatic=True)
    house.everywhere(job, "finished")


def test_records_that_change_between_the_yes_and_the_run_stop_it_and_nothing_is_lost(north, caplog):
    house, database = north
    job = house.new()
    wait_for_people(house, "east", job)
    database.do("update cohort set age = 17 where patient = 18")
    house.set_policy("east", automatic=True)
    house.until(lambda: house.state("north", job) == "stopped")
    (line,) = lines(caplog, "this start has")
    assert "restore the data the run began with, or start a new run; let a query select by what does not change" in line
    stop = house.folder_at("north", job).finished
    assert (stop.party, stop.place, stop.kind) == ("north", "its own part", "data")
    database.do("update cohort set age = 18 where patient = 18")
    house.until(lambda: house.state("clearing", job) == "stopped")
    with house.analyst() as analyst:
        analyst.resume(job.id, "clearing")
        house.everywhere(job, "finished")


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("drop table cohort", r"the query of \[datasets.cohort\] failed in .*cohort"),
        ("delete from cohort", r"the query of \[datasets.cohort\] returned no rows: correct it, or fill"),
    ],
)
def test_a_query_that_fails_or_finds_nothing_is_a_refusal_at_the_proposal(north, caplog, trouble, words):
    house, database = north
    database.do(trouble)
    job = house.new()
    house.propose(job)
    house.everywhere(job, "refused")
    reason = house.folder_at("north", job).answer.record.reason
    assert reason == (
        "this site cannot read its dataset 'cohort' (QueryError), and its log says why: "
        "submit the job again once that is mended"
    )
    (line,) = [each for each in lines(caplog, job.id[:8]) if re.search(words, each)]
    assert "\n" not in line
    database.do(*CREATE)
    again = house.new()
    house.propose(again)
    house.everywhere(again, "finished")


def test_a_database_that_is_away_when_the_run_begins_stops_it_by_name_and_it_goes_on_later(north):
    house, database = north
    job = house.new()
    wait_for_people(house, "east", job)
    database.do("alter table cohort rename to away")
    house.set_policy("east", automatic=True)
    house.until(lambda: house.state("clearing", job) == "stopped")
    stop = house.folder_at("north", job).finished
    assert (stop.party, stop.place, stop.kind) == ("north", "the start", "QueryError")
    database.do("alter table away rename to cohort")
    with house.analyst() as analyst:
        analyst.resume(job.id, "clearing")
        house.everywhere(job, "finished")


def test_while_people_think_the_database_is_left_alone(north, monkeypatch):
    house, _ = north
    run, asked = sources.read_query, []

    def count(*args):
        asked.append(args)
        return run(*args)

    monkeypatch.setattr(sources, "read_query", count)
    job = house.new()
    house.set_policy("north", automatic=False)
    house.propose(job)
    house.until(lambda: house.state("north", job) == "pending")
    for _ in range(5):
        house.site("north").wake(job.id)
        house.tick()
    assert len(asked) == 1
    house.set_policy("north", automatic=True)
    house.everywhere(job, "finished")
    assert len(asked) == 3  # at the proposal, at the yes, at the run


def test_many_proposals_are_no_flood_for_a_database_and_a_job_that_waits_is_not_lost_when_it_is_away(
    north, monkeypatch
):
    house, database = north
    waiting, more = house.new(), [house.new() for _ in range(4)]
    house.set_policy("north", automatic=False)
    house.propose(waiting)
    house.until(lambda: house.state("north", waiting) == "pending")
    database.do("alter table cohort rename to away")
    monkeypatch.setattr(party, "RECENT", 60.0)
    run, asked = sources.read_query, []
    monkeypatch.setattr(sources, "read_query", lambda *args: asked.append(args) or run(*args))
    house.site("north").tables._sources["cohort"]._tried = float("-inf")  # long ago
    for job in more:
        house.propose(job)
        house.until(lambda job=job: house.state("north", job) == "refused")
    assert len(asked) == 1
    database.do("alter table away rename to cohort")
    assert house.state("north", waiting) == "pending"
    house.set_policy("north", automatic=True)
    house.everywhere(waiting, "finished")


def test_a_site_says_at_its_start_what_it_offers_or_what_is_wrong_with_it(north, caplog):
    house, database = north
    house.close_site("north")
    house.open_site("north").look_at_data()
    assert lines(caplog, "dataset cohort") == ["dataset cohort: 60 rows, 2 columns"]
    database.do("drop table cohort")
    house.close_site("north")
    house.open_site("north").look_at_data()
    assert "dataset cohort cannot be used, and jobs on it are refused: the query of" in lines(caplog, "dataset")[-1]
    (house.home("north") / "cohort.connection").chmod(0o640)
    house.close_site("north")
    house.open_site("north").look_at_data()
    (house.home("north") / "cohort.connection").chmod(0o600)
    (line,) = lines(caplog, "chmod")
    assert re.search(r"cohort.connection is open to others \(mode 0640\), and a connection is its owner's alone", line)


def test_no_file_and_no_line_of_a_site_has_the_connection(north, caplog):
    house, database = north
    connection = house.home("north") / "cohort.connection"
    connection.write_text(database.url().replace(HORSE, "wrong-horse").replace("hospital.db", "hospital.wrong-horse"))
    job = house.new()
    house.propose(job)
    house.everywhere(job, "refused")
    connection.write_text(database.url())
    for file in (house.folder / "homes").rglob("*"):
        if file.is_file() and file != connection:
            content = file.read_bytes()
            assert not [word for word in (b"horse", database.url().encode()) if word in content], file
    assert "horse" not in caplog.text
    assert database.url() not in caplog.text
    assert lines(caplog, "cannot be opened (")
