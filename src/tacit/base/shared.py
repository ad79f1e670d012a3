"""Parameters that many estimators share, and what they do with them."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from tacit.arrays import F64
from tacit.base.parameters import draw_seed, parameterized
from tacit.errors import LocalError, warn_caller
from tacit.federation import Federation
from tacit.federation.backend import Here
from tacit.federation.plan import Partition
from tacit.progress import Watch, watching
from tacit.report import Report
from tacit.sparse import Sparse

WIDE = 1e3  # times as wide a column must be as another for a warning


@parameterized
class Watched:
    """Who waits for an estimator is told how far it is."""

    _: KW_ONLY
    verbose: bool | None = None

    def _watching(self) -> AbstractContextManager[Watch]:
        """Return what shows a line while runs of this estimator go on, as `verbose` says."""
        return watching(type(self).__name__, self.verbose)

    def take(self, fitted: Any) -> Self:
        """Become another estimator with the same parameters, which sites have fitted; parameters stay those of this."""
        own = inspect.signature(type(self)).parameters
        vars(self).update({name: value for name, value in vars(fitted).items() if name not in own})
        return self


@parameterized
class Simulation(Watched):
    """How plain arrays are split between parties that are imagined."""

    _: KW_ONLY
    partition: Partition | None = None
    n_parties: int = 3
    runtime: str = "together"
    random_state: Any = None

    def imagine(self, *table: Any, partition: Partition, **options: Any) -> Federation:
        """Return plain records split between parties that are imagined."""
        federation = Federation.simulate(
            *table, parties=self.n_parties, partition=partition, seed=self._seed(), runtime=self.runtime, **options
        )
        return dataclasses.replace(federation, backend=Here(self.runtime, imagined=True))

    def splitter(self) -> Simulation | None:
        """Return the estimator by whose parameters plain records are split: this one."""
        return self

    def _simulate(self, *table: Any, partition: Partition, **options: Any) -> Federation:
        """Return a federation of plain records, under the names that their columns have."""
        federation = self.imagine(*table, partition=partition, **options)
        named = getattr(self, "feature_names_in_", None)
        return federation if named is None else federation.rename_features(tuple(named))

    def _seed(self) -> int:
        return draw_seed(self.random_state)


def refuse_elsewhere(transformer: object, federation: Federation) -> None:
    """Refuse records of sites that nobody here can look at: only a study prepares them, where they are."""
    if not federation.backend.prepares and not federation.holds_records:
        name = type(transformer).__name__
        raise LocalError(
            f"{name} cannot transform records that stay at their sites by itself: make it a step of a Pipeline, which"
            " the sites run as one study"
        )


def refuse_sparse(estimator: Any, federation: Federation) -> None:
    """Refuse sparse records for a fitted estimator that needs all cells."""
    if not estimator.takes_sparse:
        federation.check_dense(type(estimator).__name__)


def set_features(estimator: Any, federation: Federation) -> None:
    """Set scikit-learn's attributes for the features that an estimator was fitted on."""
    estimator.n_features_in_ = federation.n_features
    if federation.named:
        estimator.feature_names_in_ = np.array(federation.features, dtype=object)


def check_coordinator(federation: Federation, learns: str, *, accept_risk: bool) -> None:
    """Refuse a party that would coordinate, and so learn what its own data tells it more about."""
    if federation.coordinator in federation.parts and not accept_risk:
        would = f"party {federation.coordinator!r} would coordinate and learn {learns}"
        raise LocalError(f"{would}: name a site without data, or say accept_risk=True")


_unheard: ContextVar[bool] = ContextVar("unheard", default=False)


def warn_of(report: Report, concerns: Iterable[str | Warning]) -> None:
    """Write concerns into the report, and warn whoever called `fit` of them."""
    for concern in concerns:
        report.warnings.append(str(concern))
        if not _unheard.get():
            warn_caller(concern)


def compare_scales(federation: Federation) -> list[str]:
    """Return what to say of columns of very different scales, where the records are in this process."""
    if not federation.holds_records or federation.backend.imagined or federation.streamed:
        return []
    width = dict(zip(federation.features, _spread(federation.pooled()[0]), strict=True))
    varying = {name: float(size) for name, size in width.items() if size > 0}
    if len(varying) < 2:  # noqa: PLR2004 - one column differs from none
        return []
    narrow, wide = min(varying, key=varying.__getitem__), max(varying, key=varying.__getitem__)
    times = varying[wide] / varying[narrow]
    if times <= WIDE:
        return []
    said = f"column '{wide}' varies {times:,.0f} times as much as '{narrow}', and decides nearly alone how near two"
    return [f"{said} records are: bring columns to one scale by a FederatedScaler before (tacit train --prepare)"]


def _spread(X: Any) -> F64:
    """Return the standard deviation of every column."""
    if not issparse(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value varies in nothing
            found: F64 = np.nan_to_num(np.nanstd(X, axis=0))
        return found
    rows = Sparse.from_scipy(X)
    return np.asarray(np.sqrt((rows - rows.mean(axis=0)).each(np.square).mean(axis=0)), dtype=np.float64)


@contextmanager
def write_concerns_only() -> Iterator[None]:
    """Let concerns be written into reports only: where estimators are fitted at a site, nobody called `fit`."""
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)
