"""What a parameter may be: kinds of values, as records that say in words what they accept.

A kind looks at a value as a job writes it: a number, a text, a switch, None, a list, or {"pairs": [[key, value], ...]} for a mapping. It
compares lengths and bounds and computes nothing, so that looking takes no longer for a hostile value than for an allowed one.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Protocol

PAIR = 2
LARGEST = 1 << 53  # beyond it a JSON reader may round a whole number
PLAIN: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "None": (NoneType,)}


class Kind(Protocol):
    """A set of values, with its description as `str`."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is one of them."""
        ...

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """Return the numbers of an accepted value that bounds are about; None if it has none."""
        ...

    @property
    def measured(self) -> bool:
        """Whether some of its values have such numbers."""
        ...


@dataclass(frozen=True)
class Unmeasured:
    """What kinds without numbers share."""

    def measures(self, value: Any) -> None:
        """No number."""
        del value

    @property
    def measured(self) -> bool:
        """No."""
        return False


@dataclass(frozen=True)
class Number:
    """A finite number within bounds; with `above` it must be larger than the least."""

    least: float
    most: float
    whole: bool = False
    above: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether it is one."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        return (self.least < value if self.above else self.least <= value) and value <= self.most  # not a number is neither

    def measures(self, value: Any) -> tuple[float, ...]:
        """The number itself."""
        return (value,)

    @property
    def measured(self) -> bool:
        """Yes."""
        return True

    def __str__(self) -> str:
        return f"a {'whole ' * self.whole}number {'above' if self.above else 'from'} {self.least:g} {'up ' * self.above}to {self.most:g}"


@dataclass(frozen=True)
class Switch(Unmeasured):
    """True or false."""

    def accepts(self, value: Any) -> bool:
        """Whether it is one of the two."""
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Nothing(Unmeasured):
    """None, for a parameter that may be left open."""

    def accepts(self, value: Any) -> bool:
        """Whether it is None."""
        return value is None

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True)
class Text(Unmeasured):
    """One line of text that is not too long."""

    most: int

    def accepts(self, value: Any) -> bool:
        """Whether it is one."""
        return isinstance(value, str) and len(value) <= self.most and value.isprintable()

    def __str__(self) -> str:
        return f"a text of at most {self.most} characters"


@dataclass(frozen=True)
class OneOf:
    """One of a few texts or numbers."""

    values: tuple[str | int, ...]

    def accepts(self, value: Any) -> bool:
        """Whether it is one of them, of the same type."""
        return any(type(value) is type(each) and value == each for each in self.values)

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """The number itself; None of a text."""
        return None if isinstance(value, str) else (value,)

    @property
    def measured(self) -> bool:
        """Whether one of them is a number."""
        return not all(isinstance(each, str) for each in self.values)

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.values))}"


@dataclass(frozen=True)
class Items:
    """A list of so many values of one kind; bounds are about how many."""

    kind: Kind
    least: int
    most: int

    def accepts(self, value: Any) -> bool:
        """Whether it is one."""
        return isinstance(value, (list, tuple)) and self.least <= len(value) <= self.most and all(map(self.kind.accepts, value))

    def measures(self, value: Any) -> tuple[float, ...]:
        """How many there are."""
        return (len(value),)

    @property
    def measured(self) -> bool:
        """Yes."""
        return True

    def __str__(self) -> str:
        return f"a list of {self.least} to {self.most}, each {self.kind}"


@dataclass(frozen=True)
class Span:
    """Two numbers, the lower first; bounds are about both."""

    kind: Number

    def accepts(self, value: Any) -> bool:
        """Whether they are."""
        listed = isinstance(value, (list, tuple)) and len(value) == PAIR and all(map(self.kind.accepts, value))
        return listed and bool(value[0] <= value[1])

    def measures(self, value: Any) -> tuple[float, ...]:
        """Both of them."""
        return tuple(value)

    @property
    def measured(self) -> bool:
        """Yes."""
        return True

    def __str__(self) -> str:
        return f"two numbers, the lower first, each {self.kind}"


