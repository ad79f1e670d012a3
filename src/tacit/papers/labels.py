"""Labels and answers: how classes get their names, labels reach a coordinator, and decision values those who asked.

By columns the labeller has all labels and sends them as indices into the sorted names. By rows every holder has those
of its own records: each sends its own names with indices into them, and the coordinator publishes the names of all.

Source: ours; the protocols that use it say who sees what and why.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Labeller, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.papers.facts import ASKED_VALUES
from tacit.protocols.classes import Classes, check_class_names, labels_here, weigh_classes
from tacit.protocols.facts import CLASSES
from tacit.protocols.part import ClassWeight, Names, Records


class Labels(
    Message,
    tells=Fact(
        "tables.labels_in_clear", "labeller", "label", "record", "the class and the weight of every record, in clear"
    ),
):
    """The class of every record as an index into the names of the classes, and its weight."""

    codes: I64
    weight: F64 | None


class OwnLabels(
    Message,
    tells=Fact(
        "shift.labels_in_clear",
        "holder",
        "label",
        "record",
        "the class and the weight of each of the sender's records, in clear",
    ),
    ragged=True,
):
    """The classes of a holder's own records, as indices into its own names, in the order of its rows."""

    names: Names
    codes: I64
    weight: F64 | None


class Decision(Message, tells=ASKED_VALUES):
    """Decision values of the records that were asked about, a column per problem."""

    values: F64


class OwnDecisions(
    Message,
    tells=Fact("shift.own_answers", "reader", "answer", "record", "the decision values of the receiver's own records"),
    ragged=True,
):
    """Decision values of the receiver's own records, a column per problem."""

    values: F64


class LabelledRows(State):
    """The codes and weights of all rows, in the order of the holders."""

    codes: I64
    weight: F64 | None


def send_labels(run: Run, data: At[Records], classes: Names, class_weight: ClassWeight) -> At[Labels]:
    """Send all labels from the labeller to the coordinator."""
    return run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, classes, class_weight))


@choreography(
    opens={
        Coordinator: Fact(
            "shift.every_class", "holders", "label", "record", "the class and the weight of every record"
        ),
        Everyone: CLASSES,
    }
)
def gather_labels(run: Run, data: At[Records], class_weight: ClassWeight) -> tuple[At[LabelledRows], Names]:
    """Bring all labels to the coordinator, in the order of the holders, and publish the names of the classes."""
    told = run.send(OwnLabels, Holder >> Coordinator, run.local(Holder, own_labels, data))
    names = run.publish(Classes, run.local(Coordinator, join_classes, told)).names
    return run.local(Coordinator, join_labels, told, names, class_weight), names


# Steps at those who have labels


def labels_of(part: Records, names: Names, class_weight: ClassWeight) -> Labels:
    """Return labels as indices, and sample weights times class weights."""
    _, codes = np.unique(labels_here(part), return_inverse=True)
    weight = part.weight
    if class_weight is not None:
        each = weigh_classes(names, np.bincount(codes, minlength=len(names)), class_weight)
        weight = each[codes] if weight is None else each[codes] * weight
    return Labels(codes.astype(np.int64), weight)


def check_labels(part: Records, me: str) -> None:
    """Refuse records without labels, before anything is sent."""
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")


def own_labels(part: Records) -> OwnLabels:
    """Return a holder's labels as indices into its own names."""
    if part.y is None:
        return OwnLabels((), np.empty(0, dtype=np.int64), part.weight)
    names, codes = np.unique(part.y, return_inverse=True)
    return OwnLabels(tuple(names.tolist()), codes.astype(np.int64), part.weight)


# Steps at the coordinator


def join_classes(told: Mapping[str, OwnLabels]) -> Classes:
    """Return the sorted names of the classes of all holders; refuse fewer than two, and other ways to write them."""
    check_class_names({party: message.names for party, message in told.items()})
    names = tuple(np.unique(np.array([name for message in told.values() for name in message.names])).tolist())
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(
            f"the labels of all parties hold one class only ({names}): a classifier needs at least 2 classes"
        )
    return Classes(names)


def join_labels(told: Mapping[str, OwnLabels], names: Names, class_weight: ClassWeight) -> LabelledRows:
    """Return codes by the common names, and sample weights times class weights."""
    known = [
        np.searchsorted(np.array(names), np.array(m.names))[m.codes] if m.names else m.codes for m in told.values()
    ]
    codes = np.concatenate(known).astype(np.int64)
    given = [np.ones(len(m.codes)) if m.weight is None else m.weight for m in told.values()]
    if class_weight is None:
        return LabelledRows(codes, None if all(m.weight is None for m in told.values()) else np.concatenate(given))
    each = weigh_classes(names, np.bincount(codes, minlength=len(names)), class_weight)
    return LabelledRows(codes, each[codes] * np.concatenate(given))


# Steps at those who asked


def read_values(message: Decision | OwnDecisions) -> F64:
    """Return the values of an answer."""
    return message.values
