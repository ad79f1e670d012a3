"""How SVMs over rows are rehearsed, and what they cost; the number of rounds is known only at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.choreo import Coordinator, Holder, Run
from tacit.choreo.progress import Phase
from tacit.choreo.protocol import COLUMNS, LARGE, Cost, Params, Planned
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.column_parameters import OF_SELECTIONS
from tacit.protocols.planes.pool import STEPS
from tacit.protocols.planes.problems import Common, Svm, choose_size
from tacit.protocols.scores.fold_scores import MOST as FOLDS
from tacit.protocols.work import cluster_work, joint_work, map_work, planes_work, usual_rounds

SHORTLIST = 10  # candidates of a search
GROUP = 2  # rows of a group in a rehearsal, unless every row is one


PLAIN = {"dtype": "float64", "device": "cpu"}  # how a rehearsal computes, whatever the parties have


def shrink_groups(params: Params) -> Params:
    """Return small parameters of groups and landmarks, for a few invented rows."""
    single = params.get("min_count") == 1
    return {
        "tol": 1e-9,
        "landmarks": 3.0,
        "min_cluster": 1,
        "min_count": 1 if single else GROUP,
        "accept_risk": True,
        "class_weight": None,
    }


def shortlist(params: Params) -> Params:
    """Return few candidates of a search, one of every kind among them, and stages if it has some."""
    candidates, factor = params.get("candidates", ()), params.get("factor", 0)
    if len(candidates) <= SHORTLIST:
        return {}
    kinds = {(each.get("kernel"), isinstance(each.get("gamma"), str)): each for each in reversed(candidates)}
    chosen = [*kinds.values(), *(each for each in candidates if each not in list(kinds.values()))][:SHORTLIST]
    return {"candidates": tuple(chosen), "factor": 2 if 2 <= factor <= len(candidates) else 0}  # noqa: PLR2004 - halves


def shrink_selection(params: Params) -> Params:
    """Return small parameters of a selection of features, for a few invented rows."""
    return {**shrink_groups(params), **PLAIN, "cv": 2, "keep": 1}


def selection_cost(planned: Planned) -> Cost:
    """Estimate a training for each of `COLUMNS` columns, as if they went one by one, and one more."""
    own = {"cv", *(each.name for each in OF_SELECTIONS)}
    training = planned.other("pan_svm", {name: value for name, value in planned.params.items() if name not in own})
    times = 1 + COLUMNS
    sizes, work = ({party: times * n for party, n in each.items()} for each in (training.bytes, training.work))
    return Cost(rounds=times * training.rounds, bytes=sizes, work=work)


@dataclass(frozen=True)
class Sizes:
    """On how much work depends: rows, columns, classes and problems of all parties, and how many parties there are."""

    rows: int
    columns: int = COLUMNS
    classes: int = 2
    pairs: int = 1
    parties: int = 3


def training_cost(planned: Planned) -> Cost:
    """Estimate the cost of the usual rounds, of one problem and `COLUMNS` columns."""
    params, usual = planned.params, usual_rounds(waves=_waves(_guess(planned)[0]))
    short, long = (planned.rehearse(LARGE, max_rounds=n) for n in (3, 4))
    size = COLUMNS if params["kernel"] == "linear" else _features(planned)
    problems = 1 + (FOLDS if params.get("probability") else 0)
    each = 8 * (usual * problems * (len(STEPS) + 2 * size) + 2 * size * COLUMNS + size * size)
    rounds = short.rounds + (usual - 3) * (long.rounds - short.rounds)
    return estimate_sums(planned, rounds, each, training_phases(*_guess(planned), problems))


def search_cost(planned: Planned) -> Cost:
    """Estimate as `training_cost`, of two classes.

    Every price of a kernel takes the rounds of a training that has half of its cuts.
    """
    params = planned.params
    short, long = (planned.rehearse(LARGE, max_rounds=n) for n in (3, 4))
    kernels, rehearsed = (_kernels(given["candidates"]) for given in (params, {**params, **shortlist(params)}))
    prices, folds = max(kernels.values()), params.get("cv", FOLDS)
    size, pools = _features(planned), len(kernels) * folds
    rounds = usual_rounds(prices, waves=_waves(_guess(planned)[0]))
    each = 8 * (rounds * pools * (len(STEPS) + 2 * size) + 2 * size * COLUMNS + len(kernels) * size * size)
    trainings = max(1, max(rehearsed.values()) + int(params.get("refit", True)))
    steps = max(1, round((long.rounds - short.rounds) / trainings))  # of one round
    svm, sizes = _guess(planned)
    phases = training_phases(svm, sizes, folds, len(kernels), prices)
    again = training_phases(svm, sizes)[-1:] if params.get("refit", True) else ()
    return estimate_sums(planned, short.rounds + rounds * steps, each, (*phases, *again))


def plan_search(
    run: Run, ground: Common, kernels: Sequence[Kernel], cv: int, schedule: Sequence[tuple[int, float]], *, refit: bool
) -> tuple[Phase, ...]:
    """Return the phases of a search over the kernels of all candidates, with a solver for each of its stages."""
    each = Counter(kernels)
    *before, most = plan_training(run, ground, cv, len(each), max(each.values()))
    shares = [share * keep / len(kernels) for keep, share in schedule]
    stages = [Phase(most.name, share * most.holders, share * most.coordinator) for share in shares]
    return (*before, *stages, *plan_training(run, ground)[-1:] * refit)


def plan_training(run: Run, ground: Common, folds: int = 1, kernels: int = 1, prices: int = 1) -> tuple[Phase, ...]:
    """Return the phases of a training, or of the trainings for so many folds, kernels and prices together."""
    sizes = Sizes(ground.rows, ground.columns, len(ground.classes), len(ground.pairs), len(run.roster[Holder]))
    return training_phases(ground.svm, sizes, folds, kernels, prices)


def training_phases(svm: Svm, of: Sizes, folds: int = 1, kernels: int = 1, prices: int = 1) -> tuple[Phase, ...]:
    """Return the phases of such trainings of these sizes."""
    bent, waves = svm.kernel != "linear", _waves(svm)
    size, groups = choose_size(svm, of.rows, of.columns) if bent else 0, of.parties
    groups *= of.classes if svm.min_count != 1 else 1
    joint, local = joint_work(of.rows, of.columns), cluster_work(of.rows, size, of.columns, groups)
    pools = folds * kernels * of.pairs
    return (
        *((joint if svm.landmark_source == "joint" else local,) if bent and not waves else ()),
        map_work(of.rows, size, of.columns, kernels=kernels, waves=waves),
        planes_work(of.rows, size or of.columns, pools, of.parties, kernels=kernels, prices=prices, waves=waves),
    )


def estimate_sums(planned: Planned, rounds: int, each: int, phases: Iterable[Phase] = ()) -> Cost:
    """Return the cost of sums: so many bytes at each holder, and those of all at the coordinator."""
    holders, site = len(planned.roster[Holder]), planned.roster[Coordinator][0]
    sizes = {p: each * (holders if p == site else 1) for p in planned.roster.parties}
    return Cost(rounds=rounds, bytes=sizes, work=planned.share_work(phases))


def _kernels(candidates: Sequence[Params]) -> Counter[tuple[tuple[str, object], ...]]:
    """Count the candidates of each kernel."""
    return Counter(tuple(sorted((name, value) for name, value in each.items() if name != "C")) for each in candidates)


def _features(planned: Planned) -> int:
    """Return how many features a map has, of a table of `COLUMNS` columns."""
    svm, sizes = _guess(planned)
    return choose_size(svm, sizes.rows, sizes.columns)


def _waves(svm: Svm) -> bool:
    """Return whether the map is made of Fourier features."""
    return svm.kernel != "linear" and svm.landmark_source == "fourier"


def _guess(planned: Planned) -> tuple[Svm, Sizes]:
    """Return the training as far as its parameters say, and the sizes of a table of two classes."""
    asked = ("landmark_source", "landmarks", "min_count")
    given = {name: planned.params[name] for name in asked if name in planned.params}
    svm = Svm(kernel=planned.params.get("kernel", "rbf"), gamma=1.0, degree=3, coef0=0.0, C=1.0, **given)
    return svm, Sizes(planned.records, parties=len(planned.roster[Holder]))
