"""How Sphinx builds the site: `make docs` writes it to build/site, and every warning is an error."""  # noqa: INP001 - Sphinx reads it by its path

from __future__ import annotations

import inspect
import shutil
import sys
import zipfile
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.util.nodes import make_refnode

import tacit

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(Path(__file__).parent))  # what makes pages lies beside

import learnt  # noqa: E402
import reference  # noqa: E402

project = "tacit"
author = "The tacit developers"
copyright = "the tacit developers"  # noqa: A001 - Sphinx's name for it
release = version = installed("tacit")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design", "measured"]
exclude_patterns = ["*.py"]
nb_execution_mode = "off"  # notebooks show what `make gallery` has put into them

# pages link to each other's headings as they do on the web pages of a repository
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "attrs_inline"]

autodoc_typehints = "none"  # the sentences of a parameter say what it takes
autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator,Exception", "member-order": "bysource"}
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = "tacit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_persistent": ["search-button"],  # the wide field would take a second line
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Any) -> None:
    """Write the reference, and show what links of the repository lead to outside the site."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", skip_inner)
    app.connect("doctree-read", lead_inside)
    app.connect("build-finished", unpack_sample)


def write_pages(app: Any) -> None:
    """Write the pages that are made of the code: the reference, and what each method opens."""
    reference.write_pages(Path(app.srcdir) / "api")
    learnt.write_pages(Path(app.srcdir) / "learnt")


def skip_inner(app: Any, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:  # noqa: FBT001 - Sphinx's
    """Leave out what scikit-learn documents, and what only other parts of tacit call."""
    del skip, options
    module = getattr(inspect.unwrap(found) if callable(found) else found, "__module__", None)
    foreign = module is not None and not module.startswith("tacit")
    owner = getattr(tacit, Path(app.env.docname).name, None) if what == "class" else None
    return True if foreign or (inspect.isclass(owner) and not reference.is_shown(owner, name)) else None


def unpack_sample(app: Any, error: Exception | None) -> None:
    """Lay the sample dossier and its two pages for people beside the page that tells of them."""
    if error is None and app.builder.format == "html":
        folder, archive = Path(app.outdir) / "sample", ROOT / "docs" / "sample" / "dossier.zip"
        folder.mkdir(exist_ok=True)
        shutil.copy(archive, folder)
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                if name.endswith(".html"):
                    (folder / Path(name).name).write_bytes(packed.read(name))


def lead_inside(app: Any, tree: nodes.document) -> None:
    """Let links to files of the repository lead to the page that shows them; those that no page shows are words."""
    here = app.env.docname
    for link in list(tree.findall(addnodes.pending_xref)):
        target = link["reftarget"].partition("#")[0]
        if not target or target in app.env.found_docs:
            continue
        around = (Path(app.env.doc2path(here)).parent, ROOT)
        found = [path for base in around if _exists(path := (base / target).resolve())]
        shown = f"project/{found[0].stem.lower()}" if found else ""
        if shown in app.env.found_docs:
            link.replace_self(make_refnode(app.builder, here, shown, None, link.children[0]))
        elif found and (found[0].is_dir() or not found[0].is_relative_to(app.srcdir)):
            link.replace_self(link.children)


def _exists(path: Path) -> bool:
    return path.exists() or path.with_suffix(".md").exists()
