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

from tacit.arrays import Array
from tacit.errors import LocalError
from tacit.protocols.part import Label, Names

Said = Mapping[str, Names]  # each holder's classes
TWO = 2  # classes that can be told apart


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
    known = {_fold(name): name for name in mine}
    for name in theirs:
        here = known.get(_fold(name))
        if here is not None and here != name:
            yield here, name


def _fold(name: Label) -> str:
    """Return a name as it reads without capitals and blanks; a number by its value."""
    text = "".join(str(name).split()).casefold()
    try:
        return repr(float(text))
    except ValueError:
        return text


def _show(names: Names) -> str:
    return ", ".join(map(repr, names[:6])) + ", ..." * (len(names) > 6)  # noqa: PLR2004 - enough to see the difference
