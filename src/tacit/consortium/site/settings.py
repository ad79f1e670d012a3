"""What a site's configuration file says; relative paths count from the file itself.

`toml_of` and `convert` serve every TOML file of a consortium, so that all of them are refused in the same words.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from tacit.consortium.disk import read_file
from tacit.consortium.membership.names import check_name
from tacit.errors import LocalError

T = TypeVar("T", bound=msgspec.Struct)
Partition = Literal["horizontal", "vertical", "arbitrary"]
OnAbsence = Literal["wait", "leave"]
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]

FOLDER_OR_FILE = ".path"  # how the key of a dataset ends
Kind = Literal["number", "text", "date"]
Values = tuple[bool | int | float | str, ...]

# what a job says, within the bounds that every site checks
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Names = tuple[Name, ...]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Column = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]  # exact as a float
Label = bool | Whole | float | Annotated[str, msgspec.Meta(max_length=200)]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]

MADE_BY = {  # what to do about a file that is not there
    "key": "make it with `tacit keys new`, or correct the path",
    "certificate": "ask the registrar for it (`tacit keys sign`), or correct the path",
    "members": "ask the registrar for the list of members, or correct the path",
    "policy": "write down what this site accepts, or correct the path",
}


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a TOML file."""


class Schema(Table, frozen=True, kw_only=True):
    """What a party declares of columns, and of its classes, as it tells the other sites of a job, which compare it.

    columns: what they hold. units: what they are measured in. categories: the values that they may have. classes: how
    labels are called.
    """

    columns: dict[str, Kind] = {}
    units: dict[str, str] = {}
    categories: dict[str, Values] = {}
    classes: Values | None = None


