"""The one table that binds protocols to runtimes: a job names both, a process looks them up here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tacit.choreo import At, Coordinator, Entropy, Holder, Ledger, Role, Roster, Run, entries_of
from tacit.crypto.entropy import RootEntropy
from tacit.errors import LocalError
from tacit.protocols.align import align
from tacit.protocols.column_extremes import column_extremes
from tacit.protocols.column_moments import column_moments
from tacit.protocols.column_quantiles import column_quantiles
from tacit.protocols.consensus_horizontal import consensus_horizontal
from tacit.protocols.consensus_rest import consensus_predict
from tacit.protocols.consensus_vertical import consensus_vertical, consensus_vertical_predict
from tacit.protocols.elm_horizontal import elm_horizontal
from tacit.protocols.elm_vertical import elm_predict, elm_vertical
from tacit.protocols.fill_values import fill_values
from tacit.protocols.gram_arbitrary import gram_arbitrary, gram_arbitrary_predict
from tacit.protocols.gram_linear import gram_linear_predict
from tacit.protocols.gram_search import gram_search
from tacit.protocols.gram_vertical import gram_predict, gram_vertical
from tacit.protocols.gram_weights import gram_weights
from tacit.protocols.own_columns import checked_columns, own_columns
from tacit.protocols.pan_search import pan_search
from tacit.protocols.pan_svm import pan_svm
from tacit.protocols.score_counts import labeller_counts, score_counts
from tacit.protocols.select_filter import select_filter
from tacit.protocols.select_wrapper import select_wrapper
from tacit.protocols.shift_ring import shift_ring, shift_ring_predict
from tacit.protocols.shift_secret import (
    shift_secret_columns,
    shift_secret_columns_predict,
    shift_secret_rows,
    shift_secret_rows_predict,
)
from tacit.protocols.shift_vertical import shift_vertical, shift_vertical_predict
from tacit.runtimes.layers import Partitions
from tacit.runtimes.spark import Spark
from tacit.runtimes.spark_session import session
from tacit.runtimes.together import Together

PROTOCOLS: dict[str, Callable[..., Any]] = {
    "align": align,
    "column_moments": column_moments,
    "column_extremes": column_extremes,
    "column_quantiles": column_quantiles,
    "fill_values": fill_values,
    "own_columns": own_columns,
    "checked_columns": checked_columns,
    "gram_vertical": gram_vertical,
    "gram_predict": gram_predict,
    "gram_arbitrary": gram_arbitrary,
    "gram_arbitrary_predict": gram_arbitrary_predict,
    "gram_weights": gram_weights,
    "gram_linear_predict": gram_linear_predict,
    "gram_search": gram_search,
    "pan_svm": pan_svm,
    "pan_search": pan_search,
    "consensus_horizontal": consensus_horizontal,
    "consensus_predict": consensus_predict,
    "consensus_vertical": consensus_vertical,
    "consensus_vertical_predict": consensus_vertical_predict,
    "elm_horizontal": elm_horizontal,
    "elm_vertical": elm_vertical,
    "elm_predict": elm_predict,
    "score_counts": score_counts,
    "labeller_counts": labeller_counts,
    "select_wrapper": select_wrapper,
    "select_filter": select_filter,
    "shift_ring": shift_ring,
    "shift_ring_predict": shift_ring_predict,
    "shift_vertical": shift_vertical,
    "shift_vertical_predict": shift_vertical_predict,
    "shift_secret_rows": shift_secret_rows,
    "shift_secret_rows_predict": shift_secret_rows_predict,
    "shift_secret_columns": shift_secret_columns,
    "shift_secret_columns_predict": shift_secret_columns_predict,
}


@dataclass(frozen=True)
class Brought:
    """Who brings an input of a job, and from where: its table, the table's ids, or what an earlier job left there."""

    role: Role
    source: Literal["table", "ids", "earlier"] = "table"


TABLE = {"data": Brought(Holder)}
SHARES = {"dual": Brought(Coordinator, "earlier"), "columns": Brought(Holder, "earlier")}

# protocols that a job between organisations may name, and what is brought along under which name
INPUTS: dict[str, dict[str, Brought]] = {
    **dict.fromkeys(
        ("gram_vertical", "gram_arbitrary", "gram_search", "pan_svm", "pan_search", "elm_horizontal", "consensus_horizontal"), TABLE
    ),
    "align": {"ids": Brought(Holder, "ids")},
    "gram_predict": {**TABLE, **SHARES},
    "gram_arbitrary_predict": {**TABLE, **SHARES},
    "gram_weights": SHARES,
    "gram_linear_predict": {**TABLE, "weights": Brought(Holder, "earlier")},
}

