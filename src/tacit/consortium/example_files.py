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


def example_policy(
    dataset: str = "cohort", approvers: tuple[str, ...] = ("dr-lee", "dpo"), *, automatic: bool = False, preflights: int = 20
) -> str:
    """A policy file to start from."""
    return f"""\
protocols = ["align", "gram_vertical", "gram_predict", "pan_svm", "elm_horizontal"]
minimum_parties = 3
minimum_rows = 50                        # of ours in a job; also by how many two jobs must differ
maximum_retention_days = 365
secure_sums = ["pairwise", "ring", "threshold"]
preflights_per_day = {preflights}                  # jobs of one submitter that are tried on our data, whether people agree to them or not
predictions = 100                        # new records that models of one dataset may be asked about, by all together
accept_risk = false                      # true: a job may open what a known attack makes use of, or what one site alone can invert
other_parameters = "default"             # those that [parameters] does not list must have their default; or "any"
submitters = "any"                       # or a list of names
disclosures = {'"any"                      # ' if automatic else "[]                         # "}digests that tacit party pending shows
automatic = {str(automatic).lower()}                        # true: accept what meets every rule, without people
approvers = {quoted(approvers)}
approvals_needed = {len(approvers)}

[columns]
{dataset} = "all"                           # or a list of names

[parameters]                             # what a job may choose: numbers from least to most, or one of the listed values

# how many of our records stand behind a number that others see; fewer would describe single persons
min_cluster = {{least = 5}}                # records that a landmark is the mean of
min_count = {{least = 5}}                  # rows that every sum is over
min_rows = {{least = 5}}                   # rows of a class that takes part
min_records = {{least = 10}}               # that an alignment must find before it opens any
count_only = [false, true]               # true: an alignment opens their number and none of them
accept_risk = [false, true]              # accept_risk above decides

# how much is opened about the same records; every further number tells a little more
candidates = {{most = 200}}                # settings that a search may try, each with a public score
cv = {{most = 10}}                         # parts that a search leaves out in turn
factor = {{most = 10}}                     # how fast a search drops candidates
scoring = {{}}                             # {{}} allows any: all scores come from the same counts
refit = [true, false]                    # true: the best candidate is trained on all records
landmarks = {{most = 1000, values = ["auto"]}}      # points that a model is made of, each a mean of records
landmark_source = ["local", "joint", "fourier"]   # "fourier" opens no landmark at all
n_hidden = {{most = 500, values = ["none"]}}        # nodes of a network; with more than there are rows, sums give rows away
max_rounds = {{most = 1000}}               # rounds of sums
tol = {{least = 1e-9, most = 1}}           # how exact a model is: a smaller number takes more rounds
probability = [false, true]              # true: opens models without a part of the records
multi_class = ["ovr", "ovo"]             # how three classes or more are told apart
witness = [false, true]                  # true: the parties check the coordinator, and see what it sees

# how a model is made; any sensible value will do, and extreme ones could single records out
C = {{least = 1e-4, most = 1e6}}           # how much a record on the wrong side costs
kernel = ["linear", "rbf", "poly"]       # how records are compared
gamma = {{least = 1e-6, most = 1e3, values = ["scale", "auto"]}}     # how near is near; "scale" opens a sum of all cells
degree = {{least = 1, most = 5}}           # of kernel "poly"
coef0 = {{least = -100, most = 100}}       # of kernel "poly"
class_weight = {{least = 0, most = 1000, values = ["none", "balanced"]}}     # how much more a rare class counts
epsilon = {{least = 0, most = 1e6, values = ["none"]}}               # of a regression: how far off costs nothing
classify = [true, false]                 # whether a network predicts classes or numbers
activation = ["sigmoid", "tanh", "relu"]          # what a node of a network does
scale = {{least = 0.01, most = 100}}       # weights of a network: larger ones turn nodes into switches, which count records
ridge = {{least = 1e-6, most = 1e6, values = ["gcv"]}}     # how smooth a network is; "gcv" opens one sum more

# what tells nobody anything
seed = {{}}                                # public random numbers
band = {{}}                                # how many numbers travel at once
max_iter = {{}}                            # steps of the coordinator's own work
dtype = {{}}                               # precision of our own work

# the size that no cell exceeds: compared with what we declare for a dataset, as largest = ..., and never with our values
feature_range = {{least = 1, most = 1e9, values = ["none"]}}

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
