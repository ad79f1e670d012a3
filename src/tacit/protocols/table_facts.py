"""Facts that protocols of several families tell: of tables and their labels, and answers to questions."""

from __future__ import annotations

from tacit.choreo import Fact

CLASSES_OF_PARTY = Fact("tables.classes_of_party", "holder", "label", "party", "which classes each party has")
CLASS_SIZES = Fact(
    "tables.class_sizes", "holders", "count", "class", "how many records each class has over all parties"
)
EVERY_LABEL = Fact("tables.every_label", "holders", "label", "record", "every label")
CLASS_NAMES = Fact("tables.class_names", "holders", "label", "all", "the names of the classes")
TABLE_SIZES = Fact("tables.sizes", "holder", "size", "party", "how many records and columns each party has")
DECISION_VALUES = Fact("answers.values", "holders", "answer", "record", "the decision values")
ASKED_VALUES = Fact("answers.asked", "holders", "answer", "record", "the decision values of the records asked about")
