"""Shared shift over columns: one party trains on its own columns and the others' moved ones; the pooled SVM.

The problem. Holder P_i has A_i, its columns of the same m records, i = 1..q. P_1, the initiator, volunteers to train:

    P_i sends A_i + r_i, every row moved by its own vector r_i,     i = 2..q,   r_1 = 0                        (1)
    the table [A_1, A_2 + r_2, .., A_q + r_q] has the pooled table's linear and RBF decisions                  (2)

as in `shift_ring`, (1) and (2) there. With a rotation, which is not in 002, P_i sends A_i Q_i + r_i, with an orthogonal
Q_i of its own. A new record needs the moved part of every party under the same r_i, and the asker is told its value.

Roles. Holder: columns. Labeller: the holder that has the labels. `to`: the initiator, by default the coordinator, one
of the holders. If it is a site without data, every holder moves its columns. Asker: the holder that is told the
decision values.

Threat. Semi-honest, and weak. The initiator learns the others' columns up to one number per column: every difference
of two values is exact, and one known value, or a known minimum, opens the column. It holds columns of the same records,
so it knows whose they are. Nobody else learns anything but the sizes. 002 says that nothing is disclosed.

Not protected: all of that. `accept_risk` must be said.

Source: 002, Algorithm 3. Its step 4 sends the part of one party only, which is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Asker, At, Coordinator, Fact, Holder, Labeller, Message, Role, Run, choreography
from tacit.choreo.protocol import Declaration
from tacit.crypto.pads.entropy import words_of
from tacit.papers.columns import sizes
from tacit.papers.dual_svm import Solver
from tacit.papers.facts import DECISION_VALUES, EVERY_LABEL
from tacit.papers.labels import Decision, Labels, labels_of, read_values
from tacit.papers.parameters import WEAK
from tacit.papers.shift.formulas import rotation_of, shift_of
from tacit.papers.shift.ring import OF_SHIFT, ROTATION, Shift, ShiftedSVM, Trained, check_kernel, find_narrow, fit, move
from tacit.protocols.classes import Classes, name_classes
from tacit.protocols.facts import CLASSES, SIZES
from tacit.protocols.parameters import RadialKernel
from tacit.protocols.part import Records, Table


class MovedColumns(
    Message,
    tells=Fact(
        "shift.moved_columns",
        "holder",
        "record",
        "record",
        "the sender's columns under its own unknown vector: exact differences, and a column once one value is known",
    ),
    ragged=True,
):
    """The sender's columns, moved by its own vector, (1)."""

    columns: F64


@choreography(
    opens={
        "to": (
            Fact(
                "shift.columns_of_others",
                "holder",
                "record",
                "record",
                "as the initiator, the columns of every other holder up to one number per column: exact differences of"
                " all values, and the whole column once one value or the minimum is known; being a holder of the same"
                " records, whose they are",
            ),
            EVERY_LABEL,
        ),
        Holder: (SIZES, CLASSES),
    }
)
def shift_vertical(
    run: Run,
    data: At[Records],
    width: At[F64],
    *,
    kernel: RadialKernel,
    solver: Solver,
    distribution: str = "uniform",
    rotation: bool = False,
    to: Role = Coordinator,
) -> Trained:
    """Train; `to`, a holder or a site without data, ends with a `ShiftedSVM`, every holder with its `Shift`."""
    check_kernel(kernel.name)
    me, drawn, turns = run.who(Holder), run.random(Holder), run.random(Holder)
    shifts = run.local(Holder, draw_own, drawn, turns, width, me, run.roster[to][0], distribution, rotation=rotation)
    classes = run.publish(Classes, run.local(Labeller, name_classes, data, solver.class_weight))
    sizes(run, data)
    labels = run.send(Labels, Labeller >> to, run.local(Labeller, labels_of, data, classes.names, solver.class_weight))
    moved = run.send(MovedColumns, Holder >> to, run.local(Holder, move_columns, data, shifts))
    return Trained(
        classes=classes.names,
        model=run.local(to, fit, run.local(to, join_columns, moved), labels, kernel, solver),
        shifts=shifts,
        narrow=run.local(Holder, find_narrow, data, width, distribution),
    )


@choreography(
    opens={
        "to": Fact(
            "shift.new_columns_of_others",
            "holder",
            "record",
            "record",
            "the new records' columns under the same vectors as in training, so all differences from the training"
            " records",
        ),
        Asker: DECISION_VALUES,
    }
)
def shift_vertical_predict(
    run: Run, data: At[Table], model: At[ShiftedSVM], shifts: At[Shift], *, to: Role = Coordinator
) -> At[F64]:
    """Return decision values of new records, at the asker."""
    sizes(run, data)
    moved = run.send(MovedColumns, Holder >> to, run.local(Holder, move_columns, data, shifts))
    table = run.local(to, join_columns, moved)
    return run.local(Asker, read_values, run.send(Decision, to >> Asker, run.local(to, decide_new, model, table)))


# Steps


def draw_own(
    seed: bytes, turn: bytes, width: F64, me: str, initiator: str, distribution: str, *, rotation: bool
) -> Shift:
    """Return r_i, and on request a rotation of the holder's own columns."""
    if me == initiator:
        return Shift(np.zeros(len(width)), None)
    d = len(width)
    return Shift(
        shift_of(words_of(seed, d), width, distribution), rotation_of(words_of(turn, d * d), d) if rotation else None
    )


def move_columns(part: Table, shift: Shift) -> MovedColumns:
    """Return the holder's columns, moved, (1)."""
    return MovedColumns(move(part.X, shift))


def join_columns(messages: Mapping[str, MovedColumns]) -> F64:
    """Return the table (2), in the order of the holders."""
    return np.concatenate([message.columns for message in messages.values()], axis=1)


def decide_new(model: ShiftedSVM, table: F64) -> Decision:
    """Return the values of the new records."""
    return Decision(model.decide(table))


SHIFT_VERTICAL = Declaration(shift_vertical, attacked=WEAK, parameters=(*OF_SHIFT, ROTATION))
SHIFT_VERTICAL_PREDICT = Declaration(shift_vertical_predict, attacked=WEAK)
