"""What a site's configuration file says; relative paths count from the file itself.

`toml_of` and `converted` serve every TOML file of a consortium, so that all of them are refused in the same words.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from tacit.consortium.names import check_name
from tacit.errors import LocalError

T = TypeVar("T", bound=msgspec.Struct)
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]

MADE_BY = {  # what to do about a file that is not there
    "key": "make it with `tacit keys new`, or correct the path",
    "certificate": "ask the registrar for it (`tacit keys sign`), or correct the path",
    "members": "ask the registrar for the list of members, or correct the path",
    "policy": "write down what this site accepts, or correct the path",
}


class Dataset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table that a party offers: its file, the column with labels, columns that are no features, and the records' ids.

    largest: no value is larger, in size; what a job's feature_range is compared with.
    ranges: the least and the largest value of columns. The table is checked against both before every job, here and by nobody else.
    """

    path: Path
    label: str | None = None
    drop: tuple[str, ...] = ()
    id: str | None = None
    largest: Annotated[float, msgspec.Meta(gt=0)] | None = None
    ranges: dict[str, tuple[float, float]] = {}

    def check(self, where: str) -> None:
        """Refuse ranges that no value is in."""
        for column, (low, high) in self.ranges.items():
            if not low <= high:
                raise LocalError(f"{where}.ranges: column {column!r} goes from {low} to {high}: give two numbers, the lower first")

    def bounds(self, features: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Within what these columns are declared to lie, for those of which something is declared."""
        everywhere = {} if self.largest is None else dict.fromkeys(features, (-self.largest, self.largest))
        return {**everywhere, **{name: limits for name, limits in self.ranges.items() if name in features}}


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every site says of itself."""

    name: str
    key: Path
    certificate: Path
    members: Path
    ca_fingerprint: str
    state: Path
    log_format: Literal["text", "json"] = "text"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], *, files: bool = True) -> Self:
        """Read and check; `files=False` for a site whose keys are yet to be made."""
        file = Path(path)
        settings = converted(toml_of(file, "the configuration"), cls, file)
        settings.check(file.name)
        if files:
            for key, wanted in settings.wanted().items():
                _refuse_absent(file.name, key, wanted)
        return settings

    def check(self, file: str) -> None:
        """Refuse what is of the right type and still wrong."""
        try:
            check_name(self.name)
        except LocalError as error:
            raise LocalError(f"{file}: {error}") from None
        if not re.fullmatch(r"[0-9a-f]{32}|[0-9a-f]{64}", plain_fingerprint(self.ca_fingerprint)):
            raise LocalError(f"{file}: ca_fingerprint needs 32 or 64 hex digits: copy it from the registrar, then compare by phone")

    def wanted(self) -> dict[str, Path]:
        """Files that must be there."""
        return {"key": self.key, "certificate": self.certificate, "members": self.members}


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between whom an analyst's estimators train, on what, and why: what a job says beside its method.

    asker: who is told the answers of a model; the labeller by default.
    builds_on: an alignment of the records.
    accept_risk: whether a job may open what one site alone can work out records from.
    """

    parties: tuple[str, ...]
    coordinator: str
    dataset: str
    purpose: str
    legal_basis: str
    partition: Literal["horizontal", "vertical", "arbitrary"] = "vertical"
    labeller: str | None = None
    asker: str | None = None
    columns: dict[str, tuple[str, ...]] = {}
    rows: dict[str, int] = {}
    retention_days: int = 30
    allow_two_parties: bool = False
    accept_risk: bool = False
    builds_on: tuple[str, ...] = ()


class AnalystSettings(Settings, frozen=True, kw_only=True):
    """Who may submit, and nothing else."""

    servers: tuple[str, ...]
    proxy: str | None = None
    study: Study | None = None

    def check(self, file: str) -> None:
        """As every site; and its addresses."""
        super().check(file)
        check_dialling(file, self.servers, self.proxy)


class PartySettings(Settings, frozen=True, kw_only=True):
    """Who holds data: dials out, listens nowhere but, on request, for metrics on loopback.

    open_jobs: how many jobs of one submitter may be under way here; more are refused.
    ended_jobs: how many jobs of one submitter that ended before they started are kept; the oldest are removed first.
    """

    servers: tuple[str, ...]
    policy: Path
    datasets: dict[str, Dataset]
    proxy: str | None = None
    metrics_port: Port | None = None
    party_timeout: Seconds = 300.0
    open_jobs: Count = 100
    ended_jobs: Count = 200

    def check(self, file: str) -> None:
        """As every site; its addresses, and that it offers something."""
        super().check(file)
        check_dialling(file, self.servers, self.proxy)
        if not self.datasets:
            raise LocalError(f"{file}: datasets is empty: add a table such as [datasets.cohort] with path = 'cohort.csv'")
        for name, dataset in self.datasets.items():
            if not file_safe(name):
                raise LocalError(f"{file}: dataset {name!r} needs letters, digits, '.', - and _ only: rename it")
            dataset.check(f"{file}: datasets.{name}")

    def wanted(self) -> dict[str, Path]:
        """As every site; policy and data."""
        data = {f"datasets.{name}.path": dataset.path for name, dataset in self.datasets.items()}
        return {**super().wanted(), "policy": self.policy, **data}


class CoordinatorSettings(Settings, frozen=True, kw_only=True):
    """Who coordinates: starts the server at `listen`, or uses the one at `servers`.

    submitters: whose jobs are passed on; "any" member's by default.
    open_jobs: how many jobs of one submitter may be under way; more are refused.
    ended_jobs: how many jobs of one submitter that ended before they started are kept; the oldest are removed first.
    """

    store_dir: Path
    listen: str = "0.0.0.0:4222"
    websocket: str | None = None
    servers: tuple[str, ...] = ()
    metrics_port: Port | None = None
    party_timeout: Seconds = 300.0
    submitters: tuple[str, ...] | Literal["any"] = "any"
    open_jobs: Count = 100
    ended_jobs: Count = 200

    def check(self, file: str) -> None:
        """As every site; where it listens."""
        super().check(file)
        if self.servers:
            check_dialling(file, self.servers, None)
        for key, address in (("listen", self.listen), ("websocket", self.websocket)):
            if address is not None and not _is_address(f"tls://{address}", "tls"):
                raise LocalError(f"{file}: {key} = {address!r} needs a host and a port: write it like 0.0.0.0:4222")


def check_dialling(file: str, servers: Sequence[str], proxy: str | None) -> None:
    """Servers are reached over TLS, directly or by websocket; a proxy only carries websockets."""
    if not servers:
        raise LocalError(f"{file}: servers is empty: name at least one, such as tls://clearing.example:4222")
    for url in servers:
        if not _is_address(url, "tls", "wss"):
            raise LocalError(f"{file}: servers has {url!r}: write it as tls://host:port or wss://host:port")
    if proxy is not None and not _is_address(proxy, "http"):  # not quoted: it may hold a password
        raise LocalError(f"{file}: proxy needs a host and a port, and is not spoken to over TLS: write it as http://host:port")
    if proxy is not None and not all(url.startswith("wss:") for url in servers):
        raise LocalError(f"{file}: proxy carries websockets only, and servers has a tls:// address: use wss://host:443")


def _is_address(url: str, *schemes: str) -> bool:
    """Whether it has one of these schemes, a host and a port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname and parts.port)
    except ValueError:  # a port that is no number, or half a bracket
        return False


