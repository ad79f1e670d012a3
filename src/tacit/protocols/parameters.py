"""Every parameter of every protocol that a job between organisations may name: declared once, since a name means the same in all of them.

What a job may contain, what people read about it and what a policy can bound all follow from these records; a default stands in the
signature of its protocol. Bounds are those of any sensible study; a policy sets narrower ones.
"""

from __future__ import annotations

from tacit.choreo.declaration import (
    LARGEST,
    ByKey,
    Either,
    Items,
    Named,
    Nothing,
    Number,
    OneOf,
    Parameter,
    Span,
    Switch,
    Text,
    shown,
    suits,
)
from tacit.crypto.product import ENGINES
from tacit.numeric.elm import ACTIVATIONS
from tacit.numeric.grid import SCORINGS, VARIED
from tacit.numeric.kernels import KERNELS
from tacit.numeric.least_count import FLOOR
from tacit.protocols.consensus_space import SOURCES as CONSENSUS_SOURCES
from tacit.protocols.feature_map import SOURCES as MAP_SOURCES
from tacit.protocols.gram_arbitrary import HOWS

PARTITIONS = ("horizontal", "vertical", "arbitrary")
ROWS = 10**9  # more records than any party has
CLASSES = 1000
CANDIDATES = 1000
COLUMNS = 10_000
KEY_BITS = (2048, 3072)

SWITCH, NOTHING = Switch(), Nothing()
LABEL = Either((SWITCH, Number(-LARGEST, LARGEST), Text(200)))
COUNT = Number(1, ROWS, whole=True)
CELL = Number(-1e12, 1e12)


def number_or(*texts: str, most: float = 1e9, above: bool = True) -> Either:
    """A number from 0 up, or one of these texts."""
    return Either((OneOf(texts), Number(0, most, above=above)))


KERNEL_AND_PRICE = (
    Parameter("C", Number(1e-9, 1e9), "how much a record on the wrong side costs"),
    Parameter("kernel", OneOf(KERNELS), "how records are compared", opens=True),
    Parameter("gamma", number_or("scale", "auto"), "how near records of an RBF, polynomial or sigmoid kernel are; 'scale' opens sums of"
              " all cells", opens=True),
    Parameter("degree", Number(0, 20, whole=True), "the degree of a polynomial kernel"),
    Parameter("coef0", Number(-1e6, 1e6), "the constant of a polynomial or sigmoid kernel"),
)  # fmt: skip

