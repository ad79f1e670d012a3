"""What `tacit submit` and `tacit resume` do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from tacit.cli.consenting import opened_by, warned_of
from tacit.cli.jobs import known_job
from tacit.cli.output import console, print_json, table
from tacit.consortium import questions
from tacit.consortium.analyst import Analyst, Result
from tacit.consortium.clearing import News
from tacit.consortium.job import Job
from tacit.consortium.preflight import concerns
from tacit.consortium.settings import AnalystSettings
from tacit.errors import PeerError
from tacit.registry import kind_of
from tacit.report.words import clean, counted, human_bytes, human_seconds, listing


def submit(settings: AnalystSettings, file: Path, *, wait: bool, as_json: bool) -> None:
    """Propose the job of a file."""
    job = Job.from_toml(file, submitter=settings.name, state=settings.state)
    if not as_json:
        _show(job)
    with Analyst(settings) as analyst:
        analyst.submit(job)
        if wait:
            _end(analyst, job, _last(analyst.follow(job), quiet=as_json), as_json=as_json)
        else:
            _go_on(job, as_json=as_json)


def resume(settings: AnalystSettings, name: str, *, wait: bool, as_json: bool) -> None:
    """Have a job taken up again if it stopped, then follow it."""
    job = known_job(settings, name)
    with Analyst(settings) as analyst:
        before = next(iter(analyst.ask(job.roles.coordinator, job.id)), None)
        stopped = before is not None and before.state == "stopped"
        if stopped:
            analyst.resume(job.id, job.roles.coordinator)
        if wait:
            after = before.attempt if before and stopped else 0
            _end(analyst, job, _last(analyst.follow(job, after=after), quiet=as_json), as_json=as_json)
        else:
            _go_on(job, as_json=as_json)


def cost(rounds: int, size: int, seconds: float) -> str:
    """What a run took."""
    return f"{counted(rounds, 'round')}, {human_bytes(size)}, {human_seconds(seconds)}"


def told(news: News) -> str:
    """How far a job is, in one line."""
    if news.state in {"proposed", "waiting"}:
        late = [f"{p} ({said})" if said == "refuses" else p for p, said in news.answers.items() if said != "accepts"]
        return f"waiting for {listing(late)}" if late else "everybody accepts: about to start"
    if news.state == "finished":
        return cost(news.rounds, news.bytes, news.seconds)
    if news.state != "running":
        return "; ".join(clean(reason) for reason in news.reasons)
    parts = [f"round {news.done} of {news.total}"] if news.total else ["starting"]
    parts += [human_bytes(news.bytes)] if news.bytes else []
    parts += [f"about {human_seconds(news.left)} left"] if news.left else []
    return ", ".join(parts)


def _show(job: Job) -> None:
    screen = console()
    screen.print(f"job {job.id}", style="bold", markup=False)
    rows = [
        ("protocol", f"{job.protocol} between {listing(job.parties)}, coordinated by {job.roles.coordinator}"),
        ("purpose", f"{job.purpose} ({job.legal_basis})"),
        ("protection", f"{job.protection.method} sums; results are kept {job.retention_days} days"),
        *(
            [("estimate", f"{counted(job.cost.rounds, 'round')}, {human_bytes(max(job.cost.bytes.values()))} at the busiest site")]
            if job.cost
            else []
        ),
        *((f"opens to {who}", what) for who, what in opened_by(job)),
        *warned_of(job),
    ]
    screen.print(table("", "", rows=rows))


def _last(all_news: Iterable[News], *, quiet: bool) -> News | None:
    """Show what is told, and keep the last of it."""
    last = None
    with _display(quiet=quiet) as show:
        for last in all_news:
            show(last)
    return last


@contextmanager
def _display(*, quiet: bool) -> Iterator[Any]:
    """A bar on a terminal; elsewhere a line whenever something else is said, so that a log stays short."""
    err, said = Console(stderr=True, highlight=False), [""]
    bar = Progress(
        TextColumn("{task.fields[state]:<8}"),
        BarColumn(),
        TextColumn("{task.description}"),
        console=err,
        transient=True,
        disable=quiet or not err.is_terminal,
    )
    task = bar.add_task("", total=1, state="proposed")

    def show(news: News) -> None:
        bar.update(task, description=told(news), completed=news.done, total=max(news.total, 1), state=news.state)
        line = told(news) if news.state in {"proposed", "waiting"} else news.state
        if bar.disable and not quiet and line != said[0] and news.state in {"proposed", "waiting", "running"}:
            err.print(line, markup=False, soft_wrap=True)
        said[0] = line

    with bar:
        yield show


def _end(analyst: Analyst, job: Job, news: News | None, *, as_json: bool) -> None:
    if news is None:
        raise PeerError(f"{job.roles.coordinator} tells nothing of job {job.id}: ask again with tacit status")
    result = analyst.result(job) if news.state == "finished" else None
    if as_json:
        print_json(_summary(job, news, result))
    if news.state != "finished":
        again = f"; once that is settled: tacit resume {job.id[:8]}" if news.state == "stopped" else ""
        ended = news.state if news.state in {"stopped", "expired"} else f"was {news.state}"
        raise PeerError(f"job {job.id} {ended}: {told(news)}{again}")
    if result is not None and not as_json:
        _print(job, news, result.public)


def _print(job: Job, news: News, public: Mapping[str, Any]) -> None:
    screen = console()
    screen.print("\nfinished", style="bold", markup=False)
    figures = [("cost", cost(news.rounds, news.bytes, news.seconds))]
    if "classes" in public:
        figures.append(("classes", listing(map(str, public["classes"]))))
    if "support" in public:
        figures.append(("support vectors", f"{len(public['support'])}"))
    figures += left(job)
    screen.print(table("", "", rows=figures))


def left(job: Job) -> list[tuple[str, str]]:
    """What a job leaves, and where."""
    match kind_of(job.protocol):
        case "answers":
            return [("answers", f"at {listing(questions.told(job))} only: tacit party answers {job.id[:8]}")]
        case "ids":
            return [("common records", f"known at {listing(job.parties)}; build on them with builds_on = {job.id!r}")]
        case _:
            return [("model", f"in shares at {listing(job.roster.parties)}, under this job's id")]


def _summary(job: Job, news: News, result: Result | None) -> dict[str, Any]:
    figures = {name: getattr(news, name) for name in ("state", "answers", "rounds", "bytes", "seconds", "attempt")}
    return {
        "job": job.id,
        **figures,
        "public": None if result is None else result.public,
        "reasons": list(news.reasons),
        "opens": [list(line) for line in opened_by(job)],
        "warnings": concerns(job),
    }


def _go_on(job: Job, *, as_json: bool) -> None:
    if as_json:
        print_json({"job": job.id, "state": "proposed"})
    else:
        typer.echo(f"proposed; follow it with: tacit resume {job.id[:8]}, or tacit status")
