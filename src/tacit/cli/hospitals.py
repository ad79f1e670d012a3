"""What `tacit demo` does: scikit-learn's breast-cancer data, its columns split between hospitals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tacit.choreo import F64, I64
from tacit.cli.output import Steps, check_targets, console, steps, table
from tacit.cli.summary import disclosed, figures, known
from tacit.data import Federation
from tacit.estimators import GramSVC
from tacit.report import Report

NAMES = ("north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest")
TOGETHER, CENTRALISED = "together (tacit)", "centralised"


@dataclass(frozen=True)
class Hospital:
    """Its own columns, standardised by their own mean and deviation: of patients to train on and of new ones."""

    train: F64
    new: F64


@dataclass(frozen=True)
class Study:
    """The hospitals, and the classes of both kinds of patients."""

    hospitals: dict[str, Hospital]
    y: I64
    y_new: I64

    @property
    def patients(self) -> int:
        """All of them."""
        return len(self.y) + len(self.y_new)

    def federation(self) -> Federation:
        """The patients to train on; the first hospital holds the classes."""
        return self._joint([h.train for h in self.hospitals.values()], self.y)

    def new(self) -> Federation:
        """The held-out patients, split in the same way."""
        return self._joint([h.new for h in self.hospitals.values()], self.y_new)

    def _joint(self, parts: list[F64], y: I64) -> Federation:
        return Federation.from_parts(parts, names=list(self.hospitals), partition="vertical", y=y, allow_two_parties=True)


def run(parties: int, out: Path, seed: int) -> None:
    """Compare every hospital alone, all together, and one that had everything."""
    check_targets({"--out": out}, [])
    study = drawn(NAMES[:parties], seed)
    with steps(parties + 2) as bar:
        report = compared(study, bar)
    report.to_html(out)
    _print(study, report, out)


def drawn(names: tuple[str, ...], seed: int) -> Study:
    """A quarter of the patients held out, and the measurements dealt to the hospitals."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    columns = Federation.simulate(X, parties=names, partition="vertical", seed=seed).columns
    return Study({name: _hospital(X[:, held], X_new[:, held]) for name, held in columns.items()}, y, y_new)


def _hospital(X: F64, X_new: F64) -> Hospital:
    scaler = StandardScaler().fit(X)
    return Hospital(scaler.transform(X), scaler.transform(X_new))


def compared(study: Study, bar: Steps) -> Report:
    """The report of training together, with everybody's accuracy on the held-out patients."""
    scores: dict[str, float] = {}
    for name, hospital in study.hospitals.items():
        with bar.doing(f"{name} alone"):
            scores[f"{name} alone"] = SVC(C=10).fit(hospital.train, study.y).score(hospital.new, study.y_new)
    with bar.doing("together"):
        model = _together(study, bar)
        scores[TOGETHER] = model.score(study.new())
    with bar.doing("centralised"):
        X, y, _ = study.federation().pooled()
        X_new, y_new, _ = study.new().pooled()
        scores[CENTRALISED] = SVC(C=10).fit(X, y).score(X_new, y_new)
    report: Report = model.report_
    report.title = f"{len(study.hospitals)} hospitals, {study.patients} patients, one classifier"
    report.scores, report.metric = scores, "accuracy on held-out patients"
    return report


def _together(study: Study, bar: Steps) -> Any:
    federation = study.federation()
    federation.progress = bar.rounds
    return GramSVC(C=10, kernel="rbf").fit(federation, compare=True)


def _print(study: Study, report: Report, out: Path) -> None:
    screen = console()
    _print_scores(screen, study, report)
    _print_run(screen, report)
    _print_disclosures(screen, report)
    screen.print(f"\nThe whole report, with what is not protected: {out}", markup=False, soft_wrap=True)


def _print_scores(screen: Console, study: Study, report: Report) -> None:
    first = next(iter(study.hospitals))
    measurements = sum(h.train.shape[1] for h in study.hospitals.values())
    _heading(
        screen,
        f"{len(study.hospitals)} hospitals split {measurements} measurements of {study.patients} patients; {first} has the diagnoses\n",
    )
    held = {f"{name} alone": f"{h.train.shape[1]} measurements" for name, h in study.hospitals.items()}
    held |= {TOGETHER: f"{measurements} measurements, none of which moved", CENTRALISED: f"{measurements} measurements in one place"}
    rows = [(who, held[who], f"{score:.4f}") for who, score in (report.scores or {}).items()]
    screen.print(table("who", "trained on", "accuracy", rows=rows, numbers=("accuracy",)))
    screen.print(
        f"\nOn {len(study.y_new)} patients that nobody trained on. Alone: scikit-learn's SVC on a hospital's own measurements,"
        f" given the diagnoses, which only {first} has.",
        style="dim",
    )


def _print_run(screen: Console, report: Report) -> None:
    _heading(screen, "\nTraining together, beside the centralised learner")
    screen.print(table("", "", rows=figures(report)))


def _print_disclosures(screen: Console, report: Report) -> None:
    _heading(screen, "\nWho knows what after training")
    screen.print(table("who", "knows", rows=known(report.opens)))
    _heading(screen, "\nWho learnt what, from the ledger of every message")
    rows = disclosed(report.learnt, list(report.parties))
    screen.print(table("who", "learnt", "from whom", "how often", rows=rows))


def _heading(screen: Console, text: str) -> None:
    screen.print(text, style="bold", markup=False)
