"""How light tacit is: the time to import it, the time of `tacit --help`, and the size of the core install."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement

from figures import Figure, Step

TIMES = 7
OF_0_1_0 = frozenset(
    ["cryptography", "matplotlib", "msgspec", "numba", "numpy", "pyarrow", "rich", "scikit-learn", "scipy", "typer"]
)  # what 0.1.0 required without an extra


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure the best of a few starts, and add up what lies on the disk."""
    times = 3 if quick else TIMES
    yield Step("starting", 0, 2)
    for name, words, most in (
        ("import tacit", [sys.executable, "-c", "import tacit"], 0.15),
        ("tacit --help", [sys.executable, "-m", "tacit", "--help"], 0.3),
    ):
        (bare, _), (took, clock) = _best([sys.executable, "-c", "pass"], times), _best(words, times)
        yield Figure(
            f"{name}: seconds of a processor, Python's own {bare:.2f} s in it; by the clock under this load",
            f"{took:.2f} s; {clock:.2f} s",
            f"at most {most} s",
            took <= most,
        )
    yield Step("adding up", 1, 2)
    own, all_of_it = _megabytes({"tacit"}), _megabytes(_core())
    yield Figure(
        "size of tacit alone (1.8 MB in 0.1.0), and of the core install with all it requires",
        f"{own:.1f} MB, {all_of_it:.0f} MB",
    )
    new = sorted(set(_needs("tacit")) - OF_0_1_0)
    yield Figure(
        "packages that the core install requires and 0.1.0's did not", ", ".join(new) or "none", "none", not new
    )


def _best(words: Sequence[str], times: int) -> tuple[float, float]:
    """Return the shortest of a few runs, of a processor and by the clock: the machine's noise only ever adds."""
    took, clock = [], []
    for _ in range(times):
        since, before = time.perf_counter(), os.times()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - this interpreter
        after = os.times()
        clock.append(time.perf_counter() - since)
        took.append(after.children_user + after.children_system - before.children_user - before.children_system)
    if sys.platform == "win32":  # it does not tell what children took
        took = clock
    return min(took), min(clock)


def _core() -> set[str]:
    """Return the names of tacit and of all that it requires without an extra."""
    found: set[str] = set()
    left = ["tacit"]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        left += _needs(name)
    return found


def _needs(name: str) -> list[str]:
    """Return the names of what a package requires here without an extra."""
    needs = [Requirement(each) for each in requires(name) or ()]
    return [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def _megabytes(names: set[str]) -> float:
    return sum(_bytes_of(name) for name in names) / 1e6


def _bytes_of(name: str) -> int:
    if name == "tacit":  # an editable install lists no files of its own
        import tacit  # noqa: PLC0415 - here to be found, not to be timed

        own = (path for path in Path(tacit.__file__).parent.rglob("*") if "__pycache__" not in path.parts)
        return sum(path.stat().st_size for path in own if path.is_file())
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    paths = (Path(str(file.locate())) for file in files)
    return sum(path.stat().st_size for path in paths if path.is_file())
