"""Shared shift over columns: a party that takes part trains on its own columns and the others' moved ones; the pooled SVM.

The problem. Holder P_i has A_i, its columns of the same m records, i = 1..q. P_1, the initiator, volunteers to train:

    P_i sends A_i + r_i, every row moved by its own vector r_i,     i = 2..q,   r_1 = 0                        (1)
    the table [A_1, A_2 + r_2, .., A_q + r_q] has the pooled table's linear and RBF decisions                  (2)

as in `shift_ring`, (1) and (2) there. A new record needs the moved part of every party under the same r_i, and the
asker is told its value.

Roles. Holder: columns. Labeller: the holder that has the labels. `to`: the initiator, by default the coordinator, one
of the holders. If it is a site without data, every holder moves its columns. Asker: the holder that is told the decision values.

Threat. Semi-honest, and weak. The initiator learns the others' columns up to one number per column: every difference
of two values is exact, and one known value, or a known minimum, opens the column. It holds columns of the same records,
so it knows whose they are. Nobody else learns anything but the sizes. 002 says that nothing is disclosed.

Not protected: all of that. `accept_risk` must be said.

Source: 002, Algorithm 3. Its step 4 sends the part of one party only, which is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.choreo import F64, Asker, At, Coordinator, Holder, Labeller, Message, Role, Run, choreography
from tacit.numeric.shift import rotation_of, shift_of
from tacit.protocols.gram_vertical import Classes, Columns, Decision, Labels, class_names, labels_of, sizes
from tacit.protocols.shift_ring import Shift, ShiftedSVM, check_kernel, move, narrow_columns, train, words_of


class MovedColumns(
    Message, tells="the sender's columns under its own unknown vector: exact differences, and a column once one value is known", ragged=True
):
    """(1)."""

    columns: F64


@choreography(
    opens={
        "to": "as the initiator, the columns of every other holder up to one number per column: exact differences of all values, and the"
        " whole column once one value or the minimum is known; being a holder of the same records, whose they are; every label",
        Holder: "how many records and columns each party has; the names of the classes",
    }
)
def shift_vertical(
    run: Run,
    data: At[Any],
    width: At[Any],
    *,
    kernel: str,
    gamma: float | str,
    C: float,
    distribution: str = "uniform",
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    probability: bool = False,
    to: Role = Coordinator,
) -> dict[str, Any]:
    """Train; `to`, a holder or a site without data, ends with a `ShiftedSVM`, every holder with its `Shift`."""
    shifts = draw_columns(run, width, distribution=distribution, to=to)
    return train_on_columns(
        run, data, width, shifts, kernel=kernel, gamma=gamma, C=C, distribution=distribution, class_weight=class_weight, tol=tol,
        max_iter=max_iter, probability=probability, to=to,
    )  # fmt: skip


@choreography(
    opens={
        "to": "the new records' columns under the same vectors as in training, so all differences from the training records",
        Asker: "the decision values",
    }
)
def shift_vertical_predict(run: Run, data: At[Any], model: At[ShiftedSVM], shifts: At[Shift], *, to: Role = Coordinator) -> At[Any]:
    """Decision values of new records, at the asker."""
    sizes(run, data)
    table = run.local(to, side_by_side, run.send(MovedColumns, Holder >> to, run.local(Holder, moved, data, shifts)))
    return run.local(Asker, values_of, run.send(Decision, to >> Asker, run.local(to, decided, model, table)))


@choreography(opens={Holder: "its own vector, and rotation if one was asked for"})
def draw_columns(run: Run, width: At[Any], *, distribution: str, rotation: bool = False, to: Role = Coordinator) -> At[Shift]:
    """Everyone's own r_i; zero at the initiator if it is a holder."""
    seeds, turns = run.random(Holder), run.random(Holder)
    initiator = run.roster[to][0]
    return run.local(Holder, draw, seeds, turns, width, run.who(Holder), initiator, distribution, rotation)


@choreography(opens={"to": "the moved columns of every other holder; every label", Holder: "how many records and columns each has"})
def train_on_columns(
    run: Run,
    data: At[Any],
    width: At[Any],
    shifts: At[Shift],
    *,
    kernel: str,
    gamma: float | str,
    C: float,
    distribution: str,
    class_weight: dict[Any, float] | str | None,
    tol: float,
    max_iter: int,
    probability: bool,
    to: Role = Coordinator,
) -> dict[str, Any]:
    """(1), and the SVM on (2)."""
    check_kernel(kernel)
    classes = run.publish(Classes, run.local(Labeller, class_names, data))
    sizes(run, data)
    labels = run.send(Labels, Labeller >> to, run.local(Labeller, labels_of, data, classes.names, class_weight))
    table = run.local(to, side_by_side, run.send(MovedColumns, Holder >> to, run.local(Holder, moved, data, shifts)))
    found = train(run, table, labels, kernel, gamma, C, tol, max_iter, probability=probability, to=to)
    return {"classes": classes.names, **found, "shifts": shifts, "narrow": run.local(Holder, narrow_columns, data, width, distribution)}


# Steps


def draw(seed: bytes, turn: bytes, width: F64, me: str, initiator: str, distribution: str, rotation: bool) -> Shift:  # noqa: FBT001 - a step
    """r_i, and on request a rotation of the holder's own columns."""
    if me == initiator:
        return Shift(np.zeros(len(width)), None)
    d = len(width)
    return Shift(shift_of(words_of(seed, d), width, distribution), rotation_of(words_of(turn, d * d), d) if rotation else None)


def moved(part: Columns, shift: Shift) -> MovedColumns:
    """(1)."""
    return MovedColumns(move(part.X, shift))


def side_by_side(messages: Mapping[str, MovedColumns]) -> F64:
    """(2), in the order of the holders."""
    return np.concatenate([message.columns for message in messages.values()], axis=1)


def decided(model: ShiftedSVM, table: F64) -> Decision:
    """The values of the new records."""
    return Decision(model.decide(table))


def values_of(answer: Decision) -> F64:
    """What was asked for."""
    return answer.values