def _refuse_absent(file: str, key: str, path: Path) -> None:
    if not path.is_file():
        raise LocalError(f"{file}: {key}: there is no file {path}; {MADE_BY.get(key, 'correct the path')}")


def file_safe(name: str) -> bool:
    """Whether a name can be part of a file's name on any system."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}", name) is not None


def plain_fingerprint(text: str) -> str:
    """People copy fingerprints with colons, blanks and capitals."""
    return re.sub(r"[:\s]", "", text).lower()


def toml_of(path: Path, what: str) -> dict[str, Any]:
    """A TOML file's content; `what` names it in an error."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LocalError(f"{what} {path} cannot be read: {error.strerror}; correct the path") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError that is not about TOML
        raise LocalError(f"{what} {path} is not TOML: {error}; correct that line") from None


def converted(data: Mapping[str, Any], kind: type[T], file: Path) -> T:
    """The struct of a TOML file's content; paths count from the file."""
    check_keys(data, kind, file.name)

    def hook(wanted: type, value: Any) -> Any:
        if wanted is Path and isinstance(value, str):
            return file.absolute().parent / Path(value).expanduser()
        raise ValueError(f"Expected `{wanted.__name__}`, got `{type(value).__name__}`")

    try:
        return msgspec.convert(data, kind, dec_hook=hook)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$.")
        raise LocalError(f"{file.name}: {where.rstrip('`') or 'content'}: {said.replace('`', '')}; correct the value") from None


def _plain(wanted: Any) -> Any:
    """The type behind `T | None`."""
    kinds = [kind for kind in get_args(wanted) if kind is not type(None)] if get_origin(wanted) in (UnionType, Union) else [wanted]
    return kinds[0] if len(kinds) == 1 else wanted


def check_keys(data: Mapping[str, Any], kind: type[msgspec.Struct], where: str) -> None:
    """Refuse unknown and missing keys, here and in nested tables, and list those there are."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    unknown = [repr(key) for key in data if key not in fields]
    if unknown:
        raise LocalError(f"{where}: unknown key {', '.join(unknown)}: known are {', '.join(fields)}; correct or remove it")
    missing = [repr(name) for name, field in fields.items() if field.required and name not in data]
    if missing:
        raise LocalError(f"{where}: {', '.join(missing)} is missing: add it (known keys: {', '.join(fields)})")
    for name, value in data.items():
        wanted = _plain(fields[name].type)
        if get_origin(wanted) is dict and not isinstance(value, Mapping):
            raise LocalError(f"{where}: {name} needs a table: write it as [{name}]")
        tables = {name: value} if get_origin(wanted) is not dict else {f"{name}.{key}": v for key, v in dict(value).items()}
        inner = get_args(wanted)[1] if get_origin(wanted) is dict else wanted
        for place, table in tables.items():
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct) and isinstance(table, Mapping):
                check_keys(table, inner, f"{where}: [{place}]")
