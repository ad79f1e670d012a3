"""What the coordinator and the asker of a gram SVM see in a training and in questions.

The real protocols, and somebody who remembers.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.coordinator import OwnCoordinator
from tacit.choreo import Asker, At, Coordinator, Each, Holder, Labeller, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation import Federation
from tacit.federation.part import Part, part_of
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.gram import arbitrary as gram_arbitrary
from tacit.protocols.gram import vertical as gram_vertical
from tacit.protocols.gram.cells import Multiply, Products
from tacit.protocols.gram.linear import gram_linear_predict
from tacit.protocols.gram.model import DualModel, Trained
from tacit.protocols.gram.weights import gram_weights
from tacit.protocols.labels import Decision
from tacit.protocols.settings import AnyKernel, Protected, Solver, Sums


@dataclass
class Listener:
    """An honest coordinator that remembers the gram matrix, in bands, and what it saw of new records: dot products."""

    bands: tuple[F64, ...] = ()
    dots: list[F64] = field(default_factory=list)

    def append(self, done: tuple[F64, ...], band: F64) -> tuple[F64, ...]:
        """Collect the gram matrix as an honest coordinator does, and remember it."""
        self.bands = gram_vertical.append(done, band)
        return self.bands

    def decide_values(self, model: DualModel, total: F64, squares: bool) -> Decision:  # noqa: FBT001 - a step
        """Answer as an honest coordinator does, and remember the dot products."""
        self._remember(total, squares=squares)
        return gram_vertical.decide_values(model, total, squares)

    def decide_each(self, model: DualModel, total: F64, squares: bool, new: Owners) -> Each:  # noqa: FBT001 - a step
        """Answer every holder of rows as an honest coordinator does, and remember the dot products."""
        self._remember(total, squares=squares)
        return gram_arbitrary.decide_each(model, total, squares, new)

    def _remember(self, total: F64, *, squares: bool) -> None:
        self.dots.append(total[:, : total.shape[1] - squares].copy())


@dataclass(frozen=True)
class GramView:
    """The coordinator's gram matrix, support vectors, and their dot products with new records, none if linear.

    The asker's answers.
    """

    gram: F64
    support: I64
    dots: F64
    answers: F64
    kernel: Kernel


def gram_view(
    federation: Federation, queries: F64, *, kernel: str = "rbf", gamma: float = 1.0, degree: int = 2
) -> GramView:
    """Train between these parties, then ask about `queries`, cut in the same way."""
    listener, job = Listener(), secrets.token_bytes(16)
    with OwnCoordinator(federation.roster, job=job, entropy=RootEntropy(federation.roster.parties, job)) as run:
        run.steps = {step.__name__: step for step in (listener.append, listener.decide_values, listener.decide_each)}
        old, new = (run.hold(Holder, parts) for parts in (federation.parts, federation.split(queries).parts))
        chosen = AnyKernel(kernel=kernel, gamma=gamma, degree=degree, coef0=1.0)
        model, told = _play(run, federation.partition, old, new, chosen)
    support, values = model.support, np.concatenate(list(told.values()))[:, 0]
    dots = np.vstack([np.empty((0, len(support))), *listener.dots])
    gram = unpack(listener.bands, federation.n_rows)
    return GramView(gram, support, dots, values, Kernel(kernel, gamma, degree, 1.0))


def gram_of(X: F64, y: I64) -> F64:
    """What the coordinator has of columns that three parties bring, one each.

    A party beyond the last column brings none.
    """
    listener, job, names = Listener(), secrets.token_bytes(16), ("a", "b", "c")
    roster = Roster({Holder: names, Labeller: names[:1], Asker: names[:1], Coordinator: ("coordinator",)})
    parts = {
        p: part_of(X[:, i : i + 1], y if i == 0 else None, None, (p,) * X[:, i : i + 1].shape[1])
        for i, p in enumerate(names)
    }
    with OwnCoordinator(roster, job=job, entropy=RootEntropy(roster.parties, job)) as run:
        run.steps = {"append": listener.append}
        kernel = AnyKernel(kernel="linear", gamma=1.0, degree=2, coef0=0.0)
        gram_vertical.gram_vertical(run, run.hold(Holder, parts), kernel=kernel, solver=Solver(C=1.0), sums=Sums())
    return unpack(listener.bands, len(X))


def _play(
    run: OwnCoordinator, partition: str, old: At[Part], new: At[Part], kernel: AnyKernel
) -> tuple[Trained, Mapping[str, F64]]:
    """The model in shares, and what each who asks is told."""
    train = (
        gram_vertical.gram_vertical
        if partition == "vertical"
        else partial(gram_arbitrary.gram_arbitrary, partition=partition, multiply=Multiply())
    )
    model = train(run, old, kernel=kernel, solver=Solver(C=1.0, tol=1e-6), sums=Sums())
    squares = kernel.name == "rbf"
    shares = (model.dual, model.columns)
    if kernel.name == "linear":
        weights = gram_weights(run, *shares, partition=partition, problems=1)
        told = gram_linear_predict(run, new, weights, partition=partition, problems=1, multiply=Products())
    elif partition == "vertical":
        support = len(model.support)
        told = gram_vertical.gram_predict(run, new, *shares, squares=squares, support=support, sums=Sums())
    else:
        told = gram_arbitrary.gram_arbitrary_predict(
            run, new, *shares, partition=partition, squares=squares, multiply=Multiply(), protected=Protected()
        )
    return model, entries_of(told)
