"""Train together on one file per party, or on one file split up.

Example: tacit train patients.csv --parties 3 --set C=10 --out model.tacit
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Argument, Option

import tacit
from tacit.cli.options import AsJson, Drop
from tacit.cli.output import check_targets, console, print_json, steps, table
from tacit.cli.preparing import describe_preparation, is_safe, steps_of, with_preparation
from tacit.cli.summary import figures, summarise_known
from tacit.errors import LocalError
from tacit.federation.plan import Partition
from tacit.report.words import count, listing

PARTIES = 3  # the fewest whose sums hide the single parts
CLASSIFIERS = [name for name in tacit.__all__ if name.endswith(("SVC", "Classifier"))]  # of the core
REGRESSORS = [name for name in tacit.__all__ if name.endswith(("SVR", "Regressor"))]
WIDTHS = ("scale", 0.01, 0.03, 0.1, 0.3)  # of a search: gamma
WORDS = {"true": True, "false": False, "none": None}


Data = Annotated[list[Path], Argument(metavar="DATA", help="One file for each party, or one file to split up.")]
PartitionName = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="How data is split: vertical (columns), horizontal (rows), arbitrary (cells). By default one file is split"
        " by rows; several of the same columns are rows, and of other columns columns.",
    ),
]
Parties = Annotated[
    int | None, Option(min=1, metavar="N", help="Between how many parties one file is split; 3 by default.")
]
Estimator = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help=f"What is trained: {', '.join([*CLASSIFIERS, *REGRESSORS])}. SVC by default, of numbers SVR.",
    ),
]
Regression = Annotated[
    bool, Option("--regression", help="The label is a number to predict, as one with fractions is in any case.")
]
Search = Annotated[
    bool,
    Option(
        "--search",
        help="Try a few kernels and widths first, of ELMs a few scales, and with loss=hinge a few C; a score of each is"
        " told. What --set names stays.",
    ),
]
SetParameters = Annotated[
    list[str] | None, Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable.")
]
ModelOut = Annotated[Path, Option(metavar="FILE", help="The model file to write.")]
LabelColumn = Annotated[str, Option(metavar="COLUMN", help="The column that holds the classes, or numbers.")]
WhoseLabels = Annotated[str | None, Option(metavar="NAME", help="The party whose labels count, if several have some.")]
IdColumn = Annotated[
    str | None, Option("--id", metavar="COLUMN", help="Align the files by this column: only common records stay.")
]
MinRecords = Annotated[int, Option(min=1, metavar="N", help="With --id: open no id if fewer records are common.")]
FoldIds = Annotated[bool, Option("--fold-ids", help="With --id: capitals and blanks of ids do not count.")]
Seed = Annotated[
    int, Option(min=0, metavar="N", help="Decides who gets which part of one file; no secret depends on it.")
]
Width = Annotated[
    int | None,
    Option(min=1, metavar="N", help="Number of features in LIBSVM files, which leave out trailing zeros."),
]
Prepare = Annotated[
    bool | None,
    Option(
        "--prepare/--no-prepare",
        help="First fill gaps with the mean, turn texts and dates into numbers (and then leave out ids), and bring"
        " columns to one scale. Over columns this is the default, and nothing is sent for it. Over rows it is the"
        " default with three parties or more: everyone learns a rounded mean and scale of each column.",
    ),
]
Keep = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="With --prepare: a column of whole numbers that is not an id; repeatable."),
]
TestSize = Annotated[
    float,
    Option(
        min=0.0,
        max=0.9,
        metavar="SHARE",
        help="Keep this share of the records to judge the model by; 0: learn from all.",
    ),
]
Compare = Annotated[bool, Option("--compare", help="Also train on the pooled records, and report the difference.")]
ReportPage = Annotated[Path | None, Option(metavar="FILE", help="Write the report to this file, as a web page.")]
AcceptRisk = Annotated[
    bool,
    Option("--accept-risk", help="Accept what the estimator says it gives away; methods of the papers ask for it."),
]
AllowTwo = Annotated[bool, Option("--allow-two-parties", help="Accept that sums over two parties hide nothing.")]


def train(
    data: Data,
    *,
    partition: PartitionName = None,
    parties: Parties = None,
    estimator: Estimator = None,
    regression: Regression = False,
    search: Search = False,
    settings: SetParameters = None,
    out: ModelOut = Path("model.tacit"),
    label: LabelColumn = "label",
    labeller: WhoseLabels = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    min_records: MinRecords = 10,
    fold_ids: FoldIds = False,
    seed: Seed = 0,
    n_features: Width = None,
    prepare: Prepare = None,
    keep: Keep = None,
    test_size: TestSize = 0.25,
    compare: Compare = False,
    report: ReportPage = None,
    as_json: AsJson = False,
    accept_risk: AcceptRisk = False,
    allow_two_parties: AllowTwo = False,
) -> None:
    """Check all there is to check, then read, train and write."""
    # scikit-learn takes a second to import: who reads the help does not wait for it
    from sklearn.base import is_regressor  # noqa: PLC0415

    from tacit.base.classifiers import make_learner  # noqa: PLC0415
    from tacit.federation import Federation, read  # noqa: PLC0415

    check_targets({"--out": out, "--report": report}, data)
    _check_files(data, parties, id_column)
    if partition is None:
        partition = find_partition(data, label, [*(drop or ()), *([id_column] if id_column else [])])
    params = read_settings([*(settings or ()), *["accept_risk=true"] * accept_risk])
    _check_asked(estimator, regression=regression, search=search, compare=compare)
    model = make_learner(estimator or ("SVR" if regression else "SVC"), params, "--set", partition)
    if prepare is None:
        prepare = is_safe(partition, len(data) if len(data) > 1 else parties or PARTIES)
    sparse = None if partition == "horizontal" and model.takes_sparse else False
    split: dict[str, Any] = {"partition": partition, "labeller": labeller, "raw": prepare}
    with steps(3) as bar:
        with bar.doing("reading"):
            if len(data) == 1:
                whole = read(data[0], label, drop or (), raw=prepare, n_features=n_features, sparse=sparse)
                federation = Federation.simulate(whole, parties=parties or PARTIES, seed=seed, **split)
            else:
                federation = Federation.from_files(
                    data, label=label, drop=drop or (), id=id_column, min_records=min_records, fold_ids=fold_ids,
                    allow_two_parties=allow_two_parties, n_features=n_features, sparse=sparse, **split,
                )  # fmt: skip
            if estimator is None and has_fractions(federation):
                model = make_learner("SVR", params, "--set", partition)
            learnt, judged = federation, None
            if test_size:
                learnt, judged = tacit.train_test_split(federation, test_size=test_size, random_state=seed)
        with bar.doing("training"):
            metric = "R2" if is_regressor(model) else "accuracy"
            if search:
                model = tacit.FederatedGridSearch(model, choose_grid(model, params))
            if prepare:
                model = with_preparation(model, federation, keep or ())
            model.fit(learnt, **({"compare": True} if compare else {}))
        with bar.doing("scoring"):
            found = Held(metric) if judged is None else Held(metric, float(model.score(judged)), judged.n_rows)
    model.save(out)
    if report:
        model.report_.to_html(report)
    tell = _tell_json if as_json else _tell
    tell(model, found, out, report)


def read_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of `--set name=value`."""
    for text in texts:
        if "=" not in text:
            raise LocalError(f"--set {text} has no value: write it as --set name=value, for example --set C=10")
    pairs = (text.partition("=") for text in texts)
    return {name: read_value(value) for name, _, value in pairs}


