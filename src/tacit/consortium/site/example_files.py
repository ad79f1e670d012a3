"""Configuration files to start from: `examples/` holds them, deploy/ shows them, and the demonstration runs on them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources


def example_party(
    name: str = "north",
    *,
    dataset: str = "cohort",
    path: str = "cohort.csv",
    label: str | None = None,
    id: str | None = None,  # noqa: A002 - as in the file
    **values: object,
) -> str:
    """Return what a party that holds data writes."""
    named = {"path": path, "label": label, "id": id}
    table = "\n".join(f"{key} = {quote(value)}" for key, value in named.items() if value is not None)
    text = fill("party", {**_own(name), **values})
    return text.replace('[datasets.cohort]\npath = "cohort.csv"', f"[datasets.{dataset}]\n{table}")


def example_coordinator(name: str = "clearing", **values: object) -> str:
    """Return what the site that coordinates and relays writes."""
    return fill("coordinator", {**_own(name), **values})


def example_analyst(name: str = "analyst", **values: object) -> str:
    """Return what somebody who may submit, and nothing else, writes."""
    return fill("analyst", {**_own(name), **values})


def example_policy(
    dataset: str = "cohort", approvers: Sequence[str] = ("dr-lee", "dpo"), *, automatic: bool = False, **values: object
) -> str:
    """Return a policy file to start from."""
    people = {"approvers": approvers, "approvals_needed": len(approvers), "automatic": automatic}
    text = fill("policy", {**people, "disclosures": "any" if automatic else (), **values})
    return text.replace("[columns]\ncohort =", f"[columns]\n{dataset} =")


def quote(value: str | Sequence[str]) -> str:
    """Return a text, or a list of texts, in TOML: its basic strings are JSON's."""
    return json.dumps(value, ensure_ascii=False)


def _own(name: str) -> dict[str, str]:
    return {"name": name, "key": f"{name}.key", "certificate": f"{name}.crt"}


def fill(kind: str, values: Mapping[str, object]) -> str:
    """Return an example file with these values; its comments stay in their column."""
    text = resources.files("tacit.consortium.site").joinpath(f"examples/{kind}.toml").read_text(encoding="utf-8")
    for key, value in values.items():
        line = re.search(rf"^{key} = .*?( *#.*)?$", text, re.MULTILINE)
        if line is None:
            raise KeyError(key)
        comment = (line[1] or "").lstrip()
        written = f"{key} = {json.dumps(value, ensure_ascii=False)}"
        width = len(line[0]) - len(comment)
        new = f"{written:<{width - 1}} {comment}" if comment else written
        text = text[: line.start()] + new + text[line.end() :]
    return text
