"""Queries: what three databases return, in one snapshot, without a word of the connection."""

import sqlite3
import sys
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from tacit.errors import LocalError, MissingExtraError
from tacit.federation.databases.database import QueryError
from tacit.federation.databases.query import DATABASES, Connection, check_query, read_query
from tacit.federation.folders import Limit
from tacit.federation.frames import arrow_columns
from tacit.federation.readers import from_loaded

pytest.importorskip("adbc_driver_manager", reason="no ADBC driver: pip install '.[sql]'")

ROWS = [
    ("c", 61, 1.5, "Bern", "2024-03-01"),
    ("a", 40, None, "Basel", "2023-12-24"),
    ("b", 52, 2.25, None, "2024-01-31"),
]
CREATE = "create table cohort (patient text, age integer, dose double precision, city text, seen date)"
LIMIT = Limit(1000, 10)
PLACE = "the environment variable COHORT"


def insert(rows):
    cells = (", ".join("null" if cell is None else repr(cell) for cell in row) for row in rows)
    return f"insert into cohort values {', '.join(f'({each})' for each in cells)}"  # noqa: S608 - a test's own words


@pytest.fixture
def sqlite(tmp_path):
    file = tmp_path / "hospital's cohort.db"
    connection = sqlite3.connect(file)
    for statement in (CREATE, insert(ROWS)):
        connection.execute(statement)
    connection.commit()
    connection.close()
    return f"sqlite://{file}"


@pytest.fixture
def duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="no DuckDB: pip install '.[sql]'")
    with duckdb.connect(tmp_path / "cohort.duckdb") as connection:
        for statement in (CREATE, insert(ROWS)):
            connection.execute(statement)
    return f"duckdb://{tmp_path / 'cohort.duckdb'}"


@pytest.fixture
def postgresql(postgres):
    postgres.do("drop table if exists cohort", CREATE, insert(ROWS))
    return postgres.url()


@pytest.fixture(params=list(DATABASES))
def connection(request):
    """Each database with the same table."""
    return Connection(request.getfixturevalue(request.param), PLACE)


def select(connection, query="select * from cohort", limit=LIMIT, ids=None):
    return read_query(connection, query, limit, "the query of [datasets.cohort]", ids)


def refused(connection, query="select * from cohort", limit=LIMIT):
    with pytest.raises(QueryError) as caught:
        select(connection, query, limit)
    said = str(caught.value)
    assert "\n" not in said
    assert connection.address not in said
    assert "correct-horse" not in said
    return said


def test_numbers_texts_dates_and_gaps_arrive_alike_from_every_database(connection):
    found = select(connection, "select * from cohort order by age")
    table = from_loaded(arrow_columns(found, "cohort"), "cohort", None, ["patient"], raw=True)
    assert table.columns["patient"].tolist() == ["a", "b", "c"]
    assert table.features == ("age", "dose", "city", "seen")
    days = [(each - date(1970, 1, 1)).days for each in (date(2023, 12, 24), date(2024, 1, 31), date(2024, 3, 1))]
    expected = [[40, np.nan, 0, days[0]], [52, 2.25, np.nan, days[1]], [61, 1.5, 1, days[2]]]
    np.testing.assert_array_equal(table.X, expected)
    assert (table.texts, table.dates) == ({"city": ("Basel", "Bern")}, ("seen",))


def test_rows_come_in_the_stated_order_and_else_in_one_that_stays(connection):
    def patients(query, **ids):
        return select(connection, query, **ids).column("patient").to_pylist()

    assert patients("select * from cohort order by age desc") == ["c", "b", "a"]
    assert patients("select * from cohort", ids="patient") == ["a", "b", "c"]
    assert patients("select age, patient from cohort -- order by age desc") == ["a", "b", "c"]
    assert patients("select patient, 'order by age' as note from cohort") == ["a", "b", "c"]
    window = "select patient, rank() over (order by (age) desc) from (select * from cohort order by age desc) as c"
    assert patients(window) == ["a", "b", "c"]
    assert patients("select patient from cohort order by age; -- the youngest first") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "statement",
    ["delete from cohort", "insert into cohort (patient) values ('d')", "create table copies as select * from cohort"],
)
def test_a_session_cannot_write(connection, statement):
    try:
        said = refused(connection, statement)
        assert "it would write, and may only read" in said
    finally:
        assert select(connection).num_rows == 3


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select * from nobody", "nobody"),
        ("select weight from cohort", "weight"),
        ("select * form cohort", "syntax"),
        ("select 1", "returned no rows|fill"),
    ],
)
def test_a_query_that_fails_says_why_in_one_line(connection, query, words):
    said = refused(connection, f"{query} where false" if query == "select 1" else query)
    assert any(word in said for word in words.split("|"))
    assert said.startswith("the query of [datasets.cohort]")


