"""Messages and states: frozen records of typed fields that the codec can write.

A `Message` crosses a border, so its class must say what a receiver learns from it:

    class Masked(Message, tells=Fact("sums.masked", "nobody", "nothing", "none", "nothing alone: a vector under pads")):
        values: U64

A `State` is a value a party keeps for itself. Neither ever prints its values.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

from tacit.choreo.fact import Fact, Facts, declare_facts
from tacit.errors import ChoreographyError

PLAIN = frozenset({bytes, float, int, str})


@dataclass_transform(frozen_default=True, eq_default=False)
class Record:
    """A record whose fields cannot be changed or compared, and which never prints its values."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.field_names())})"

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in the order of the class text."""
        return _names(cls)  # type: ignore[arg-type]  # classes hash, whatever their instances do

    @classmethod
    def field_types(cls) -> Mapping[str, Any]:
        """Return the annotations of the fields as types."""
        return _hints(cls)  # type: ignore[arg-type]  # as above


@cache  # every message that arrives is checked against them
def _names(kind: type[Record]) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(typing.cast("Any", kind)))


@cache
def _hints(kind: type[Record]) -> Mapping[str, Any]:
    return get_type_hints(kind)


class State(Record):
    """What a party keeps for itself. Known by name, so that a journal or a model file can be read back."""

    registry: ClassVar[dict[str, type[State]]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        known = State.registry.setdefault(cls.__name__, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ChoreographyError(
                f"two states are called {cls.__name__}, in {known.__module__} and {cls.__module__}: rename one"
            )
        State.registry[cls.__name__] = cls

    @classmethod
    def required(cls) -> int:
        """Return how many fields have no default; a file may be older than the other fields."""
        fields = dataclasses.fields(typing.cast("Any", cls))
        return sum(f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING for f in fields)


class Message(Record):
    """What crosses a border.

    `tells=` is what a receiver learns from it, one fact or several; `ragged=` allows unequal shapes; `of_records=False`
    says that it holds nothing of records, not even under a mask: a run in which only such messages have moved has
    opened nothing, and may begin again with other parties.
    """

    tells: ClassVar[Facts]
    ragged: ClassVar[bool]
    of_records: ClassVar[bool]

    def __init_subclass__(
        cls, *, tells: Fact | Facts = (), ragged: bool = False, of_records: bool = True, **kwargs: object
    ) -> None:
        if not tells:
            raise ChoreographyError(
                f"message {cls.__name__} does not say what it tells: write class {cls.__name__}(Message, tells=...)"
            )
        super().__init_subclass__(**kwargs)
        cls.tells = declare_facts(tells, cls.__module__)
        cls.ragged, cls.of_records = ragged, of_records


class Each(dict[str, Message]):
    """One message per receiver, where receivers get different ones."""


def shapes(value: Any) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of all arrays in a value, in the order they are written."""
    if isinstance(value, np.ndarray):
        return (value.shape,)
    if isinstance(value, Record):
        value = tuple(getattr(value, name) for name in value.field_names())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return tuple(shape for part in parts for shape in shapes(part))


M = TypeVar("M", bound=Message)


def for_receiver(value: Any, receiver: str) -> Any:
    """Return what goes to one receiver."""
    return value.get(receiver) if isinstance(value, Each) else value


def check_message(message: Any, kind: type[M], sender: str, receiver: str) -> M:
    """Return a message that a step gave; raise if it is of another class than the text says, or of other types."""
    if type(message) is not kind:
        raise ChoreographyError(
            f"{sender} should send {kind.__name__} to {receiver}, its step gave {type(message).__name__}"
        )
    if wrong := misfit(message):
        raise ChoreographyError(f"field {wrong} of the {kind.__name__} that {sender} sends is not of its declared type")
    return message


def misfit(record: Record) -> str | None:
    """Return the name of the first field that is not what its annotation says; None if all are."""
    hints = record.field_types()
    return next((name for name in record.field_names() if not fits(getattr(record, name), hints[name])), None)


def fits(value: object, hint: object) -> bool:  # noqa: PLR0911 - one line per kind of annotation
    """Whether a decoded value is what the field's annotation says."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is not None and hasattr(origin, "__value__"):  # NDArray is a type alias in newer NumPy
        return fits(value, origin.__value__[args])
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, a) for a in args)
    if origin is np.ndarray:
        return _fits_array(value, args)
    if origin is tuple:
        return _fits_tuple(value, args)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and _all_fit(value, args[0]) and _all_fit(value.values(), args[1])
    if hint is float:
        return isinstance(value, (float, int)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (None, type(None)):
        return value is None
    return isinstance(value, typing.cast("type", hint)) and (not isinstance(value, Record) or misfit(value) is None)


def _all_fit(values: Iterable[object], hint: object) -> bool:
    """Whether all of many values are what one annotation says; most are of a plain type, which is looked at first."""
    plain = hint in PLAIN
    return all((plain and type(value) is hint) or fits(value, hint) for value in values)


def _fits_array(value: object, args: tuple[Any, ...]) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    (dtype,) = get_args(args[1]) or (Any,)
    return dtype is Any or value.dtype.type is np.dtype(dtype).type  # of either byte order


def _fits_tuple(value: object, args: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(args) == 2 and args[1] is Ellipsis:  # noqa: PLR2004 - tuple[T, ...]
        return _all_fit(value, args[0])
    return len(value) == len(args) and all(fits(v, a) for v, a in zip(value, args, strict=True))
