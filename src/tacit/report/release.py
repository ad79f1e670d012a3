"""What was measured before a model is given away: figures of attacks on it, and how large a policy lets each be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from tacit.errors import LocalError
from tacit.report.words import clean

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
SEEN = "Who took part in the training has seen the model already: the gate is about everybody else."
HEADS = ("what was tried", "figure", "allowed", "verdict")
NOT_MEASURED = "not measured"


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a model may give away and still be released: the table [release] of a policy.

    stored_records: sites whose records the model file contains.
    membership_auc: area under the curve of membership inference; 0.5 is a guess.
    true_positives: share of the members that it finds at 1 % false alarms.
    attribute_advantage: how many more members than others have a value of theirs guessed.
    most_errors: share of this site's own records that a model may get wrong, of numbers 1 - R^2; counts for it alone.
    unmeasured: whether a figure may be missing.
    required: whether the site takes part only in studies that measure all this before their analyst gets the model.
    """

    stored_records: Annotated[int, msgspec.Meta(ge=0)] = 0
    membership_auc: Share = 0.6
    true_positives: Share = 0.05
    attribute_advantage: Share = 0.1
    most_errors: Share = 1.0
    unmeasured: bool = False
    required: bool = False


def find_strictest(all_limits: Iterable[Limits]) -> Limits:
    """Return what all of them allow."""
    found = list(all_limits) or [Limits()]
    return Limits(**{name: min(getattr(each, name) for each in found) for name in Limits.__struct_fields__})


@dataclass(frozen=True)
class Line:
    """One figure: what was tried, what came out (None: it was not measured), what is allowed, and a word about it."""

    name: str
    limit: str
    figure: float | None
    allowed: float
    refused: bool
    note: str = ""

    @property
    def verdict(self) -> str:
        """What is made of it."""
        if self.figure is None:
            return f"{NOT_MEASURED}: {self.note}"
        return "refused" if self.refused else "passed"


@dataclass(frozen=True)
class Release:
    """The table of the gate: a line for every attack that applies to this kind of model."""

    lines: list[Line] = field(default_factory=list)
    how: str = ""

    @property
    def refused(self) -> list[Line]:
        """The lines for which the model is not released; none if it may be."""
        return [line for line in self.lines if line.refused]

    @property
    def why(self) -> str:
        """Why the model is not released, in one line; nothing if it may be."""
        if not self.refused:
            return ""
        said = "; ".join(map(_tell, self.refused))
        limits = ", ".join(dict.fromkeys(line.limit for line in self.refused))
        return (
            f"the model is not released, {said}; train it with less to give away, or let the policy's [release] say"
            f" otherwise ({limits})"
        )

    def check(self) -> None:
        """Raise if the model is not to be given away."""
        if self.refused:
            raise LocalError(self.why)

    def __str__(self) -> str:
        return "\n".join(": ".join(filter(None, (row[0], " ".join(row[1:])))) for row in list_lines(self))


def _tell(line: Line) -> str:
    """Return why a line is refused."""
    found = f"{NOT_MEASURED}, {clean(line.note)}" if line.figure is None else f"{line.figure:.3g}"
    allowed = "" if line.figure is None else f", and {line.allowed:g} is allowed"
    return f"{clean(line.name)}: {found}{allowed}"


def list_lines(found: Release) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table as words."""
    for line in found.lines:
        said = "" if line.figure is None else f"{line.figure:.3g}"
        about = f" ({line.note})" if line.note and line.figure is not None else ""
        yield f"{line.name}{about}", said, f"at most {line.allowed:g}", line.verdict