def test_an_error_never_shows_a_value_of_a_record(connection):
    cast = {"sqlite": "json(city)", "duckdb": "cast(city as integer)", "postgresql": "cast(city as integer)"}
    said = refused(connection, f"select {cast[connection.kind]} from cohort")  # noqa: S608 - a test's own words
    assert not [city for city in ("Bern", "Basel") if city in said]
    assert f"try it with {connection.database.client} and the same connection" in said


def test_a_table_that_is_too_large_is_refused_before_it_is_all_here(connection):
    said = refused(connection, limit=Limit(2, 10))
    assert said == "the query of [datasets.cohort] has more than 2 rows: narrow it, or raise maximum_rows"
    wide = f"select '{'x' * 1_100_000}' as note from cohort"  # noqa: S608 - a test's own words
    assert "takes more than 1 MB: narrow it, or raise maximum_megabytes" in refused(connection, wide, Limit(10, 1))


def test_two_columns_of_one_name_are_refused(connection):
    assert "two columns named 'age'" in refused(connection, "select age, dose as age from cohort")


def test_a_database_that_is_not_there_is_one_line_without_the_connection(connection, monkeypatch):
    nowhere = connection.address.replace("cohort.d", "nothing.d").replace("tacit-pg-", "tacit-no-")
    assert nowhere != connection.address
    monkeypatch.setattr(connection, "address", nowhere)
    said = refused(connection)
    name = connection.database.name
    assert said.startswith(f"the query of [datasets.cohort]: {name} cannot be opened (")
    assert said.endswith(f": correct {PLACE}, or check the database")


@pytest.mark.parametrize("kind", list(DATABASES))
def test_a_missing_extra_is_named(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, f"adbc_driver_{kind}", None)
    with pytest.raises(MissingExtraError, match=rf"a query of {DATABASES[kind].name} needs the extra 'sql'"):
        select(Connection(f"{kind}:///somewhere", PLACE))


# PostgreSQL


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "wrong-horse"}, "user or password is wrong"),
        ({"user": "nobody-known"}, "user or password is wrong"),
        ({"name": "nowhere"}, "it has no such database"),
        ({"password": "wrong@horse"}, "cannot be opened"),  # libpq takes what follows the first @ for a host
        ({"name": "postgres?sslmode=never&x=wrong-horse"}, "not well-formed"),
    ],
)
def test_a_connection_that_is_refused_shows_nothing_of_itself(postgres, changed, words):
    said = refused(Connection(postgres.url(**changed), PLACE))
    assert words in said
    assert not [each for each in ("horse", "nobody-known", "nowhere", str(postgres.folder)) if each in said]


def test_a_query_reads_one_state_of_the_database_whatever_others_write_meanwhile(postgresql, postgres):
    connection = Connection(postgresql, PLACE)
    with connection.database.open(connection.address, LIMIT) as cursor:
        counted = []
        for _ in range(2):
            cursor.execute("select count(*) from cohort")
            counted.append(cursor.fetchone()[0])
            postgres.do("insert into cohort (patient) values ('d')")
        cursor.execute("select current_setting('transaction_isolation'), current_setting('transaction_read_only')")
        assert cursor.fetchone() == ("repeatable read", "on")
    assert counted == [3, 3]
    assert select(connection).num_rows == 5


