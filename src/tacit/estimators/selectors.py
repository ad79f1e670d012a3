"""VotedWrapperSelector and FilterWrapperSelector: features selected over rows that many hold (paper 004, chapters 5 and 6)."""

from __future__ import annotations

from typing import Any, ClassVar

from tacit.errors import LocalError
from tacit.estimators.pan import PanSVC
from tacit.estimators.parameters import Number, OneOf, Rule, check
from tacit.estimators.pooled_selection import Pooled, filter_wrapper, wrapper
from tacit.estimators.selection_plan import Plan, filter_plan, wrapper_plan
from tacit.estimators.selector_base import SIZES, FederatedSelector, check_size, counted
from tacit.numeric.elimination import schedule, sizes
from tacit.protocols.select_wrapper import CRITERIA, check_criteria
from tacit.registry import Outcome

BEST = OneOf(("best",))
COMMON: dict[str, tuple[Rule, ...]] = {
    "n_features_to_select": (*SIZES, BEST),
    "max_features": SIZES[1:],
    "step": SIZES[1:],
    "cv": (Number(2, whole=True),),
    "verbose": (OneOf((True, False)),),
}


class VotedWrapperSelector(FederatedSelector):
    """Drops features round by round, those for which most of three criteria of the trained model have the least use.

    The parties agree on landmarks once; then everyone trains on the features left, and the coordinator learns scores from masked
    sums and publishes who goes. `report_` says who learnt what.

    Args:
        estimator: a `PanSVC` (the default), whose parameters train every model; or scikit-learn's `SVC`, for plain arrays only.
        n_features_to_select: how many, or below 1 which share; None: half; "best": the largest subset on the way whose accuracy over
            the folds is within a standard error of the best. It is optimistic, since the ranking has seen the folds' rows: set test
            rows aside before.
        criteria: of "rfe", "rsvm" and "t", one or more.
        step: how many features go per round, or below 1 which share of those left.
        cv: folds; fewer, if one would have a few rows of a class.
        max_features: with "best", how many are selected at most, or which share.
        verbose: print before the start how many rounds it can take.

    Attributes:
        support_: which features are selected.
        ranking_: 1 for these; the others by the round in which they went, the last first.
        n_features_: how many are selected.
        accuracy_: accuracy over the folds by number of features, where it was needed; only in simulation, it is the coordinator's.
        plan_: how many eliminations, trainings and rounds of messages it could take at most.
        report_: the report of the run; not with an SVC.
    """

    PROTOCOL = "select_wrapper"
    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = COMMON

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_features_to_select: float | str | None = None,
        criteria: tuple[str, ...] = CRITERIA,
        step: float = 1,
        cv: int = 5,
        max_features: float = 0.5,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.criteria = criteria
        self.step = step
        self.cv = cv
        self.max_features = max_features
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check(self, self.RULES)
        if isinstance(self.criteria, str):
            raise LocalError(f"criteria must be a tuple, such as ({self.criteria!r},); got {self.criteria!r}")
        check_criteria(tuple(self.criteria))

    def _arguments(self, columns: int) -> dict[str, Any]:
        return {"criteria": tuple(self.criteria), "cv": self.cv, **self._sizes(columns)}

    def _sizes(self, columns: int) -> dict[str, Any]:
        best = self.n_features_to_select == "best"
        wanted = 1 if best else counted(self.n_features_to_select, columns, max(1, columns // 2))
        most = check_size(self, "max_features", columns, counted(self.max_features, columns, columns))
        return {"keep": check_size(self, "n_features_to_select", columns, wanted), "step": self.step, "best": best, "at_most": most}

    def _plan(self, learner: PanSVC, columns: int, parties: int) -> Plan:
        drops = schedule(columns, self._sizes(columns)["keep"], self.step)
        return wrapper_plan(learner, drops, len(self.criteria), best=self.n_features_to_select == "best", parties=parties)

    def _pooled(self, table: Pooled, columns: int) -> dict[str, Any]:
        return wrapper(table, criteria=tuple(self.criteria), **self._sizes(columns))

    def _concerns(self, outcome: Outcome) -> list[str]:
        """The sums of rsvm of a kernel that is not linear are new functions of the same rows in every round."""
        rows, columns = outcome.result["rows"], self.n_features_in_
        opened = outcome.result["problems"] * 2 * sum(sizes(columns, [len(each) for each in outcome.result["gone"]])[:-1])
        said = (
            f"the rounds opened {opened} sums for rsvm, more than the {rows * columns} cells of all records: in principle they could be"
            " solved for them; use a step below 1, or criteria without rsvm"
        )
        return [said] if "rsvm" in self.criteria and self._learner().kernel != "linear" and opened > rows * columns else []


class FilterWrapperSelector(FederatedSelector):
    """Keeps the features that pass three filters, and of these the subset with the best accuracy over folds.

    The filters need one masked sum; landmarks are agreed on the features that pass only. `report_` says who learnt what.

    Args:
        estimator: a `PanSVC` (the default), whose parameters train every model; or scikit-learn's `SVC`, for plain arrays only.
        n_features_to_select: "best": the largest subset on the way whose accuracy over the folds is within a standard error of the
            best; how many, or below 1 which share of all features (fewer, if fewer pass); None: half.
        fisher: least Fisher score; None: as `quota` says.
        welch: largest p-value of Welch's t-test; None: as above.
        scatter: least ratio of between and within class scatter; None: as above.
        agree: "all": a feature must pass all three filters; "majority": two of them.
        quota: how many features pass a filter that has no threshold, or which share of all; None: all.
        max_features: with "best", how many are selected at most, or which share of all.
        step: how many features go per round, or below 1 which share of those left.
        max_trials: without how many features, the weakest by the filters, the accuracy is tried in a round; where more than one go at
            once, without how many sets of them.
        cv: folds; fewer, if one would have a few rows of a class.
        verbose: print before the start how many rounds it can take.

    Attributes:
        support_, ranking_, n_features_, accuracy_, plan_, report_: as of `VotedWrapperSelector`; what no filter passes ranks last.
    """

    PROTOCOL = "select_filter"
    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        **COMMON,
        "fisher": (OneOf((None,)), Number(0)),
        "welch": (OneOf((None,)), Number(0, 1)),
        "scatter": (OneOf((None,)), Number(0)),
        "agree": (OneOf(("all", "majority")),),
        "quota": SIZES,
        "max_trials": (Number(1, whole=True),),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_features_to_select: float | str | None = "best",
        fisher: float | None = None,
        welch: float | None = 0.01,
        scatter: float | None = None,
        agree: str = "all",
        quota: float | None = None,
        max_features: float = 0.5,
        step: float = 1,
        max_trials: int = 10,
        cv: int = 5,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.fisher = fisher
        self.welch = welch
        self.scatter = scatter
        self.agree = agree
        self.quota = quota
        self.max_features = max_features
        self.step = step
        self.max_trials = max_trials
        self.cv = cv
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check(self, self.RULES)

    def _arguments(self, columns: int) -> dict[str, Any]:
        return {"cv": self.cv, **self._search(columns)}

    def _search(self, columns: int) -> dict[str, Any]:
        best = self.n_features_to_select == "best"
        wanted = 1 if best else counted(self.n_features_to_select, columns, max(1, columns // 2))
        filters = {
            "fisher": self.fisher,
            "welch": self.welch,
            "scatter": self.scatter,
            "quota": None if self.quota is None else check_size(self, "quota", columns, counted(self.quota, columns, columns)),
            "votes": 3 if self.agree == "all" else 2,
        }
        keep = check_size(self, "n_features_to_select", columns, wanted)
        most = check_size(self, "max_features", columns, counted(self.max_features, columns, columns))
        return {"filters": filters, "keep": keep, "step": self.step, "best": best, "at_most": most, "trials": self.max_trials}

    def _plan(self, learner: PanSVC, columns: int, parties: int) -> Plan:
        search = self._search(columns)
        strict = self.agree == "all" and None in (self.fisher, self.welch, self.scatter)  # then no more than the quota pass
        most = (search["filters"]["quota"] if strict else None) or columns
        drops = schedule(most, min(search["keep"], most), self.step)
        return filter_plan(learner, most, drops, self.max_trials, best=search["best"], parties=parties)

    def _pooled(self, table: Pooled, columns: int) -> dict[str, Any]:
        return filter_wrapper(table, **self._search(columns))
