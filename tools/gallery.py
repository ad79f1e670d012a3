"""`make gallery`: execute the notebooks of docs/gallery in place, and write the page that lists them.

A notebook keeps its output and how long it took, so that the site shows it without running it. Its picture on the page
is its first plot; a notebook without plots has the picture of how its first table is split.
"""

from __future__ import annotations

import base64
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"
SECONDS = 600  # the longest that one cell may take
SPLITS = {  # a federation as a notebook shows it, the picture of its split, and what that shows
    "horizontal": ("rows", "A table split by rows"),
    "vertical": ("columns", "A table split by columns"),
    "arbitrary": ("cells", "A table split by cells"),
}
HEAD = """# Gallery

Notebooks with their output, as `make gallery` left them. Download one and change it.

::::{grid} 1 1 2 2
:gutter: 3

"""


def main() -> None:
    """Execute those that are named, or all."""
    named = [GALLERY / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(GALLERY.glob("*.ipynb"))
    for path in named:
        print(f"{path.stem} ...", flush=True)
        notebook = execute(path)
        nbformat.write(notebook, path)
        print(f"{path.stem}: {notebook.metadata['seconds']} s")
    for path in _listed():
        if (plot := find_plot(path)) is not None:
            path.with_suffix(".png").write_bytes(plot)
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
    """Return the page that lists all notebooks: of each a picture, the sentence it begins with, and its run time."""
    cards = "".join(_card(path) for path in _listed())
    return HEAD + cards + "::::\n\n```{toctree}\n:hidden:\n\n" + "\n".join(path.stem for path in _listed()) + "\n```\n"


def find_plot(path: Path) -> bytes | None:
    """Return the first plot of a notebook, as PNG."""
    plots = (data["image/png"] for data in _shown(path) if "image/png" in data)
    return next(map(base64.b64decode, plots), None)


def _listed() -> list[Path]:
    return sorted(GALLERY.glob("*.ipynb"), key=lambda path: (path.stem != "first_steps", path.stem))


def _shown(path: Path) -> Iterator[nbformat.NotebookNode]:
    """Yield what the cells of a notebook show, in order: for each output its contents by media type."""
    for cell in nbformat.read(path, as_version=4).cells:
        yield from (output.data for output in cell.get("outputs", []) if "data" in output)


def _card(path: Path) -> str:
    notebook = nbformat.read(path, as_version=4)
    title, _, text = notebook.cells[0].source.partition("\n\n")
    first = text.partition(". ")[0].rstrip(".")
    picture, told = _picture(path)
    return f""":::{{grid-item-card}} [{title.removeprefix("# ")}]({path.name})
:class-item: example
:img-top: {picture}
:img-alt: {told}

{first}.

Runs in {notebook.metadata["seconds"]} s.
:::

"""


def _picture(path: Path) -> tuple[str, str]:
    """Return the picture of a notebook, relative to the page, and a text for those who do not see it."""
    if find_plot(path) is not None:
        return f"{path.stem}.png", "The first plot of this notebook"
    shown = "".join(data.get("text/plain", "") for data in _shown(path))
    split = re.search(r"<Federation: (\w+)", shown)
    if split is None:
        raise SystemExit(f"{path.name} shows neither a plot nor a federation: no picture can stand for it")
    name, told = SPLITS[split[1]]
    return f"../images/{name}.svg", told


if __name__ == "__main__":
    main()
