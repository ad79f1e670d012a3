"""What `tacit train` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from tacit.cli.output import check_targets, console, print_json, steps, table
from tacit.cli.settings import estimator_of
from tacit.cli.summary import figures, in_all
from tacit.data import Federation, read
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.registry import Progress
from tacit.report.words import listing

PARTIES = 3  # the fewest whose sums hide the single parts


@dataclass(frozen=True)
class Source:
    """Data files and how they are split."""

    files: tuple[Path, ...]
    partition: str
    parties: int | None
    label: str
    labeller: str | None
    drop: tuple[str, ...]
    seed: int
    allow_two_parties: bool
    id: str | None
    min_records: int

    def federation(self, progress: Progress) -> Federation:
        """One file is split between simulated parties, several are one party's each."""
        partition = cast("Partition", self.partition)  # another word is refused there
        if len(self.files) == 1:
            if self.id is not None:
                raise LocalError(f"--id {self.id} aligns the files of several parties, and there is one: --drop the column instead")
            whole, parties = read(self.files[0], self.label, self.drop), self.parties or PARTIES
            return Federation.simulate(whole, parties=parties, partition=partition, seed=self.seed, labeller=self.labeller)
        if self.parties not in {None, len(self.files)}:
            raise LocalError(f"{len(self.files)} files are as many parties, but --parties says {self.parties}: leave it out")
        return Federation.from_files(
            self.files, partition=partition, label=self.label, drop=self.drop, labeller=self.labeller,
            allow_two_parties=self.allow_two_parties, id=self.id, min_records=self.min_records,
            progress=progress,
        )  # fmt: skip


def run(source: Source, estimator: str, settings: Sequence[str], *, compare: bool, out: Path, page: Path | None, as_json: bool) -> None:
    """Check all there is to check, then read, train and write."""
    check_targets({"--out": out, "--report": page}, source.files)
    model = estimator_of(estimator, settings, source.partition)
    with steps(3) as bar:
        with bar.doing("reading"):
            federation = source.federation(bar.rounds)
            federation.progress = bar.rounds
        with bar.doing("training"):
            model.fit(federation, compare=compare)
        with bar.doing("scoring"):
            accuracy = model.score(federation)
    model.save(out)
    if page:
        model.report_.to_html(page)
    if as_json:
        print_json(_summary(model, accuracy, out, page))
    else:
        _print(model, accuracy, out, page)


def _summary(model: Any, accuracy: float, out: Path, page: Path | None) -> dict[str, Any]:
    report = model.report_
    return {
        "title": report.title,
        "training_accuracy": accuracy,
        "rounds": report.rounds,
        "bytes": report.bytes,
        "seconds": report.seconds,
        "comparison": report.comparison,
        "opens": [asdict(opened) for opened in report.opens],
        "learnt": [asdict(row) for row in report.learnt],
        "warnings": report.warnings,
        "path": str(out),
        "contains_records_of": model.model_.records_of(),
        "report": str(page) if page else None,
    }


def _print(model: Any, accuracy: float, out: Path, page: Path | None) -> None:
    report, screen = model.report_, console()
    screen.print(report.title, style="bold", markup=False)
    opens = [(f"{who} knows", what) for who, what in in_all(report.opens)]
    screen.print(table("", "", rows=[*opens, ("training accuracy", f"{accuracy:.4f}"), *figures(report)]))
    records = listing(model.model_.records_of())
    holds = f"contains records of {records}" if records else "contains no record"
    screen.print(f"model: {out} ({holds})", markup=False, soft_wrap=True)
    if page:
        screen.print(f"report: {page}", markup=False, soft_wrap=True)
