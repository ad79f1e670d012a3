"""Raw tables: texts, dates, gaps, other separators, and columns in another order."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from tacit import Federation, LocalError
from tacit.federation import as_table, read

NORTH = "age,region,seen,ill\n40,EU,2024-01-01,0\n50,US,,1\n,EU,2024-01-03,1\n"
SOUTH = "seen;ill;region;age\n1.2.2024;0;;40,5\n3.2.2024;1;Asia;?\n;0;US;39\n"


def write(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return [tmp_path / f"{name}.csv" for name in files]


def raw(paths, **options):
    given = {"partition": "horizontal", "label": "ill", "raw": True, "allow_two_parties": True, **options}
    return Federation.from_files(paths, **given)


def test_columns_in_another_order_are_matched_by_name(tmp_path):
    fed = raw(write(tmp_path, north=NORTH, south=SOUTH))
    assert fed.features == ("age", "region", "seen")
    assert all(part.features == fed.features for part in fed.parts.values())
    np.testing.assert_array_equal(fed.parts["south"].X[:, 0], [40.5, np.nan, 39.0])


def test_each_party_knows_its_own_texts_only(tmp_path):
    fed = raw(write(tmp_path, north=NORTH, south=SOUTH))
    assert fed.parts["north"].texts == {"region": ("EU", "US")}
    assert fed.parts["south"].texts == {"region": ("Asia", "US")}
    assert fed.kinds == {"region": "text", "seen": "date"}
    simulated = Federation.simulate(pd.DataFrame({"city": list("aabb")}), parties=2, split="range", by="city", raw=True)
    assert [part.texts for part in simulated.parts.values()] == [{"city": ("a",)}, {"city": ("b",)}]


def test_dates_are_days_in_iso_and_in_pointed_form(tmp_path):
    fed = raw(write(tmp_path, north=NORTH, south=SOUTH))
    epoch = dt.date(1970, 1, 1)
    days = [(dt.date(*day) - epoch).days for day in [(2024, 1, 1), (2024, 1, 3), (2024, 2, 1), (2024, 2, 3)]]
    held = np.concatenate([part.X[:, 2] for part in fed.parts.values()])
    np.testing.assert_array_equal(held[~np.isnan(held)], days)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2\n2;3\n", [[1.5, 2], [2, 3]]),
        ("a;b\n1.5;2\n2;3\n", [[1.5, 2], [2, 3]]),
        ("a\tb\n1.5\t2\n", [[1.5, 2]]),
        ('"a;b",c\n1,2\n', [[1, 2]]),
        ("a;b\n-1,5e2;+2\n", [[-150, 2]]),
    ],
)
def test_semicolons_tabs_and_decimal_commas_are_read(tmp_path, text, expected):
    (path,) = write(tmp_path, table=text)
    np.testing.assert_array_equal(read(path, None).X, expected)


def test_a_comma_in_a_number_is_no_decimal_one_where_commas_separate(tmp_path):
    (path,) = write(tmp_path, table='a,b\n"1,234",2\n')
    with pytest.raises(LocalError, match=r"column 'a' of table\.csv holds text, not numbers \(first in row 1\)"):
        read(path, None)


@pytest.mark.parametrize("texts", [["2024-01-01", None, "2024-01-02 12:00"], ["1.1.2024", None, "02.01.2024"]])
def test_texts_that_all_are_dates_are_dates_in_a_frame_too(texts):
    table = as_table(pd.DataFrame({"seen": texts}), raw=True)
    assert (table.dates, table.texts) == (("seen",), {})
    np.testing.assert_allclose(table.X[:, 0], [19723, np.nan, 19724.5 if ":" in texts[2] else 19724])
    assert as_table(pd.DataFrame({"seen": [*texts, "2024-13-01"]}), raw=True).dates == ()
    assert as_table(pd.DataFrame({"seen": ["2024-13-01"]}), raw=True).texts == {"seen": ("2024-13-01",)}


def test_one_wrong_cell_that_makes_a_column_text_is_found(tmp_path):
    paths = write(tmp_path, north="age,ill\n40,0\n50,1\n", south="age,ill\n41,0\n5o,1\n")
    words = (
        r"column 'age' holds texts at party 'south' and numbers at 'north' \(the first that is no number in row 2 of"
        r" south\.csv\): write it alike everywhere, or leave it out"
    )
    with pytest.raises(LocalError, match=words):
        raw(paths)
    assert raw(paths, drop=["age"], label=None).features == ("ill",)


def test_a_column_without_values_at_one_party_is_of_the_others_kind(tmp_path):
    fed = raw(write(tmp_path, north=NORTH, south="age,region,seen,ill\n1,,,0\n2,,,1\n"))
    assert fed.parts["south"].texts == {"region": ()}
    assert fed.parts["south"].dates == ("seen",)


def test_categories_of_an_unknown_column_are_refused(tmp_path):
    paths = write(tmp_path, north=NORTH)
    words = (
        r"The 'categories' parameter of Federation names a column 'thall' that does not exist \(columns: age, region"
    )
    with pytest.raises(LocalError, match=words):
        raw(paths, categories={"thall": ["a", "b"]})
    with pytest.raises(LocalError, match="names a column 'thall' that does not exist"):
        Federation.simulate(pd.DataFrame({"a": [1.0, 2.0]}), categories={"thall": ["a"]})
