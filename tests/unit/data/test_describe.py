"""A look at a table: what everybody is told of its columns, beside pandas on the pooled table, and what nobody is."""

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import LocalError
from tacit.inspect import Describe
from tacit.report.description import Suppressed

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
def test_every_figure_is_that_of_the_pooled_table_but_for_rounding(table, ill, partition):
    fed = tacit.simulate(table, ill, parties=4, partition=partition, raw=True)
    found = fed.describe(categories={"grade": [1, 2, 3]})
    assert found.records == len(table)
    for name in ("age", "chol"):
        x, told = table[name].dropna(), found[name]
        assert abs(told.mean - x.mean()) <= told.std / 16
        assert abs(np.log2(told.std / x.std(ddof=0))) <= 0.27
        exact = np.quantile(x, [0.25, 0.5, 0.75], method="inverted_cdf")
        assert (np.abs(np.array(told.quartiles) - exact) <= np.array(told.errors) * (1 + 1e-9)).all()
        assert sum(told.counts) == pytest.approx(len(x), abs=len(table) / 16)
        assert len(told.edges) == len(told.counts) + 1
    assert (found["age"].present, found["age"].missing) == (Suppressed.NEARLY_ALL, Suppressed.FEW)
    assert found["chol"].present + found["chol"].missing == len(table)
    told = {**found["sex"].categories, **found["grade"].categories, **found["(labels)"].categories}
    exact = [table.sex.value_counts(), table.grade.astype(int).astype(str).value_counts()]
    exact = {**exact[0].to_dict(), **exact[1].to_dict(), "1": int(ill.sum()), "0": int((ill == 0).sum())}
    for value, n in told.items():  # labels last, whose names are grades too
        assert abs(n - exact[value]) <= 1 + np.sqrt(exact[value] * (240 - exact[value])) / 24
    assert found["seen"].kind == "date"
    assert found["seen"].show(found["seen"].mean).startswith("2024-0")


def test_by_columns_it_says_whose_each_is(table):
    found = tacit.simulate(table, parties=3, partition="vertical", raw=True).describe()
    assert set(found.description.owners) == set(table)


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
    assert "column 'empty' has hardly a value at any party" in found.warnings[-2]
    assert "column 'same' has the same value everywhere" in found.warnings[-1]
    assert (found["empty"].present, found["empty"].aside) == (Suppressed.FEW, "hardly a value: nothing more is told")
    assert (found["same"].mean, found["same"].std, found["same"].quartiles) == (7.0, 0.0, [7.0, 7.0, 7.0])


def test_a_column_without_values_at_one_site_is_described_by_the_others(table):
    gone = table.copy()
    gone.loc[:79, ["sex", "chol"]] = None
    found = of_sites(gone).describe()
    assert abs(found["sex"].missing - 80) <= 4
    assert abs(found["chol"].mean - gone.chol.mean()) <= found["chol"].std / 16
    assert found.description.unlike == {"north": {"sex": "empty", "chol": "empty"}}
    assert "party 'north': column 'chol' has no value there, or only a few" in " ".join(found.warnings)


def test_a_column_of_another_kind_at_one_site_is_refused_in_one_line(table):
    other = table.assign(grade=table.grade.map({1: "low", 2: "some", 3: "high"}))
    with pytest.raises(LocalError, match=r"column 'grade' holds (numbers|texts) at party '\w+' and .*write it alike"):
        tacit.from_parts([other[:80], table[80:160], table[160:]], names=NAMES, partition="horizontal", raw=True)


@pytest.mark.filterwarnings("ignore:column 'sex' of party")
def test_a_value_that_nobody_declared_stops_nothing_and_is_not_counted(table):
    assert list(of_sites(table).describe(categories={"grade": [1, 2]})["grade"].categories) == ["1", "2"]
    assert list(of_sites(table).describe(categories={"sex": ["f"]})["sex"].categories) == ["f"]


@pytest.mark.parametrize("count", [1, 9])
def test_no_rare_value_is_counted_and_what_is_left_does_not_tell_it(table, count):
    rare = table.copy()
    rare["sex"] = rare.sex.astype(object)
    rare.loc[:count, "sex"] = "x"
    rare.loc[count:, "sex"] = "f"
    found = of_sites(rare).describe()
    assert found["sex"].categories == {"f": Suppressed.NEARLY_ALL}
    assert found["sex"].list_categories(9) == "f (nearly all)"


def test_a_column_with_few_values_is_set_aside(table):
    few = table.assign(vessels=np.where(np.arange(len(table)) < 9, 1.0, np.nan))
    told = of_sites(few).describe()["vessels"]
    assert (told.present, told.mean, told.counts) == (Suppressed.FEW, None, [])
    assert told.aside == "hardly a value: nothing more is told"


def test_a_second_look_at_the_same_records_tells_the_same(table):
    fed = of_sites(table)
    first, again = (fed.describe().report.to_dict()["description"] for _ in range(2))
    assert first == again


def test_who_coordinates_must_have_no_records(table):
    fed = tacit.simulate(table, parties=list(NAMES), raw=True, coordinator="north")
    with pytest.raises(LocalError, match="party 'north' would coordinate and learn all records"):
        fed.describe()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"statistics": 0}, "The 'statistics' parameter of Describe must be"),
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


@pytest.mark.slow
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
    asked = Describe().request(of_sites(table))
    assert asked.name == "describe_table"
    assert asked.params["texts"] == ("sex",)
