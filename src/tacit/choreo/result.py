"""`Result`: what a choreography leaves, as a record of typed fields.

    class Trained(Result):
        classes: Names          everybody knows it
        share: At[Share]        each owner holds its own

A result is never sent. A runtime gives each party its own entries, and everybody what is public.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Self, dataclass_transform, get_args, get_origin, get_type_hints

from tacit.choreo.at import At
from tacit.choreo.message import fits
from tacit.errors import PeerError

SOLE = "result"  # what a choreography leaves that leaves one thing only


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True)
class Result:
    """A frozen record of wire-form values and of values `At` parties; an absent one is None. It never prints them."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.as_dict())})"

    def as_dict(self) -> dict[str, Any]:
        """Return the values by field, as they are."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(typing.cast("Any", self))}

    def to_public(self) -> dict[str, Any]:
        """Return the values that everybody knows, by field; results within it in the same way."""
        known = {name: value for name, value in self.as_dict().items() if not isinstance(value, At)}
        return {name: each.to_public() if isinstance(each, Result) else each for name, each in known.items()}

    @classmethod
    def from_public(cls, values: Mapping[str, Any]) -> Self:
        """Return the result as somebody has it who holds no share: what is `At` parties is None.

        Public values come from another site, and have to be of the declared types.
        """
        hints = get_type_hints(cls)
        public = {name: hint for name, hint in hints.items() if not _is_held(hint)}
        missing = next((name for name in public if name not in values), None)
        found = {name: _read(values[name], hint) for name, hint in public.items() if name in values}
        wrong = missing or next((name for name, hint in public.items() if not _fits(found[name], hint)), None)
        if wrong is not None:
            raise PeerError(f"field {wrong} of {cls.__name__} is missing or not of its declared type")
        return cls(**{name: found.get(name) for name in hints})


def _is_held(hint: Any) -> bool:
    """Return whether an annotation says that parties hold the value, each its own."""
    if get_origin(hint) in (types.UnionType, typing.Union):
        return any(_is_held(each) for each in get_args(hint))
    return get_origin(hint) is At


def _inner(hint: Any) -> type[Result] | None:
    """Return the class of results that an annotation names, by itself or beside None."""
    named = get_args(hint) if get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    return next((each for each in named if isinstance(each, type) and issubclass(each, Result)), None)


def _read(value: Any, hint: Any) -> Any:
    """Return a result within a result, which travels as its values by field; anything else as it is."""
    inner = _inner(hint)
    return inner.from_public(value) if inner is not None and isinstance(value, dict) else value


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(value, Result):
        return type(value) is _inner(hint)
    return (value is None and _is_optional(hint)) if _inner(hint) is not None else fits(value, hint)


def _is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


def result_type(play: Any) -> type[Result] | None:
    """Return the class of the results that a choreography says it returns; None if that is no such record."""
    found = get_type_hints(play).get("return")
    return found if isinstance(found, type) and issubclass(found, Result) else None
