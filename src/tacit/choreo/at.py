"""`At`: a value that only some parties hold. Nothing in a choreography can look inside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

from tacit.choreo.message import Record
from tacit.errors import ChoreographyError

T = TypeVar("T")


@dataclass(eq=False)
class Scope:
    """A stretch of the text: a choreography or one round of it. Values do not outlive theirs."""

    path: str
    open: bool = True
    counts: dict[str, int] = field(default_factory=dict)

    def place(self, label: str) -> str:
        """The next place under this label: `/train/round[3]/secure_sum#1`."""
        n = self.counts.get(label, 0)
        self.counts[label] = n + 1
        return f"{self.path}/{label}#{n}" if n else f"{self.path}/{label}"


class At(Generic[T]):
    """Held by `owners`, which is public; what they hold is for runtimes only (`entries_of`)."""

    __slots__ = ("__weakref__", "_entries", "owners", "scope")

    def __init__(self, owners: tuple[str, ...], entries: Mapping[str, Any], scope: Scope) -> None:
        self.owners = owners
        self.scope = scope
        self._entries = entries

    def _refused(self, verb: str) -> ChoreographyError:
        return ChoreographyError(
            f"cannot {verb} a value held only by {', '.join(self.owners)}: publish it first, or use it in a local step"
        )

    def __bool__(self) -> bool:
        raise self._refused("branch on")

    def __iter__(self) -> NoReturn:
        raise self._refused("iterate over")

    def __len__(self) -> int:
        raise self._refused("take the length of")

    def __contains__(self, item: object) -> bool:
        raise self._refused("search")

    def __getitem__(self, key: object) -> NoReturn:
        raise self._refused("index")

    def __eq__(self, other: object) -> bool:
        raise self._refused("compare")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        raise self._refused("print")


def entries_of(at: At[Any]) -> Mapping[str, Any]:
    """What the owners present in this process hold. A choreography never calls this."""
    return at._entries  # noqa: SLF001 - the one way in


class Carry:
    """The values that outlive a round: `s.w` is read and assigned; nothing else crosses into the next one."""

    _values: dict[str, Any]

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_values")
        if name not in values:
            raise ChoreographyError(f"nothing called {name} is carried (carried: {', '.join(values)})")
        return values[name]

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._values:
            raise ChoreographyError(f"{name} is not carried: name it in run.carry(...)")
        self._values[name] = value


def carried(carry: Carry) -> dict[str, Any]:
    """The values by name, for the runtime that keeps them."""
    return carry._values  # noqa: SLF001 - as above


def lift(value: Any, inner: Scope, outer: Scope) -> None:
    """Let every `At` of `inner` that a result contains live on in `outer`; those of rounds that are over cannot."""
    for at in held_in(value):
        if at.scope is inner:
            at.scope = outer
        elif not at.scope.open:
            raise ChoreographyError(f"a value of {at.scope.path}, which is over, cannot be kept: carry it")


def held_in(value: Any) -> Iterator[At[Any]]:
    """Every `At` in a value, however deep."""
    if isinstance(value, At):
        yield value
    elif isinstance(value, Carry):
        yield from held_in(carried(value))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield from held_in(part)
    elif isinstance(value, dict):
        yield from held_in(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, Record)):
        yield from held_in([getattr(value, f.name) for f in dataclasses.fields(value)])
