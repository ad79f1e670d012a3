"""PAN-SVM and its cutting planes as conformance cases.

With groups of single rows the reference is the pooled linear SVM on the same features; with larger ones
`atoms_reference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance import atoms_reference as grouped
from conformance.landmark_oracle import in_order, joint_cells, joint_oracle, local_clusters
from conformance.planes import atoms_in, bracket, objective, tables_in
from conformance.score_reference import check_sigmoids
from tacit.arrays import I64
from tacit.choreo import At, Coordinator, Holder, Run
from tacit.federation.part import Part
from tacit.numeric.groups.least_count import FLOOR, MARGIN
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.scores.folds import votes
from tacit.protocols.planes.cutting_plane import Solution, cutting_plane
from tacit.protocols.planes.feature_map import FeatureMap, map_records
from tacit.protocols.planes.pan_svm import pan_svm
from tacit.protocols.planes.problems import Svm, problems, signs_of
from tacit.protocols.planes.rows import Rows
from tacit.protocols.scores.fold_scores import CLOSE, MOST
from tacit.protocols.sums.atoms import Atoms
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice

C, TOL, N = 1.0, 0.02, 75
FIGURES = ("w", "b", "objective", "bound")
SHAPE = {
    "kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "C": C, "tol": TOL, "min_count": 1, "min_cluster": 3,
    "accept_risk": True,
}  # fmt: skip


def labelled(classes: int) -> tuple[Any, Any]:
    """Records that a plane separates not quite."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(N, 3))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=N)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def split(parties: Sequence[str]) -> dict[str, Any]:
    """Unequal shares."""
    cuts = np.cumsum(np.arange(1, len(parties)) * N // (len(parties) * (len(parties) + 1) // 2))
    return dict(zip(parties, np.split(np.arange(N), cuts), strict=True))


def rows_at(parties: Sequence[str], classes: int, multi_class: str) -> dict[str, Rows]:
    """What `cutting_plane` is given."""
    X, y = labelled(classes)
    signs = signs_of(y, problems(classes, multi_class))
    return {p: Rows(X[i], signs[i], np.ones(len(i))) for p, i in split(parties).items()}


def parts_at(parties: Sequence[str], classes: int) -> dict[str, Part]:
    """What `pan_svm` is given."""
    X, y = labelled(classes)
    return {p: Part(X[i], y[i], None, ("a", "b", "c"), None) for p, i in split(parties).items()}


def figures(found: Solution) -> dict[str, Any]:
    """As plain arrays."""
    return {name: getattr(found, name) for name in (*FIGURES, "rounds")}


def group_of(atoms: Atoms) -> I64:
    """The group of each of a holder's rows."""
    return atoms.group


def play_planes(run: Run, rows: At[Any], *, least: int = 1, **params: Any) -> Any:
    fixed, columns = FixedPoint(32, terms=len(run.roster[Holder])), params.pop("columns")
    tables, atoms = run.local(Holder, tables_in, rows, least), run.local(Holder, atoms_in, rows, least)
    voice = Voice(run, protect(run, to=Coordinator), fixed, params.pop("witness", False))
    paths, atoms = cutting_plane(
        run,
        tables,
        atoms,
        voice=voice,
        prices=((C,),),
        widths=(3,),
        columns=columns,
        exact=least == 1,
        tol=TOL,
        **params,
    )
    return {**figures(paths.solution(range(columns))), "group": run.local(Holder, group_of, atoms)}


def play_pan(run: Run, data: At[Any], **params: Any) -> Any:
    found = pan_svm(run, data, svm=Svm(**{**SHAPE, **params}))
    the_map, sigmoids = found.map, {} if found.sigmoids is None else {"sigmoids": found.sigmoids}
    return {
        **figures(found.solution),
        **{name: getattr(the_map, name) for name in the_map.field_names()},
        **sigmoids,
    }


# Groups of single rows: the pooled SVM


def check_models(result: Any, F: Any, classes: int, multi_class: str) -> None:
    """The bound is below the optimum, the objective, which is the model's own, not far above it."""
    _, y = labelled(classes)
    signs = signs_of(y, problems(classes, multi_class))
    rows = Rows(F, signs, np.ones(N))
    assert result["w"].shape == (signs.shape[1], F.shape[1])
    for k in range(signs.shape[1]):
        dual, primal = bracket(rows, C, k, tol=1e-4)
        told = float(result["objective"][k])
        np.testing.assert_allclose(objective(rows, result["w"][k], float(result["b"][k]), C, k), told, rtol=1e-7)
        assert dual * (1 - 1e-6) <= told <= primal * (1 + 1.1 * TOL)
        assert result["bound"][k] <= primal * (1 + 1e-6)


def check_planes(result: Any, inputs: Any, *, classes: int, multi_class: str, least: int) -> None:
    X, y = labelled(classes)
    if least == 1:
        return check_models(result, X, classes, multi_class)
    holders = split(tuple(inputs["rows"][1]))
    after = check_groups(
        result, X, signs_of(y, problems(classes, multi_class)), grouped.by_class(holders, y, least), least
    )
    for name, rows in holders.items():
        assert grouped.same_groups(result["group"][name], after[name], rows)
    return None


def check_pan(result: Any, inputs: Any, *, classes: int, multi_class: str, source: str, params: Any) -> None:
    the_map = FeatureMap(**{name: result[name] for name in FeatureMap.field_names()})
    assert the_map.source == source
    (X, y), least = labelled(classes), FLOOR if params["min_count"] == "auto" else params["min_count"]
    F, signs, holders = (
        map_records(the_map, X),
        signs_of(y, problems(classes, multi_class)),
        split(tuple(inputs["data"][1])),
    )
    groups = grouped.by_class(holders, y, least)
    if least == 1:
        check_models(result, F, classes, multi_class)
    else:
        groups = check_landmarks(the_map, X, holders, groups, {**params, "min_count": least})
    if params.get("probability"):
        check_probability(result, F, y, signs, groups, least)
    elif least > 1:
        allowed = {} if params["accept_risk"] else {"bounds": bounds_of(groups, the_map.size, least)}
        check_groups(result, F, signs, groups, least, **allowed)


# Larger groups


def bounds_of(groups: Any, features: int, least: int, columns: int = 3) -> int:
    """How many bounds on losses all holders allow in a first run of one training.

    Half of what a map of so many features leaves.
    """
    left = 1 / MARGIN - features / (least * columns)
    return min(int(left / 2 * sum(map(len, own)) * columns) for own in groups.values() if own)


def check_groups(result: Any, F: Any, signs: Any, groups: Any, least: int, **allowed: int) -> Any:
    """The models are those of `atoms_reference`; returns its last groups."""
    pools, after, rounds = grouped.planes(groups, [(F, (C,))], signs, least=least, tol=TOL, **allowed)
    check_found(result, pools[: len(result["b"])])
    assert result["rounds"] == rounds
    use = np.isin(np.arange(len(F)), grouped.rows_in(groups))
    rows = Rows(F, np.where(use[:, None], signs, 0).astype(np.int8), np.ones(len(F)))
    check_enclosed(rows, result)
    return after


def check_enclosed(rows: Rows, result: Any, price: float = C) -> None:
    """Whatever the groups.

    Every bound is below the optimum, and what is told of all problems together not below what they have.
    """
    told, true = 0.0, 0.0
    for k in range(len(result["b"])):
        dual, primal = bracket(rows, price, k, tol=1e-4)
        own = objective(rows, result["w"][k], float(result["b"][k]), price, k)
        assert result["bound"][k] <= primal * (1 + 1e-6)
        assert dual * (1 - 1e-6) <= own
        told, true = (
            told + result["objective"][k] / np.sum(rows.signs[:, k] != 0),
            true + own / np.sum(rows.signs[:, k] != 0),
        )
    assert true <= told * (1 + 1e-7)


def check_found(result: Any, pools: Sequence[grouped.Pool]) -> None:
    for i, name in enumerate(FIGURES):
        np.testing.assert_allclose(result[name], [pool.found[0][i] for pool in pools], rtol=1e-6, atol=1e-6)


def check_landmarks(the_map: FeatureMap, X: Any, holders: dict[str, Any], groups: Any, params: Any) -> Any:
    """Landmarks are means over groups, or pieces of them; returns the groups after that."""
    count, at_least, least = int(params["landmarks"]), params["min_cluster"], params["min_count"]
    if the_map.source == "local":
        cluster = local_clusters(
            X, groups, count, max(at_least, least), {name: len(rows) for name, rows in holders.items()}
        )
        means = [X[[i for i in cluster if cluster[i] == c]].mean(axis=0) for c in sorted(set(cluster.values()))]
        np.testing.assert_allclose(in_order(the_map.centres), in_order(np.array(means)), atol=1e-8)
        return grouped.split_by(groups, cluster)
    if the_map.source == "joint":
        numbered = grouped.as_numbers([group for own in groups.values() for group in own], range(len(X)))
        np.testing.assert_allclose(the_map.centres, joint_oracle(X, count, at_least, 15, numbered, least), atol=1e-8)
        return grouped.split_by(groups, joint_cells(X, count, at_least, 15, numbered, least)[2])
    return groups


def check_probability(result: Any, F: Any, y: Any, signs: Any, groups: Any, least: int) -> None:
    """Folds of whole pieces; sigmoids of what models that did not see a piece say of it on average."""
    pools, rounds, values, of = unseen(F, y, signs, groups, least)
    check_found(result, pools[: signs.shape[1]])
    assert result["rounds"] == rounds
    check_sigmoids(result["sigmoids"], values, y[of], atol=1e-5)


def unseen(
    F: Any,
    y: Any,
    signs: Any,
    groups: Any,
    least: int,
    *,
    whole: bool = True,
    price: float = C,
    tol: float = TOL,
    seed: int = 0,
) -> tuple[list[grouped.Pool], int, Any, Any]:
    """The pools, of all rows unless not `whole`, and of each fold; the rounds.

    What sigmoids are fitted to, and of which rows.
    """
    number, fold = grouped.most_folds(groups, y, MOST, least, seed)
    of = np.array([fold.get(i, 0) for i in range(len(F))])
    columns = [signs] * whole + [np.where((of == q)[:, None], 0, signs) for q in range(number)]
    pools, after, rounds = grouped.planes(
        grouped.split_by(groups, fold), [(F, (price,))], np.hstack(columns), least=least, tol=tol
    )
    values = np.zeros(signs.shape)
    for i in fold:
        for k in range(signs.shape[1]):
            w, b = pools[signs.shape[1] * (whole + of[i]) + k].found[0][:2]
            values[i, k] = F[i] @ w + b
    if signs.shape[1] > 1 and not (signs != 0).all():
        values = votes(values, problems(len(np.unique(y)), "ovo"), len(np.unique(y)))
    for column in values.T:
        after = grouped.split_by_value(after, column, least, CLOSE)
    use = grouped.rows_in(after)
    averaged = [grouped.means(after, column) for column in values.T]
    return pools, rounds, np.array([[mean[i] for mean in averaged] for i in use]), use
