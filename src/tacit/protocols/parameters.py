"""Every parameter of every protocol that a job may name, declared once: a name means the same in all of them.

What a job may contain, what people read about it and what a policy can bound all follow from these records; a default
stands in the signature of its protocol. Bounds in a job are those of any sensible study; a policy sets narrower ones.
Estimators check by the same records (`base.parameters`), within the bounds of what has a meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.declaration import (
    LARGEST,
    ByKey,
    Either,
    Items,
    Nothing,
    Number,
    OneOf,
    Parameter,
    Settings,
    Span,
    Switch,
    Text,
    find_wrong,
    show_short,
    suits,
)
from tacit.numeric.cells.ownership import PARTITIONS
from tacit.numeric.devices import NAMES
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.numeric.svm.kernels import KERNELS, Kernel

ROWS = 10**9  # more records than any party has
CLASSES = 1000
PAIRS = CLASSES * (CLASSES - 1) // 2
CANDIDATES = 1000
COLUMNS = 10_000

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

PARAMETERS: dict[str, Parameter] = {each.name: each for each in (
    *KERNEL_AND_PRICE,
    # what is trained
    Parameter("class_weight", Either((NOTHING, OneOf(("balanced",)), CLASS_WEIGHTS)),
              "how much more a class counts than another"),
    Parameter("classes", Either((NOTHING, Items(LABEL, 1, CLASSES))),
              "the classes, where an earlier run has told them"),
    Parameter("classify", SWITCH, "whether targets are classes or numbers", opens=True),
    Parameter("tube", Either((NOTHING, Number(0, job_most=1e9))),
              "how far a number may be off in a regression at no cost", opens=True),
    Parameter("target_range", Either((NOTHING, Span(CELL))),
              "between which two numbers targets lie; a run with another one stops", opens=True),
    Parameter("probability", SWITCH, "whether probabilities are fitted too, on models without each fold", opens=True),
    Parameter("seed", Number(0, 2**63 - 1, whole=True), "the public seed of what is drawn at random",
              opens=True, drawn=True),
    Parameter("device", OneOf(NAMES), "where a holder's own work is done: its processor, or a GPU"),
    # how many records stand behind a number that is opened
    Parameter("accept_risk", SWITCH, "whether the run may open what a known attack makes use of", opens=True),
    Parameter("min_records", COUNT, "how many records must be common before any id is opened", opens=True),
    Parameter("count_only", SWITCH, "whether an alignment opens the number of common records and no id", opens=True),
    # landmarks and hidden layers
    Parameter("n_hidden", Either((NOTHING, Number(1, whole=True, job_most=10_000))),
              "how many nodes the hidden layer has", opens=True),
    Parameter("activation", OneOf(("auto", "fourier", *ACTIVATIONS)), "what a node does", opens=True),
    Parameter("scale", Number(0, above=True, job_most=1e6),
              "how large the weights of the hidden layer are", opens=True),
    # products of cells
    Parameter("feature_range", Either((NOTHING, Number(0, above=True, job_most=1e12))),
              "the largest size of a cell; a run with a larger one stops", opens=True),
    # what follows from the split, or from the model that is asked
    Parameter("partition", OneOf(PARTITIONS), "how records are split", opens=True, follows=True),
    Parameter("problems", Number(1, PAIRS, whole=True),
              "how many problems of two classes the model has", follows=True),
    Parameter("records", Either((NOTHING, COUNT)),
              "how many new records the job declares; a run about more of them stops", follows=True),
    # sums and messages
    Parameter("block", Number(64, 1 << 20, whole=True), "how many columns of masked codes are sent at once"),
)}  # fmt: skip


def fault(declared: Parameter, annotation: object, value: object) -> str | None:
    """Return what is wrong with a value of a declared parameter; None if nothing is.

    `annotation` is what the signature of the protocol says of it.
    """
    if declared.kind.accepts(value) and suits(annotation, value):
        return None
    if declared.kind.accepts(value):
        return f"parameter {declared.name!r} is {show_short(value)}, and this protocol takes {annotation}"
    kind, name, wrong = find_wrong(declared.kind, declared.name, value)
    return f"parameter {name!r} is {show_short(wrong)}, and it takes {kind}"


# Records of parameters that protocols of several families take as one value; a job gives their fields one by one


@dataclass(frozen=True, kw_only=True)
class RadialKernel(Settings):
    """A kernel that has no number but gamma; 'scale' and 'auto' stand for numbers that depend on the data."""

    kernel: str
    gamma: float | str

    @property
    def name(self) -> str:
        """The name of the kernel; a job calls it `kernel`."""
        return self.kernel


@dataclass(frozen=True, kw_only=True)
class AnyKernel(RadialKernel):
    """A kernel with all its numbers."""

    degree: int
    coef0: float

    @property
    def shape(self) -> Kernel:
        """The kernel, whose gamma is still open."""
        return Kernel(self.name, degree=self.degree, coef0=self.coef0)

    @property
    def is_scaled(self) -> bool:
        """Whether gamma depends on the sum of all cells."""
        return self.gamma == "scale" and self.name != "linear"
