"""Class names that holders of rows tell each other, compared: written in different ways they would be more classes.

    kinds        texts at one holder and numbers at another                                                        (1)
    spelling     names that differ in capitals, blanks, or in how a number is written                              (2)
    apart        two groups of holders with two classes or more each, and none in common                          (3)

(1) and (2) are never meant. (3) may be, where holders have other classes by nature, so it is asked about only where a
job can declare its classes. Whoever compares has told the names already: to be told, a class needs records enough, for
the name of a rare one would say that somebody at that holder has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.choreo import Message
from tacit.errors import LocalError
from tacit.protocols.facts import CLASSES
from tacit.protocols.part import ClassWeight, Label, Names, Records

Said = Mapping[str, Names]  # each holder's classes
TWO = 2  # classes that can be told apart


class Classes(Message, tells=CLASSES):
    """The names of the classes in sorted order; labels travel as indices into it."""

    names: Names


def check_class_names(said: Said, *, declare: bool = False) -> None:
    """Raise if holders write classes in different ways, (1), (2); where a job could declare its classes, also (3)."""
    some = {party: names for party, names in said.items() if names}
    for (one, mine), (other, theirs) in combinations(some.items(), 2):
        if _are_texts(mine) != _are_texts(theirs):
            text, number = (one, other) if _are_texts(mine) else (other, one)
            kinds = f"the classes of {text} are texts ({_show(some[text])}), those of {number} numbers"
            raise LocalError(f"{kinds} ({_show(some[number])}): write classes alike at every site")
        for a, b in _respelled(mine, theirs):
            raise LocalError(f"{one} has a class {a!r} and {other} a class {b!r}: write classes alike at every site")
    if declare:
        _check_common(some)


def frequent_classes(y: Array | None, least: int) -> Names:
    """Return the classes of which there are records enough to be told; none where labels are no classes."""
    if y is None or not len(y) or (y.dtype.kind == "f" and bool((y != np.floor(y)).any())):
        return ()
    names, counts = np.unique(y, return_counts=True)
    return tuple(names[counts >= least].tolist())


def _check_common(said: Said) -> None:
    """Raise for (3)."""
    first, *others = said.items() if said else [("", ())]
    joined, known = [first[0]], set(first[1])
    left = dict(others)
    while near := [party for party, names in left.items() if known & set(names)]:
        for party in near:
            known |= set(left.pop(party))
            joined.append(party)
    rest = {name for names in left.values() for name in names}
    if len(known) >= TWO and len(rest) >= TWO:
        there = next(iter(left))
        apart = f"{first[0]} has the classes {_show(first[1])}, {there} has {_show(left[there])}, and none is the same"
        raise LocalError(
            f"{apart}: write classes alike at every site, or declare all of them in the job, as classes = [...]"
        )


def _are_texts(names: Names) -> bool:
    return any(isinstance(name, str) for name in names)


def _respelled(mine: Names, theirs: Names) -> Iterator[tuple[Label, Label]]:
    """Yield names that mean the same and are written differently, (2)."""
    known = {fold_name(name): name for name in mine}
    for name in theirs:
        here = known.get(fold_name(name))
        if here is not None and here != name:
            yield here, name


def fold_name(name: Label) -> str:
    """Return a name as it reads without capitals and blanks; a number by its value."""
    text = "".join(str(name).split()).casefold()
    try:
        return repr(float(text))
    except ValueError:
        return text


def _show(names: Names) -> str:
    return ", ".join(map(repr, names[:6])) + ", ..." * (len(names) > 6)  # noqa: PLR2004 - enough to see the difference


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


def name_classes(part: Records, class_weight: ClassWeight = None) -> Classes:
    """Return the distinct labels; refuse fewer than two, and weights of other classes."""
    names = tuple(np.unique(labels_here(part)).tolist())
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"the labels hold one class only ({names[0]!r}): a classifier needs at least 2 classes")
    check_class_weight(names, class_weight)
    return Classes(names)


def labels_here(part: Records) -> Array:
    """Return the labels; refuse a part without any."""
    if part.y is None:
        raise LocalError("the labeller holds no labels: name the party that does (labeller=...)")
    return part.y
