"""Four hospitals with the columns of the same patients, as a vertical SVC would report them."""

import pytest

from tacit.choreo import Ledger, Opened, Row
from tacit.choreo.fact import fact_called
from tacit.report import Report, traffic

HOSPITALS = ("north", "south", "east", "west")
KEY = "the sender's public key of this run; nothing about its data"


def record(ledger, place, sender, receiver, tells, size):
    kind = place.rsplit("/", 1)[-1]
    ledger.rows.append(Row(place, sender, receiver, "holder", "holder", kind, (fact_called(tells),), ((1,),), size))


def ledger_of(names):
    ledger = Ledger()
    for sender in names:
        for receiver in (*names, "coordinator"):
            if receiver != sender:
                record(ledger, "/gram/keys/PublicKey", sender, receiver, KEY, 130)
    record(ledger, "/gram/Labels", names[0], "coordinator", "the label of every record", 4620)
    for t in range(3):
        for sender in names:
            record(
                ledger,
                f"/gram/block[{t}]/secure_sum/Masked",
                sender,
                "coordinator",
                "only the sum over all holders",
                432_000,
            )
    for receiver in names:
        record(ledger, "/gram/Support", "coordinator", receiver, "which records are support vectors", 2140)
    ledger.open(Opened("gram_vertical", "coordinator", (fact_called("the pooled Gram matrix of all records"),)))
    ledger.open(Opened("gram_vertical", "everyone", (fact_called("which records are support vectors"),)))
    return ledger


def report_of(ledger, names, **changes):
    values = {
        "title": "Breast cancer, four hospitals",
        "estimator": "SVC",
        "params": {"C": 8.0, "kernel": "rbf", "class_weight": {"0": 1.0, "1": 2.0}, "random_state": None},
        "partition": "vertical",
        "runtime": "together",
        "protection": "pairwise: protects while at least two parties collude with nobody",
        "parties": dict.fromkeys(names, "8 columns, 569 records") | {"coordinator": "no data"},
        "rounds": ledger.rounds,
        "seconds": 1.284,
        "cpu": dict.fromkeys((*names, "coordinator"), 0.21),
        "bytes": ledger.bytes,
        "history": [{"objective": -float(t), "gap": 10.0**-t, "done": t == 4} for t in range(5)],
        "traffic": traffic(ledger),
        "opens": ledger.opens,
        "learnt": ledger.learnt(),
        "warnings": ["Simulated in one process."],
        "comparison": {"labels_that_differ": 0, "largest difference": 3.1e-9},
        "scores": {"north alone": 0.9231, "together (tacit)": 0.979, "centralised": 0.979},
    }
    return Report(**values | changes)


@pytest.fixture
def ledger():
    return ledger_of(HOSPITALS)


@pytest.fixture
def report(ledger):
    return report_of(ledger, HOSPITALS)


@pytest.fixture
def report_with():
    """A report of parties with other names, or with other values."""

    def build(names=HOSPITALS, **changes):
        return report_of(ledger_of(names), names, **changes)

    return build


@pytest.fixture
def empty():
    return Report("Nothing yet", "SVC", {}, "arbitrary", "together", "none", {}, 0, 0.0, {}, 0, not_protected=[])
