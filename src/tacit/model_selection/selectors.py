"""VotedWrapperSelector and FilterWrapperSelector: features selected over rows (paper 004, chapters 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from tacit.base.parameters import NONE, parameterized
from tacit.base.selection_plan import Plan, filter_plan, wrapper_plan
from tacit.choreo.declaration import Either, Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.model_selection.pooled_selection import Eliminated, Pooled, select_by_filters, select_by_wrapper
from tacit.model_selection.selector_base import SIZE_OR_NONE, FederatedSelector
from tacit.numeric.features.elimination import schedule, sizes
from tacit.protocols.planes.select_wrapper import CRITERIA, check_criteria
from tacit.registry import Outcome


@parameterized
class VotedWrapperSelector(FederatedSelector):
    """Drop features round by round: those that most of three criteria of the trained model find least useful.

    The parties agree on landmarks once. Then, in each round, all train on the features that are left, and the
    coordinator learns scores from masked sums and publishes which features are dropped. `report_` says who learnt what.

    Args:
        estimator: a `PanSVC` (the default), whose parameters train every model; or scikit-learn's `SVC`, for plain
            arrays only.
        n_features_to_select: a number, or below 1 a share of all features; None: half; "best": the largest tried subset
            whose accuracy over the folds is within one standard error of the best. That accuracy is optimistic, because
            the ranking has seen the rows of the folds: set test rows aside first.
        criteria: one or more of "rfe", "rsvm" and "t".
        step: how many features are dropped in each round; below 1, which share of those that are left.
        cv: number of folds; fewer, if a fold would have too few rows of a class.
        max_features: with "best", the largest number, or share, of features to select.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too,
            after a first line that says how many rounds it can take; False: nowhere.

    Attributes:
        support_: mask of the selected features.
        ranking_: 1 for selected features; the others are ranked by the round in which they were dropped, the last one
            first.
        n_features_: how many are selected.
        accuracy_: accuracy over the folds by number of features, where it was needed; in simulation only, because the
            coordinator alone learns it.
        plan_: how many eliminations, trainings and rounds of messages it could take at most.
        report_: the report of the run; an SVC has none.
    """

    PROTOCOL = "select_wrapper"

    _: KW_ONLY
    criteria: tuple[str, ...] = CRITERIA

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if isinstance(self.criteria, str):
            raise LocalError(f"criteria must be a tuple, such as ({self.criteria!r},); got {self.criteria!r}")
        check_criteria(tuple(self.criteria))

    def _arguments(self, columns: int) -> dict[str, Any]:
        return {"criteria": tuple(self.criteria), "cv": self.cv, **self._sizes(columns)}

    def _plan(self, learner: Any, columns: int, parties: int) -> Plan:
        asked = self._sizes(columns)
        drops = schedule(columns, asked["keep"], self.step)
        return wrapper_plan(learner, drops, len(self.criteria), best=asked["best"], parties=parties)

    def _pooled(self, table: Pooled, columns: int) -> Eliminated:
        return select_by_wrapper(table, criteria=tuple(self.criteria), **self._sizes(columns))

    def _concerns(self, outcome: Outcome) -> list[str]:
        """Warn of rsvm with a kernel that is not linear: its sums are new functions of the same rows in every round."""
        result, columns = outcome.result, self.n_features_in_
        tried = sizes(columns, [len(each) for each in result.gone])[:-1]
        opened, cells = result.problems * 2 * sum(tried), result.rows * columns
        if "rsvm" not in self.criteria or self._learner().kernel == "linear" or opened <= cells:
            return []
        said = (
            f"the rounds opened {opened} sums for rsvm, more than the {cells} cells of all records: in principle they"
            " could be solved for them; use a step below 1, or criteria without rsvm"
        )
        return [said]


@parameterized
class FilterWrapperSelector(FederatedSelector):
    """Keep the features that pass three filters, and of these the subset with the best accuracy over folds.

    The filters need one masked sum; the parties agree on landmarks for the features that pass. `report_` says who
    learnt what.

    Args:
        estimator: a `PanSVC` (the default), whose parameters train every model; or scikit-learn's `SVC`, for plain
            arrays only.
        n_features_to_select: "best": the largest tried subset whose accuracy over the folds is within one standard
            error of the best; or a number, or below 1 a share of all features (fewer, if fewer pass); None: half.
        fisher: smallest Fisher score that passes; None: as `quota` says.
        welch: largest p-value of Welch's t-test that passes; None: as `quota` says.
        scatter: smallest ratio of between-class to within-class scatter that passes; None: as `quota` says.
        agree: "all": a feature must pass all three filters; "majority": two of them.
        quota: how many features, or which share of all features, pass a filter that has no threshold; None: all.
        max_features: with "best", the largest number, or share, of features to select.
        step: how many features are dropped in each round; below 1, which share of those that are left.
        max_trials: how many trials there are in a round. Each trial measures the accuracy without one of the weakest
            features, or without one set of them where several are dropped at once.
        cv: number of folds; fewer, if a fold would have too few rows of a class.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too,
            after a first line that says how many rounds it can take; False: nowhere.

    Attributes:
        support_, ranking_, n_features_, accuracy_, plan_, report_: as in `VotedWrapperSelector`. Features that
            pass no filter rank last.
    """

    PROTOCOL = "select_filter"
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **FederatedSelector.OWN,
        "fisher": Either((NONE, Number(0))),
        "welch": Either((NONE, Number(0, 1))),
        "scatter": Either((NONE, Number(0))),
        "agree": OneOf(("all", "majority")),
        "quota": SIZE_OR_NONE,
        "max_trials": Number(1, whole=True),
    }

    _: KW_ONLY
    n_features_to_select: float | str | None = "best"
    fisher: float | None = None
    welch: float | None = 0.01
    scatter: float | None = None
    agree: str = "all"
    quota: float | None = None
    max_trials: int = 10

    def _arguments(self, columns: int) -> dict[str, Any]:
        return {"cv": self.cv, **self._search(columns)}

    def _search(self, columns: int) -> dict[str, Any]:
        quota = None if self.quota is None else self._count_features("quota", columns, columns)
        votes = 3 if self.agree == "all" else 2
        filters = {"fisher": self.fisher, "welch": self.welch, "scatter": self.scatter, "quota": quota, "votes": votes}
        return {"filters": filters, **self._sizes(columns), "trials": self.max_trials}

    def _plan(self, learner: Any, columns: int, parties: int) -> Plan:
        search = self._search(columns)
        # where every filter must agree, no more than the quota pass
        strict = self.agree == "all" and None in (self.fisher, self.welch, self.scatter)
        most = (search["filters"]["quota"] if strict else None) or columns
        drops = schedule(most, min(search["keep"], most), self.step)
        return filter_plan(learner, most, drops, self.max_trials, best=search["best"], parties=parties)

    def _pooled(self, table: Pooled, columns: int) -> Eliminated:
        return select_by_filters(table, **self._search(columns))
