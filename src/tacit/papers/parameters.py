"""Parameters that several papers share, declared once: a name means the same in all protocols of a job."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.choreo import Holder, Run
from tacit.choreo.declaration import Kind, Number, OneOf, Parameter
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.svm.kernels import OVO, OVR
from tacit.protocols.parameters import number_or

WEAK = "a few known records give all of its data away (tacit attack shows it)"
FRACTION_BITS = 32  # binary digits after the point, of reals in sums

TOL = Parameter("tol", Number(0, above=True, job_least=1e-12, job_most=1.0), "how exact the solution is", opens=True)
MAX_ROUNDS = Parameter("max_rounds", Number(1, whole=True, job_most=100_000), "the most rounds of sums", opens=True)
MAX_ITER = Parameter(
    "max_iter",
    Number(-1, whole=True, job_most=1e9),
    "the most steps of the coordinator's solver; -1 for any number",
)
MULTI_CLASS = Parameter(
    "multi_class",
    OneOf((OVR, OVO)),
    "how more than two classes are told apart: each against the rest, or each against each",
    opens=True,
)
LANDMARKS = Parameter(
    "landmarks",
    number_or("auto", most=10_000),
    "how many landmarks or features a map has; below 1 a share of the records",
    opens=True,
)
BAND = Parameter("band", Number(64, 1 << 26, whole=True), "how many numbers are summed at once")


def fixed_point(run: Run) -> FixedPoint:
    """Return the encoding of numbers that all holders add up."""
    return FixedPoint(FRACTION_BITS, terms=len(run.roster[Holder]))


def kinds_of(*parameters: Parameter) -> Mapping[str, Kind]:
    """Return the kinds of parameters by name, as an estimator checks them."""
    return {each.name: each.kind for each in parameters}
