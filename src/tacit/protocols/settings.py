"""Records of parameters that protocols of several families take as one value; a job gives their fields one by one."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.declaration import Settings
from tacit.numeric.svm.kernels import Kernel


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
