"""The model of a finished job, or the handle to one in shares, as a file that `tacit predict` and `tacit.load` read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.cli.output import check_targets
from tacit.consortium.jobs.job import Job
from tacit.consortium.site.analyst import Fetched, outcome_of
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.fitted import check_fits, fit_from, makes_no_model
from tacit.errors import LocalError


@dataclass(frozen=True)
class Files:
    """What is written at the end of a job: its model, and its report as a page."""

    model: Path | None = None
    report: Path | None = None

    @property
    def wanted(self) -> dict[str, Path]:
        """The files that are asked for, by option."""
        named = {"--model": self.model, "--report": self.report}
        return {option: path for option, path in named.items() if path is not None}


def check_public(job: Job, files: Files, *, wait: bool) -> None:
    """Raise, before a job is proposed, if its files could not be written at its end."""
    for option, path in files.wanted.items():
        check_targets({option: path}, [])
        if not wait:
            late = f"{option} {path} is written at the end of the job"
            raise LocalError(f"{late}, and --no-wait does not wait for it: leave one of them out")
        if option == "--model" and makes_no_model(job):
            raise LocalError(
                f"--model {path} cannot be written: the study has no steps, and makes no model; leave it out"
            )
        check_fits(job)


def write_files(job: Job, news: News, result: Fetched, files: Files) -> None:
    """Write what a finished job makes; the result is in the words of its coordinator."""
    if not files.wanted:
        return
    fitted = fit_from(job, outcome_of(job, news, result))
    if files.model:
        fitted.save(files.model)
    if files.report:
        fitted.report_.to_html(files.report)
