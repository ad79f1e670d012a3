"""The API reference: a page for every public name, with what each of its parameters changes.

Sentences come from the docstrings; what a parameter does to accuracy, to cost and to who learns what is in
docs/effects.toml.
"""  # noqa: INP001 - Sphinx reads it by its path

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import tacit

EFFECTS = Path(__file__).with_name("effects.toml")
HEADS = ("parameter", "accuracy", "cost", "who learns what")
OURS = {"save", "export", "to_sklearn", "release_check"}  # what a model has beside scikit-learn's methods
PACKAGES = {
    "federation": "Whose data",
    "preprocessing": "Preparing",
    "svm": "Support vector and extreme learning machines",
    "model_selection": "Searching, splitting",
    "metrics": "Judging",
    "pipeline": "Pipelines",
    "base": "Model files",
    "report": "Reports",
    "request": "Requests, to run a protocol directly",
    "errors": "Errors",
}


HEAD = """# API reference

Everything that `import tacit` offers. The page of a name shows its parameters, and what each of them changes:
accuracy, cost and who learns what.

"""


def list_public() -> dict[str, Any]:
    """Return what the package offers, by name; modules have pages of their own."""
    found = {name: getattr(tacit, name) for name in sorted(tacit.__all__) if not name.startswith("_")}
    return {name: each for name, each in found.items() if not inspect.ismodule(each)}


def is_error(found: object) -> bool:
    """Return whether this is an exception."""
    return inspect.isclass(found) and issubclass(found, Exception)


def parameters_of(found: Any) -> list[str]:
    """Return the parameters that a person gives: of an estimator, or of a function. Results are not made by people."""
    if inspect.isclass(found):
        return list(found._get_param_names()) if hasattr(found, "_get_param_names") else []  # noqa: SLF001 - scikit-learn's own way to ask
    return [each for each in inspect.signature(found).parameters if each not in {"self", "cls"}]


def read_effects() -> dict[str, list[str]]:
    """Return what parameters change, by the name of one, or of a class and one of its."""
    return tomllib.loads(EFFECTS.read_text(encoding="utf-8"))


def effects_of(name: str, found: Any, effects: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return what each parameter of a public name changes; KeyError for one of which nobody has said it."""
    return {
        each: effects[own] if (own := f"{name}.{each}") in effects else effects[each] for each in parameters_of(found)
    }


def is_shown(owner: type, name: str) -> bool:
    """Return whether a member of an estimator is for those who use it: scikit-learn's names, attributes, and OURS."""
    if not hasattr(owner, "_get_param_names"):
        return True
    return name in OURS or name.endswith("_") or hasattr(Pipeline, name) or hasattr(GridSearchCV, name)


def write_pages(folder: Path) -> None:
    """Write a page for every public name, and one that lists them by what they are for."""
    folder.mkdir(exist_ok=True)
    effects, packages = read_effects(), dict[str, list[str]]()
    for name, found in list_public().items():
        write_changed(folder / f"{name}.md", _page(name, found, effects))
        packages.setdefault(found.__module__.split(".")[1], []).append(name)
    ordered = [*(each for each in PACKAGES if each in packages), *(each for each in packages if each not in PACKAGES)]
    write_changed(
        folder / "index.md", HEAD + "\n".join(_package(PACKAGES.get(each, each), packages[each]) for each in ordered)
    )


def _package(title: str, names: Sequence[str]) -> str:
    """Return the names of one package, each with the first sentence of its docstring."""
    table = make_table(
        ("name", "what it is"), ((f"[`{name}`]({name}.md)", summarise(getattr(tacit, name))) for name in names)
    )
    return f"## {title}\n\n{table}\n{make_toctree(names)}"


def summarise(found: object) -> str:
    """Return the first paragraph of a docstring, as one line of Markdown."""
    return (inspect.getdoc(found) or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _page(name: str, found: Any, effects: Mapping[str, Sequence[str]]) -> str:
    kind = "autoexception" if is_error(found) else "autoclass" if inspect.isclass(found) else "autofunction"
    shown = f"# {name}\n\n```{{eval-rst}}\n.. currentmodule:: tacit\n.. {kind}:: {name}\n```\n"
    told = effects_of(name, found, effects)
    if not told:
        return shown
    table = make_table(HEADS, ((f"`{each}`", *said) for each, said in told.items()))
    return f"{shown}\n## What each parameter changes\n\n{table}"


def make_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    lines = [tuple(heads), *(tuple(row) for row in rows)]
    lines.insert(1, ("---",) * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def make_toctree(names: Iterable[str]) -> str:
    """Return a list of pages that only the navigation shows."""
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def write_changed(path: Path, text: str) -> None:
    """Write a page unless it says so already: Sphinx reads anew what changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
