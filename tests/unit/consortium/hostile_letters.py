"""Letters that hostile members write: a grammar of jobs and of all that sites tell each other, and who sends them.

A recipe is plain data, so that it can be drawn in another process; `Hostile` turns it into bytes, signed and sealed by
the member that sends it. Large values are marks in a recipe, and grow when they are written.
"""

import itertools
import json
import secrets
from contextlib import ExitStack
from typing import Self

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from living_sites import ASKED, House, choose_settings

from job_files import with_step
from tacit.consortium.broker.control import Control
from tacit.consortium.broker.letters import cut
from tacit.consortium.consent.decision import disclosure_digest
from tacit.consortium.jobs.answers import CONSENT, HELLO, PREFLIGHT, PROPOSAL, Ended, Finished, Withdrawal
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import CODES
from tacit.consortium.membership.names import control_subject
from tacit.crypto.pads.agreement import public_key
from tacit.registry import job_protocols
from tacit.runtimes.nats.intake import CHUNK, frame
from tacit.runtimes.nats.network import Broker

MALLORY, ACCOMPLICE, VICTIM, CLEARING = "mallory", "south", "north", "clearing"
KINDS = {
    (MALLORY, CLEARING): ("propose", "withdraw", "resume", "ask", "read"),
    (ACCOMPLICE, CLEARING): ("checked", "answer", "finished", "over"),
    (CLEARING, VICTIM): ("proposed", "cleared", "start", "closed", "ended"),
}
EVERY_KIND = [*sorted(set(itertools.chain(*KINDS.values()))), "told", "", "x" * 40, "\x1b[2J"]

# Values