def read_value(text: str) -> bool | int | float | str | None:
    """Return a number, true, false or none if the text reads like one, else the text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def find_partition(files: Sequence[Path], label: str, beside: Sequence[str]) -> Partition:
    """Return how the files split the data, by their columns: the same are rows, and others columns."""
    from tacit.federation import read  # noqa: PLC0415 - as in `train`

    held = [set(read(file, label, partial=True, raw=True).features) - {label, *beside} for file in files]
    if all(each == held[0] for each in held):
        return "horizontal"
    named = {name for each in held for name in each}
    if sum(map(len, held)) == len(named):
        return "vertical"
    twice = min(name for name in named if sum(name in each for each in held) > 1)
    raise LocalError(
        f"the files have neither the same columns nor different ones ({twice} is in several): say --partition"
        f" vertical or horizontal, and leave columns out with --drop, or align records with --id {twice}"
    )


def _check_asked(estimator: str | None, *, regression: bool, search: bool, compare: bool) -> None:
    """Raise if options do not fit each other."""
    if regression and estimator in CLASSIFIERS:
        raise LocalError(f"--regression predicts numbers, and {estimator} classes: use {' or '.join(REGRESSORS)}")
    if search and compare:
        raise LocalError("--compare trains the pooled learner with one set of parameters: leave out it or --search")


def _check_files(files: Sequence[Path], parties: int | None, id_column: str | None) -> None:
    """Raise if options for several files come with one file, or the other way round."""
    if len(files) == 1 and id_column is not None:
        several = f"--id {id_column} aligns the files of several parties"
        raise LocalError(f"{several}, and there is one file: use --drop {id_column} instead")
    if len(files) > 1 and parties not in {None, len(files)}:
        raise LocalError(
            f"{len(files)} files make {len(files)} parties, but --parties says {parties}: leave --parties out"
        )


def has_fractions(federation: Any) -> bool:
    """Return whether labels are numbers, and some are no whole ones."""
    y = federation.targets()[0]
    return y is not None and y.dtype.kind == "f" and bool((y != y.round()).any())


def choose_grid(model: Any, given: Mapping[str, Any]) -> list[dict[str, list[Any]]]:
    """Return what a search tries of an estimator; parameters that are given keep their value."""
    own = model.get_params()
    layers: dict[str, list[Any]] = {"scale": [0.3, 1.0, 3.0]}
    kernels: list[dict[str, list[Any]]] = [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": list(WIDTHS)}]
    grids = [layers] if "n_hidden" in own else [g for g in kernels if given.get("kernel") in (None, *g["kernel"])]
    more: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0]} if own.get("loss") == "hinge" else {}
    made = [{name: each for name, each in {**g, **more}.items() if name not in given} for g in grids or [{}]]
    if not any(made):
        raise LocalError(f"--search has nothing to try: --set names {', '.join(given)}; leave out one of them")
    return made


class Held(NamedTuple):
    """How good a model is on records that it has not learnt from, by which figure, and how many these are."""

    metric: str
    score: float | None = None
    records: int = 0


def write_score(found: Held) -> str:
    """Return the figure in words; there is none on records that were learnt from."""
    if found.score is None:
        return "not measured: all records were learnt from (--test-size 0)"
    return f"{found.score:.4f} on {found.records:,} records that were kept out of the training"


def _records_of(model: Any) -> dict[str, str]:
    """Return whose records the model file contains."""
    steps = (getattr(step, "best_estimator_", step) for step in steps_of(model))
    return {party: held for step in steps for party, held in step.model_.records_of().items()}


def _best_of(model: Any) -> dict[str, Any] | None:
    """Return the parameters that a search found; None without one."""
    found: dict[str, Any] | None = getattr(steps_of(model)[-1], "best_params_", None)
    return found


def _tell_json(model: Any, found: Held, out: Path, page: Path | None) -> None:
    report = model.report_
    print_json(
        **{metric: found.score if metric == found.metric else None for metric in ("accuracy", "R2")},
        judged_on=found.records,
        searched=_best_of(model),
        **{name: getattr(report, name) for name in ("title", "rounds", "bytes", "seconds", "comparison", "warnings")},
        opens=[asdict(opened) for opened in report.opens],
        learnt=[asdict(row) for row in report.learnt],
        path=str(out),
        prepared=describe_preparation(model),
        contains_records_of=_records_of(model),
        report=str(page) if page else None,
    )


def _tell(model: Any, found: Held, out: Path, page: Path | None) -> None:
    report, screen = model.report_, console()
    screen.print(report.title, style="bold", markup=False)
    # what the training gives away first: it is more than what preparing does
    known = (pair for step in reversed(steps_of(model)) for pair in summarise_known(step.report_.opens))
    opens = [("prepared", done)] if (done := describe_preparation(model)) else []
    opens += [(f"{who} knows", what) for who, what in dict.fromkeys(known)]
    if (best := _best_of(model)) is not None:
        tried = f"{count(len(report.candidates), 'candidate')} in five folds"
        chosen = ", ".join(f"{name}={value}" for name, value in best.items())
        opens.append(("search", f"{chosen}, the best of {tried}"))
    screen.print(table("", "", rows=[*opens, (found.metric, write_score(found)), *figures(report)]))
    records = listing(_records_of(model))
    holds = f"contains records of {records}" if records else "contains no record"
    screen.print(f"model: {out} ({holds})", markup=False, soft_wrap=True)
    if page:
        screen.print(f"report: {page}", markup=False, soft_wrap=True)
