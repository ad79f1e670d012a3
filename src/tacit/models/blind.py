"""A blind gram SVM: words at every holder, of which only all of them together make a model."""

from __future__ import annotations

from tacit.choreo import Holder, State
from tacit.models.files import Shapes
from tacit.numeric.svm.kernels import OVR
from tacit.protocols.blind.training import BlindShare
from tacit.request import Input, Left, Values


class BlindModel(State):
    """All shares in one place, which exists only where all parties are simulated.

    gamma, records: public, of the kernel and of how many records it was trained on. asked: new records so far.
    divisor: public, by what the kernel was divided. target_range: of a regression, between which numbers targets lie.
    """

    share: dict[str, BlindShare]
    gamma: float
    records: int
    asked: int = 0
    multi_class: str = OVR
    divisor: float = 1.0
    target_range: tuple[float, float] | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        shapes.told_apart(self.multi_class)
        shapes.of_holders(self.share)
        for party, own in self.share.items():
            shapes.fit(own.X, len(own.X), shapes.held[party])
            if own.owned is not None:
                shapes.fit(own.owned, *own.X.shape)
            shapes.fit(own.bias, "problems")
        rows = [len(own.X) for own in self.share.values()]
        if any(rows):
            shapes.same(self.records, sum(rows) if {*rows} != {self.records} else self.records)
        inner = self.records if any(rows) else shapes.columns  # a linear model is one of weights, without records
        for own in self.share.values():
            shapes.fit(own.beta, inner * len(own.bias))

    def shares(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked."""
        del site
        return {"share": Values(Holder, self.share)}

    def records_of(self) -> dict[str, str]:
        """Return whose records a file of this model contains."""
        return {p: f"{s.X.shape[1]} columns of {len(s.X)} records" for p, s in self.share.items() if s.X.size}


class StoredBlind(State):
    """A blind model that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    gamma: float
    records: int
    multi_class: str = OVR
    divisor: float = 1.0
    target_range: tuple[float, float] | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless the parties are the holders and one that coordinates."""
        shapes.told_apart(self.multi_class)
        shapes.of_holders(self.parties[:-1])

    def shares(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked: what the training left with it."""
        del site
        return {"share": Left(Holder, self.job, "share")}

    def records_of(self) -> dict[str, str]:
        """Return nothing: the file holds a reference only."""
        return {}