# of these, which open what a known attack turns into records, whatever their parameters are
ATTACKED = {
    "consensus_horizontal": "the averages of a consensus give single records to all its parties, under parameters that a job may choose"
}

# of these, which would go wrong on anything but columns of the same records
BY_COLUMNS = ("gram_predict", "align")

# whose results these inputs are
BUILDS_ON: dict[str, tuple[str, ...]] = {
    "gram_predict": ("gram_vertical", "gram_search"),
    "gram_arbitrary_predict": ("gram_arbitrary", "gram_search"),
    "gram_weights": ("gram_vertical", "gram_search", "gram_arbitrary"),
    "gram_linear_predict": ("gram_weights",),
}

Kind = Literal["records", "ids", "answers", "shares"]
Inputs = Mapping[str, tuple[Role, Mapping[str, Any]]]
Progress = Callable[[str, int, int], None]
Keep = Callable[[str, Any], None]


def kind_of(protocol: str) -> Kind:
    """Of what a job's results are made: "records" of a table, its "ids", "answers" about new records, or "shares" of a model."""
    sources = {brought.source for brought in INPUTS.get(protocol, {}).values()}
    if "ids" in sources:
        return "ids"
    if "earlier" in sources:
        return "answers" if "table" in sources else "shares"
    return "records"


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run leaves behind in this process."""

    result: Any
    ledger: Ledger
    history: list[dict[str, Any]]
    seconds: float
    cpu: dict[str, float]


def play(run: Run, protocol: str, inputs: Inputs, params: Mapping[str, Any]) -> Any:
    """Bind each input to its role and play the protocol."""
    if protocol not in PROTOCOLS:
        raise LocalError(f"unknown protocol {protocol!r}: use one of {', '.join(PROTOCOLS)}")
    held = {name: run.hold(role, entries) for name, (role, entries) in inputs.items()}
    return PROTOCOLS[protocol](run, **held, **params)


def execute_together(
    roster: Roster,
    protocol: str,
    inputs: Inputs,
    params: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    entropy: Entropy | None = None,
    keep: Keep = lambda _party, _value: None,
) -> Outcome:
    """Run a protocol with all parties in this process; `keep` gets what each of them keeps beyond it."""
    start, job = time.perf_counter(), secrets.token_bytes(16)
    with Together(roster, job=job, entropy=entropy or RootEntropy(roster.parties, job), progress=progress, keep=keep) as run:
        result = play(run, protocol, inputs, params)
        return Outcome(opened(result), run.ledger, run.history, time.perf_counter() - start, dict(run.cpu))


def execute_spark(
    roster: Roster,
    protocol: str,
    inputs: Inputs,
    params: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    spark: Any = None,
    keep: Keep | None = None,
) -> Outcome:
    """Run a protocol with each holder at a partition and this process as its driver; what is on the cluster already stays there.

    Nothing outlives a run there: Spark is one trust domain, and who could combine two runs has the rows anyway.
    """
    del keep
    simulated = not any(isinstance(entries, Partitions) for _, entries in inputs.values())
    if not simulated and params.get("method") == "ring":
        raise LocalError("secure_sum='ring' hands values from party to party, and on Spark the driver would read them: use 'pairwise'")
    sc, start, job = session(spark).sparkContext, time.perf_counter(), secrets.token_bytes(16)
    with Spark(roster, roster[Holder], sc=sc, job=job, simulated=simulated, progress=progress) as run:
        result = play(run, protocol, inputs, params)
        run.finish()
        found = opened(result, run.opened if simulated else run.here)
        return Outcome(found, run.ledger, run.history, time.perf_counter() - start, dict(run.cpu))


RUNTIMES: dict[str, Callable[..., Outcome]] = {"together": execute_together, "spark": execute_spark}


def opened(result: Any, held: Callable[[At[Any]], Mapping[str, Any]] = entries_of) -> Any:
    """A result with every `At` replaced by {party: value}: for whoever simulates all parties."""
    if isinstance(result, At):
        return dict(held(result))
    if isinstance(result, dict):
        return {k: opened(v, held) for k, v in result.items()}
    if type(result) is tuple:
        return tuple(opened(v, held) for v in result)
    return result
