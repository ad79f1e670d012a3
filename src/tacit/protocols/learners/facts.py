"""What a study of the core reveals, and nothing else does: each fact has one identifier."""

from __future__ import annotations

from tacit.choreo import Fact

SIZES = Fact(
    "core.sizes", "holder", "size", "party",
    "how many records and columns each party brings, and whether its records have weights",
)  # fmt: skip
CLASSES = Fact(
    "core.classes", "holder", "label", "party",
    "the names of the classes of each party, unless they are declared, and which of them have too few records",
)  # fmt: skip
BALANCE = Fact(
    "core.balance", "holders", "count", "class",
    "with class_weight='balanced' the weight of each class, rounded to a power of the square root of two",
)  # fmt: skip
CALIBRATION = Fact(
    "core.calibration", "holders", "aggregate", "all",
    "with probability=True averages of decision values and targets, rounded and with noise of some records",
)  # fmt: skip
MODEL = Fact(
    "core.model", "holders", "model", "all",
    "the weights of the model, rounded and with noise of one step, which of a few candidates was the best, and to a"
    " power of two how large weights and rows of features are",
)  # fmt: skip
SCORES = Fact(
    "core.scores", "holders", "aggregate", "all",
    "of each candidate of a search how good it is on records that are held out, rounded and with noise of some records",
)  # fmt: skip
ANSWERS = Fact("core.answers", "reader", "answer", "record", "the answers about the records that were asked about")
