"""Labels and answers: how classes get their names, labels reach a coordinator, and decision values those who asked.

By columns the labeller has all labels and sends them as indices into the sorted names. By rows every holder has those
of its own records: each sends its own names with indices into them, and the coordinator publishes the names of all.

Source: ours; the protocols that use it say who sees what and why.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Labeller, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.protocols.class_names import check_class_names
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.table_facts import ASKED_VALUES, CLASS_NAMES


class Classes(Message, tells=CLASS_NAMES):
    """The names of the classes in sorted order; labels travel as indices into it."""

    names: Names


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


def weigh_classes(names: Names, sizes: F64 | I64, class_weight: ClassWeight) -> F64:
    """Return the weight of every class as scikit-learn has it: given, 1, or 'balanced' by how many records it has."""
    check_class_weight(names, class_weight)
    if class_weight is None:
        return np.ones(len(names))
    if isinstance(class_weight, str):
        return np.asarray(sizes.sum() / (len(names) * np.maximum(sizes, 1.0)))
    return np.array([float(class_weight.get(name, 1.0)) for name in names])


def check_class_weight(names: Names, class_weight: ClassWeight) -> None:
    """Refuse weights of classes that there are not, where scikit-learn does and in its words."""
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise LocalError(f"unknown class_weight {class_weight!r}: use 'balanced', or a weight for each class")
    if class_weight is None or isinstance(class_weight, str):
        return
    unknown = [name for name in class_weight if name not in names]
    without = [name for name in names if name not in class_weight]
    if unknown and without:
        raise LocalError(
            f"The classes, {without}, are not in class_weight, which names {unknown} instead: weigh classes of the"
            " labels"
        )


def send_labels(run: Run, data: At[Records], classes: Names, class_weight: ClassWeight) -> At[Labels]:
    """Send all labels from the labeller to the coordinator."""
    return run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, classes, class_weight))


@choreography(
    opens={
        Coordinator: Fact(
            "shift.every_class", "holders", "label", "record", "the class and the weight of every record"
        ),
        Everyone: CLASS_NAMES,
    }
)
def gather_labels(run: Run, data: At[Records], class_weight: ClassWeight) -> tuple[At[LabelledRows], Names]:
    """Bring all labels to the coordinator, in the order of the holders, and publish the names of the classes."""
    told = run.send(OwnLabels, Holder >> Coordinator, run.local(Holder, own_labels, data))
    names = run.publish(Classes, run.local(Coordinator, join_classes, told)).names
    return run.local(Coordinator, join_labels, told, names, class_weight), names


# Steps at those who have labels


def name_classes(part: Records, class_weight: ClassWeight = None) -> Classes:
    """Return the distinct labels; refuse fewer than two, and weights of other classes."""
    names = tuple(np.unique(_labels(part)).tolist())
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"the labels hold one class only ({names[0]!r}): a classifier needs at least 2 classes")
    check_class_weight(names, class_weight)
    return Classes(names)


def labels_of(part: Records, names: Names, class_weight: ClassWeight) -> Labels:
    """Return labels as indices, and sample weights times class weights."""
    _, codes = np.unique(_labels(part), return_inverse=True)
    weight = part.weight
    if class_weight is not None:
        each = weigh_classes(names, np.bincount(codes, minlength=len(names)), class_weight)
        weight = each[codes] if weight is None else each[codes] * weight
    return Labels(codes.astype(np.int64), weight)


def _labels(part: Records) -> Array:
    if part.y is None:
        raise LocalError("the labeller holds no labels: name the party that does (labeller=...)")
    return part.y


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
