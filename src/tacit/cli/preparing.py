"""What `tacit train` does to columns before it trains: gaps filled, texts and dates as numbers, one scale for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tacit

if TYPE_CHECKING:  # what the front door gives is loaded when it is used, which the help of a command does not do
    from tacit.federation import Federation
    from tacit.pipeline import Pipeline

ENOUGH = 3  # parties, so that none can take its own part off a sum and have another's
DOES = {
    "gaps": "gaps, if any, filled by the mean",
    "scale": "columns brought to mean 0 and variance 1",
    "table": "texts and dates as numbers, ids left out, gaps filled by the mean, columns of mean 0 and variance 1",
}


def prepare_steps(federation: Federation, keep: Sequence[str]) -> dict[str, Any]:
    """Return the steps before the training, by name; filling opens nothing that scaling does not open too."""
    if federation.sparse:  # which has no gaps
        return {"scale": tacit.FederatedScaler()}
    if federation.kinds:  # texts or dates
        return {"table": tacit.TableVectorizer(keep=tuple(keep))}
    return {"gaps": tacit.FederatedImputer(), "scale": tacit.FederatedScaler()}


def is_safe(partition: str, parties: int) -> bool:
    """Return whether what preparing tells is of three or more parties, or of columns that are one party's anyway."""
    return partition == "vertical" or parties >= ENOUGH


def with_preparation(model: Any, federation: Federation, keep: Sequence[str] = ()) -> Pipeline:
    """Return a pipeline of what prepares the columns, and the model, whose name there is "model".

    keep: columns of numbers that are no ids, whatever they look like.
    """
    return tacit.Pipeline([*prepare_steps(federation, keep).items(), ("model", model)])


def steps_of(model: Any) -> list[Any]:
    """Return the fitted steps of a model, itself the last; alone if nothing was prepared."""
    return [step for _, step in model.steps] if isinstance(model, tacit.Pipeline) else [model]


def describe_preparation(model: Any) -> str | None:
    """Return what was done to the columns, and what had to be sent for it; None if nothing was done."""
    if not isinstance(model, tacit.Pipeline):
        return None
    *before, _ = model.steps
    told = "what everyone learns for it is listed below"
    return f"{', '.join(DOES[name] for name, _ in before)}; {told} (--no-prepare leaves columns as they are)"
