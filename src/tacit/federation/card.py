"""A federation as a notebook shows it: who holds how much of what. No value is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.cards import list_warnings, make_card, make_table
from tacit.federation.part import Part

if TYPE_CHECKING:
    from tacit.federation.federation import Federation

SHOWN = 6  # columns that are named


def render_federation(federation: Federation) -> str:
    """Return the card; of records that are elsewhere it names the parties only."""
    size, _, _ = federation.backend.describe(federation).partition(":")
    here = federation.holds_records
    rows = [(name, *(_held(part) if here else ())) for name, part in federation.parts.items()]
    heads = ("party", "records", "holds", "labels") if here else ("party",)
    return make_card(
        f"Federation: {size}",
        f"coordinator: {federation.coordinator}; runtime: {federation.runtime}",
        make_table(heads, rows),
        list_warnings(federation.warnings),
    )


def _held(part: Part) -> tuple[str, str, str]:
    cells = "" if part.owned is None else f"{int(part.owned.sum()):,} cells of "
    more = ", ..." * (len(part.features) > SHOWN)
    columns = f"{cells}{len(part.features)} columns: {', '.join(part.features[:SHOWN])}{more}"
    return f"{len(part.X):,}", columns, "no" if part.y is None else "yes"
