"""Facts that several papers tell: of tables and their labels, and answers to questions."""

from __future__ import annotations

from tacit.choreo import Fact

CLASS_SIZES = Fact(
    "tables.class_sizes", "holders", "count", "class", "how many records each class has over all parties"
)
EVERY_LABEL = Fact("tables.every_label", "holders", "label", "record", "every label")
DECISION_VALUES = Fact("answers.values", "holders", "answer", "record", "the decision values")
ASKED_VALUES = Fact("answers.asked", "holders", "answer", "record", "the decision values of the records asked about")
