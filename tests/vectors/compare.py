"""Say in which runs two states of the repository differ: python tests/vectors/compare.py REF.

Both are recorded on this machine (`record.py`, the older state by its own tests and source), since the last bits of a
sum depend on it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Exit code 1 if a run of both states differs."""
    reference = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        _git("worktree", "add", "--detach", "--quiet", str(other), reference)
        try:
            before, after = _recorded(other), _recorded(ROOT)
        finally:
            _git("worktree", "remove", "--force", str(other))
    differing = [name for name in before if name in after and before[name] != after[name]]
    for name in differing:
        sys.stdout.write(f"differs: {name}: {before[name]} was, {after[name]} is" + "\n")
    sys.stdout.write(f"{len(set(before) & set(after))} runs in both, {len(differing)} differ" + "\n")
    sys.stdout.write(
        f"only in {reference}: {sorted(set(before) - set(after)) or 'none'}; only here:"
        f" {sorted(set(after) - set(before)) or 'none'}" + "\n"
    )
    return 1 if differing else 0


def _recorded(root: Path) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(root / "tests" / "vectors" / "record.py")],
        env=environment,
        cwd=root,
        capture_output=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *words], check=True)  # noqa: S603, S607 - as above


if __name__ == "__main__":
    sys.exit(main())
