"""Parameters that name columns, or say what is found of them: of protocols that the steps of a study play.

No job names these protocols by themselves; a policy bounds their parameters all the same.
"""

from __future__ import annotations

from tacit.choreo.declaration import ByKey, Either, Items, Kind, Nothing, Number, OneOf, Parameter, Span, Switch, Text

COLUMNS = 10_000
NAME, CELL, COUNT = Text(200), Number(-1e12, 1e12), Number(1, whole=True, job_most=10**9)
VALUE = Either((Switch(), Number(-(1 << 53), 1 << 53), NAME))


def _columns(name: str, says: str) -> Parameter:
    return Parameter(name, Items(NAME, 0, COLUMNS), says, opens=True, follows=True)


def _or_none(kind: Kind) -> Either:
    return Either((Nothing(), kind))


OF_COLUMNS = (
    _columns("names", "of which columns"),
    _columns("most_frequent", "which columns are filled with their most frequent value"),
    _columns("indicators", "which columns get an indicator of their gaps"),
    _columns("texts", "which columns hold texts, whose categories parties declare"),
    _columns("ids", "which columns are left out if they look like ids"),
    Parameter("categories", _or_none(ByKey(NAME, Items(VALUE, 0, COLUMNS), COLUMNS, "categories")),
              "the values that columns may have", opens=True),
    Parameter("ranges", _or_none(ByKey(NAME, Span(CELL), COLUMNS, "ranges")),
              "the least and the largest value of columns", opens=True),
)  # fmt: skip
MENU = (1, 5, 10, 25, 50, 75, 90, 95, 99)  # quantiles, in percent
PERCENTS = Parameter("percents", Items(OneOf(MENU), 0, len(MENU)), "which quantiles are found, in percent", opens=True)
BINS = Parameter("bins", Number(2, whole=True, job_most=10_000), "how many bins a histogram has", opens=True)
OF_SCORES = (
    BINS,
    Parameter("n_classes", Number(0, whole=True), "how many classes the model tells apart; 0 of numbers", follows=True),
    Parameter("per_site", _or_none(ByKey(Text(100), COUNT, 100, "sites")),
              "which sites show counts of their own records, and of how many at least", opens=True),
)  # fmt: skip
OF_SELECTIONS = (
    Parameter("filters", Items(Text(100), 1, 20), "what ranks the columns", opens=True),
    Parameter("criteria", Items(Text(100), 1, 20), "what judges a column", opens=True),
    Parameter("keep", COUNT, "how many columns stay", opens=True),
    Parameter("step", Number(0, above=True, job_most=COLUMNS), "how many columns go at a time", opens=True),
    Parameter("best", Switch(), "whether the best number of columns stays", opens=True),
    Parameter("at_most", _or_none(COUNT), "how many columns stay at most", opens=True),
    Parameter("trials", COUNT, "how many subsets are tried", opens=True),
)
