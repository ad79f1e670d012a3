"""What a parameter may be: kinds of values, as records that say in words what they accept.

A kind looks at a value as a job writes it (`accepts`): a number, a text, a switch, None, a list, or {"pairs": [[key,
value], ...]} for a mapping. It compares lengths and bounds and computes nothing, so that looking takes no longer for a
hostile value than for an allowed one.

It looks at a value as a person gives it to an estimator, too (`allows`): NumPy's numbers count, mappings are dicts, and
bounds are those within which a value has a meaning, where a job has those of any sensible study. `words` says this in
scikit-learn's form.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType
from typing import Any, Protocol, TypeVar

from tacit.errors import LocalError

T = TypeVar("T")

PAIR = 2
LARGEST = 1 << 53  # beyond it a JSON reader may round a whole number
PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "None": (NoneType,),
}


class Kind(Protocol):
    """A set of values, with its description as `str`."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is one of them, as a job writes it."""
        ...

    def allows(self, value: Any) -> bool:
        """Whether the value is one of them, as a person gives it."""
        ...

    @property
    def words(self) -> str:
        """What `allows` takes, in scikit-learn's form."""
        ...

    @property
    def named(self) -> tuple[Any, ...]:
        """The values, where it is a list of few."""
        ...

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """Return the numbers of an accepted value that bounds are about; None if it has none."""
        ...

    @property
    def measured(self) -> bool:
        """Whether some of its values have such numbers."""
        ...


NINE = 9  # digits beside 0


@dataclass(frozen=True)
class Alike:
    """What kinds share that take the same values from a job and from a person."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is one of them, as a job writes it."""
        raise NotImplementedError

    def allows(self, value: Any) -> bool:
        """Whether the value is one of them, as a person gives it."""
        return self.accepts(value)

    @property
    def words(self) -> str:
        """What `allows` takes, in scikit-learn's form."""
        return write_among(self.named) if self.named else str(self)

    @property
    def named(self) -> tuple[Any, ...]:
        """The values, if they are few: by default none are listed."""
        return ()


@dataclass(frozen=True)
class Unmeasured(Alike):
    """What kinds without numbers share."""

    def measures(self, value: Any) -> None:
        """Return nothing, since there is no number that bounds could be about."""
        del value

    @property
    def measured(self) -> bool:
        """Whether some of its values have numbers: none has."""
        return False


@dataclass(frozen=True)
class Measured(Alike):
    """What kinds share of which every value has numbers."""

    @property
    def measured(self) -> bool:
        """Whether some of its values have numbers: all have."""
        return True


@dataclass(frozen=True)
class Number(Measured):
    """A finite number within bounds; with `above` it must be larger than the least.

    `job_least` and `job_most` are the bounds in a job, where they are narrower than those of what has a meaning.
    `job_digits`: of a menu, the digits of which a number in a job has one, beside zeros.
    """

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    above: bool = False
    job_least: float | None = None
    job_most: float | None = None
    job_digits: tuple[int, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Whether the value is a number within the bounds of a job, and on its menu."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        least, most, above = self._job
        finite = -math.inf < value < math.inf  # which is false of what is not a number
        within = finite and (least < value if above else least <= value) and value <= most
        return within and (not self.job_digits or value == 0 or self._digits(value) in {(d,) for d in self.job_digits})

    def allows(self, value: Any) -> bool:
        """Whether the value is a number within the bounds of what has a meaning; NumPy's numbers count."""
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        above = self.least < number if self.above else self.least <= number
        return math.isfinite(number) and above and number <= self.most

    @property
    def words(self) -> str:
        """The range in brackets, as scikit-learn writes it."""
        left, right = ("(" if self.above else "["), (")" if math.isinf(self.most) else "]")
        return f"{'an int' if self.whole else 'a float'} in the range {left}{self.least}, {self.most}{right}"

    @property
    def named(self) -> tuple[Any, ...]:
        """No values: numbers are not listed."""
        return ()

    def measures(self, value: Any) -> tuple[float, ...]:
        """Return the number itself."""
        return (value,)

    @staticmethod
    def _digits(value: float) -> tuple[int, ...]:
        return Decimal(repr(value)).normalize().as_tuple().digits

    @property
    def _job(self) -> tuple[float, float, bool]:
        """The least and the most in a job, and whether a number must be larger than the least."""
        least = self.least if self.job_least is None else self.job_least
        return least, self.most if self.job_most is None else self.job_most, self.above and self.job_least is None

    def __str__(self) -> str:
        least, most, above = self._job
        if most < least:
            return "no number"
        found = f"a {'whole ' * self.whole}number {'above' if above else 'from'} {least:g} {'up ' * above}to {most:g}"
        if not self.job_digits:
            return found
        digits = "of one digit and zeros" if len(self.job_digits) == NINE else " or ".join(map(str, self.job_digits))
        return f"{found}, {digits}{'' if len(self.job_digits) == NINE else ' times a power of ten'}"


@dataclass(frozen=True)
class Switch(Unmeasured):
    """True or false."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is true or false."""
        return isinstance(value, bool)

    @property
    def named(self) -> tuple[Any, ...]:
        """True and false."""
        return (True, False)

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Nothing(Unmeasured):
    """None, for a parameter that may be left open."""

    def accepts(self, value: Any) -> bool:
        """Whether the value is None."""
        return value is None

    @property
    def named(self) -> tuple[Any, ...]:
        """The one value: None."""
        return (None,)

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True)
class Text(Unmeasured):
    """One line of text that is not too long."""

    most: int

    def accepts(self, value: Any) -> bool:
        """Whether the value is one printable line that is not too long."""
        return isinstance(value, str) and len(value) <= self.most and value.isprintable()

    def __str__(self) -> str:
        return f"a text of at most {self.most} characters"


