from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from tacit.choreo import Learnt
from tacit.choreo.fact import fact_called
from tacit.report import plots
from tacit.report.flow import MANY, common, compose, flow, gather


def words(svg):
    # (our own text)
    return [node.text for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def everything(report):
    return {
        "scores": plots.scores(report.scores),
        "traffic": plots.traffic(report.traffic),
        "sent": plots.sent(report.learnt),
        "history": plots.history(report.history),
        "flow": flow(report.learnt, list(report.parties)),
    }


def test_every_plot_is_well_formed_and_says_what_it_shows(report):
    for name, svg in everything(report).items():
        root = ET.fromstring(svg)  # noqa: S314  (our own text)
        assert root.get("role") == "img"
        assert len(root.get("aria-label")) > 20
        assert all(node.get("id", name).startswith(name) for node in root.iter())


def test_drawing_leaves_no_global_state(report):
    before = dict(mpl.rcParams)
    everything(report)
    assert dict(mpl.rcParams) == before


def test_a_cut_axis_says_so():
    assert "accuracy (the axis starts at 0.85)" in words(plots.scores({"a alone": 0.92, "together": 0.98}))
    assert "accuracy" in words(plots.scores({"a alone": 0.3, "together": 0.98}))


def test_scores_are_printed():
    assert {"0.9200", "0.9800"} <= set(words(plots.scores({"a alone": 0.92, "together": 0.98})))


def test_axes_carry_their_units(report):
    assert "sent so far (MB)" in words(plots.traffic(report.traffic))
    assert "sent (MB)" in words(plots.sent(report.learnt))


def test_only_numbers_become_curves():
    records = [{"gap": 1.0, "done": False, "who": "a"}, {"gap": 0.5, "done": True, "objective": 3}]
    assert plots.series(records) == {"gap": [(1, 1.0), (2, 0.5)], "objective": [(2, 3)]}


def test_a_named_round_is_where_a_figure_stands():
    assert plots.series([{"round": 10, "gap": 1.0}, {"round": 20, "gap": 0.1}]) == {"gap": [(10, 1.0), (20, 0.1)]}


def test_a_steep_curve_has_a_logarithmic_axis():
    text = words(plots.history([{"gap": 10.0**-t} for t in range(6)]))
    assert "gap (log scale)" in text
    assert not [label for label in text if "$" in label]


def test_arrows_say_type_and_count(report):
    text = words(flow(report.learnt, list(report.parties)))
    assert any(line.endswith("Masked ×3") for line in text)  # noqa: RUF001
    assert "each to every other: PublicKey ×1" in text  # noqa: RUF001


def test_many_parties_get_numbers_and_a_key(report_with):
    report = report_with(names=tuple(f"clinic-{i}" for i in range(9)))
    text = words(flow(report.learnt, list(report.parties)))
    assert "to coordinator: PublicKey ×1, Masked ×3" in text  # noqa: RUF001
    assert text.count("from coordinator: Support ×1") == 1  # noqa: RUF001


def test_the_busiest_site_stands_in_the_middle_where_there_is_no_coordinator():
    arrows = gather(
        [
            Learnt("c", (fact_called("t"),), "a", "M", 2, 1),
            Learnt("c", (fact_called("t"),), "b", "M", 2, 1),
            Learnt("b", (fact_called("t"),), "a", "M", 1, 1),
        ]
    )
    picture = compose(arrows, ["a", "b", "c"])
    assert picture.hub == "c"
    assert picture.arrows == arrows


def test_an_uneven_exchange_is_not_drawn_as_a_ring():
    even = gather([Learnt("b", (fact_called("t"),), "a", "M", 1, 1), Learnt("a", (fact_called("t"),), "b", "M", 1, 1)])
    uneven = gather(
        [Learnt("b", (fact_called("t"),), "a", "M", 1, 1), Learnt("a", (fact_called("t"),), "b", "M", 2, 1)]
    )
    assert common(even, 2)
    assert not common(uneven, 2)
    assert not common(even, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["北京", "$x$", "a" * 300, "a\nb", "&<>\"'", 'id="x"'])
def test_any_name_can_be_drawn(name, report_with):
    for svg in everything(report_with(names=(name, "b", "c"), scores={name: 0.5, "centralised": -0.2})).values():
        ET.fromstring(svg)  # noqa: S314  (our own text)


def test_nothing_to_show_is_empty_text():
    crowd = [Learnt("coordinator", (fact_called("t"),), f"p{i}", "M", 1, 1) for i in range(MANY)]
    assert [
        plots.scores(None),
        plots.traffic([]),
        plots.sent([]),
        plots.history([{"gap": 1.0}]),
        flow([], []),
        flow(crowd, []),
    ] == [""] * 6
