"""Configuration files to start from: the documentation shows them, and the demonstration runs on them."""

from __future__ import annotations

import json
from collections.abc import Sequence

SERVERS = ("tls://clearing.example:4222",)
FINGERPRINT = " ".join(["0000"] * 8)  # the real one comes from the registrar, by phone


def example_party(
    name: str = "north",
    *,
    servers: Sequence[str] = SERVERS,
    ca_fingerprint: str = FINGERPRINT,
    dataset: str = "cohort",
    path: str = "cohort.csv",
    label: str | None = None,
    id: str | None = None,  # noqa: A002 - as in the file
    party_timeout: float = 300.0,
) -> str:
    """What a party that holds data writes."""
    columns = "".join(f"{key} = {quoted(value)}\n" for key, value in (("label", label), ("id", id)) if value is not None)
    return f"""\
{_site(name, ca_fingerprint)}\
servers = {quoted(servers)}
policy = "policy.toml"
party_timeout = {party_timeout}                  # seconds of silence before a run stops
# metrics_port = 9464                    # Prometheus, on loopback only
# proxy = "http://proxy.example:3128"    # with servers = ["wss://clearing.example:443"]

[datasets.{dataset}]
path = {quoted(path)}
{columns}# largest = 1000.0                       # no value is larger: needed for jobs with a feature_range
# ranges = {{ age = [0, 120] }}            # checked by this site before every job; never told
"""


def example_coordinator(
    name: str = "clearing", *, listen: str = "0.0.0.0:4222", ca_fingerprint: str = FINGERPRINT, party_timeout: float = 300.0
) -> str:
    """What the site that coordinates and relays writes."""
    return f"""\
{_site(name, ca_fingerprint)}\
listen = {quoted(listen)}
store_dir = "jetstream"
party_timeout = {party_timeout}
# websocket = "0.0.0.0:443"              # for parties that may dial nothing else
"""


def example_analyst(name: str = "analyst", *, servers: Sequence[str] = SERVERS, ca_fingerprint: str = FINGERPRINT) -> str:
    """What somebody who may submit, and nothing else, writes."""
    return f"""\
{_site(name, ca_fingerprint)}\
servers = {quoted(servers)}
"""


def _site(name: str, ca_fingerprint: str) -> str:
    return f"""\
name = {quoted(name)}
key = {quoted(name + ".key")}
certificate = {quoted(name + ".crt")}
members = "consortium.members"
ca_fingerprint = {quoted(ca_fingerprint)}
state = "state"
log_format = "text"                      # or "json"
"""


def example_policy(dataset: str = "cohort", approvers: tuple[str, ...] = ("dr-lee", "dpo"), *, automatic: bool = False) -> str:
    """A policy file to start from."""
    return f"""\
protocols = ["align", "gram_vertical", "gram_predict", "pan_svm", "elm_horizontal"]
minimum_parties = 3
minimum_rows = 50                        # of ours in a job; also by how many two jobs must differ
maximum_retention_days = 365
secure_sums = ["pairwise", "ring", "threshold"]
predictions = 100                        # new records that models of one dataset may be asked about, by all together
accept_risk = false                      # true: a job may open what a known attack makes use of
submitters = "any"                       # or a list of names
disclosures = {'"any"                      # ' if automatic else "[]                         # "}digests of approved ledger templates
automatic = {str(automatic).lower()}                        # true: accept what meets every rule, without people
approvers = {quoted(approvers)}
approvals_needed = {len(approvers)}

[columns]
{dataset} = "all"                           # or a list of names

[least]                                  # of how many records a landmark, or a sum of rows, must be
min_cluster = 5
min_count = 5
min_rows = 5
min_records = 10                         # that an alignment must find before it opens any

[never]                                  # phrases that may not be opened, by reader
asker = ["every record"]
"""


def example_job(
    parties: tuple[str, ...] = ("north", "south", "east"), coordinator: str = "clearing", dataset: str = "cohort", rows: int | None = 200
) -> str:
    """A job file to start from."""
    declared = "\n".join(f"{name} = {rows}" for name in parties) if rows else ""
    return f"""\
estimator = "GramSVC"                    # or protocol = "gram_vertical" with partition = "vertical"
parties = {quoted(parties)}
labeller = {quoted(parties[0])}
coordinator = {quoted(coordinator)}
dataset = {quoted(dataset)}
purpose = "risk of readmission within 30 days"
legal_basis = "research consent, ethics vote 2024-117"
retention_days = 30

[params]
C = 8.0
kernel = "rbf"

[rows]                                   # checked by each party before the start
{declared}
"""


def quoted(value: str | Sequence[str]) -> str:
    """A text, or a list of texts, in TOML: its basic strings are JSON's."""
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
