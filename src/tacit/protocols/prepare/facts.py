"""What preparing and describing a table reveals, and the messages in which it does: nothing else of columns is told."""

from __future__ import annotations

from tacit.arrays import I64
from tacit.choreo import Fact, Message
from tacit.protocols.shares.gates import Opening

COLUMNS = Fact(
    "core.columns",
    "holders",
    "aggregate",
    "column",
    "of each column a median and a mean, rounded to a sixteenth of its scale, a scale, rounded to a power of the square"
    " root of two, the quantiles that were asked for, rounded like a mean, and whether k records have a value, lack"
    " one, or have one that is no id",
)
CATEGORIES = Fact(
    "core.categories",
    "holders",
    "aggregate",
    "column",
    "the categories that parties declare, which of them k records have, and which the most records have if that fills"
    " gaps",
)
DESCRIPTION = Fact(
    "core.description",
    "holders",
    "count",
    "column",
    "in a description how many records have a value of a column or one of its categories, rounded; suppressed where"
    " fewer than k records have it, or all but fewer than k",
)
UNLIKE = Fact(
    "core.unlike",
    "holder",
    "membership",
    "column",
    "in a description which columns of a party are empty, far larger or smaller than at the others, or have other"
    " categories",
)


class ColumnShare(Opening, tells=COLUMNS):
    """A holder's share of what is revealed of columns."""


class ColumnWords(Message, tells=COLUMNS):
    """What is revealed of columns: bits of comparisons."""

    values: I64


class CategoryShare(Opening, tells=CATEGORIES):
    """A holder's share of what is revealed of categories."""


class CategoryWords(Message, tells=CATEGORIES):
    """What is revealed of categories: bits of comparisons."""

    values: I64


class Dictionary(Message, tells=CATEGORIES, ragged=True, of_records=False):
    """The texts that the sender declares for columns of texts."""

    texts: dict[str, tuple[str, ...]]


class DescriptionShare(Opening, tells=DESCRIPTION):
    """A holder's share of a rounded count."""


class DescriptionWords(Message, tells=DESCRIPTION):
    """Which public numbers counts reach: bits of comparisons."""

    values: I64


class Unlike(Message, tells=UNLIKE):
    """What a holder finds of its own columns: a mark for each."""

    marks: I64
