"""A look at a table: what everybody is told of its columns, beside pandas on the pooled table, and what nobody is."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import LocalError
from tacit.inspect import Describe

NAMES = ("north", "south", "east")


def patients(n=240):
    """Numbers, texts, dates and gaps."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": draw.normal(50, 9, n).round(),
            "chol": draw.gamma(4, 50, n),
            "sex": draw.choice(["f", "m"], n),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 300, n), unit="D"),
            "grade": draw.integers(1, 4, n).astype(float),
        }
    )
    table.loc[draw.random(n) < 0.1, "chol"] = np.nan
    return table


def of_sites(table, y=None, **options):
    """Rows of a table at three sites, one after the other."""
    parts = np.array_split(np.arange(len(table)), 3)
    held = [(table.iloc[rows], None if y is None else y[rows]) if y is not None else table.iloc[rows] for rows in parts]
    return tacit.from_parts(held, names=NAMES, partition="horizontal", raw=True, **options)


@pytest.fixture(scope="module")
def table():
    return patients()


@pytest.fixture(scope="module")
def ill(table):
    return (table.age > 50).astype(int).to_numpy()


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_every_figure_is_that_of_the_pooled_table(table, ill, partition):
    fed = tacit.simulate(table, ill, parties=4, partition=partition, raw=True)
    found = fed.describe(categories={"grade": [1, 2, 3]})
    assert found.records == len(table)
    for name in ("age", "chol"):
        x, told = table[name].dropna(), found[name]
        assert (told.present, told.missing) == (len(x), len(table) - len(x))
        assert told.mean == pytest.approx(x.mean())
        assert told.std == pytest.approx(x.std(ddof=0))
        away = np.abs(np.array(told.quartiles) - x.quantile([0.25, 0.5, 0.75]))
        assert (away <= np.array(told.errors) * (1 + 1e-9)).all()
        assert told.counts == np.histogram(x, [-np.inf, *told.edges[1:-1], np.inf])[0].tolist()
    assert found["sex"].categories == table.sex.value_counts().sort_index().to_dict()
    assert found["grade"].categories == {str(k): n for k, n in table.grade.astype(int).value_counts().items()}
    assert found["(labels)"].categories == {"0": int((ill == 0).sum()), "1": int(ill.sum())}
    assert found["seen"].kind == "date"
    assert found["seen"].show(found["seen"].mean).startswith("2024-0")


def test_by_columns_it_says_whose_each_is_and_nothing_is_summed(table):
    found = tacit.simulate(table, parties=3, partition="vertical", raw=True).describe()
    assert set(found.description.owners) == set(table)
    assert found.report.rounds == 1


def test_a_site_with_another_unit_or_another_coding_is_named(table):
    table = table.copy()
    table.loc[:79, "chol"] /= 38.67  # mmol/l at the first site, mg/dl at the others
    table.loc[:79, "sex"] = table.sex[:80].map({"f": "female", "m": "male"})
    found = of_sites(table).describe()
    assert found.description.unlike == {"north": {"chol": "smaller", "sex": "coded otherwise"}}
    assert found.warnings == [
        "party 'north': column 'chol' is far smaller than at the other parties: check its unit there",
        "party 'north': column 'sex' has other categories than at the other parties: check how they are written there",
    ]
    assert "check its unit there" in found.report.to_text()


def test_sites_that_are_alike_are_not_named(table):
    assert of_sites(table).describe().warnings == []


def test_a_column_without_values_and_one_with_a_single_value_are_named(table):
    found = of_sites(table.assign(empty=np.nan, same=7.0)).describe()
    assert "column 'empty' has no value at any party" in found.warnings[0]
    assert "column 'same' has the same value everywhere" in found.warnings[1]
    assert (found["empty"].present, found["empty"].aside) == (0, "no value")
    assert (found["same"].mean, found["same"].std, found["same"].quartiles) == (7.0, 0.0, [7.0, 7.0, 7.0])


def test_a_column_without_values_at_one_site_is_described_by_the_others(table):
    gone = table.copy()
    gone.loc[:79, ["sex", "chol"]] = None
    found = of_sites(gone).describe()
    assert found["sex"].missing == 80
    assert found["chol"].mean == pytest.approx(gone.chol.mean())


