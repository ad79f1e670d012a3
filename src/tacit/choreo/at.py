"""`At`: a value that only some parties hold. Nothing in a choreography can look inside it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

from tacit.choreo.codec import seal_arrays
from tacit.choreo.message import Record
from tacit.errors import ChoreographyError
from tacit.scratch import is_on_disk, lay_aside, release

PLAIN = frozenset({bool, bytes, float, int, str})  # in which nothing can be hidden

T_co = TypeVar("T_co", covariant=True)  # nothing is ever written into an `At`


@dataclass(eq=False)
class Scope:
    """A stretch of the text: a choreography or one round of it. A value does not outlive its scope."""

    path: str
    open: bool = True
    counts: dict[str, int] = field(default_factory=dict)

    def place(self, label: str) -> str:
        """Return the next place under this label: `/train/round[3]/secure_sum#1`."""
        n = self.counts.get(label, 0)
        self.counts[label] = n + 1
        return f"{self.path}/{label}#{n}" if n else f"{self.path}/{label}"


class At(Generic[T_co]):
    """A value that only its `owners` hold, who are public; only runtimes look inside (`entries_of`)."""

    __slots__ = ("__weakref__", "_entries", "owners", "scope")

    def __init__(self, owners: tuple[str, ...], entries: Mapping[str, T_co], scope: Scope) -> None:
        self.owners = owners
        self.scope = scope
        self._entries = entries

    def _refuse(self, verb: str) -> ChoreographyError:
        return ChoreographyError(
            f"cannot {verb} a value held only by {', '.join(self.owners)}: publish it first, or use it in a local step"
        )

    def __bool__(self) -> bool:
        raise self._refuse("branch on")

    def __iter__(self) -> NoReturn:
        raise self._refuse("iterate over")

    def __len__(self) -> int:
        raise self._refuse("take the length of")

    def __contains__(self, item: object) -> bool:
        raise self._refuse("search")

    def __getitem__(self, key: object) -> NoReturn:
        raise self._refuse("index")

    def __eq__(self, other: object) -> bool:
        raise self._refuse("compare")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        raise self._refuse("print")


def entries_of(at: At[T_co]) -> Mapping[str, T_co]:
    """Return what the owners present in this process hold. A choreography never calls this."""
    return at._entries  # noqa: SLF001 - the one way in


class Carry:
    """The values that outlive a round: `s.w` is read and assigned; nothing else crosses into the next round."""

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


def carried_values(carry: Carry) -> dict[str, Any]:
    """Return the carried values by name, for the runtime that keeps them."""
    return carry._values  # noqa: SLF001 - as above


def lift(value: Any, inner: Scope, outer: Scope) -> None:
    """Let every `At` of `inner` that a result contains live on in `outer`; those of rounds that are over cannot."""
    for at in find_held(value):
        if at.scope is inner:
            at.scope = outer
        elif not at.scope.open:
            raise ChoreographyError(f"a value of {at.scope.path}, which is over, cannot be kept: carry it")


def find_held(value: Any) -> Iterator[At[Any]]:
    """Yield every `At` in a value, however deep."""
    if isinstance(value, At):
        yield value
    elif isinstance(value, Carry):
        yield from find_held(carried_values(value))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            if type(part) not in PLAIN:
                yield from find_held(part)
    elif isinstance(value, dict):
        yield from find_held(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, Record)):
        yield from find_held([getattr(value, f.name) for f in dataclasses.fields(value)])


# Steps: what a party computes alone, with the arguments that it has for it


F = TypeVar("F", bound=Callable[..., Any])
ONE_AT_A_TIME = threading.Lock()  # of the steps on values that lie on disk


def once(step: F) -> F:
    """Mark a step whose result is another one every time, such as an encryption.

    A run that is taken up again goes on with the first.
    """
    vars(step)["once"] = True
    return step


@dataclass(frozen=True, repr=False)
class Work:
    """A step with the arguments of one party, to be done where that party is."""

    label: str
    step: Callable[..., Any]
    args: tuple[Any, ...]
    named: Mapping[str, Any]

    @property
    def once(self) -> bool:
        """Whether doing the step again would give something else."""
        return getattr(self.step, "once", False)

    def __call__(self) -> Any:
        """Do the step and return its result, checked to be in wire form.

        What a step makes of values on disk lies on disk too, and these steps are done one at a time, so that of a run
        with many rows no more than one step of one party is in memory.
        """
        given = (*self.args, *self.named.values())
        if not is_on_disk(given):
            return self._do()
        with ONE_AT_A_TIME:
            made = lay_aside(self._do())
            release(given)
            return made

    def _do(self) -> Any:
        return seal_arrays(self.step(*self.args, **self.named), f"step {self.label}", kept=True)
