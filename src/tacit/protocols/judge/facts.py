"""What judging a model reveals, and the messages in which it does."""

from __future__ import annotations

from tacit.arrays import F64, I64
from tacit.choreo import Fact, Message
from tacit.protocols.shares.gates import Opening

JUDGEMENT = Fact(
    "core.judgement",
    "holders",
    "count",
    "group",
    "how many held-out records of each class were given each class, and of two classes have values in bins, each of"
    " none or k records of a class; of numbers and probabilities rounded sums of errors; the same of groups of records,"
    " and rounded figures of sites, where they and all others have none or k records of each class, else that they are"
    " suppressed",
)


class JudgedShare(Opening, tells=JUDGEMENT):
    """A holder's share of a count, a sum, or a bit that says what is shown."""


class JudgedWords(Message, tells=JUDGEMENT):
    """Counts, rounded sums, and bits that say what is shown."""

    values: I64


class OwnFigures(Message, tells=JUDGEMENT):
    """Rounded figures of the sender's own held-out records: by the joint model, and by one that it trained alone."""

    joint: F64
    alone: F64