def test_a_column_of_another_kind_at_one_site_is_refused_in_one_line(table):
    other = table.assign(grade=table.grade.map({1: "low", 2: "some", 3: "high"}))
    with pytest.raises(LocalError, match=r"column 'grade' holds (numbers|texts) at party '\w+' and .*write it alike"):
        tacit.from_parts([other[:80], table[80:160], table[160:]], names=NAMES, partition="horizontal", raw=True)


def test_a_value_that_nobody_declared_is_refused_where_it_is_and_not_quoted(table):
    with pytest.raises(
        LocalError, match=r"values of column 'grade' that nobody declared .*declare them in cat"
    ) as error:
        of_sites(table).describe(categories={"grade": [1, 2]})
    assert "3" not in str(error.value).partition("(first in row")[0]
    with pytest.raises(LocalError, match=r"column 'sex' of party 'north' has .* values that nobody declared"):
        of_sites(table).describe(categories={"sex": ["f"]})


def test_no_rare_value_is_named_or_counted_and_what_is_left_does_not_tell_it(table):
    rare = table.copy()
    rare["sex"] = rare.sex.astype(object)
    rare.loc[:2, "sex"] = "x"
    found = of_sites(rare).describe()
    counts = rare.sex.value_counts()
    least = counts[["f", "m"]].idxmin()
    assert found["sex"].categories == {name: None if name == least else counts[name] for name in ("f", "m")}
    assert found["sex"].others == counts[least] + 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "x" not in found["sex"].list_categories(9)


@pytest.mark.parametrize("least", [5, 7, 30])
def test_each_part_of_a_histogram_holds_no_value_or_enough(table, least):
    found = of_sites(table).describe(min_count=least)
    for column in ("age", "chol", "seen", "grade"):
        assert all(n == 0 or n >= least for n in found[column].counts)


def test_a_column_with_few_values_is_set_aside(table):
    few = table.assign(vessels=np.where(np.arange(len(table)) < 4, 1.0, np.nan))
    told = of_sites(few).describe()["vessels"]
    assert (told.present, told.mean, told.counts) == (4, None, [])
    assert told.aside == "fewer values than min_count: nothing more is told"


def test_two_looks_at_slices_that_differ_by_few_records_are_refused(table):
    fed = of_sites(table)
    fed.describe()
    with pytest.raises(LocalError, match="differ by fewer than 5 records of a class at 'north'"):
        fed[2:].describe()
    fed[10:].describe()


def test_a_second_look_at_the_same_records_tells_the_same(table):
    fed = of_sites(table)
    first, again = (fed.describe().report.to_dict()["description"] for _ in range(2))
    assert first == again


def test_who_coordinates_must_have_no_records(table):
    fed = tacit.simulate(table, parties=list(NAMES), raw=True, coordinator="north")
    with pytest.raises(LocalError, match="party 'north' would coordinate and learn sums"):
        fed.describe()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"min_count": 0}, "The 'min_count' parameter of Describe must be"),
        ({"bins": 8}, "describe has no option 'bins': it takes"),
        ({"categories": {"bmi": [1]}}, "names a column 'bmi' that does not exist"),
    ],
)
def test_options_are_refused_before_anything_is_sent(table, options, says):
    with pytest.raises(LocalError, match=says):
        of_sites(table).describe(**options)


def test_a_column_that_was_not_described_is_named_in_the_refusal(table):
    with pytest.raises(LocalError, match="there is no column 'bmi' in this description: it has age, chol"):
        of_sites(table).describe()["bmi"]


def test_the_report_has_a_section_and_comes_back_whole(tmp_path, table):
    found = of_sites(table).describe()
    page = found.report.to_html(tmp_path / "look.html").read_text()
    assert "<h2>The table</h2>" in page
    assert page.count('aria-label="from ') == 4
    again = tacit.Report.from_dict(found.report.to_dict())
    assert again.description.columns["age"].quartiles == found["age"].quartiles
    assert again.fingerprint == found.report.fingerprint


def test_a_card_shows_every_column_and_no_markup_of_others():
    table = patients(60).rename(columns={"age": "<b>age</b>"})
    card = of_sites(table).describe()._repr_html_()
    assert "&lt;b&gt;age&lt;/b&gt;" in card
    assert "<b>" not in card
    assert card.count("<svg") == 4


def test_what_it_asks_for_can_be_looked_at_before_anybody_is_asked(table):
    asked = Describe(min_count=9).request(of_sites(table))
    assert asked.name == "describe_table"
    assert asked.params["texts"] == ("sex",)
    assert asked.params["min_count"] == 9
