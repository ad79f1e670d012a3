"""The messages in which judging a model reveals its facts."""

from __future__ import annotations

from tacit.arrays import F64, I64
from tacit.choreo import Message
from tacit.protocols.facts import JUDGEMENT
from tacit.protocols.shares.gates import Opening


class JudgedShare(Opening, tells=JUDGEMENT):
    """A holder's share of a count, a sum, or a bit that says what is shown."""


class JudgedWords(Message, tells=JUDGEMENT):
    """Counts, rounded sums, and bits that say what is shown."""

    values: I64


class OwnFigures(Message, tells=JUDGEMENT):
    """Rounded figures of the sender's own held-out records: by the joint model, and by one that it trained alone."""

    joint: F64
    alone: F64