@dataclass(frozen=True)
class OneOf(Alike):
    """One of a few texts or numbers."""

    values: tuple[str | int, ...]

    def accepts(self, value: Any) -> bool:
        """Whether the value is one of them, of the same type."""
        return any(type(value) is type(each) and value == each for each in self.values)

    @property
    def named(self) -> tuple[Any, ...]:
        """All of the values."""
        return self.values

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """Return the number itself; None of a text."""
        return None if isinstance(value, str) else (value,)

    @property
    def measured(self) -> bool:
        """Whether one of the values is a number."""
        return not all(isinstance(each, str) for each in self.values)

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.values))}"


@dataclass(frozen=True)
class Items(Measured):
    """A list of so many values of one kind; bounds are about how many."""

    kind: Kind
    least: int
    most: int

    def accepts(self, value: Any) -> bool:
        """Whether the value is a list of as many values as are allowed, all of the kind."""
        return (
            isinstance(value, (list, tuple))
            and self.least <= len(value) <= self.most
            and all(map(self.kind.accepts, value))
        )

    def measures(self, value: Any) -> tuple[float, ...]:
        """Return how many values there are."""
        return (len(value),)

    def __str__(self) -> str:
        return f"a list of {self.least} to {self.most}, each {self.kind}"


@dataclass(frozen=True)
class Span(Measured):
    """Two numbers, the lower first; bounds are about both."""

    kind: Number

    def accepts(self, value: Any) -> bool:
        """Whether the value is two numbers of the kind, the lower first."""
        listed = isinstance(value, (list, tuple)) and len(value) == PAIR and all(map(self.kind.accepts, value))
        return listed and bool(value[0] <= value[1])

    def measures(self, value: Any) -> tuple[float, ...]:
        """Return both numbers."""
        return tuple(value)

    def __str__(self) -> str:
        return f"two numbers, the lower first, each {self.kind}"


@dataclass(frozen=True)
class ByKey(Alike):
    """A mapping of at most so many keys of one kind to values of another, which people call so.

    Bounds are about the values.
    """

    key: Kind
    value: Kind
    most: int
    called: str

    def accepts(self, value: Any) -> bool:
        """Whether the value is such a mapping, of distinct keys."""
        pairs = pairs_of(value, self.most)
        if pairs is None or not all(self.key.accepts(k) and self.value.accepts(v) for k, v in pairs):
            return False
        return len({k for k, _ in pairs}) == len(pairs)

    def allows(self, value: Any) -> bool:
        """Whether the value is a dict of such values, whatever its keys."""
        return isinstance(value, Mapping) and all(map(self.value.allows, value.values()))

    @property
    def words(self) -> str:
        """What people call the mapping."""
        return f"a dict of {self.called}"

    def measures(self, value: Any) -> tuple[float, ...]:
        """Return the numbers of all values."""
        return tuple(number for _, each in value["pairs"] for number in self.value.measures(each) or ())

    @property
    def measured(self) -> bool:
        """Whether the values have numbers."""
        return self.value.measured

    def __str__(self) -> str:
        return f"a table of at most {self.most} entries, each {self.value}"


@dataclass(frozen=True)
class Named(Unmeasured):
    """A mapping of some of these names, each to a value of its own kind."""

    kinds: Mapping[str, Kind]

    def accepts(self, value: Any) -> bool:
        """Whether the value is such a mapping, of distinct names."""
        pairs = pairs_of(value, len(self.kinds))
        if pairs is None or not all(isinstance(k, str) and k in self.kinds for k, _ in pairs):
            return False
        return all(self.kinds[k].accepts(v) for k, v in pairs) and len({k for k, _ in pairs}) == len(pairs)

    def __str__(self) -> str:
        return f"a table of {'; '.join(f'{name}: {kind}' for name, kind in self.kinds.items())}"


