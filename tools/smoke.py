"""A wheel just installed: does it import, train, save, predict, make keys and answer on the command line?

Takes nothing but the core install, and nothing of the clone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import tacit


def main() -> None:
    """Train on three parties, keep the model, ask it again, and call commands."""
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate((X - X.mean(0)) / X.std(0), y, parties=3, partition="horizontal", seed=1)
    model = tacit.SVC(random_state=1).fit(fed)
    accuracy = model.score(fed)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "model.tacit"
        model.save(kept)
        again = tacit.load(kept)
        asked = (X[:50] - X.mean(0)) / X.std(0)
        if not np.array_equal(again.predict(asked), model.predict(asked)):
            raise SystemExit("a model that was saved and loaded answers otherwise")
        call("keys", "init", "--consortium", "smoke", "--folder", folder)
    told = call("--help") + call("attack", "--help")
    if "demo" not in told or accuracy < 0.9:  # noqa: PLR2004 - the pooled SVC has 0.98
        raise SystemExit(f"accuracy {accuracy:.3f}; help: {told[:200]}")
    print(f"tacit {tacit.__version__} on Python {sys.version.split()[0]}: trained, saved, loaded, {accuracy:.3f}")


def call(*words: str) -> str:
    """Return what a command of tacit prints; stop if it fails."""
    ended = subprocess.run(  # noqa: S603 - what was just installed
        [sys.executable, "-m", "tacit", *words], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise SystemExit(f"tacit {' '.join(words)}: {ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main()
