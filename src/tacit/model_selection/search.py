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
    """Every combination of a grid, over folds of split records; the answer of GridSearchCV on the pooled records.

    With a `PanSVC` the parties agree on landmarks once; all candidates and folds are trained together, prices C of one
    kernel from the same sums. With a `GramSVC` there is one gram matrix for all. `report_` says who learnt what.

    Args:
        estimator: a `PanSVC` or a `GramSVC`; what is not in the grid is as set here.
        param_grid: values of C, kernel, gamma, degree and coef0, as GridSearchCV takes them: a dict of lists, or a list
            of such dicts.
        scoring: "accuracy", "balanced_accuracy", "f1" (of the second of two classes) or "f1_macro".
        cv: folds, dealt by every party among its own rows of each class, by the estimator's `random_state`; over rows
            fewer, if one
            would have a few rows of a class.
        refit: train the best on all records, in the same run.
        verbose: None shows how far it is in a terminal or notebook, after 2 s; True prints before the start how many
            rounds it can take, and shows it in a log too; False shows nothing.

    Attributes:
        best_params_: of the first candidate with the largest mean score over the folds.
        best_score_: its mean score.
        best_index_: its row of `cv_results_`.
        best_estimator_: the model of all records.
        cv_results_: as GridSearchCV has it, without times; `ended_early`: how many problems ended before `tol`.
        n_splits_: how many folds there were.
        folds_: in simulation, the fold of every record; -1 for one that takes no part.
        plan_: how many models it trains, and how many rounds of messages it could take at most.
        report_: the report of the run.
    """

    param_grid: Any

    def _candidates(self) -> list[dict[str, Any]]:
        try:
            return list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as error:
            raise LocalError(f"param_grid is no grid: {' '.join(str(error).split())}") from None


@parameterized
class FederatedRandomizedSearch(FederatedSearch):
    """As `FederatedGridSearch`, for `n_iter` candidates that are drawn as RandomizedSearchCV draws them.

    Every different kernel has a map of its own, which the candidates of a continuous gamma cannot share.

    Args:
        estimator: a `PanSVC` or a `GramSVC`.
        param_distributions: for each parameter a list, or a distribution with a method `rvs`.
        n_iter: how many candidates.
        random_state: of the draw; it feeds no secret.
        scoring: as in `FederatedGridSearch`, and so are cv, refit, verbose, and all attributes.
        cv: see there.
        refit: see there.
        verbose: see there.
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
    """As `FederatedGridSearch`, but most candidates are tried on a share of the records only.

    The best 1/factor of them goes on to factor times as many records, and so on.

    Args:
        estimator: a `PanSVC` or a `GramSVC`.
        param_grid: as in `FederatedGridSearch`.
        factor: how many times fewer candidates, and more records, each stage has. Over rows there are as many stages as
            leave none with a
            few rows of a class and fold.
        scoring: as in `FederatedGridSearch`, and so are cv, refit, verbose, and all attributes; `cv_results_` has a row
            for every candidate
            of every stage, with `iter` and `share` of the records.
        cv: see there.
        refit: see there.
        verbose: see there.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"factor": Number(2, whole=True)}

    _: KW_ONLY
    factor: int = 3

    def _factor(self) -> int:
        return self.factor
