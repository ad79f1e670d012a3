"""Layers on a cluster: what a round leaves, when the past is cut off, what goes with the run.

And what holders may not send.
"""

from pathlib import Path

import numpy as np
import pytest

from spark import killing
from tacit.choreo import ChoreographyError, Coordinator, Fact, Holder, LocalError, PeerError, choreography, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.protocols.sums.secure_sum import Masked, PublicKey, mask, protect, secure_sum
from tacit.runtimes.spark import cluster, layers
from tacit.runtimes.spark.cluster import Spark
from tacit.runtimes.spark.partition import find_own, join_own, pack, unpack
from tacit.runtimes.together import Together

HOLDERS = killing.ROSTER[Holder]


@pytest.fixture
def run(spark):
    with Spark(killing.ROSTER, HOLDERS, sc=spark.sparkContext, job=b"a test") as run:
        yield run


def values():
    return {p: np.full(4, float(k)) for k, p in enumerate(HOLDERS)}


def checkpoints(spark):
    folder = Path(spark.sparkContext.getCheckpointDir().removeprefix("file:"))
    return [f for f in folder.rglob("*") if f.is_file()]


def test_a_long_loop_keeps_a_few_layers_and_leaves_no_file(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "DEPTH", 3)
    lengths, finished = [], Spark._finish_round

    def counted(run, base, t, carry):
        lengths.append((len(run._layers._all), len(checkpoints(spark)) > 0))
        finished(run, base, t, carry)

    monkeypatch.setattr(Spark, "_finish_round", counted)
    found = killing.play(spark.sparkContext, str(tmp_path), rounds=12, fatal=(), whom="nobody")
    killing.check(found, rounds=12, fatal=())
    assert max(n for n, _ in lengths) <= 10
    assert all(there for _, there in lengths), "root keys are in a file from the start"
    assert checkpoints(spark) == []


def test_steps_of_holders_wait_until_somebody_sends(run):
    doubled = run.local(Holder, np.add, run.hold(Holder, values()), run.hold(Holder, values()))
    assert len(run._queue.calls) == 1
    assert run.opened(doubled)["p3"].tolist() == [4.0] * 4
    assert not run._queue.calls


def test_what_the_text_can_no_longer_use_is_not_kept(run):
    s = run.carry(x=run.hold(Holder, values()))
    for _ in run.rounds(1, s):
        lost = run.local(Holder, np.negative, s.x)
        s.x = run.local(Holder, np.add, s.x, lost)
    run.finish()
    with pytest.raises(ChoreographyError, match=r"uses a value of /round\[0\], which is over: carry it"):
        run.local(Holder, np.negative, lost)
    assert run.opened(s.x)["p2"].tolist() == [0.0] * 4
    (slot,) = set(layers_of(s.x))
    told = run._layers.collect(slot.layer, ["slot 1", slot.name], "a test")
    assert {name for answer in told for name in answer["frames"]} == {slot.name}


def layers_of(at):
    return at._entries.values()


@choreography(opens={Coordinator: Fact("tests.a_sum", "holders", "aggregate", "all", "the sum: a test")})
def summed(run, x):
    return secure_sum(run, x, to=Coordinator, by=protect(run), fixed=killing.FIXED)


def test_executors_add_up_what_many_learners_send_and_the_driver_sees_one_vector(run, monkeypatch):
    with Together(killing.ROSTER, job=b"a test", entropy=RootEntropy(killing.ROSTER.parties, b"r")) as here:
        expected = entries_of(summed(here, here.hold(Holder, values())))["coordinator"]
    monkeypatch.setattr(cluster, "TREE", 3)
    heard, tell = [], layers.Layers._tell
    monkeypatch.setattr(layers.Layers, "_tell", lambda *given: heard.append(tell(*given)) or heard[-1])
    found = summed(run, run.hold(Holder, values()))
    assert entries_of(found)["coordinator"].tolist() == expected.tolist() == [3.0] * 4
    assert [len(told) for told in heard] == [3, 1], "three keys, and one sum"
    assert [(r.sender, r.shapes, r.bytes) for r in run.ledger] == [(r.sender, r.shapes, r.bytes) for r in here.ledger]


def test_what_was_added_up_is_not_sent_once_more(run, monkeypatch):
    monkeypatch.setattr(cluster, "TREE", 3)
    masked = run.local(Holder, killing.as_masked, run.hold(Holder, values()))
    once = run.add_up(Masked, Holder >> Coordinator, masked, killing.add_words)
    assert entries_of(once)["coordinator"].words.tolist() == [3] * 4
    for again in (
        lambda: run.add_up(Masked, Holder >> Coordinator, masked, killing.add_words),
        lambda: run.opened(masked),
    ):
        with pytest.raises(ChoreographyError, match="was added up before, and is sent once"):
            again()


def test_a_pad_whose_sum_was_added_up_is_not_used_again(run, monkeypatch):
    monkeypatch.setattr(cluster, "TREE", 3)
    pads = run.pads(protect(run).seeds, run.tag())
    x, me = run.hold(Holder, values()), run.who(Holder)
    for again in (False, True):
        masked = run.local(Holder, mask, x, pads, me, killing.FIXED, "x", killing.Z64)
        if not again:
            run.add_up(Masked, Holder >> Coordinator, masked, killing.add_words)
    with pytest.raises(LocalError, match="pads under a tag whose messages were added up would be used again"):
        run.add_up(Masked, Holder >> Coordinator, masked, killing.add_words)


def test_each_learner_reads_its_own_part_of_what_the_driver_hands_out():
    given = {f"p{i}": {"key": PublicKey(bytes([i]) * 32), "words": np.full(i, i)} for i in range(1, 9)}
    joined = unpack(pack({"given": join_own(given)}))["given"]
    for i, party in enumerate(given, 1):
        own = find_own(joined, party)
        assert (own["key"].key, own["words"].tolist()) == (bytes([i]) * 32, [i] * i)


def test_a_learner_that_stops_in_a_sum_is_named_and_so_are_unequal_shapes(spark, monkeypatch):
    monkeypatch.setattr(cluster, "TREE", 3)
    longer = {**values(), "p2": np.zeros(5)}
    for given, step, words in (
        (values(), killing.failing, r"^p1 stopped at /failing\(\) \(ValueError\)"),
        (longer, killing.as_masked, r"^p. stopped at /Masked \(PeerError\): the error text stays on the cluster"),
    ):
        with Spark(killing.ROSTER, HOLDERS, sc=spark.sparkContext, job=b"a test") as one:
            masked = one.local(Holder, step, one.hold(Holder, given))
            with pytest.raises(PeerError, match=words):
                one.add_up(Masked, Holder >> Coordinator, masked, killing.add_words)


def test_the_words_of_an_error_stay_at_the_executor_and_the_run_is_over(run):
    run.local(Holder, killing.failing, run.hold(Holder, values()))
    with pytest.raises(
        PeerError, match=r"^p1 stopped at /failing\(\) \(ValueError\): the error text stays on the cluster"
    ) as stop:
        run.finish()
    assert "the value was" not in str(stop.value)
    with pytest.raises(LocalError, match="this run is over"):
        run.opened(run.local(Holder, np.negative, run.hold(Holder, values())))


def test_the_driver_has_no_key_and_no_mark_says_one(run):
    by = protect(run)
    private = run.random(Holder)
    assert {repr(entry) for entry in layers_of(private)} == {"Seed(place='/random')"}
    assert not hasattr(next(iter(layers_of(by.seeds))), "value")
    with pytest.raises(KeyError):
        run.entropy._own.seed("p1", "/anywhere")
