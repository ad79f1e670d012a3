"""Write the states of a job into docs/deploy.md, from the table that the sites go by: python docs/make_states.py."""  # noqa: INP001 - a script

from __future__ import annotations

from pathlib import Path

from tacit.consortium.jobs.states import ENDINGS, EVENTS, FORWARD, OVER, STATES

PAGE = Path(__file__).parent / "deploy.md"
BEGIN, END = "<!-- states: begin, written by docs/make_states.py -->", "<!-- states: end -->"


def section() -> str:
    """Return the diagram, and what every state and event means."""
    arrows = [f"    {state} --> {then}: {event}" for (state, event), then in FORWARD.items()]
    over = [f"    {state} --> [*]" for state in STATES if state in OVER]
    diagram = ["```mermaid", "stateDiagram-v2", "    [*] --> proposed", *arrows, *over, "```"]
    ways = ", ".join(f"`{ending}`" for ending in ENDINGS)
    everywhere = f"From every state that is not over, the events {ways} lead to the state of the same name.\n"
    states = [f"| `{state}` | {meaning} |" for state, meaning in STATES.items()]
    events = [f"| `{event}` | {meaning} |" for event, meaning in EVENTS.items()]
    tables = ["| state | means |", "| --- | --- |", *states, "", "| event | happens when |", "| --- | --- |", *events]
    return "\n".join([*diagram, "", everywhere, *tables, ""])


def page(text: str) -> str:
    """Return the page with the present states between its marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{section()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
