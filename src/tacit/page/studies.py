"""Studies: an analyst composes one, sees what it would open and cost, and proposes it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import HTMLResponse, Response

from tacit.base.by_name import estimators
from tacit.base.estimator import Federated
from tacit.choreo.protocol import COLUMNS
from tacit.consortium.advice import Advice, advising
from tacit.consortium.advice.advising import GRAVITY, invent
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.consent.unusual import unusual
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.settings import AnalystSettings, Partition, file_safe
from tacit.errors import LocalError, TacitError
from tacit.federation.checks import FEWEST
from tacit.files import write_whole
from tacit.page.desk import Desk, SupersededError
from tacit.page.pictures import draw_coalitions
from tacit.page.readers import describe_fact, is_grave, list_readers
from tacit.page.visit import Views, Visit
from tacit.protocols.parameters import ROWS
from tacit.study.names import SEED
from tacit.study.steps import GRID, NAME, USE, draw_seed

FILE = "study.toml"
NO_CONTENT = 204
STRATEGIES = ("median", "mean", "most_frequent")


def show(visit: Visit, chosen: Chosen | None = None, fault: str = "", done: str = "", status: int = 200) -> Response:
    """Show the form."""
    desk = visit.desk
    return visit.page(
        "study.html",
        status,
        chosen=chosen or begin(desk),
        fault=fault,
        done=done,
        hospitals=[member.name for member in desk.members.of_kind("party")],
        coordinators=[member.name for member in desk.members.of_kind("coordinator")],
        partitions=PARTITIONS,
        estimators=list_estimators(),
        strategies=STRATEGIES,
    )


def begin(desk: Desk) -> Chosen:
    """Return what the form begins with: the terms of the configuration, where it has some."""
    known = desk.settings.study if isinstance(desk.settings, AnalystSettings) else None
    terms: dict[str, Any] = {"dataset": "", "purpose": "", "legal_basis": "", "parties": (), "coordinator": ""}
    terms |= {"partition": "horizontal", "retention_days": 30, "labeller": None, "aligned": False}
    if known is not None:
        terms = {name: getattr(known, name) for name in terms}
    terms |= {"retention_days": str(terms["retention_days"]), "labeller": terms["labeller"] or ""}
    model: dict[str, Any] = {"estimator": "SVC", "params": "", "grid": "", "rows": ""}
    model |= {"gaps": "", "units": True, "judge": True}
    return Chosen(name="study", seed=str(draw_seed()), **model, **terms)


def preview(visit: Visit) -> Response:
    """Return what the study would open and cost, as a part of the page."""
    chosen, session = _read(visit), visit.session
    session.previews = number = session.previews + 1
    text = fault = ""
    job = None
    try:
        text = write_study(chosen)
        job = make_job(visit.desk, write_study(drop_words(chosen)), lambda: session.previews == number)
    except TacitError as error:
        fault = str(error)
    except SupersededError:
        return Response(status_code=NO_CONTENT)
    shown = visit.web.templates.get_template("preview.html").render(
        text=text,
        fault=fault,
        job=job,
        first=[] if job is None else unusual(job),
        readers=[] if job is None else list_readers(job, messages=False),
        coalitions=[] if job is None else draw_coalitions(job, exposures_of(job)),
        describe=describe_fact,
        grave=is_grave,
    )
    return HTMLResponse(shown, headers={"X-Fragment": "preview"})


def advise(visit: Visit) -> Response:
    """Return which methods fit the sites and records that were chosen, the best first, as a part of the page."""
    chosen, found, fault = _read(visit), None, ""
    try:
        partition, parties, records = describe_split(chosen)
        key = f"advice {partition} {parties} {records}"
        found = visit.desk.recent.get(key, lambda: ask(partition, parties, records))
    except TacitError as error:
        fault = str(error)
    shown = visit.web.templates.get_template("advice.html").render(
        found=found, fault=fault, gravity=GRAVITY, write_params=write_params
    )
    return HTMLResponse(shown, headers={"X-Fragment": "advice"})


def ask(partition: Partition, parties: int, records: int | None) -> Advice:
    """Return what the advisor says of records that are split so."""
    return advising.advise(invent(partition, parties, max(COLUMNS, parties)), records=records)


def drop_words(chosen: Chosen) -> Chosen:
    """Return the study without what changes nothing of what it opens, so that typing a purpose rehearses nothing."""
    return dataclasses.replace(chosen, purpose="a preview", legal_basis="a preview", dataset="preview")


def make_job(desk: Desk, text: str, wanted: Callable[[], bool] = lambda: True) -> Job:
    """Return the job of a study, rehearsed; the same text is rehearsed once."""

    def rehearse() -> Job:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / FILE
            file.write_text(text, encoding="utf-8")
            return job_of_file(file, submitter=desk.name, state=desk.state)

    found: Job = desk.recent.get(hashlib.sha256(text.encode()).hexdigest(), rehearse, wanted)
    return found


def send(visit: Visit) -> Response:
    """Write the study to its file, and propose it if that is asked for."""
    desk, chosen = visit.desk, _read(visit)
    try:
        file = desk.state / "studies" / f"{check_file_name(chosen.name)}.toml"
        text = write_study(chosen)
        if visit.text("act") == "save":
            _keep(file, text)
            return show(visit, chosen, done=f"written to {file}; tacit submit {file} proposes it")
        if desk.analyst is None:
            raise LocalError("this site proposes nothing: open the page of an analyst")
        job = make_job(desk, text)
        _keep(file, text)
        desk.analyst.submit(job)
    except TacitError as error:
        return show(visit, chosen, str(error), status=400)
    return visit.go(f"/runs/{job.id}")


def _keep(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode(), "the study")


def _read(visit: Visit) -> Chosen:
    parties = [name for name in visit.form.getlist("parties") if isinstance(name, str)]
    return Chosen.read(visit.text, parties)


VIEWS: Views = {
    ("GET", "/study"): show,
    ("POST", "/study"): send,
    ("POST", "/study/preview"): preview,
    ("POST", "/study/advice"): advise,
}


# The form of a study, and the `study.toml` that it writes: the same file as a person would


SEARCH, GAPS, UNITS = "FederatedGridSearch", "FederatedImputer", "FederatedScaler"
PARTITIONS: dict[Partition, str] = {
    "horizontal": "each site has patients of its own, with the same columns",
    "vertical": "each site has columns of its own, of the same patients",
    "arbitrary": "each cell of the table is at one of the sites",
}
LONG = 20_000  # letters of one field


@dataclass(frozen=True)
class Chosen:
    """What was chosen in the form, as texts."""

    name: str
    dataset: str
    purpose: str
    legal_basis: str
    parties: tuple[str, ...]
    coordinator: str
    partition: str
    labeller: str
    retention_days: str
    seed: str
    rows: str
    aligned: bool
    gaps: str
    units: bool
    estimator: str
    params: str
    grid: str
    judge: bool

    @classmethod
    def read(cls, text: Callable[[str], str], parties: Sequence[str]) -> Chosen:
        """Return what a browser sent; a box that is not ticked is not sent at all."""
        kinds = {name: kind for name, kind in cls.__annotations__.items() if name != "parties"}
        found: dict[str, Any] = {name: text(name)[:LONG] for name in kinds}
        found |= {name: bool(found[name]) for name, kind in kinds.items() if kind == "bool"}
        return cls(**found, parties=tuple(parties))


def list_estimators() -> list[str]:
    """Return the learners that a study may use."""
    kind: Any = Federated  # an abstract class, of which no object is made here
    return sorted(estimators(kind))


def write_params(model: Any) -> str:
    """Return the parameters of a learner that are not its defaults, a line each, as the form takes them."""
    usual, given = type(model)().get_params(deep=False), model.get_params(deep=False)
    return "\n".join(f"{name} = {write_value(value)}" for name, value in given.items() if usual[name] != value)


def write_study(chosen: Chosen) -> str:
    """Return the text of the file."""
    return "\n".join([*_terms(chosen), *_steps(chosen), *_judging(chosen)]) + "\n"


def describe_split(chosen: Chosen) -> tuple[Partition, int, int | None]:
    """Return how records are split between how many sites, and how many there are, if somebody said so."""
    partition: Partition = next((each for each in PARTITIONS if each == chosen.partition), "horizontal")
    if len(chosen.parties) < FEWEST:
        raise LocalError(f"{len(chosen.parties)} sites were chosen: tick at least {FEWEST} to be advised")
    counts = [n for n in _table(chosen.rows, "records").values() if isinstance(n, int) and 0 < n <= ROWS]
    records = sum(counts) if partition == "horizontal" else max(counts, default=0)
    return partition, len(chosen.parties), records or None


def check_file_name(name: str) -> str:
    """Return the name of a study; refuse one that cannot name a file."""
    if not file_safe(name):
        raise LocalError(f"the name {name[:40]!r} cannot name a file: use letters, digits, '.', - and _")
    return name


def _terms(chosen: Chosen) -> Iterator[str]:
    for key in ("dataset", "purpose", "legal_basis"):
        yield f"{key} = {write_value(getattr(chosen, key))}"
    yield f"parties = {write_value(list(chosen.parties))}"
    yield f"coordinator = {write_value(chosen.coordinator)}"
    yield f"partition = {write_value(chosen.partition)}"
    if chosen.labeller and chosen.partition != "horizontal":
        yield f"labeller = {write_value(chosen.labeller)}"
        yield f"aligned = {write_value(chosen.aligned)}"
    yield f"retention_days = {_number(chosen.retention_days, 'days')}"
    if _is_study(chosen):
        yield f"{SEED} = {_number(chosen.seed, 'the seed')}"
    else:
        yield f"estimator = {write_value(chosen.estimator)}"
    if rows := _table(chosen.rows, "records"):
        yield from ("", "[rows]", *(f"{_key(name)} = {write_value(n)}" for name, n in rows.items()))
    if not _is_study(chosen) and (params := _table(chosen.params, "parameters")):
        yield from ("", "[params]", *(f"{_key(name)} = {write_value(value)}" for name, value in params.items()))


def _is_study(chosen: Chosen) -> bool:
    return bool(chosen.gaps or chosen.units or chosen.judge or chosen.grid.strip())


def _steps(chosen: Chosen) -> Iterator[str]:
    if not _is_study(chosen):
        return
    if chosen.gaps:
        yield from _step("gaps", {USE: GAPS, "strategy": chosen.gaps})
    if chosen.units:
        yield from _step("units", {USE: UNITS})
    model, grid = {USE: chosen.estimator, **_table(chosen.params, "parameters")}, _table(chosen.grid, "the grid")
    searched = {USE: SEARCH, "estimator": model, GRID: grid}
    yield from _step("model", searched if grid else model)


def _step(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "[[step]]", f"{NAME} = {write_value(name)}")
    yield from (f"{_key(key)} = {write_value(value)}" for key, value in values.items())


def _judging(chosen: Chosen) -> Iterator[str]:
    if chosen.judge:
        yield from ("", "[evaluate]")


def _table(text: str, what: str) -> dict[str, Any]:
    """Return what somebody typed as lines of TOML."""
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise LocalError(f"{what}: {error}; write lines such as C = 10, texts in quotes") from None


def _number(text: str, what: str) -> str:
    try:
        found = tomllib.loads(f"n = {text.strip()}")["n"] if "\n" not in text.strip() else None
    except tomllib.TOMLDecodeError:
        found = None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise LocalError(f"{what}: {text[:40]!r} is not a number: write one such as 5")
    return write_value(found)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def write_value(value: Any) -> str:
    """Return a value in TOML, whose basic strings are JSON's."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(str(k))} = {write_value(v)}' for k, v in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_value, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
