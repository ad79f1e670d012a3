"""Say whether the golden ledgers tell what those of an older state told in prose: python tests/vectors/ledgers.py REF.

Every line of an old golden file must be one line of the new file, at the same number, with the same place and roles.
The facts that the new line names must say the old prose, word for word; only where one sentence has become several
facts, "; " may stand for a comma or "and".
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import tacit.registry  # noqa: F401 - it knows all facts
from conformance.cases import CASES
from tacit.choreo.fact import UNKNOWN, Facts
from tacit.choreo.ledger import OPENS, read_template

ROOT = Path(__file__).parents[2]
JOINT = "(?:; |, and | and |, )"
# one sentence of 0.1.0 referred to the line of another role
REFERRED = {
    "the same; its share of w": (
        "who owns which cells of the support vectors, and the smallest power of two that none of them exceeds;"
        " its share of w"
    ),
}

RENAMED = {"/Facts": "/Known"}  # messages, by the end of their place


def main() -> int:
    """Exit code 1 if a line differs in more than names."""
    reference, files, lines = sys.argv[1], 0, 0
    found: list[str] = []
    for name in sorted(CASES):
        path = f"tests/ledgers/{name}.txt"
        before, after = _then(reference, path), (ROOT / path).read_text(encoding="utf-8")
        found += [f"{path}: {difference}" for difference in differences(before, after)]
        files, lines = files + 1, lines + len(after.splitlines())
    sys.stdout.writelines(f"{each}\n" for each in found)
    sys.stdout.write(f"{files} golden ledgers, {lines} lines, {len(found)} differ in more than names\n")
    return 1 if found else 0


def differences(before: str, after: str) -> Iterator[str]:
    """What the lines of a golden file say that their predecessors did not, or the other way round."""
    old, new = before.splitlines(), read_template(after)
    if len(old) != len(new):
        yield f"{len(old)} lines became {len(new)}"
        return
    for number, (text, line) in enumerate(zip(old, new, strict=True), 1):
        where, roles, prose = text.removeprefix(OPENS).split(": ", 2)
        for was, now in RENAMED.items():
            where = where.removesuffix(was) + now if where.endswith(was) else where
        if (text.startswith(OPENS), where, roles) != line[:3]:
            yield f"line {number}: another place or role"
        elif not says(line.facts, prose):
            yield f"line {number}: {prose!r} became {', '.join(fact.identifier for fact in line.facts)}"


def says(facts: Facts, prose: str) -> bool:
    """Whether known facts, one after the other, are the sentence."""
    for short, full in REFERRED.items():
        prose = prose.replace(short, full)
    pattern = JOINT.join(re.escape(fact.prose) for fact in facts)
    return all(fact.kind != UNKNOWN for fact in facts) and re.fullmatch(pattern, prose) is not None


def _then(reference: str, path: str) -> str:
    # git
    done = subprocess.run(["git", "-C", str(ROOT), "show", f"{reference}:{path}"], capture_output=True, check=True)  # noqa: S603, S607
    return done.stdout.decode()


if __name__ == "__main__":
    sys.exit(main())
