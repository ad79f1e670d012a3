"""The parameters of a consensus SVM: what a person chooses, and the records that the protocols take as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.choreo.declaration import Settings
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import MULTI_CLASS
from tacit.protocols.part import ClassWeight
from tacit.protocols.planes.problems import Svm

Span = tuple[float, float]


@dataclass(kw_only=True, eq=False, repr=False)
class ConsensusParameters:
    """What a person chooses of a consensus SVM, however the records are split."""

    C: float = 1.0
    kernel: str = "linear"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    rho: float | str = "auto"
    over_relaxation: float = 1.8
    multi_class: str = MULTI_CLASS
    class_weight: ClassWeight = None
    probability: bool = False
    tol: float = 1e-3
    max_rounds: int = 1000


@dataclass(kw_only=True, eq=False, repr=False)
class RowParameters:
    """What a person chooses beside, of a consensus over rows; `ConsensusSVC` takes all of these parameters."""

    disclose: str = "metric"
    landmark_source: str = "local"
    landmarks: int | str = "auto"
    landmark_range: Span | Sequence[Span] = (-1.0, 1.0)
    min_cluster: int = 5
    min_count: int | str = "auto"


@dataclass(kw_only=True)
class RowSvm(ConsensusParameters, RowParameters, Svm):
    """The parameters of a consensus over rows in its protocol: an SVM over rows, by averages."""

    C: float = field()  # a job does not leave it out
    landmarks: int | str = RowParameters.landmarks  # never a share of the rows, as an `Svm` has it
    dtype: str = field(default="float64", init=False)  # these three nobody chooses
    device: str = field(default="cpu", init=False)
    witness: bool = field(default=False, init=False)


@dataclass(kw_only=True)
class ColumnSvm(ConsensusParameters, Settings):
    """The parameters of a consensus over columns in its protocol, but for how its sums are protected."""

    C: float = field()  # a job does not leave it out
    accept_risk: bool = False

    @property
    def shape(self) -> Kernel:
        """The kernel, whose gamma is each party's own."""
        return Kernel(self.kernel, degree=self.degree, coef0=self.coef0)

    @property
    def is_linear(self) -> bool:
        """Whether weights are of columns, and not of records."""
        return self.kernel == "linear"
