"""`@choreography(opens=...)`: a protocol is a function of a run that says who knows what when it is over."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from tacit.choreo.fact import Fact, Facts, declare_facts
from tacit.choreo.ledger import Opened
from tacit.choreo.role import Role
from tacit.choreo.run import Run
from tacit.errors import ChoreographyError

P = ParamSpec("P")
T = TypeVar("T")


def choreography(
    *, opens: Mapping[Role | str, Fact | Facts]
) -> Callable[[Callable[Concatenate[Run, P], T]], Callable[Concatenate[Run, P], T]]:
    """Declare a protocol: return a decorator that notes what it opens whenever it is called.

    A key of `opens` is a role, or the name of a parameter that is given one; a value is one fact or several.
    """

    def declare(play: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
        name = play.__name__
        signature = inspect.signature(play)
        unknown = [k for k in opens if isinstance(k, str) and k not in signature.parameters]
        if unknown or not opens or not all(opens.values()):
            raise ChoreographyError(
                f"choreography {name} must say what it opens, to roles or to its own parameters; unknown: {unknown}"
            )

        facts = {key: declare_facts(what, play.__module__) for key, what in opens.items()}
        by_parameter = any(isinstance(key, str) for key in opens)

        @functools.wraps(play)
        def called(run: Run, *args: P.args, **kwargs: P.kwargs) -> T:
            given: Mapping[str, Any] = {}
            if by_parameter:
                bound = signature.bind(run, *args, **kwargs)
                bound.apply_defaults()
                given = bound.arguments
            for key, what in facts.items():
                run.open(Opened(name, _role(key, given), what))
            with run.within(name) as keep:
                result = play(run, *args, **kwargs)
                keep(result)
                return result

        return cast("Callable[Concatenate[Run, P], T]", called)

    return declare


def _role(key: Role | str, given: Mapping[str, Any]) -> str:
    role = given[key] if isinstance(key, str) else key
    if not isinstance(role, Role):
        raise ChoreographyError(f"parameter {key} of a choreography is in opens= and so must be given a role")
    return role.name
