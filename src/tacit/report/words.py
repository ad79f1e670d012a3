"""Figures and names as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import printable

Candidate = dict[str, Any]  # "params", "score", "deviation"


def list_candidates(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return parameters, score and its deviation over the folds of every candidate, the best first."""
    best = sorted(candidates, key=lambda each: -float(each["score"]))
    return [(_words(each["params"]), _told(float(each["score"]), float(each["deviation"]))) for each in best]


def _told(score: float, deviation: float) -> str:
    """Return a score, and its deviation if it is known."""
    return f"{score:.4f}" if math.isnan(deviation) else f"{score:.4f} ± {deviation:.4f}"


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} {word(value)}" for name, value in params.items())


def word(value: Any) -> str:
    """Return a value of a parameter as people read it."""
    return f"{value:.6g}" if isinstance(value, (int, float)) else clean(value)


if TYPE_CHECKING:
    from tacit.report.report import Report

KILO = 1000
MINUTE = 60
HOUR = 3600
clean = printable  # names come from others, in reports too
DESCRIBE = "Describe"  # what a report calls a look at a table, by which nothing is trained


def human_bytes(count: int) -> str:
    """Return `1.4 MB` for `1402331`, in powers of 1000 as networks are priced."""
    if count < KILO:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= KILO
        if size < KILO - 0.05:  # 999.95 would print as 1000.0
            return f"{size:.1f} {unit}"
    return f"{size / KILO:.1f} TB"


def seen_bytes(count: int) -> str:
    """Return the bytes of messages in words. No message is empty, so zero means that this party saw none of them."""
    return human_bytes(count) if count else "not seen here"


def human_seconds(seconds: float) -> str:
    """Return `2 min 5 s` for `125`."""
    if seconds < 1:
        return f"{seconds * KILO:.3g} ms"
    if round(seconds, 1) < MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"


def count(n: int, noun: str) -> str:
    """Return a number with its noun: `1 round`, `1,204 rounds`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def cost_of(rounds: int, size: int, seconds: float) -> str:
    """Return what a run took, in one line."""
    return f"{count(rounds, 'round')}, {human_bytes(size)}, {human_seconds(seconds)}"


def often(n: int) -> str:
    """Return how often: `once`, `12 times`."""
    return "once" if n == 1 else f"{n:,} times"


def listing(names: Iterable[str]) -> str:
    """Return names with commas: `a, b, c`."""
    return ", ".join(clean(name) for name in names)


def figure(value: Any) -> str:
    """Return a value of a table: numbers to four digits, everything else as it is."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else clean(value)


def area(bounds: tuple[float, float]) -> str:
    """Return an area under a curve by its bounds: `0.9824 ± 0.0002`, or one number where it is exact."""
    low, high = bounds
    if not math.isfinite(low + high):
        return "-"
    middle, half = (low + high) / 2, (high - low) / 2
    return f"{middle:.4f}" if half < 5e-5 else f"{middle:.4f} ± {half:.4f}"  # noqa: PLR2004 - half of the last digit


def plain(value: Any) -> Any:
    """Return a value that JSON can write. Arrays become their shape: parameters may hold records."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return _opaque(value)


def _opaque(value: Any) -> Any:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return plain(value.item())
    if hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def summary(report: Report) -> str:
    """Return the run in one sentence."""
    sites = count(len(report.parties), "site")
    article = "an" if report.partition.startswith(tuple("aeiou")) else "a"
    cost = (
        f"{count(report.rounds, 'communication round')}, {human_bytes(report.bytes)} and"
        f" {human_seconds(report.seconds)}"
    )
    did = f"trained{' and evaluated' * bool(report.evaluations)} {report.estimator}"
    if report.estimator == DESCRIBE:
        did = "described their records"
    return clean(f"{sites} ({listing(report.parties)}) {did} on {article} {report.partition} partition in {cost}.")
