import numpy as np
import pandas as pd
import pytest

from tacit.errors import LocalError
from tacit.federation import Federation

X = np.arange(24.0).reshape(6, 4)
Y = np.array([0, 1, 0, 1, 0, 1])
ROWS = [(X[:1], Y[:1]), (X[1:3], Y[1:3]), (X[3:], Y[3:])]
COLUMNS = [X[:, :1], X[:, 1:2], (X[:, 2:], Y)]
OWNER = np.arange(24).reshape(6, 4) % 3
CELLS = [np.where(k == OWNER, X, np.nan) for k in range(3)]
NAMES = ["north", "south", "east"]


def horizontal(parts, **settings):
    return Federation.from_parts(parts, partition="horizontal", **settings)


def vertical(parts, **settings):
    return Federation.from_parts(parts, partition="vertical", **settings)


def arbitrary(parts, **settings):
    return Federation.from_parts(parts, partition="arbitrary", **settings)


def frames(*names):
    return [(pd.DataFrame(x, columns=list(n)), y) for (x, y), n in zip(ROWS, names, strict=True)]


@pytest.mark.parametrize("fed", [horizontal(ROWS), vertical(COLUMNS), arbitrary(CELLS, y=Y)])
def test_the_parts_pool_to_the_whole(fed):
    assert np.array_equal(fed.pooled()[0], X)
    assert np.array_equal(fed.pooled()[1], Y)
    assert fed.warnings == ()


def test_the_party_that_brings_the_labels_is_the_labeller():
    assert vertical(COLUMNS, names=NAMES).labeller == "east"


def test_labels_given_apart_go_to_the_labeller():
    fed = vertical([X[:, :1], X[:, 1:2], X[:, 2:]], names=NAMES, y=Y, labeller="south")
    assert [name for name, part in fed.parts.items() if part.y is not None] == ["south"]


def test_weights_may_come_with_the_labels():
    fed = horizontal([(x, y, np.ones(len(y))) for x, y in ROWS])
    assert fed.pooled()[2].tolist() == [1.0] * 6


def test_unnamed_vertical_columns_are_numbered_as_one_table():
    assert vertical(COLUMNS).features == ("x0", "x1", "x2", "x3")
    assert vertical(COLUMNS).parts["party-3"].features == ("x2", "x3")


def test_cells_of_others_are_zero():
    part = arbitrary(CELLS, y=Y).parts["party-2"]
    assert np.array_equal(part.X, np.where(OWNER == 1, X, 0))
    assert np.array_equal(part.owned, OWNER == 1)


def test_two_parties_are_refused_unless_allowed():
    with pytest.raises(LocalError, match=r"only 2 parties hold data: .* IS the other's part.*allow_two_parties=True"):
        horizontal(ROWS[:2])
    assert horizontal(ROWS[:2], allow_two_parties=True).warnings


def test_the_callers_array_stays_writable():
    mine = X.copy()
    vertical([mine[:, :1], mine[:, 1:2], mine[:, 2:]])
    assert mine.flags.writeable


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: horizontal([]), "at least one party"),
        (lambda: horizontal(ROWS, names=NAMES[:2]), "there are 2 names for 3 parts"),
        (lambda: horizontal(ROWS, names=["a", "a", "b"]), "two parties are named 'a'"),
        (lambda: horizontal(ROWS, y=Y), "y= does not fit a horizontal split"),
        (lambda: horizontal([*ROWS[:2], X[3:]]), "party 'party-3' has no labels, 'party-1' has"),
        (
            lambda: horizontal([*ROWS[:2], (X[3:], ["a", "b", "c"])]),
            "the labels of party 'party-3' are text, those of 'party-2' are numbers",
        ),
        (
            lambda: horizontal([*ROWS[:2], (X[3:], Y[3:], [1, 1, 1])]),
            "party 'party-1' has no sample weights, 'party-3' has",
        ),
        (
            lambda: horizontal([*ROWS[:2], (X[3:, :3], Y[3:])]),
            "party 'party-3' has 3 features, 'party-1' has 4: a horizontal split needs",
        ),
        (
            lambda: horizontal(frames("abcd", "abcd", "abed")),
            "party 'party-3' lacks 'c' and has 'e', unlike 'party-1'",
        ),
        (
            lambda: horizontal([*ROWS[:2], (X[3:] * np.inf, Y[3:])]),
            "column 'x0' of party 'party-3' has 3 infinite values",
        ),
        (lambda: horizontal([*ROWS[:2], (X[3:], Y[3:], None, None)]), "tuple of 4: give X"),
        (lambda: horizontal([(X[:0], Y[:0])] * 3), r"Found array with 0 sample\(s\)"),
        (
            lambda: horizontal([*ROWS[:2], (X[3:] * np.nan, Y[3:])]),
            "Input X contains NaN: column 'x0' of party 'party-3'",
        ),
        (
            lambda: vertical([X[:, :1], X[:5, 1:]], names=["north", "south"]),
            (
                "party 'south' has 5 records, 'north' has 6: a vertical split needs the same records in the same order"
                " at every party"
            ),
        ),
        (lambda: vertical([*COLUMNS[1:], (X, Y)]), "labels are given twice, by 'party-2' and 'party-3'"),
        (lambda: vertical(COLUMNS, y=Y), "labels are given twice, by party 'party-3' and by y="),
        (lambda: vertical(COLUMNS, labeller="party-1"), "labeller='party-1' has no labels, but 'party-3' has"),
        (lambda: vertical(COLUMNS[:2], y=Y[:4]), r"inconsistent numbers of samples: \[6, 4\]"),
        (lambda: vertical([pd.DataFrame({"age": Y})] * 3), "feature 'age' is held by both 'party-1' and 'party-2'"),
        (lambda: arbitrary(CELLS[:2]), r"row 1 of column 'x2' is owned by nobody"),
        (lambda: arbitrary([*CELLS, CELLS[1]]), r"row 1 of column 'x1' is owned by 'party-2' and 'party-4'"),
        (lambda: arbitrary([*CELLS[:2], CELLS[2][:5]]), "an arbitrary split needs the same records"),
        (lambda: Federation.from_parts(ROWS, partition="diagonal"), "Got 'diagonal' instead"),
    ],
)
def test_parts_that_do_not_fit_are_refused(build, words):
    with pytest.raises(LocalError, match=words):
        build()
