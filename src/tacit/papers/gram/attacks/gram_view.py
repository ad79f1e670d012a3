"""What the coordinator and the asker of a gram SVM see in a training and in questions.

The real protocols, and somebody who remembers.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import Asker, At, Coordinator, Each, Holder, Labeller, Role, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation import Federation
from tacit.federation.part import Part, part_of
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.svm.kernels import Kernel
from tacit.papers import columns
from tacit.papers.dual_svm import Solver
from tacit.papers.gram import arbitrary, vertical
from tacit.papers.gram.cells import Multiply, Products
from tacit.papers.gram.linear import gram_linear_predict
from tacit.papers.gram.train import DualModel
from tacit.papers.gram.weights import gram_weights
from tacit.papers.labels import Decision
from tacit.protocols.parameters import AnyKernel
from tacit.runtimes.together import Together


class OwnCoordinator(Together):
    """All parties in one process; `steps` stand in for the coordinator's steps of the same name, for nobody else's."""

    steps: Mapping[str, Callable[..., Any]] = MappingProxyType({})

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """Play a step as usual, or the coordinator's own version of it."""
        own = self.steps.get(step.__name__) if role == Coordinator else None
        return super().local(role, functools.wraps(step)(functools.partial(own)) if own else step, *args, **kwargs)


@dataclass
class Listener:
    """An honest coordinator that remembers the gram matrix, in bands, and what it saw of new records: dot products."""

    bands: tuple[F64, ...] = ()
    dots: list[F64] = field(default_factory=list)

    def append(self, done: tuple[F64, ...], band: F64) -> tuple[F64, ...]:
        """Collect the gram matrix as an honest coordinator does, and remember it."""
        self.bands = columns.append(done, band)
        return self.bands

    def decide_values(self, model: DualModel, total: F64, squares: bool) -> Decision:  # noqa: FBT001 - a step
        """Answer as an honest coordinator does, and remember the dot products."""
        self._remember(total, squares=squares)
        return vertical.decide_values(model, total, squares)

    def decide_each(self, model: DualModel, total: F64, squares: bool, new: Owners) -> Each:  # noqa: FBT001 - a step
        """Answer every holder of rows as an honest coordinator does, and remember the dot products."""
        self._remember(total, squares=squares)
        return arbitrary.decide_each(model, total, squares, new)

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
        support, told = _play(run, federation.partition, old, new, chosen)
    values = np.concatenate(list(told.values()))[:, 0]
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
        vertical.gram_vertical(run, run.hold(Holder, parts), kernel=kernel, solver=Solver(C=1.0))
    return unpack(listener.bands, len(X))


def _play(
    run: OwnCoordinator, partition: str, old: At[Part], new: At[Part], kernel: AnyKernel
) -> tuple[I64, Mapping[str, F64]]:
    """The support vectors, and what each who asks is told."""
    solver, by_columns = Solver(C=1.0, tol=1e-6), partition == "vertical"
    way: dict[str, Any] = {} if by_columns else {"partition": partition, "multiply": Multiply()}
    train = vertical.gram_vertical if by_columns else arbitrary.gram_arbitrary
    model = train(run, old, kernel=kernel, solver=solver, **way)
    shares, squares = (model.dual, model.columns), kernel.name == "rbf"
    if kernel.name == "linear":
        weights = gram_weights(run, *shares, partition=partition, problems=1)
        told = gram_linear_predict(run, new, weights, partition=partition, problems=1, multiply=Products())
    elif by_columns:
        told = vertical.gram_predict(run, new, *shares, squares=squares, support=len(model.support))
    else:
        told = arbitrary.gram_arbitrary_predict(run, new, *shares, squares=squares, **way)
    return model.support, entries_of(told)
