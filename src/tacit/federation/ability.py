"""Which protocols can do with records that are not all in memory, or have not all their cells."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from tacit.choreo.protocol import Declaration, Params
from tacit.errors import LocalError
from tacit.registry import PROTOCOLS
from tacit.request import Records, Request


class Lacking(NamedTuple):
    """What some records have not, and most protocols need.

    demands: the values that parameters of a protocol must have so that it can do without; None if it cannot.
    The others are words of the refusal.
    """

    demands: Callable[[Declaration], Params | None]
    found: str
    needs: str
    undo: tuple[str, ...]
    others: str


STREAMED = Lacking(
    attrgetter("streams"),
    found="These records were read with stream=True",
    needs="all records in memory",
    undo=("leave stream=True out",),
    others="what reads blocks of them",
)
SPARSE = Lacking(
    attrgetter("sparse"),
    found="Sparse data was passed",  # the words by which scikit-learn knows such a refusal
    needs="all cells of records",
    undo=("give X.toarray()", "read files with sparse=False"),
    others="what takes sparse records",
)


def check_able(request: Request, lacking: Lacking) -> None:
    """Refuse a request that needs what its records have not."""
    if not any(isinstance(brought, Records) for brought in request.inputs.values()):
        return
    known = PROTOCOLS.get(request.name)
    demands = None if known is None else lacking.demands(known)
    begin = f"{lacking.found}, and {request.name} needs {lacking.needs}"
    if demands is None:
        able = ", ".join(name for name, each in PROTOCOLS.items() if lacking.demands(each) is not None)
        raise LocalError(f"{begin}: {_list_remedies(*lacking.undo, f'use {lacking.others} ({able})')}")
    for name, value in demands.items():
        if request.params.get(name, value) != value:
            remedies = _list_remedies(f"set {name}={value!r}", *lacking.undo)
            raise LocalError(f"{begin} with {name}={request.params[name]!r}: {remedies}")


def _list_remedies(*remedies: str) -> str:
    *first, last = remedies
    return f"{', '.join(first)}, or {last}"