@dataclass(frozen=True)
class ByKey:
    """A mapping of at most so many keys of one kind to values of another; bounds are about the values."""

    key: Kind
    value: Kind
    most: int

    def accepts(self, value: Any) -> bool:
        """Whether it is one, of distinct keys."""
        pairs = pairs_of(value, self.most)
        if pairs is None or not all(self.key.accepts(k) and self.value.accepts(v) for k, v in pairs):
            return False
        return len({k for k, _ in pairs}) == len(pairs)

    def measures(self, value: Any) -> tuple[float, ...]:
        """The numbers of all values."""
        return tuple(number for _, each in value["pairs"] for number in self.value.measures(each) or ())

    @property
    def measured(self) -> bool:
        """Whether the values are."""
        return self.value.measured

    def __str__(self) -> str:
        return f"a table of at most {self.most} entries, each {self.value}"


@dataclass(frozen=True)
class Named(Unmeasured):
    """A mapping of some of these names, each to a value of its own kind."""

    kinds: Mapping[str, Kind]

    def accepts(self, value: Any) -> bool:
        """Whether it is one, of distinct names."""
        pairs = pairs_of(value, len(self.kinds))
        if pairs is None or not all(isinstance(k, str) and k in self.kinds and self.kinds[k].accepts(v) for k, v in pairs):
            return False
        return len({k for k, _ in pairs}) == len(pairs)

    def __str__(self) -> str:
        return f"a table of {', '.join(self.kinds)}"


@dataclass(frozen=True)
class Either:
    """A value of one of several kinds."""

    kinds: tuple[Kind, ...]

    def accepts(self, value: Any) -> bool:
        """Whether one of them accepts it."""
        return any(kind.accepts(value) for kind in self.kinds)

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """As the kind that accepts it."""
        return next((kind.measures(value) for kind in self.kinds if kind.accepts(value)), None)

    @property
    def measured(self) -> bool:
        """Whether one of them is."""
        return any(kind.measured for kind in self.kinds)

    def __str__(self) -> str:
        return ", or ".join(map(str, self.kinds))


@dataclass(frozen=True)
class Parameter:
    """A parameter of protocols. Its default stands in the signature of each protocol.

    says: what it is, in one line for people who approve jobs.
    opens: whether another value may change what a run opens, to whom, or how well that hides a record.
    follows: whether its value follows from the split or from the model that is asked, so that nobody chooses it.
    stands: texts that stand for a number, where bounds are about that number.
    """

    name: str
    kind: Kind
    says: str
    opens: bool = False
    follows: bool = False
    stands: Mapping[str, float] = field(default_factory=dict)

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """Return the numbers of an accepted value that bounds are about; None if it has none."""
        return (self.stands[value],) if isinstance(value, str) and value in self.stands else self.kind.measures(value)


def pairs_of(value: Any, most: int) -> list[Any] | None:
    """Return the pairs of a mapping as a job writes it; None if it is no mapping, or one of too many."""
    if not isinstance(value, Mapping) or set(value) != {"pairs"}:
        return None
    pairs = value["pairs"]
    if not isinstance(pairs, (list, tuple)) or len(pairs) > most:
        return None
    return list(pairs) if all(isinstance(pair, (list, tuple)) and len(pair) == PAIR for pair in pairs) else None


def suits(annotation: Any, value: Any) -> bool:
    """Whether a signature's annotation of plain types takes the value; annotations of other types take all."""
    wanted = [PLAIN.get(name) for name in str(annotation).split(" | ")]
    if None in wanted:
        return True
    return type(value) in {each for types in wanted if types for each in types}


def shown(value: Any) -> str:
    """A value in few characters, whatever it is."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of too many digits"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring = 3, 4, 4, 60
