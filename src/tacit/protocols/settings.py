"""Records of parameters that protocols of several families take as one value; a job gives their fields one by one."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo import Holder, Role, Run
from tacit.choreo.declaration import Settings
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import MULTI_CLASS, Way
from tacit.protocols.part import ClassWeight
from tacit.protocols.sums.secure_sum import Protection, protect


@dataclass(frozen=True, kw_only=True)
class Protected(Settings):
    """How the sums of a run are protected."""

    method: str = "pairwise"
    segments: int = 1

    def protect(self, run: Run, *, to: Role) -> Protection:
        """Agree on what protects the sums to a role."""
        return protect(run, to=to, method=self.method, segments=self.segments)


@dataclass(frozen=True, kw_only=True)
class Sums(Protected):
    """How the sums of a run are protected, and how exact they are."""

    fraction_bits: int = 32

    def fixed_point(self, run: Run) -> FixedPoint:
        """Return the encoding of the numbers that all holders add up."""
        return FixedPoint(self.fraction_bits, terms=len(run.roster[Holder]))


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


@dataclass(frozen=True, kw_only=True)
class Solver(Settings):
    """How a dual SVM is solved: what errors cost, which problems several classes are, and when the solver stops.

    With `probability` it is also said how decision values become probabilities.
    """

    C: float
    multi_class: str = MULTI_CLASS
    class_weight: ClassWeight = None
    tol: float = 1e-3
    max_iter: int = -1
    probability: bool = False

    @property
    def way(self) -> Way:
        """How classes are told apart, as the dual solver takes it."""
        return Way(C=self.C, multi_class=self.multi_class, tol=self.tol, max_iter=self.max_iter)
