"""FederatedGridSearch, FederatedRandomizedSearch, FederatedHalvingSearch: parameters found in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from sklearn.model_selection import ParameterGrid, ParameterSampler

from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Kind, Number
from tacit.errors import LocalError
from tacit.model_selection.search_base import FederatedSearch


@parameterized
class FederatedGridSearch(FederatedSearch):
    """Search over a grid of parameters by cross-validation. It finds what GridSearchCV finds on the pooled records.

    With a `PanSVC` the parties agree on landmarks once. All candidates and folds are trained together; candidates that
    differ only in C share their sums. With a `GramSVC` one gram matrix serves all. `report_` says who learnt what.

    Args:
        estimator: a `PanSVC` or a `GramSVC`; parameters that are not in the grid keep the values set here.
        param_grid: values of C, kernel, gamma, degree and coef0, as GridSearchCV takes them: a dict of lists, or a list
            of such dicts.
        scoring: "accuracy", "balanced_accuracy", "f1" (of the second of two classes) or "f1_macro".
        cv: number of folds. Every party divides its own rows of each class between the folds, by the estimator's
            `random_state`. Over rows there are fewer folds if one would have too few rows of a class.
        refit: train the best candidate on all records, in the same run.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too,
            after a first line that says how many rounds it can take; False: nowhere.

    Attributes:
        best_params_: parameters of the first candidate with the largest mean score over the folds.
        best_score_: its mean score.
        best_index_: its row of `cv_results_`.
        best_estimator_: the model of all records.
        cv_results_: as GridSearchCV has it, without times; `ended_early`: how many problems ended before `tol`.
        n_splits_: how many folds there were.
        folds_: in simulation, the fold of every record; -1 for a record that is in none.
        plan_: how many models it trains, and how many rounds of messages it could take at most.
        report_: the report of the run.
    """

    param_grid: Any

    def _candidates(self) -> list[dict[str, Any]]:
        try:
            return list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as error:
            raise LocalError(f"param_grid is not a grid: {' '.join(str(error).split())}") from None


@parameterized
class FederatedRandomizedSearch(FederatedSearch):
    """Search like `FederatedGridSearch`, over `n_iter` candidates that are drawn as RandomizedSearchCV draws them.

    Each kernel needs a feature map of its own. If gamma is continuous, no two candidates share one.

    Args:
        estimator: a `PanSVC` or a `GramSVC`.
        param_distributions: for each parameter a list, or a distribution with a method `rvs`.
        n_iter: number of candidates.
        random_state: seed for drawing the candidates; no secret is drawn from it.
        scoring: as in `FederatedGridSearch`. Attributes are the same too.
        cv: as in `FederatedGridSearch`.
        refit: as in `FederatedGridSearch`.
        verbose: as in `FederatedGridSearch`.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"n_iter": Number(1, whole=True)}

    param_distributions: Any
    _: KW_ONLY
    n_iter: int = 10
    random_state: Any = None

    def _candidates(self) -> list[dict[str, Any]]:
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))


@parameterized
class FederatedHalvingSearch(FederatedGridSearch):
    """Search like `FederatedGridSearch`, but try most candidates on only a share of the records.

    The best 1/factor of the candidates are tried again on factor times as many records, and so on.

    Args:
        estimator: a `PanSVC` or a `GramSVC`.
        param_grid: as in `FederatedGridSearch`.
        factor: each stage has this many times fewer candidates and this many times more records. Over rows there are
            only as many stages as leave enough rows of each class in each fold.
        scoring: as in `FederatedGridSearch`. Attributes are the same too; `cv_results_` has a row for every candidate
            of every stage, with `iter` and `share` of the records.
        cv: as in `FederatedGridSearch`.
        refit: as in `FederatedGridSearch`.
        verbose: as in `FederatedGridSearch`.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"factor": Number(2, whole=True)}

    _: KW_ONLY
    factor: int = 3

    def _factor(self) -> int:
        return self.factor