GROW = {  # by mark
    "$text": lambda n: "x" * n,
    "$list": lambda n: list(range(n)),
    "$keys": lambda n: {f"k{i}": i for i in range(n)},
    "$deep": lambda n: msgspec.Raw(b"[" * n + b"]" * n),
}
LARGEST = {"$text": 100_000, "$list": 20_000, "$keys": 5000, "$deep": 50_000}
TEXTS = [
    "",
    " ",
    "\0",
    "\x1b[2J\x1b]0;x\x07",
    "\u202eevil",
    "../../../etc/passwd",
    "a" * 32,
    "A" * 32,
    "\U0001d518" * 50,
    "{}",
]
TIMES = [
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "2030-01-01T00:00:00",
    "2100-01-01T00:00:00Z",
    "yesterday",
]
NUMBERS = [0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 5e-324, 1e308, -0.0]
numbers = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**64 - 1)
plain = st.none() | st.booleans() | numbers | st.sampled_from(TEXTS + TIMES) | st.text(max_size=20)
large = st.sampled_from(sorted(LARGEST)).flatmap(lambda mark: st.integers(1, LARGEST[mark]).map(lambda n: {mark: n}))
names = st.sampled_from(
    ["north", "south", "east", "clearing", "mallory", "nobody", "pairs", "C", "kernel", "cohort", "all", "age"]
)
values = st.recursive(
    plain | names | large,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def grown(value):
    """A recipe's value, its marks written out."""
    if isinstance(value, list):
        return [grown(one) for one in value]
    if not isinstance(value, dict):
        return value
    mark, n = next(iter(value.items())) if len(value) == 1 else ("", 0)
    return GROW[mark](n) if mark in GROW else {key: grown(one) for key, one in value.items()}


# Recipes

FIELDS = Job.__struct_fields__
NESTED = {
    "columns": ("north", "south", "east", "nobody"),
    "rows": ("north", "south", "east", "nobody"),
    "cost": ("rounds", "bytes"),
    "params": ("steps", "seed", "partition", "evaluate", "describe", "release", "class_names"),
}
nested = st.sampled_from(sorted(NESTED)).flatmap(
    lambda name: st.sampled_from(NESTED[name]).map(lambda inner: [name, inner])
)
unknown = st.text(min_size=1, max_size=9) | st.just({"$text": 900_000})
wild = st.tuples((st.sampled_from(FIELDS) | unknown).map(lambda name: [name]) | nested, values)
COUNTS = st.integers(1, 10**9) | st.just(60)
CHOSEN = {
    "C": st.floats(1e-9, 1e9), "kernel": st.sampled_from(["linear", "rbf", "poly", "sigmoid"]),
    "gamma": st.floats(1e-9, 1e9), "degree": st.integers(1, 10), "alpha": st.sampled_from([0.1, 1.0]),
    "nothing": st.just(1),
}  # fmt: skip
STEPS = st.fixed_dictionaries({"use": st.sampled_from(["SVC", "SVR", "ELMClassifier"])}, optional=CHOSEN).map(
    lambda step: [{"pairs": [list(pair) for pair in step.items()]}]
)
MILD = {  # values that a job may have, so that it is judged and tried
    ("retention_days",): st.integers(1, 3650),
    ("accept_risk",): st.booleans(),
    ("cost",): st.none(),
    ("protocol",): st.sampled_from(sorted(job_protocols())),
    ("version",): st.just("9"),
    ("disclosure",): st.just("opens nothing"),
    ("purpose",): st.text("a\u00e9\U0001d518", min_size=1, max_size=900),
    ("expires",): st.sampled_from(["2026-01-01T00:00:00Z", "2999-12-31T00:00:00Z"]),
    ("rows", "north"): COUNTS,
    ("rows", "south"): COUNTS,
    ("columns", "north"): st.sampled_from([["age"], ["dose", "age"], ["x"]]),
    ("params", "steps"): STEPS,
    ("params", "seed"): st.integers(0, 2**40),
    ("params", "evaluate"): st.just({"pairs": [["by", "site"]]}),
    ("builds_on",): st.just(["b" * 32]),
    ("dataset",): st.sampled_from(["cohort", "other"]),
    ("classes",): st.sampled_from([[0, 1], [0, 1, 2], ["0", "1"], [0.5]]),
    ("partition",): st.sampled_from(["horizontal", "arbitrary"]),
    ("asker",): st.sampled_from(["south", "east"]),
}
mild = st.sampled_from(sorted(MILD)).flatmap(lambda path: MILD[path].map(lambda value: (list(path), value)))
job_changes = st.lists(wild, max_size=3) | st.lists(mild, max_size=3)
changes = st.lists(
    st.tuples(
        st.sampled_from(["report", "record", ""]),
        st.sampled_from(
            [
                "job",
                "site",
                "signature",
                "key",
                "party",
                "clock",
                "codes",
                "verdict",
                "by",
                "reason",
                "attempt",
                "ok",
                "place",
                "kind",
                "at",
                "answers",
                "checked",
                "reasons",
                "seconds",
                "rounds",
                "bytes",
                "version",
                "policy",
                "unknown",
            ]
        ),
        values,
    ),
    max_size=2,
)
recipes = st.fixed_dictionaries({
    "path": st.sampled_from([*KINDS, (MALLORY, VICTIM), (ACCOMPLICE, VICTIM)]),
    "kind": st.none() | st.none() | st.none() | st.sampled_from(EVERY_KIND),  # mostly one that fits the path
    "pick": st.integers(0, 1000),
    "about": st.sampled_from(["open"] * 3 + ["new"] * 4 + ["ended", "hostile"]),
    "job": job_changes,
    "changes": changes,
    "text": st.sampled_from(TEXTS) | st.text(max_size=20),
    "signed": st.sampled_from(["rightly", "rightly", "rightly", "by another", "not at all"]),
    "wire": st.sampled_from(["whole"] * 6 + ["twice", "later", "half", "flipped", "cut", "loose", "noise", "endless"]),
})  # fmt: skip


def draw(count, number=0):
    """So many recipes; the same ones for the same number."""
    found = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(recipes)
    def collect(recipe):
        if len(found) < count:
            found.append(recipe)

    while len(found) < count:  # hypothesis leaves some examples out
        collect()
        number += 1
    return found


# Members that send them


class HostileHouse(House):
    """A consortium in which mallory submits, south helps, and the coordinator's own key writes to north.

    `analyst` is honest.
    """

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.sites[MALLORY] = self.consortium.join(MALLORY, "analyst")
        self.tokens[MALLORY] = self.members.token(MALLORY)

    def prepare(self, name):
        """Policies by which a hostile job gets as far as the data.

        At east people are asked about it, and never answer.
        """
        super().prepare(name)
        policy = self.home(name) / "policy.toml"
        if name != "clearing":
            text = policy.read_text().replace("preflights_per_day = 20", "preflights_per_day = 100000")
            honest, first = self.new(), next(ASKED)  # each honest job asks something else
            costs = (with_step(honest, **choose_settings(first + k)) for k in range(99))
            digests = [disclosure_digest(msgspec.structs.replace(honest, params=each)) for each in costs]
            known = f"disclosures = {json.dumps(digests)}"
            policy.write_text(text.replace('disclosures = "any"', known) if name == "east" else text)


class Hostile:
    """Writes and delivers what a recipe says, about jobs of mallory's own."""

    def __init__(self, house) -> None:
        self.house, self.later, self.sent = house, [], 0
        self.by = {name: house.sites[name] for name in (MALLORY, ACCOMPLICE, CLEARING)}
        self.sealers = {
            name: Control(None, identity, house.members, lambda *_: None) for name, identity in self.by.items()
        }
        self.open, self.ended = (house.new(submitter=MALLORY) for _ in range(2))
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        identity = self.by[MALLORY]
        broker = Broker([self.house.server.url], identity.tls(self.house.members.authority), self.house.tokens[MALLORY])
        self.brokers = {MALLORY: self.stack.enter_context(broker)}
        for name in (ACCOMPLICE, CLEARING):
            self.brokers[name] = self.house.site(name).broker
        for job in (self.open, self.ended):
            self.deliver(MALLORY, CLEARING, list(cut("propose", self.proposal(job.canonical(), "rightly"))))
        self.deliver(MALLORY, CLEARING, list(cut("withdraw", Withdrawal(job=self.ended.id).dump())))
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def send(self, recipe, *, server=False):
        """Write a letter and deliver it.

        Straight into the receiver's entrance, or over the server where that lets it pass.
        """
        sender, receiver = recipe["path"]
        kinds = KINDS.get((sender, receiver), EVERY_KIND)
        kind = recipe["kind"] if recipe["kind"] is not None else kinds[recipe["pick"] % len(kinds)]
        try:
            body = self.body(kind, sender, recipe)
        except (OverflowError, ValueError, UnicodeEncodeError):  # what cannot be written cannot be sent
            body = repr(recipe["changes"]).encode("utf-8", "replace")
        self.deliver(sender, receiver, self.chunks(kind, body, recipe), server=server and (sender, receiver) in KINDS)

    def deliver(self, sender, receiver, chunks, *, server=False):
        control, subject = (
            self.house.site(receiver).control,
            control_subject(self.house.tokens[sender], self.house.tokens[receiver]),
        )
        for chunk in chunks:
            sealed = (
                self.sealers[sender]._sealer(receiver).seal(receiver, chunk)
                if isinstance(chunk, bytes)
                else bytes(chunk)
            )
            self.sent += 1
            if server:
                broker = self.brokers[sender]
                broker.call(broker.client.jetstream().publish(subject, sealed, timeout=20))
            else:
                control._worker.submit(control._open, subject, sealed).result(60)

    # What is in a letter

    def body(self, kind, sender, recipe):  # noqa: PLR0911 - a table of letters
        job = self.named(recipe)
        match kind:
            case "propose" | "proposed":
                return self.proposal(self.job_bytes(job, recipe), recipe["signed"])
            case "checked":
                return dumped(self.checked(job, sender, recipe))
            case "cleared":
                sites = [
                    self.checked(job, site, {**recipe, "changes": []}) for site in job.roster.parties if site in self.by
                ]
                return dumped(altered({"job": job.id, "checked": sites}, recipe["changes"]))
            case "answer":
                return dumped(self.answer(job, sender, recipe))
            case "start":
                answers = [
                    self.answer(job, site, {**recipe, "changes": []}) for site in job.roster.parties if site in self.by
                ]
                return dumped(
                    altered({"job": job.id, "attempt": recipe["pick"], "answers": answers}, recipe["changes"])
                )
            case "finished" | "closed":
                base = Finished(
                    job=job.id,
                    site=sender,
                    attempt=recipe["pick"] % 3,
                    ok=bool(recipe["pick"] % 2),
                    place=recipe["text"],
                )
                return dumped(altered(msgspec.to_builtins(base), recipe["changes"]))
            case "ended":
                base = {
                    **msgspec.to_builtins(Ended.of(job.id, "refused", sender, "because")),
                    "reasons": [recipe["text"]],
                }
                return dumped(altered(base, recipe["changes"]))
            case "withdraw":
                return dumped(altered({"job": job.id, "reason": recipe["text"]}, recipe["changes"]))
            case "ask" | "read" | "told":
                return self.question(kind, job, recipe)
        return job.id.encode() if recipe["pick"] % 2 else recipe["text"].encode("utf-8", "surrogatepass")

    def named(self, recipe):
        """The job that a letter is about."""
        match recipe["about"]:
            case "open":
                return self.open
            case "ended":
                return self.ended
        known = recipe["text"] if recipe["about"] == "hostile" else secrets.token_hex(16)
        job = msgspec.structs.replace(self.open)
        msgspec.structs.force_setattr(job, "id", known)
        return job

    def job_bytes(self, job, recipe):
        fields = msgspec.to_builtins(job)
        for path, value in recipe["job"]:
            where = fields
            for name in path[:-1]:
                where = where[name] if isinstance(where.get(name), dict) else where.setdefault(name + "?", {})
            where[grown(path[-1])] = grown(value)
        return msgspec.json.encode(fields, order="sorted")

    def proposal(self, data, signed):
        return dumped(
            {"job": data.decode(), "submitter": MALLORY, "signature": self.signature(MALLORY, PROPOSAL, data, signed)}
        )

    def checked(self, job, site, recipe):
        codes = [code for i, code in enumerate(CODES) if recipe["pick"] >> i & 1]
        report = {
            "party": site,
            "version": "",
            "source": "",
            "clock": "2030-01-01T00:00:00Z",
            "features": "",
            "codes": codes,
        }
        report = altered(report, recipe["changes"], "report")
        signature = self.signature(site, PREFLIGHT, job.digest.encode() + b" " + dumped(report), recipe["signed"])
        return altered({"job": job.id, "site": site, "report": report, "signature": signature}, recipe["changes"])

    def answer(self, job, site, recipe):
        record = {
            "job": job.digest,
            "party": site,
            "verdict": "accept",
            "by": [],
            "rule": "",
            "reason": recipe["text"],
            "policy": "",
            "at": "2030-01-01T00:00:00Z",
        }
        record, key = altered(record, recipe["changes"], "record"), public_key(bytes([7]) * 32)
        signature = self.signature(site, CONSENT, b"tacit consent 1\n" + dumped(record), recipe["signed"])
        vouched = self.signature(site, HELLO, job.digest.encode() + b" " + key, recipe["signed"])
        base = {
            "job": job.id,
            "site": site,
            "record": record,
            "signature": signature,
            "key": key.hex(),
            "key_signature": vouched,
        }
        return altered(base, recipe["changes"])

    def question(self, kind, job, recipe):
        number = (b"n" * 16, b"", b"n" * 2_000_000, recipe["text"])[recipe["pick"] % 4]
        wanted = [job.id, ["public.bin", "audit.jsonl", "../proposal.json"][recipe["pick"] % 3], recipe["pick"] - 500]
        asked = msgspec.msgpack.encode(wanted) if kind == "read" else recipe["text"].encode("utf-8", "surrogatepass")
        return msgspec.msgpack.encode((number, asked))

    def signature(self, site, what, data, how):
        if how == "not at all":
            return ""
        other = CLEARING if site != CLEARING else MALLORY
        return self.by[site if how == "rightly" else other].sign(what, data).hex()

    # How it travels

    def chunks(self, kind, body, recipe):  # noqa: PLR0911 - a table of ways
        """The chunks as they arrive; a bytearray is sealed by nobody."""
        whole, n = list(cut(kind, body)), recipe["pick"]
        match recipe["wire"]:
            case "twice":
                return whole * 2
            case "later":  # out of its order, after whatever was held back before
                self.later.append(whole)
                return self.later.pop(0) if len(self.later) > 20 else []
            case "half":
                return list(cut(kind, bytes(CHUNK + 1 + len(body))))[:1]
            case "flipped":
                return [whole[0][: n % len(whole[0])] + b"\xff" + whole[0][n % len(whole[0]) + 1 :]]
            case "cut":
                return [whole[0][: n % len(whole[0])]]
            case "loose":
                return [frame((kind, secrets.token_hex(8), n - 500, [0, 1, 2**63 - 1, -1][n % 4]), body[:1000])]
            case "noise":
                return [bytearray(secrets.token_bytes(n))]
            case "endless":
                return [frame((kind, "x" * n, 0, 1), body[:1000])]
        return whole


def altered(fields, changes, part=""):
    """The same with other fields, of the part that a change is about."""
    return {**fields, **{name: grown(value) for where, name, value in changes if where == part}}


def dumped(value):
    return msgspec.json.encode(value, order="sorted")
