"""`make gallery`: execute the notebooks of docs/gallery in place, and write the page that lists them.

A notebook keeps its output and how long it took, so that the site shows it without running it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"
SECONDS = 600  # the longest that one cell may take


def main() -> None:
    """Execute those that are named, or all."""
    named = [GALLERY / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(GALLERY.glob("*.ipynb"))
    for path in named:
        print(f"{path.stem} ...", flush=True)
        notebook = execute(path)
        nbformat.write(notebook, path)
        print(f"{path.stem}: {notebook.metadata['seconds']} s")
    (GALLERY / "index.md").write_text(list_all(), encoding="utf-8")


def execute(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with its output; what changes at every run and says nothing is left out."""
    notebook = nbformat.read(path, as_version=4)
    since = time.perf_counter()
    NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": GALLERY}}
    ).execute()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "seconds": round(time.perf_counter() - since)})
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"{path.stem}-{number}", nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = list(_printed_at_once(cell.outputs))
    return notebook


def _printed_at_once(outputs: Iterable[nbformat.NotebookNode]) -> Iterator[nbformat.NotebookNode]:
    """Yield what a cell printed as one text, before the rest; lines that tell of progress are left out."""
    outputs = list(outputs)
    printed = [each for each in outputs if each.output_type == "stream" and each.name == "stdout"]
    text = "".join(each.text for each in printed)
    if text.strip():
        yield nbformat.v4.new_output("stream", name="stdout", text=text.lstrip("\r\n"))
    yield from (each for each in outputs if each.output_type != "stream" and _says_something(each))


def _says_something(output: nbformat.NotebookNode) -> bool:
    return any(str(shown).strip() for shown in output.get("data", {"": "an error"}).values())


def list_all() -> str:
    """Return the page that lists all notebooks, with the sentence each begins with and its run time."""
    names = sorted(GALLERY.glob("*.ipynb"), key=lambda path: (path.stem != "first_steps", path.stem))
    rows = [_row(path) for path in names]
    head = "# Gallery\n\nNotebooks with their output, as `make gallery` left them. Download one and change it.\n\n"
    table = "| notebook | what it shows | run time |\n| --- | --- | --- |\n" + "".join(rows)
    return head + table + "\n```{toctree}\n:hidden:\n\n" + "\n".join(path.stem for path in names) + "\n```\n"


def _row(path: Path) -> str:
    notebook = nbformat.read(path, as_version=4)
    title, _, text = notebook.cells[0].source.partition("\n\n")
    first = text.partition(". ")[0].rstrip(".")
    return f"| [{title.removeprefix('# ')}]({path.name}) | {first} | {notebook.metadata['seconds']} s |\n"


if __name__ == "__main__":
    main()