def test_what_would_change_something_on_the_way_is_refused(postgresql, postgres):
    postgres.do("drop sequence if exists numbers", "create sequence numbers")
    connection = Connection(postgresql, PLACE)
    for query in ("select nextval('numbers')", "with x as (delete from cohort returning age) select * from x"):
        assert "it would write, and may only read" in refused(connection, query)


def test_types_of_postgresql_that_arrow_does_not_have_become_numbers_and_texts(postgresql):
    connection = Connection(postgresql, PLACE)
    own = "'0d6c6cba-3c1e-4e6e-9f3a-0f5f2ab5f6a1'::uuid as id, 2.50::numeric as price, 'NaN'::numeric as gap"
    found = select(connection, f"select {own}")
    assert [str(kind) for kind in found.schema.types] == ["string", "double", "double"]
    assert found.to_pylist()[0]["id"] == "0d6c6cba-3c1e-4e6e-9f3a-0f5f2ab5f6a1"
    assert found.to_pylist()[0]["price"] == 2.5
    assert "column 'cost' of a query is of type money" in refused(connection, "select 3::money as cost")


@pytest.mark.usefixtures("postgresql")
def test_a_user_who_may_not_read_is_told_what(postgres):
    postgres.do("drop role if exists guest", "create role guest login password 'correct-horse'")
    said = refused(Connection(postgres.url(user="guest"), PLACE))
    assert "(permission denied for table cohort)" in said


# SQLite and DuckDB


def test_a_column_of_sqlite_may_hold_whole_numbers_first_and_others_later(tmp_path):
    with sqlite3.connect(tmp_path / "long.db") as made:
        made.execute("create table long (n)")
        made.executemany("insert into long values (?)", [(i if i < 2500 else i + 0.5,) for i in range(3000)])
    made.close()
    found = select(Connection(f"sqlite://{tmp_path / 'long.db'}", PLACE), "select n from long", Limit(3000, 10))
    assert found.column("n").type == pa.float64()
    assert found.column("n").to_pylist()[-1] == 2999.5


def test_duckdb_reads_no_other_file_and_writes_none(duckdb, tmp_path):
    (tmp_path / "other.csv").write_text("a\n1\n")
    connection = Connection(duckdb, PLACE)
    for query in (f"select * from '{tmp_path}/other.csv'", f"copy cohort to '{tmp_path}/out.csv'"):  # noqa: S608 - a test's own words
        assert "it reads or writes another file, and may only read its own" in refused(connection, query)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_duckdb_takes_no_more_memory_than_a_table_may(duckdb):
    many = "select count(distinct a.range * 1000000 + b.range) as n from range(3000) a, range(3000) b"
    assert "it needs more than maximum_megabytes" in refused(Connection(duckdb, PLACE), many, Limit(10, 20))


def test_a_path_has_to_be_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "its path has to begin with /" in refused(Connection("sqlite:cohort.db", PLACE))


# Texts


def test_a_connection_shows_where_it_was_written_and_nothing_else():
    connection = Connection("postgresql://hospital:correct-horse@db.hospital.example/cohort\n", PLACE)
    assert repr(connection) == "Connection(postgresql:..., from the environment variable COHORT)"
    for text in ("mysql://hospital:correct-horse@db/cohort", "correct-horse", "", "postgresql"):
        with pytest.raises(
            QueryError, match="the environment variable COHORT holds no connection: write it like"
        ) as said:
            Connection(text, PLACE)
        assert "horse" not in str(said.value)


@pytest.mark.parametrize("query", ["select 1", " -- new\nSELECT ';' as x;", "with a as (select 1) select * from a"])
def test_a_single_statement_that_selects_is_a_query(query):
    check_query(query, "query")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "does not begin with select or with"),
        ("delete from cohort", "does not begin with select or with"),
        ("attach '/tmp/x' as x", "does not begin with select or with"),
        ("/* select */ update cohort set age = 1", "does not begin with select or with"),
        ("selection", "does not begin with select or with"),
        ("select 1; drop table cohort", "has more than one statement"),
    ],
)
def test_anything_else_is_refused_where_it_is_written(query, words):
    with pytest.raises(LocalError, match=rf"datasets.cohort.query {words}: write one"):
        check_query(query, "datasets.cohort.query")