class Dataset(Table, frozen=True, kw_only=True):
    """A table of records that a party offers: where they are, and which columns are no features: labels, ids, weights.

    path: a file, or a folder of Parquet files.
    query: one `select` instead, on the database whose connection is in the environment variable `connection_env` or in
        `connection_file`, which only its owner may open. It is run when the site starts, when a job is proposed, when
        the site says yes, and when the run begins or goes on.
    id: the column that names records; a job over rows needs it, as this site remembers by it whose records were used.
    person: the column that names whose records they are, if a person has several.
    judge: the share of persons whose records models are judged by, and never learn from; no job chooses it.
    weight: the column that says how much each record counts. Weights are divided by their mean, and none is larger
        than 32 times it.
    maximum_rows, maximum_megabytes: how large the table may be.
    largest: no value is larger, in size; what a job's feature_range is compared with.
    ranges: the least and the largest value of columns.
    columns, units, categories, classes: as a `Schema`.
    The site itself, and nobody else, checks the records against all that it declares before every job.
    """

    path: Path | None = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    id: str | None = None
    person: str | None = None
    judge: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    weight: str | None = None
    largest: Annotated[float, msgspec.Meta(gt=0)] | None = None
    ranges: dict[str, tuple[float, float]] = {}
    query: str | None = None
    connection_env: str | None = None
    connection_file: Path | None = None
    maximum_rows: Count = 10_000_000
    maximum_megabytes: Count = 4_000

    columns: dict[str, Kind] = {}
    units: dict[str, str] = {}
    categories: dict[str, Values] = {}
    classes: Values | None = None

    def check(self, where: str) -> None:
        """Refuse records that are nowhere or in two places, ranges that no value is in, and lists that name nothing."""
        self._check_place(where)
        for column, (low, high) in self.ranges.items():
            if not low <= high:
                raise LocalError(f"{where}.ranges: {column!r} goes from {low} to {high}: give the lower number first")
        listed = {f"categories: {name!r}": values for name, values in self.categories.items()}
        for what, values in {**listed, **({} if self.classes is None else {"classes": self.classes})}.items():
            if not values or len(set(values)) < len(values):
                raise LocalError(f"{where}.{what} names nothing, or a value twice: name each value once")

    def _check_place(self, where: str) -> None:
        if (self.path is None) == (self.query is None):
            wanted = "a path or a query, and not both" if self.path else "a path or a query"
            raise LocalError(f"{where} needs {wanted}: write path = 'cohort.csv', or query = 'select ...'")
        connections = [key for key in ("connection_env", "connection_file") if getattr(self, key) is not None]
        if self.query is None and connections:
            raise LocalError(f"{where}.{connections[0]} is for a query: add query = 'select ...', or remove it")
        if self.query is not None:
            from tacit.federation.databases.query import check_query  # noqa: PLC0415 - for who has a query only

            check_query(self.query, f"{where}.query")
            if len(connections) != 1:
                raise LocalError(f"{where} needs connection_env or connection_file: say where the connection is")

    def schema(self, features: Sequence[str]) -> Schema:
        """Return what is declared of these columns, and of the labels."""
        return Schema(
            columns={name: kind for name, kind in self.columns.items() if name in features},
            units={name: unit for name, unit in self.units.items() if name in features},
            categories={name: values for name, values in self.categories.items() if name in features},
            classes=self.classes,
        )

    def bounds(self, features: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return the declared bounds of these columns, for those that have some."""
        everywhere = {} if self.largest is None else dict.fromkeys(features, (-self.largest, self.largest))
        return {**everywhere, **{name: limits for name, limits in self.ranges.items() if name in features}}


class PageSettings(Table, frozen=True, kw_only=True):
    """What the page of a site needs where it listens elsewhere than on loopback.

    certificate, key: of its TLS, PEM files; the key's is its owner's alone. hosts: the names by which people reach it.
    """

    certificate: Path
    key: Path
    hosts: tuple[str, ...]


class Notify(Table, frozen=True, kw_only=True):
    """Who is told, beside the log, that a proposal waits or that something is wrong.

    email: addresses. smtp, sender: the mail server, and whom its mails are from. login_file: a user and a password for
    it, in one line. webhook_file: the address that JSON is posted to. Both files are their owner's alone.
    """

    email: tuple[str, ...] = ()
    smtp: str = "localhost:25"
    sender: str = ""
    login_file: Path | None = None
    webhook_file: Path | None = None

    def check(self, file: str) -> None:
        """Refuse a table that tells nobody, and mails without a sender."""
        if not self.email and self.webhook_file is None:
            raise LocalError(f"{file}: [notify] tells nobody: add email or webhook_file, or remove it")
        if self.email and not self.sender:
            raise LocalError(f"{file}: [notify] needs a sender for its mails: add sender = 'tacit@...'")
        listening_at(self.smtp, f"{file}: notify.smtp")


class Settings(Table, frozen=True, kw_only=True):
    """What every site says of itself."""

    name: str
    key: Path
    certificate: Path
    members: Path
    ca_fingerprint: str
    state: Path
    log_format: Literal["text", "json"] = "text"
    page: PageSettings | None = None

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], *, files: bool = True) -> Self:
        """Read and check a file; `files=False` for a site whose keys are yet to be made."""
        file = Path(path)
        settings = convert(toml_of(file, "the configuration"), cls, file)
        settings.check(file.name)
        if files:
            for key, wanted in settings.required_files().items():
                if not wanted.is_file() and not (key.endswith(FOLDER_OR_FILE) and wanted.is_dir()):
                    remedy = MADE_BY.get(key, "correct the path")
                    raise LocalError(f"{file.name}: {key}: there is no file {wanted}; {remedy}")
        return settings

    def check(self, file: str) -> None:
        """Refuse what is of the right type and still wrong."""
        try:
            check_name(self.name)
        except LocalError as error:
            raise LocalError(f"{file}: {error}") from None
        # people copy colons, blanks and capitals
        if not re.fullmatch(r"[0-9a-f]{32}|[0-9a-f]{64}", re.sub(r"[:\s]", "", self.ca_fingerprint).lower()):
            needed = f"{file}: ca_fingerprint needs 32 or 64 hex digits"
            raise LocalError(f"{needed}: copy it from the registrar, then compare it by phone")

    def required_files(self) -> dict[str, Path]:
        """Return the files that must be there."""
        own = {"key": self.key, "certificate": self.certificate, "members": self.members}
        shown = {} if self.page is None else {"page.certificate": self.page.certificate, "page.key": self.page.key}
        return {**own, **shown}


class Terms(Table, frozen=True, kw_only=True):
    """Between whom a job is, on what, and why: as a job file and an analyst's [study] say it, and as a job carries it.

    asker: who is told the answers of a model; the labeller by default.
    columns: what each party brings, by name, or "all" it offers. rows: how many records each is expected to bring.
    classes: how labels are called, which each site compares its own with; where it is left out, sites tell each other.
    accept_risk: whether a job may open what one site alone can work out records from.
    aligned: whether row k is the same record at every party, where tables are split by columns or cells; else the sites
    compare their ids.
    on_absence: "wait" for a site that is away, or "leave" it out and begin again, as far as that opens nothing of it.
    builds_on: ids of earlier jobs whose results the sites bring along: a model to ask, or an alignment of the records.
    """

    dataset: Name
    purpose: Line
    legal_basis: Line
    parties: Names = ()
    coordinator: str = ""
    partition: Partition | None = None
    labeller: Name | None = None
    asker: Name | None = None
    columns: dict[Name, tuple[Column, ...] | Literal["all"]] = {}
    rows: dict[Name, int | None] = {}
    classes: tuple[Label, ...] | None = None
    retention_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 30
    expires: Moment | None = None
    allow_two_parties: bool = False
    accept_risk: bool = False
    aligned: bool = False
    on_absence: OnAbsence = "wait"
    builds_on: Annotated[Names, msgspec.Meta(max_length=10)] = ()


class AnalystSettings(Settings, frozen=True, kw_only=True):
    """Who may submit, and nothing else."""

    servers: tuple[str, ...]
    proxy: str | None = None
    study: Terms | None = None

    def check(self, file: str) -> None:
        """Refuse what every site refuses, wrong addresses, and a study that leaves open between whom it is."""
        super().check(file)
        check_dialling(file, self.servers, self.proxy)
        for key in ("parties", "coordinator"):
            if self.study is not None and not getattr(self.study, key):
                raise LocalError(f"{file}: [study] needs {key}: add it")


class DaemonSettings(Settings, frozen=True, kw_only=True):
    """Who runs all the time, and takes part in runs.

    open_jobs: how many jobs of one submitter may be under way here; more are refused.
    ended_jobs: how many jobs of one submitter that ended before they started are kept; the oldest are removed first.
    """

    metrics_port: Port | None = None
    party_timeout: Seconds = 300.0
    open_jobs: Count = 100
    ended_jobs: Count = 200
    notify: Notify | None = None

    def check(self, file: str) -> None:
        """Refuse what every site refuses, and what cannot tell anybody."""
        super().check(file)
        if self.notify is not None:
            self.notify.check(file)

    def required_files(self) -> dict[str, Path]:
        """Return the files that every site needs, and those by which people are told."""
        if self.notify is None:
            return super().required_files()
        told = {f"notify.{key}": getattr(self.notify, key) for key in ("login_file", "webhook_file")}
        return {**super().required_files(), **{key: file for key, file in told.items() if file is not None}}


class PartySettings(DaemonSettings, frozen=True, kw_only=True):
    """Who holds data: dials out, listens nowhere but, on request, for metrics on loopback."""

    servers: tuple[str, ...]
    policy: Path
    datasets: dict[str, Dataset]
    proxy: str | None = None

    def check(self, file: str) -> None:
        """Refuse what every site refuses, wrong addresses, and a party that offers nothing."""
        super().check(file)
        check_dialling(file, self.servers, self.proxy)
        if not self.datasets:
            raise LocalError(f"{file}: datasets is empty: add one, such as [datasets.cohort] with path = 'cohort.csv'")
        for name, dataset in self.datasets.items():
            if not file_safe(name):
                raise LocalError(f"{file}: dataset {name!r} needs letters, digits, '.', - and _ only: rename it")
            dataset.check(f"{file}: datasets.{name}")

    def required_files(self) -> dict[str, Path]:
        """Return the files that every site needs, the policy and the data."""
        data = {f"datasets.{name}{FOLDER_OR_FILE}": each.path for name, each in self.datasets.items() if each.path}
        return {**super().required_files(), "policy": self.policy, **data}


class CoordinatorSettings(DaemonSettings, frozen=True, kw_only=True):
    """Who coordinates: starts the server at `listen`, or uses the one at `servers`.

    submitters: whose jobs are passed on; "any" member's by default.
    """

    store_dir: Path
    listen: str = "0.0.0.0:4222"
    websocket: str | None = None
    servers: tuple[str, ...] = ()
    submitters: tuple[str, ...] | Literal["any"] = "any"

    def check(self, file: str) -> None:
        """Refuse what every site refuses, and wrong addresses to listen at."""
        super().check(file)
        if self.servers:
            check_dialling(file, self.servers, None)
        for key, address in (("listen", self.listen), ("websocket", self.websocket)):
            if address is not None:
                listening_at(address, f"{file}: {key}")


def check_dialling(file: str, servers: Sequence[str], proxy: str | None) -> None:
    """Refuse addresses other than of TLS, direct or by websocket; a proxy carries websockets only."""
    if not servers:
        raise LocalError(f"{file}: servers is empty: name at least one, such as tls://clearing.example:4222")
    for url in servers:
        if _address(url, "tls", "wss") is None:
            raise LocalError(f"{file}: servers has {url!r}: write it as tls://host:port or wss://host:port")
    if proxy is not None and _address(proxy, "http") is None:  # not quoted: it may hold a password
        raise LocalError(f"{file}: proxy needs a host and a port, and no TLS: write it as http://host:port")
    if proxy is not None and not all(url.startswith("wss:") for url in servers):
        raise LocalError(f"{file}: proxy carries websockets only, and servers has a tls:// address: use wss://host:443")


def listening_at(address: str, setting: str) -> tuple[str, int]:
    """Return host and port of `host:port`."""
    found = _address(f"tls://{address}", "tls")
    if found is None:
        raise LocalError(f"{setting} = {address!r} needs a host and a port: write it like 0.0.0.0:4222")
    return found


def _address(url: str, *schemes: str) -> tuple[str, int] | None:
    """Return host and port of a URL; None if it lacks one of them, or has another scheme."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, or half a bracket
        return None
    return (host, port) if parts.scheme in schemes and host and port else None


def file_safe(name: str) -> bool:
    """Return whether a name can be part of a file's name on any system."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}", name) is not None


def toml_of(path: Path, what: str) -> dict[str, Any]:
    """Return the content of a TOML file; `what` names it in an error."""
    content = read_file(path, what)
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError that is not about TOML
        raise LocalError(f"{what} {path} is not TOML: {error}; correct that line") from None


def convert(data: Mapping[str, Any], kind: type[T], file: Path) -> T:
    """Return the struct of a TOML file's content; paths count from the file."""
    check_keys(data, kind, file.name)

    def hook(wanted: type, value: Any) -> Any:
        if wanted is Path and isinstance(value, str):
            return file.absolute().parent / Path(value).expanduser()
        raise ValueError(f"Expected `{wanted.__name__}`, got `{type(value).__name__}`")

    try:
        return msgspec.convert(data, kind, dec_hook=hook)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$.")
        where, what = place.rstrip("`") or "content", said.replace("`", "")
        raise LocalError(f"{file.name}: {where}: {what}; correct the value") from None


def _plain(wanted: Any) -> Any:
    """Return the type behind `T | None`."""
    if get_origin(wanted) not in (UnionType, Union):
        return wanted
    kinds = [kind for kind in get_args(wanted) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else wanted


def check_keys(data: Mapping[str, Any], kind: type[msgspec.Struct], where: str) -> None:
    """Refuse unknown and missing keys, here and in nested tables, and list those there are."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    known = ", ".join(fields)
    unknown = [repr(key) for key in data if key not in fields]
    if unknown:
        raise LocalError(f"{where}: unknown key {', '.join(unknown)}: known are {known}; correct or remove it")
    missing = [repr(name) for name, field in fields.items() if field.required and name not in data]
    if missing:
        raise LocalError(f"{where}: {', '.join(missing)} is missing: add it (known keys: {known})")
    for name, value in data.items():
        inner, tables = _plain(fields[name].type), {name: value}
        if get_origin(inner) in (dict, Mapping):
            if not isinstance(value, Mapping):
                raise LocalError(f"{where}: {name} needs a table: write it as [{name}]")
            inner, tables = get_args(inner)[1], {f"{name}.{key}": each for key, each in value.items()}
        for place, table in tables.items():
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct) and isinstance(table, Mapping):
                check_keys(table, inner, f"{where}: [{place}]")
