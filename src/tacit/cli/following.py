"""Following a submitted job to its end: what is shown on the way, and what is said of it then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from typer import Option

from tacit.cli.output import console, print_json, table
from tacit.cli.public_model import Files, write_files
from tacit.consortium.consent.proposals import opened_by
from tacit.consortium.jobs import questions
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.public_result import to_plain
from tacit.consortium.site.analyst import Analyst, Fetched
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.fitted import leaves_shares, makes_no_model
from tacit.consortium.site.telling import WAITING, describe_end, describe_progress, describe_remedy, leaving
from tacit.errors import PeerError
from tacit.registry import kind_of
from tacit.report.words import cost_of, count, listing
from tacit.study.gate import check_released, is_withheld

Wait = Annotated[bool, Option("--wait/--no-wait", help="Follow the job to its end.")]
TOLD = ("state", "answers", "rounds", "bytes", "seconds", "attempt", "without")  # of the news, in JSON
ModelOut = Annotated[
    Path | None,
    Option(
        "--model",
        "--out",
        metavar="FILE",
        help="Write the model to this file at the end; for a model in shares, a file to ask the sites with.",
    ),
]
ReportOut = Annotated[
    Path | None, Option("--report", metavar="FILE", help="Write the report to this file at the end, as a web page.")
]


def follow(analyst: Analyst, job: Job, *, after: int = 0, wait: bool, as_json: bool, files: Files) -> None:
    """Follow a job to its end, say how it came out, and write its model; or only say how to follow it.

    after: the attempt whose stop is known already.
    """
    if not wait:
        if as_json:
            print_json(job=job.id, state="proposed")
        else:
            typer.echo(f"proposed; follow it with: tacit resume {job.id[:8]}, or tacit status")
        return
    with leaving(job, f"tacit resume {job.id[:8]}"):
        news = _show_news(analyst.follow(job, after=after), quiet=as_json)
        if news is None:
            raise PeerError(describe_end(job, None))
        result = analyst.result(job) if news.state == "finished" else None
    withheld = result is not None and is_withheld(result.public.values)
    if result is not None and not withheld:
        write_files(job, news, result, files)
    if as_json:
        _print_json(job, news, result, Files() if withheld else files)
    if result is None:
        raise PeerError(f"{describe_end(job, news)}{describe_remedy(news, f'tacit resume {job.id[:8]}')}")
    check_released(result.public.values)
    if not as_json:
        _print_end(job, news, result.public.values, files)


def _show_news(all_news: Iterable[News], *, quiet: bool) -> News | None:
    """Show all news, and return the last of them.

    A terminal gets a bar; a log gets a line whenever something new is said, so that it stays short.
    """
    err, news, said = Console(stderr=True, highlight=False), None, ""
    columns = (TextColumn("{task.fields[state]:<8}"), BarColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal)
    with nullcontext() if bar.disable else bar:  # rich before 14.3 ends a bar that it did not show with an empty line
        task = bar.add_task("", total=1, state="proposed")
        for news in all_news:
            told, last = describe_progress(news), said
            bar.update(task, description=told, completed=news.rounds, total=news.total or None, state=news.state)
            said = told if news.state in WAITING else f"{news.state}: {news.step}" if news.step.of else news.state
            if bar.disable and not quiet and said != last and news.state in {*WAITING, "running"}:
                err.print(said, markup=False, soft_wrap=True)
    return news


def _print_end(job: Job, news: News, public: Mapping[str, Any], files: Files) -> None:
    screen = console()
    screen.print("\nfinished", style="bold", markup=False)
    figures = [("cost", cost_of(news.rounds, news.bytes, news.seconds))]
    if news.without:
        figures.append(("left out", f"{listing(news.without)}: nothing of its records is in the result"))
    if "classes" in public:
        figures.append(("classes", listing(map(str, public["classes"]))))
    if public.get("support") is not None:
        figures.append(("support vectors", f"{len(public['support'])}"))
    screen.print(table("", "", rows=[*figures, describe_result(job, files.model), *_list_report(files)]))


def _list_report(files: Files) -> list[tuple[str, str]]:
    return [("report", f"written to {files.report}")] if files.report else []


def describe_result(job: Job, model: Path | None = None) -> tuple[str, str]:
    """Return what a job leaves, and where."""
    match kind_of(job.protocol):
        case "answers":
            return "answers", f"at {listing(questions.readers_of(job))} only: tacit party answers {job.id[:8]}"
        case "ids":
            return "common records", f"known at {listing(job.parties)}; build on them with builds_on = {job.id!r}"
    if makes_no_model(job):
        return "table", f"described: tacit resume {job.id[:8]} --report FILE writes it to a page"
    again = f"tacit resume {job.id[:8]} --model FILE writes"
    if leaves_shares(job):
        held = f"in shares: {listing(job.roster.parties)} each keep their own, under this job's id, for"
        ask = f"ask it with: tacit predict {model} --on DATASET" if model else f"{again} a file to ask it with"
        return "model", f"{held} {count(job.retention_days, 'day')}; {ask}"
    return "model", f"public: {f'{again} it to a file' if model is None else f'written to {model}'}"


def _print_json(job: Job, news: News, result: Fetched | None, files: Files) -> None:
    shown = None if result is None else {**result.public.values, "history": result.public.history}
    print_json(
        job=job.id,
        **{name: getattr(news, name) for name in TOLD},
        public=to_plain(shown),
        reasons=list(news.reasons),
        opens=[list(line) for line in opened_by(job)],
        warnings=concerns(job),
        **{o.removeprefix("--"): None if result is None else str(path) for o, path in files.wanted.items()},
    )
