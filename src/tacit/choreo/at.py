"""`At`: a value that only some parties hold. Nothing in a choreography can look inside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
    """Held by `owners`; `entries` has those of the owners that are present in this process."""

    __slots__ = ("entries", "owners", "scope")

    def __init__(self, owners: tuple[str, ...], entries: Mapping[str, Any], scope: Scope) -> None:
        self.owners = owners
        self.entries = entries
        self.scope = scope

    def within(self, scope: Scope) -> At[T]:
        """The same value, living as long as `scope`."""
        return At(self.owners, self.entries, scope)

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

    def __getitem__(self, key: object) -> NoReturn:
        raise self._refused("index")

    def __eq__(self, other: object) -> bool:
        raise self._refused("compare")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        raise self._refused("print")


class Carry:
    """The values that outlive a round: `s.w` is read and assigned; nothing else crosses into the next one."""

    _values: dict[str, Any]

    def __init__(self, **values: object) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise ChoreographyError(f"nothing called {name} is carried (carried: {', '.join(self._values)})") from None

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._values:
            raise ChoreographyError(f"{name} is not carried: name it in run.carry(...)")
        self._values[name] = value

    def move(self, scope: Scope) -> None:
        """Lift every carried value into `scope`."""
        self._values.update({k: lifted(v, scope) for k, v in self._values.items()})


def lifted(value: Any, scope: Scope) -> Any:
    """A result with every `At` in it moved to `scope`."""
    if isinstance(value, At):
        return value.within(scope)
    if type(value) is tuple:
        return tuple(lifted(v, scope) for v in value)
    if type(value) is dict:
        return {k: lifted(v, scope) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Record)):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **lifted(fields, scope))
    return value
