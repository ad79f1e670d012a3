"""Every parameter of every protocol that a job may name, declared once: a name means the same in all of them.

What a job may contain, what people read about it and what a policy can bound all follow from these records; a default
stands in the signature of its protocol. Bounds in a job are those of any sensible study; a policy sets narrower ones.
Estimators check by the same records (`base.parameters`), within the bounds of what has a meaning.
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
    show_short,
    suits,
)
from tacit.crypto.products.engines import ENGINES
from tacit.numeric.cells.ownership import PARTITIONS
from tacit.numeric.devices import NAMES
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.numeric.groups.least_count import FLOOR
from tacit.numeric.scores.grid import SCORINGS, VARIED
from tacit.numeric.svm.kernels import KERNELS
from tacit.numeric.svm.problems import OVO, OVR
from tacit.protocols.consensus.space import SOURCES as CONSENSUS_SOURCES
from tacit.protocols.gram.cells import HOWS
from tacit.protocols.planes.feature_map import SOURCES as MAP_SOURCES
from tacit.protocols.sums.secure_sum import METHODS

ROWS = 10**9  # more records than any party has
CLASSES = 1000
PAIRS = CLASSES * (CLASSES - 1) // 2
CANDIDATES = 1000
COLUMNS = 10_000
KEY_BITS = (2048, 3072)

SWITCH, NOTHING = Switch(), Nothing()
LABEL = Either((SWITCH, Number(-LARGEST, LARGEST), Text(200)))
COUNT = Number(1, whole=True, job_most=ROWS)
CELL = Number(-1e12, 1e12)
CLASS_WEIGHTS = ByKey(LABEL, Number(0, job_most=1e6), CLASSES, "class weights")


def number_or(*texts: str, most: float = 1e9, above: bool = True) -> Either:
    """Return the kind of a number from 0 up, or one of these texts."""
    return Either((OneOf(texts), Number(0, above=above, job_most=most)))


KERNEL_AND_PRICE = (
    Parameter("C", Number(0, above=True, job_least=1e-9, job_most=1e9), "how much a record on the wrong side costs"),
    Parameter("kernel", OneOf(KERNELS), "how records are compared", opens=True),
    Parameter("gamma", number_or("scale", "auto"),
              "how near records of an RBF, polynomial or sigmoid kernel are; 'scale' opens sums of all cells",
              opens=True),
    Parameter("degree", Number(0, whole=True, job_most=20), "the degree of a polynomial kernel"),
    Parameter("coef0", Number(job_least=-1e6, job_most=1e6), "the constant of a polynomial or sigmoid kernel"),
)  # fmt: skip
CANDIDATE = Named({each.name: each.kind for each in KERNEL_AND_PRICE if each.name in VARIED})

PARAMETERS: dict[str, Parameter] = {each.name: each for each in (
    *KERNEL_AND_PRICE,
    # what is trained
    Parameter("class_weight", Either((NOTHING, OneOf(("balanced",)), CLASS_WEIGHTS)),
              "how much more a class counts than another"),
    Parameter("classes", Either((NOTHING, Items(LABEL, 1, CLASSES))),
              "the classes, where an earlier run has told them"),
    Parameter("classify", SWITCH, "whether targets are classes or numbers", opens=True),
    Parameter("multi_class", OneOf((OVR, OVO)),
              "how more than two classes are told apart: each against the rest, or each against each", opens=True),
    Parameter("epsilon", Either((NOTHING, Number(0, job_most=1e9))),
              "how far a number may be off in a regression at no cost", opens=True),
    Parameter("target_range", Either((NOTHING, Span(CELL))),
              "between which two numbers targets lie; a run with another one stops", opens=True),
    Parameter("probability", SWITCH, "whether probabilities are fitted too, on models without each fold", opens=True),
    Parameter("tol", Number(0, above=True, job_least=1e-12, job_most=1.0), "how exact the solution is", opens=True),
    Parameter("max_iter", Number(-1, whole=True, job_most=1e9),
              "the most steps of the solver at the coordinator; -1 for any number"),
    Parameter("max_rounds", Number(1, whole=True, job_most=100_000), "the most rounds of sums", opens=True),
    Parameter("seed", Number(0, 2**63 - 1, whole=True), "the public seed of what is drawn at random",
              opens=True, drawn=True),
    Parameter("dtype", OneOf(("auto", "float64", "float32")), "the precision of a holder's own work"),
    Parameter("device", OneOf(NAMES), "where a holder's own work is done: its processor, or a GPU"),
    # searches
    Parameter("candidates", Items(CANDIDATE, 1, CANDIDATES), "what is tried: a score of each is opened", opens=True),
    Parameter("cv", Number(2, whole=True, job_most=100), "the number of folds", opens=True),
    Parameter("scoring", OneOf(tuple(SCORINGS)), "the score of a candidate", opens=True),
    Parameter("refit", SWITCH, "whether the best candidate is trained on all records", opens=True),
    Parameter("factor", Either((OneOf((0,)), Number(2, whole=True, job_most=100))),
              "how many candidates are dropped at a time; 0 for none", opens=True),
    # how many records stand behind a number that is opened
    Parameter("accept_risk", SWITCH, "whether the run may open what a known attack makes use of", opens=True),
    Parameter("min_count", Either((OneOf(("auto",)), COUNT)), "how many rows every sum is over, at least", opens=True,
              stands={"auto": FLOOR}),  # each party takes its own number, and never a smaller one
    Parameter("min_cluster", COUNT, "of how many records a landmark is the mean, at least", opens=True),
    Parameter("min_rows", COUNT, "how many rows of a class take part, at least", opens=True),
    Parameter("min_records", COUNT, "how many records must be common before any id is opened", opens=True),
    Parameter("count_only", SWITCH, "whether an alignment opens the number of common records and no id", opens=True),
    # landmarks and hidden layers
    Parameter("landmark_source", OneOf(tuple(dict.fromkeys((*MAP_SOURCES, *CONSENSUS_SOURCES)))),
              "where landmarks come from", opens=True),
    Parameter("landmarks", number_or("auto", most=10_000),
              "how many landmarks or features a map has; below 1 a share of the records", opens=True),
    Parameter("landmark_range", Either((Span(CELL), Items(Span(CELL), 1, COLUMNS))),
              "where landmarks are drawn, for all columns or each"),
    Parameter("n_hidden", Either((NOTHING, Number(1, whole=True, job_most=10_000))),
              "how many nodes the hidden layer has", opens=True),
    Parameter("activation", OneOf(tuple(ACTIVATIONS)), "what a node does", opens=True),
    Parameter("scale", Number(0, above=True, job_most=1e6),
              "how large the weights of the hidden layer are", opens=True),
    Parameter("ridge", number_or("gcv", most=1e12, above=False),
              "how much output weights are kept small; 'gcv' opens one sum more", opens=True),
    # a consensus
    Parameter("disclose", OneOf(("metric", "loss", "least")),
              "what a consensus opens to take fewer rounds", opens=True),
    Parameter("rho", number_or("auto"), "how strongly parties are drawn together", opens=True),
    Parameter("over_relaxation", Number(0, 1.99, above=True), "how far a step goes beyond the average", opens=True),
    Parameter("watch", NOTHING, "public rows to follow a simulation by; none between organisations", opens=True),
    Parameter("witness", SWITCH, "whether the holders check the coordinator", opens=True),
    # products of cells
    Parameter("how", OneOf(HOWS), "how products of cells are made", opens=True),
    Parameter("engine", OneOf(ENGINES), "the cryptosystem of the products"),
    Parameter("key_bits", OneOf(KEY_BITS), "the length of Paillier's keys"),
    Parameter("feature_bits", Either((NOTHING, Number(1, 28, whole=True))),
              "the precision of a cell in products", opens=True),
    Parameter("feature_range", Either((NOTHING, Number(0, above=True, job_most=1e12))),
              "the largest size of a cell; a run with a larger one stops", opens=True),
    # what follows from the split, or from the model that is asked
    Parameter("partition", OneOf(PARTITIONS), "how records are split", opens=True, follows=True),
    Parameter("squares", SWITCH, "whether the kernel needs the records' lengths", opens=True, follows=True),
    Parameter("support", Number(0, ROWS, whole=True), "how many support vectors the model has", follows=True),
    Parameter("problems", Number(1, PAIRS, whole=True),
              "how many problems of two classes the model has", follows=True),
    Parameter("records", Either((NOTHING, COUNT)),
              "how many new records the job declares; a run about more of them stops", follows=True),
    # sums and messages
    Parameter("method", OneOf(METHODS), "how sums are protected", opens=True),
    Parameter("segments", Number(1, whole=True, job_most=20),
              "into how many shares a value on a ring is cut", opens=True),
    Parameter("threshold", Either((NOTHING, Number(2, 100, whole=True))),
              "how many holders must stay to the end of a sum", opens=True),
    Parameter("fraction_bits", Number(0, 52, whole=True, job_least=16, job_most=40),
              "the binary digits after the point in sums", opens=True),
    Parameter("band", Number(64, 1 << 26, whole=True), "how many numbers are summed at once"),
    Parameter("block", Number(64, 1 << 20, whole=True), "how many columns of masked codes are sent at once"),
)}  # fmt: skip


def fault(declared: Parameter, annotation: object, value: object) -> str | None:
    """Return what is wrong with a value of a declared parameter; None if nothing is.

    `annotation` is what the signature of the protocol says of it.
    """
    if declared.kind.accepts(value) and suits(annotation, value):
        return None
    needs = f"it takes {declared.kind}" if not declared.kind.accepts(value) else f"this protocol takes {annotation}"
    return f"parameter {declared.name!r} is {show_short(value)}, and {needs}"
