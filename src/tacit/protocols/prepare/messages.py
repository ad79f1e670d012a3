"""The messages in which preparing and describing a table reveals its facts: nothing else of columns is told."""

from __future__ import annotations

from tacit.arrays import I64
from tacit.choreo import Message
from tacit.protocols.facts import COLUMNS, DESCRIPTION, UNLIKE
from tacit.protocols.shares.gates import Opening


class ColumnShare(Opening, tells=COLUMNS):
    """A holder's share of what is revealed of columns."""


class ColumnWords(Message, tells=COLUMNS):
    """What is revealed of columns: bits of comparisons."""

    values: I64


class Dictionary(Message, tells=COLUMNS, ragged=True, of_records=False):
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
