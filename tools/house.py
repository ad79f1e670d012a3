"""Count what everybody has to read: lines, files, facts, protocols, parameters, and names that mean two things."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tacit.choreo.fact import known_facts
from tacit.registry import declared, job_protocols

SOURCE, TESTS, PAPERS = Path("src/tacit"), Path("tests"), "papers"


def main() -> None:
    """Print one line for each count, of the core and of the rooms of the papers apart where they differ."""
    files = sorted(SOURCE.rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    core = [file for file in files if PAPERS not in file.parts]
    rooms = [file for file in files if PAPERS in file.parts]
    names = Counter(name for tree in trees.values() for name in _names_of(tree))
    for what, some in (("core", core), ("papers", rooms)):
        calls = Counter(name for file in some for name in _calls_of(trees[file]))
        counts = ", ".join(
            f"{calls[kind]} {name}"
            for kind, name in (("Fact", "facts"), ("Declaration", "protocols"), ("Parameter", "parameters"))
        )
        print(f"{what:<8} {_lines(some):>6} lines in {len(some)} files; {counts}")
    tests = sorted(TESTS.rglob("*.py"))
    print(f"tests    {_lines(tests):>6} lines in {len(tests)} files")
    jobs = sum(1 for protocol in job_protocols() if declared(protocol).play.__module__.split(".")[1] != PAPERS)
    print(f"jobs     {jobs:>6} protocols of the core that a job may name")
    revealed = [fact for fact in known_facts("tacit") if fact.identifier.startswith("core.")]
    print(f"reveals  {len(revealed):>6} facts of the core that a study can reveal")
    print(f"imports  {100 * _imports(core) / _lines(core):>6.1f} % of the core's lines")
    print(f"names    {sum(n > 1 for n in names.values()):>6} of {len(names)} at the top of modules stand in several")


def _lines(files: list[Path]) -> int:
    return sum(file.read_text(encoding="utf-8").count("\n") for file in files)


def _imports(files: list[Path]) -> int:
    """Return how many lines import something."""
    kinds = (ast.Import, ast.ImportFrom)
    nodes = (each for file in files for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    return sum((each.end_lineno or each.lineno) - each.lineno + 1 for each in nodes if isinstance(each, kinds))


def _names_of(tree: ast.Module) -> set[str]:
    """Return the functions, classes and constants of a module."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = {each.name for each in tree.body if isinstance(each, kinds)}
    for each in tree.body:
        targets = each.targets if isinstance(each, ast.Assign) else []
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _calls_of(tree: ast.Module) -> list[str]:
    """Return the names of what is called in a module."""
    calls = (each.func for each in ast.walk(tree) if isinstance(each, ast.Call))
    return [func.id for func in calls if isinstance(func, ast.Name)]


if __name__ == "__main__":
    main()
