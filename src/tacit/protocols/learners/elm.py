"""An extreme learning machine in shares: the output weights of a random layer, and nothing else, are revealed.

    1. sizes, names of classes         public                                                     `learners.targets`
    2. the layer                       drawn from a joint coin: W, b                              `features.coin`
    3. H                               each record's nodes, at its owner; or in shares            `features.maps`
    4. output weights                  least squares in shares                                  `learners.least_squares`
    5. the model                       rounded to a step, with noise of a step                    `learners.rounding`

    min_beta  a |beta|^2 + sum_i q_i (h_i.beta - t_i)^2,    |h_i| <= 1 beside a last feature 1                       (1)

H'H and H'T stay in shares. Each holder keeps those of its own rows, so that new rows can be learnt too: they are added
to its own sums, which tell it nothing. Over columns nodes are cosines and sines of phases, which add up over owners.

Roles, threat: as `learners.svm`; the layer needs no data. Source: 003, whose sums are opened (docs/methods/elm.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.choreo import At, Everyone, Holder, Run, choreography
from tacit.choreo.protocol import Cost, Declaration, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.protocols.facts import BALANCE, CLASSES, LANDMARKS, MODEL, SIZES
from tacit.protocols.features.coin import seed_of, toss_coin
from tacit.protocols.features.maps import FOURIER, map_layer
from tacit.protocols.learners.fitting import Task, TrainedMachine, alphas_of, count_table, learn_squares
from tacit.protocols.learners.menu import MENU as CHOICES
from tacit.protocols.learners.svm import estimate_squares
from tacit.protocols.learners.targets import (
    MOST_WEIGHT,
    Aim,
    Classes,
    Fit,
    OwnSums,
    agree_on_names,
    check_labels,
    check_weights,
    find_reach,
    labellers_of,
    publish_sizes,
    weigh_classes,
)
from tacit.protocols.part import Held, Names, by_cells
from tacit.protocols.shares.dealing import agree_with_dealer, check_dealer
from tacit.protocols.shares.deposits import choose_committee

AUTO, TANH = "auto", "tanh"
SIZES_BY_ROWS = ((0, 2), (400, 200), (2000, 400), (10_000, 1000))  # rows, and the most nodes from there on
MENU = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, kw_only=True)
class Nodes(Fit):
    """The layer, and how small its output weights are kept."""

    activation: str = AUTO
    n_hidden: int | None = None
    scale: float = 1.0


@choreography(opens={Everyone: (SIZES, CLASSES, LANDMARKS, BALANCE, MODEL)})
def train_elm(
    run: Run,
    data: At[Held],
    kept: At[OwnSums] | None = None,
    *,
    partition: str,
    nodes: Nodes,
    classify: bool = True,
    probability: bool = False,
    classes: Names | None = None,
    target_range: tuple[float, float] | None = None,
) -> TrainedMachine:
    """Train; everyone ends with the model. With what holders `kept` of an earlier run, learn from new rows too."""
    check_dealer(run)
    activation = choose_activation(nodes.activation, partition)
    run.local(Holder, check_labels, data, classify, run.who(Holder), labellers_of(run, partition))
    most = MOST_WEIGHT if nodes.between_sites else nodes.weight_cap
    run.local(Holder, check_weights, data, most, run.who(Holder))
    sizes = publish_sizes(run, data, kept)
    rows, columns = count_table(sizes, partition)
    members = choose_committee(nodes.committee, run.roster[Holder], partition)
    dealing = agree_with_dealer(run, committee=members)
    with run.seat(members):
        found = agree_on_names(run, dealing, data, classes, nodes.least_class) if classify else Classes()
        names = found.names
        drawn = seed_of(toss_coin(run, data)) if nodes.repeat is None else nodes.repeat
        count = choose_nodes(rows) if nodes.n_hidden is None else nodes.n_hidden
        the_map = map_layer(
            activation, max(1, count // 2) if activation == FOURIER else count, nodes.scale, drawn, columns
        )
        middle, reach = (0.0, 1.0) if classify else find_reach(run, dealing, data, rows, target_range)
        weights = weigh_classes(run, dealing, data, names, nodes, rows)
        cap = sizes.cap(nodes)
        unit = cap * (1.0 if weights is None else max(float(weights.max()), 1.0))
        problems = len(names) if len(names) > 2 else 1  # noqa: PLR2004 - two classes are one problem
        aim = Aim(found, middle, reach, weights, cap)
        task = Task(
            data, the_map, aim, partition, sizes, np.full(columns, 1.0), problems, kept, nodes.device, probability
        )
        learnt = learn_squares(run, dealing, task, alphas_of(nodes.alpha, unit, MENU), rows)
        run.note(records=rows, nodes=the_map.size - 1)
    return TrainedMachine(
        classes=names,
        map=the_map,
        weights=learnt.weights.reshape(-1, problems),
        step=learnt.step,
        middle=middle,
        reach=reach,
        alpha=learnt.alpha * unit,
        records=rows,
        seed=drawn,
        class_weights=weights,
        sigmoids=learnt.sigmoids,
        own=learnt.own,
    )


def choose_activation(activation: str, partition: str) -> str:
    """Return the activation; over columns and cells only phases are cheap in shares."""
    if partition == "horizontal":
        return TANH if activation == AUTO else activation
    if activation not in {AUTO, FOURIER}:
        raise LocalError(
            f"activation={activation!r} over columns or cells would cost gigabytes in shares: use 'fourier', or 'auto'"
        )
    return FOURIER


def choose_nodes(rows: int) -> int:
    """Return the number of nodes by that of the records: half of them, up to a number that grows."""
    most = next(most for least, most in reversed(SIZES_BY_ROWS) if rows >= least)
    return max(2, min(most if most > 2 else 200, rows // 2))  # noqa: PLR2004 - of few records, half


def estimate(planned: Planned) -> Cost:
    """Estimate the cost for so many nodes."""
    return estimate_squares(planned, planned.complete.get("n_hidden") or choose_nodes(planned.records))


TRAIN_ELM = Declaration(
    train_elm,
    rehearsal=Rehearsal(by_cells, lambda _: {"n_hidden": 4}, estimate),
    dealt=True,
    menu=CHOICES,
    streams={},
    sparse={},
)
