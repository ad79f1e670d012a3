"""What goes from holder to holder on a cluster is sealed: training in shares runs there, and the driver reads none."""

import pytest

from conformance.cases import CASES
from tacit.choreo import Holder, entries_of
from tacit.crypto.pads.agreement import public_key
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import PeerError
from tacit.protocols.sums.secure_sum import PublicKey
from tacit.registry import open_result
from tacit.runtimes.spark.cluster import Spark
from tacit.runtimes.spark.layers import Layers
from tacit.runtimes.spark.passing import SEALED, open_messages, seal_message
from tacit.runtimes.together import Together

CORE = ("train_svm_rows", "train_elm_rows_committee", "prepare_columns", "judge_model_rows", "search_machine_rows")
SUMS = ("secure_sum_pairwise_vector", "secure_sum_pairwise_words", "template")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CORE, *SUMS])
def test_what_is_trained_in_shares_on_spark_is_what_the_reference_says_and_tells_the_same(name, spark):
    case = CASES[name]
    roster = case.roster(3 if "committee" not in name else 4)
    with Together(roster, job=b"conformance", entropy=RootEntropy(roster.parties, b"conformance")) as here:
        open_result(case.run(here, case.inputs(roster)), entries_of)
    with Spark(roster, roster[Holder], sc=spark.sparkContext, job=b"conformance") as there:
        found = open_result(case.run(there, case.inputs(roster)), there.opened)
        there.finish()
    case.check(found, case.inputs(roster))
    assert there.ledger.template() == here.ledger.template()
    assert len(there.ledger) == len(here.ledger)


@pytest.mark.slow
def test_the_driver_is_told_nothing_that_one_holder_sends_another(spark, monkeypatch):
    told, collect = [], Layers.collect

    def listen(self, *args):
        found = collect(self, *args)
        told.extend(found)
        return found

    monkeypatch.setattr(Layers, "collect", listen)
    case = CASES["train_svm_rows"]
    roster = case.roster(3)
    with Spark(roster, roster[Holder], sc=spark.sparkContext, job=b"watched") as run:
        open_result(case.run(run, case.inputs(roster)), run.opened)
        run.finish()
    passed = {row.type for row in run.ledger if {row.sender, row.receiver} <= {*roster[Holder]}}
    # what is published is for all to read
    passed -= {row.type for row in run.ledger if row.receiver_role == "everyone"}
    assert passed
    frames = [bytes(frame) for each in told for frames in each["frames"].values() for frame in frames.values()]
    assert not [kind for kind in passed for frame in frames if kind.encode() in frame]  # a frame begins with its kind
    assert sum(SEALED.encode() in frame for frame in frames) > len(passed)


def keys(*names):
    private = {name: name.encode().ljust(32, b".") for name in names}
    return private, {name: public_key(key) for name, key in private.items()}


def test_a_message_is_opened_by_its_receiver_and_by_nobody_else_and_an_altered_one_is_refused():
    private, publics = keys("p1", "p2", "p3")
    word = PublicKey(bytes(range(32)))
    told = seal_message(word, "p1", private["p1"], publics, b"run", PublicKey, ("p2", "p3"))
    sealed = told[SEALED]["p2"]
    assert bytes(range(32)) not in sealed
    opened = open_messages({"p1": sealed}, "p2", private["p2"], publics, b"run", PublicKey)
    assert opened["p1"].key == word.key
    altered = bytes([*sealed[:-1], sealed[-1] ^ 1])
    for who, data, run in (("p3", sealed, b"run"), ("p2", altered, b"run"), ("p2", sealed, b"other")):
        with pytest.raises(PeerError, match="was altered, or is of another run"):
            open_messages({"p1": data}, who, private[who], publics, run, PublicKey)