@dataclass(frozen=True)
class Either(Alike):
    """A value of one of several kinds."""

    kinds: tuple[Kind, ...]

    def accepts(self, value: Any) -> bool:
        """Whether one of the kinds accepts the value."""
        return any(kind.accepts(value) for kind in self.kinds)

    def allows(self, value: Any) -> bool:
        """Whether one of the kinds allows the value."""
        return any(kind.allows(value) for kind in self.kinds)

    @property
    def words(self) -> str:
        """What is listed, then what is not."""
        listed = tuple(value for kind in self.kinds for value in kind.named)
        others = [kind.words for kind in self.kinds if not kind.named]
        return " or ".join([write_among(listed), *others] if listed else others)

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """Return what the kind that accepts the value measures."""
        return next((kind.measures(value) for kind in self.kinds if kind.accepts(value)), None)

    @property
    def measured(self) -> bool:
        """Whether one of the kinds has numbers."""
        return any(kind.measured for kind in self.kinds)

    def __str__(self) -> str:
        return ", or ".join(map(str, self.kinds))


@dataclass(frozen=True)
class Parameter:
    """A parameter of protocols. Its default stands in the signature of each protocol.

    says: what it is, in one line for people who approve jobs.
    opens: whether another value may change what a run opens, to whom, or how well that hides a record.
    follows: whether its value follows from the split or from the model that is asked, so that nobody chooses it.
    drawn: whether its value is drawn, so that none is more usual than another.
    stands: texts that stand for a number, where bounds are about that number.
    """

    name: str
    kind: Kind
    says: str
    opens: bool = False
    follows: bool = False
    drawn: bool = False
    stands: Mapping[str, float] = field(default_factory=dict)

    def measures(self, value: Any) -> tuple[float, ...] | None:
        """Return the numbers of an accepted value that bounds are about; None if it has none."""
        return (self.stands[value],) if isinstance(value, str) and value in self.stands else self.kind.measures(value)


class Settings:
    """A record of parameters that a protocol takes as one value, and a job gives one by one."""


def parameter(default: T, kind: Kind, says: str, **more: Any) -> T:
    """Declare a parameter where it stands, as a field of a record: its default, and what `Parameter` says of it."""
    declared = {"kind": kind, "says": says, **more}
    made: T = field(default=default, metadata={"declared": declared})
    return made


def declared_fields(record: type) -> tuple[Parameter, ...]:
    """Return the parameters that are declared in a record itself."""
    own = getattr(record, "__dataclass_fields__", {}).values()
    return tuple(Parameter(each.name, **each.metadata["declared"]) for each in own if "declared" in each.metadata)


def write_among(values: tuple[Any, ...]) -> str:
    """Return a list of values in scikit-learn's form."""
    return "among {" + ", ".join(repr(v) for v in values) + "}"


def wrong_value(name: str, of: str, rule: str, value: Any) -> LocalError:
    """Return the error about a parameter that has a value that it must not have, in scikit-learn's form."""
    return LocalError(f"The '{name}' parameter of {of} must be {rule}. Got {value!r:.200} instead.")


def pairs_of(value: Any, most: int) -> list[Any] | None:
    """Return the pairs of a mapping as a job writes it; None if it is no mapping, or one of too many."""
    if not isinstance(value, Mapping) or set(value) != {"pairs"}:
        return None
    pairs = value["pairs"]
    if not isinstance(pairs, (list, tuple)) or len(pairs) > most:
        return None
    return list(pairs) if all(isinstance(pair, (list, tuple)) and len(pair) == PAIR for pair in pairs) else None


def plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON holds it: dictionaries become pairs, since JSON would turn a class 1 into '1'."""
    if isinstance(value, Mapping):
        return {"pairs": [[plain(name, k), plain(name, v)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [plain(name, v) for v in value]
    value = value.item() if hasattr(value, "item") else value
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not isinstance(value, (bool, int, float, str, type(None))):
        raise LocalError(f"parameter {name!r} is {value!r}: a job holds finite numbers, texts, lists and dictionaries")
    return value


def find_wrong(kind: Kind, name: str, value: Any) -> tuple[Kind, str, Any]:
    """Return the innermost wrong value of a list or table with its kind and name; or the value itself."""
    if isinstance(kind, Items) and isinstance(value, (list, tuple)):
        wrong = next((each for each in value if not kind.kind.accepts(each)), None)
        return (kind, name, value) if wrong is None else find_wrong(kind.kind, name, wrong)
    if isinstance(kind, Named) and (pairs := pairs_of(value, len(kind.kinds))) is not None:
        for key, inner in pairs:
            if key in kind.kinds and not kind.kinds[key].accepts(inner):
                return kind.kinds[key], f"{name}: {key}", inner
    return kind, name, value


def suits(annotation: Any, value: Any) -> bool:
    """Whether a signature's annotation of plain types takes the value; annotations of other types take all."""
    wanted = [PLAIN.get(name) for name in str(annotation).split(" | ")]
    if None in wanted:
        return True
    return type(value) in {each for types in wanted if types for each in types}


def show_short(value: Any) -> str:
    """Return a value in few characters, whatever it is."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of too many digits"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring = 3, 4, 4, 60