PARAMETERS: dict[str, Parameter] = {each.name: each for each in (
    *KERNEL_AND_PRICE,
    # what is trained
    Parameter("class_weight", Either((NOTHING, OneOf(("balanced",)), ByKey(LABEL, Number(0, 1e6), CLASSES))),
              "how much more a class counts than another"),
    Parameter("classes", Either((NOTHING, Items(LABEL, 1, CLASSES))), "the classes, where an earlier run has told them"),
    Parameter("classify", SWITCH, "whether targets are classes or numbers", opens=True),
    Parameter("multi_class", OneOf(("ovr", "ovo")), "how more than two classes are told apart", opens=True),
    Parameter("epsilon", Either((NOTHING, Number(0, 1e9))), "how far a number may be off in a regression at no cost", opens=True),
    Parameter("probability", SWITCH, "whether probabilities are fitted too, on models without each fold", opens=True),
    Parameter("tol", Number(1e-12, 1.0), "how exact the solution is", opens=True),
    Parameter("max_iter", Number(-1, 1e9, whole=True), "the most steps of the solver at the coordinator; -1 for any number"),
    Parameter("max_rounds", Number(1, 100_000, whole=True), "the most rounds of sums", opens=True),
    Parameter("seed", Number(0, 2**63 - 1, whole=True), "the public seed of what is drawn at random", opens=True),
    Parameter("dtype", OneOf(("float64", "float32")), "the precision of a holder's own work"),
    # searches
    Parameter("candidates", Items(Named({each.name: each.kind for each in KERNEL_AND_PRICE if each.name in VARIED}), 1, CANDIDATES),
              "what is tried: a score of each is opened", opens=True),
    Parameter("cv", Number(2, 100, whole=True), "the number of folds", opens=True),
    Parameter("scoring", OneOf(tuple(SCORINGS)), "the score of a candidate", opens=True),
    Parameter("refit", SWITCH, "whether the best candidate is trained on all records", opens=True),
    Parameter("factor", Either((OneOf((0,)), Number(2, 100, whole=True))), "how many candidates are dropped at a time; 0 for none",
              opens=True),
    # how many records stand behind a number that is opened
    Parameter("accept_risk", SWITCH, "whether the run may open what a known attack makes use of", opens=True),
    Parameter("min_count", Either((OneOf(("auto",)), COUNT)), "how many rows every sum is over, at least", opens=True,
              stands={"auto": FLOOR}),  # each party takes its own number, and never a smaller one
    Parameter("min_cluster", COUNT, "of how many records a landmark is the mean, at least", opens=True),
    Parameter("min_rows", COUNT, "how many rows of a class take part, at least", opens=True),
    Parameter("min_records", COUNT, "how many records must be common before any id is opened", opens=True),
    Parameter("count_only", SWITCH, "whether an alignment opens the number of common records and no id", opens=True),
    # landmarks and hidden layers
    Parameter("landmark_source", OneOf(tuple(dict.fromkeys((*MAP_SOURCES, *CONSENSUS_SOURCES)))), "where landmarks come from", opens=True),
    Parameter("landmarks", number_or("auto", most=10_000), "how many landmarks or features a map has; below 1 a share of the records",
              opens=True),
    Parameter("landmark_range", Either((Span(CELL), Items(Span(CELL), 1, COLUMNS))), "where landmarks are drawn, for all columns or each"),
    Parameter("n_hidden", Either((NOTHING, Number(1, 10_000, whole=True))), "how many nodes the hidden layer has", opens=True),
    Parameter("activation", OneOf(tuple(ACTIVATIONS)), "what a node does", opens=True),
    Parameter("scale", Number(0, 1e6, above=True), "how large the weights of the hidden layer are", opens=True),
    Parameter("ridge", number_or("gcv", most=1e12, above=False), "how much output weights are kept small; 'gcv' opens one sum more",
              opens=True),
    # a consensus
    Parameter("disclose", OneOf(("metric", "loss", "least")), "what a consensus opens to take fewer rounds", opens=True),
    Parameter("rho", number_or("auto"), "how strongly parties are drawn together", opens=True),
    Parameter("over_relaxation", Number(0, 1.99, above=True), "how far a step goes beyond the average", opens=True),
    Parameter("watch", NOTHING, "public rows to follow a simulation by; none between organisations", opens=True),
    Parameter("witness", SWITCH, "whether the holders check the coordinator", opens=True),
    # products of cells
    Parameter("how", OneOf(HOWS), "how products of cells are made", opens=True),
    Parameter("engine", OneOf(ENGINES), "the cryptosystem of the products"),
    Parameter("key_bits", OneOf(KEY_BITS), "the length of Paillier's keys"),
    Parameter("feature_bits", Either((NOTHING, Number(1, 28, whole=True))), "the precision of a cell in products", opens=True),
    Parameter("feature_range", Either((NOTHING, Number(0, 1e12, above=True))), "the largest size of a cell; a run with a larger one stops",
              opens=True),
    # what follows from the split, or from the model that is asked
    Parameter("partition", OneOf(PARTITIONS), "how records are split", opens=True, follows=True),
    Parameter("squares", SWITCH, "whether the kernel needs the records' lengths", opens=True, follows=True),
    Parameter("support", Number(0, ROWS, whole=True), "how many support vectors the model has", follows=True),
    Parameter("problems", Number(1, CLASSES, whole=True), "how many problems of two classes the model has", follows=True),
    Parameter("records", Either((NOTHING, COUNT)), "how many new records the job declares; a run about more of them stops", follows=True),
    # sums and messages
    Parameter("method", OneOf(("pairwise", "ring", "threshold")), "how sums are protected", opens=True),
    Parameter("segments", Number(1, 20, whole=True), "into how many shares a value on a ring is cut", opens=True),
    Parameter("threshold", Either((NOTHING, Number(2, 100, whole=True))), "how many holders must stay to the end of a sum", opens=True),
    Parameter("fraction_bits", Number(16, 40, whole=True), "the binary digits after the point in sums", opens=True),
    Parameter("band", Number(64, 1 << 26, whole=True), "how many numbers are summed at once"),
    Parameter("block", Number(64, 1 << 20, whole=True), "how many ids are hashed at once"),
)}  # fmt: skip


def fault(name: str, annotation: object, value: object) -> str | None:
    """Return what is wrong with a value of a declared parameter, where a signature annotates it so; None if nothing is."""
    declared = PARAMETERS[name]
    if declared.kind.accepts(value) and suits(annotation, value):
        return None
    needs = f"it takes {declared.kind}" if not declared.kind.accepts(value) else f"this protocol takes {annotation}"
    return f"parameter {name!r} is {shown(value)}, and {needs}"
