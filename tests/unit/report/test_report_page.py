import re
from html.parser import HTMLParser

from tacit.report import html

EVIL = '<script>alert("x")</script>'


class Tags(HTMLParser):
    """Tags, attributes and whether everything that opened was closed."""

    void = frozenset({"meta", "br", "img", "hr", "input", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parse(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def test_the_page_fetches_nothing_and_runs_nothing(report):
    page = html.render(report)
    tags = parse(page)
    assert not {"script", "link", "iframe", "img", "image", "object", "embed"} & set(tags.tags)
    addresses = [value for name, value in tags.attributes if name in {"src", "href", "xlink:href", "action", "data"}]
    assert all(value.startswith("#") for value in addresses)
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_ids_are_unique_and_every_reference_resolves(report):
    page = html.render(report)
    ids = [value for name, value in parse(page).attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', page)) <= set(ids)


def test_markup_in_a_value_is_escaped(report_with):
    fields = ("title", "estimator", "partition", "protection", "metric")
    page = html.render(report_with(**{field: f"{field}{EVIL}" for field in fields}))
    assert "script" not in parse(page).tags
    assert [field for field in fields if f"{field}&lt;script&gt;" not in page] == []


def test_markup_in_a_party_name_is_escaped_everywhere(report_with):
    page = html.render(report_with(names=(EVIL, 'b" onload="x', "$c$", "d\u202e\x1b[2J")))
    tags = parse(page)
    assert "script" not in tags.tags
    assert "onload" not in [name for name, _ in tags.attributes]
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_markup_in_params_figures_and_lists_is_escaped(report_with):
    evil = {EVIL: EVIL}
    page = html.render(
        report_with(
            params=evil | {"w": evil},
            comparison=evil,
            warnings=[EVIL],
            not_protected=[EVIL],
            scores={EVIL: 1.0},
            history=[{EVIL: 1}] * 2,
        )
    )
    assert "script" not in parse(page).tags


def test_sections_come_in_the_order_a_reader_asks(report):
    page = html.render(report)
    headings = re.findall(r"<h2>([^<]*)</h2>", page)
    assert headings == [
        "To decide",
        "Warnings",
        "Result",
        "Not protected",
        "Method and cost",
        "Every disclosure, from the ledger",
    ]


def test_senders_of_the_same_are_named_in_one_line(report):
    assert '<td>north, south, east, west</td><td class="n">3 times each</td>' in html.render(report)


def test_messages_that_nobody_here_saw_have_no_size(report_with, report):
    unseen = [type(row)(row.who, row.facts, row.from_whom, row.message, row.times, 0) for row in report.learnt]
    page = html.render(report_with(learnt=unseen))
    assert "not seen here" in page
    assert 'aria-label="Bytes sent:' not in page


def test_a_report_of_nothing_still_reads_well(empty):
    page = html.render(empty)
    parse(page)
    assert "No message left any site." in page
    assert "No score was measured" in page
    assert "on an arbitrary partition" in page


def test_the_same_report_gives_the_same_page(report):
    assert html.render(report) == html.render(report)
