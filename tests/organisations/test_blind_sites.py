"""The exact machine between organisations: bit for bit the simulation's, a dealer that opens nothing, and kill -9."""

from __future__ import annotations

import re
import time
import warnings

import numpy as np
import pytest

import tacit
from conformance.case import flat, merged, of_party
from conformance.cases_blind import CASES as BLIND
from conformance.cases_blind import KINDS, SETTING
from organisations.relay import COORDINATOR, Meeting, Relay
from organisations.row_sites import records_of
from organisations.sites import ANALYST, Sites
from tacit.choreo import encode, entries_of
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.analyst import outcome_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import PeerError
from tacit.numeric.shares.dual_plan import Q_BITS
from tacit.numeric.svm.kernels import OVR, count_problems
from tacit.protocols.blind.training import blind_predict, gram_blind
from tacit.runtimes.nats.durable import Limits
from tacit.runtimes.together import Together
from tacit.study.replay import pipeline_of

pytest.importorskip("nats")
pytestmark = pytest.mark.slow

PARTIES = ("p1", "p2", "p3")
OPENED = ("Opening", "OpenedBits")
SILENCE = 20.0  # seconds after which a party is given up


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    with Relay(tmp_path_factory.mktemp("relay"), PARTIES) as relay:
        yield relay


def train_and_ask(run, data, partition, stamps=None):
    """The shares of a model, and its answers about the records that it was trained on."""
    model = flat(gram_blind)(run, data, partition=partition, **SETTING)
    (stamps if stamps is not None else []).append(time.monotonic())  # a party is through with the training
    asked = {"problems": count_problems(len(model.classes), OVR), "trained_on": model.records, **SETTING}
    return {
        "share": model.share,
        "answers": flat(blind_predict)(run, data, model.share, partition=partition, **asked),
    }


def digests(found):
    return {name: {p: encode(value).digest for p, value in each.items()} for name, each in found.items()}


@pytest.fixture(scope="module", params=["columns", "rows"])
def played(request, relay):
    """A training over a real server, each party with its own connection and journal, and what came of it."""
    case = next(each for each in BLIND if each.name == f"gram_blind_{request.param}")
    partition, roster = KINDS[request.param][0], case.roster(3)
    inputs, meeting = case.inputs(roster), Meeting(relay, roster)

    def part(me, run):
        data, stamps = run.hold(*of_party(inputs, me)["data"]), []
        return train_and_ask(run, data, partition, stamps), run.ledger.rows, stamps[0]

    found = meeting.play(part)
    assert meeting.errors == {}
    return meeting, partition, inputs, found


def test_shares_and_answers_are_those_of_the_simulation_with_the_same_randomness_bit_for_bit(played):
    meeting, partition, inputs, found = played
    roots = {}
    for me in meeting.roster.parties:
        with meeting.seat(me) as (_, _, journal):
            roots[me] = journal.secret("root", bytes)
    entropy = RootEntropy([], meeting.run.encode(), roots)
    with Together(meeting.roster, job=b"conformance", entropy=entropy) as run:
        here = train_and_ask(run, run.hold(*inputs["data"]), partition)
        alone = {name: dict(entries_of(each)) for name, each in here.items()}
    there = {name: merged({p: result[name] for p, (result, *_) in found.items()}) for name in here}
    assert digests(there) == digests(alone)


def test_the_dealer_is_through_before_any_holder_since_it_waits_for_nobody(played):
    *_, found = played
    through = {me: stamp for me, (*_, stamp) in found.items()}
    assert through[COORDINATOR] < min(through[me] for me in PARTIES)


def test_the_dealers_process_never_holds_an_opening_or_a_key_to_one(played):
    meeting, _, _, found = played
    rows = found[COORDINATOR][1]
    openings = [row for row in rows if row.type in OPENED]
    assert len(openings) > 1000
    assert {row.receiver for row in openings} == {row.sender for row in openings} == set(PARTIES)
    assert {row.bytes for row in openings} == {None}  # it was neither sent any nor did it send one
    sealer = meeting.sealer(COORDINATOR)
    assert all(COORDINATOR in pair for pair in sealer._keys)
    with meeting.seat(COORDINATOR) as (_, _, dealers), meeting.seat("p1") as (_, _, holders):
        for row in openings[:200]:
            assert dealers.incoming(row.place, row.sender) is None
        first = next(row for row in openings if row.sender == "p1" and row.receiver == "p2")
        (chunk, *_) = holders.outgoing(first.place, "p2")
        for pair in [("p1", COORDINATOR), ("p2", COORDINATOR), (COORDINATOR, COORDINATOR)]:
            with pytest.raises(PeerError, match="was altered, or is of another run"):
                sealer.open(*pair, chunk)
        assert meeting.sealer("p2").open("p1", "p2", chunk)  # which its receiver opens


class LeavesError(Exception):
    """The end of the dealer's process, as a crash ends it: nobody is told."""


def test_a_dealer_that_stops_is_named_in_one_line_where_its_words_are_missed(relay):
    case = next(each for each in BLIND if each.name == "gram_blind_columns")
    roster = case.roster(3)
    inputs, meeting = case.inputs(roster), Meeting(relay, roster, limits=Limits(silence=SILENCE))

    def part(me, run):
        exchange = run._exchange

        def leave(place, *more):
            if me == COORDINATOR and "/iterate/" in place:
                raise LeavesError
            return exchange(place, *more)

        run._exchange = leave
        data = run.hold(*of_party(inputs, me)["data"])
        return flat(gram_blind)(run, data, partition="vertical", **SETTING)

    meeting.play(part)
    assert isinstance(meeting.errors.pop(COORDINATOR), LeavesError)
    assert set(meeting.errors) == set(PARTIES)
    said = {me: str(error) for me, error in meeting.errors.items()}
    line = rf"({COORDINATOR}|p\d) has been silent for over {SILENCE:.0f} s at .*: is it running\?"
    assert all(re.fullmatch(line, each) for each in said.values())
    assert said["p3"].startswith(COORDINATOR)  # the last holder is dealt what the others need not be sent


# Processes

FILE = """
dataset = "cohort"
purpose = "a test"
legal_basis = "none"
parties = ["h1", "h2", "h3"]
coordinator = "clearing"
partition = "vertical"
labeller = "h1"
aligned = true
seed = 7

[[step]]
name = "scale"
use = "FederatedScaler"

[[step]]
name = "svm"
use = "{use}"
loss = "hinge"
features = "exact"
C = 3.0
"""
LEARNERS = {"SVC": tacit.SVC, "SVR": tacit.SVR}


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    with Sites(tmp_path_factory.mktemp("blind"), rows=80, timeout=120.0) as made:
        yield made


@pytest.fixture(scope="module", params=LEARNERS)
def done(request, sites, tmp_path_factory):
    """The study of a file in which a holder and the dealer are killed, as the analyst has it at the end."""
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(FILE.format(use=request.param))
    with sites.analyst() as analyst:
        job = job_of_file(path, submitter=ANALYST)
        analyst.submit(job)
        for victim, messages in (("clearing", 150), ("h2", 120)):  # the dealer while it deals, a holder as it iterates
            sites.await_(lambda v=victim, m=messages: sites.messages(job, v) > m, 200.0)
            sites.kill(victim)
            sites.start(victim)
        news = sites.ends_well(analyst, job, 500.0)
        fitted = pipeline_of(job.arguments, job.roster, outcome_of(job, news, analyst.result(job)))
    return job, fitted, LEARNERS[request.param]


def test_a_study_survives_kills_of_a_holder_and_of_the_dealer_with_the_simulations_model(sites, done):
    job, fitted, learner = done
    here = records_of(job, sites.configs)
    steps = [("scale", tacit.FederatedScaler()), ("svm", learner(C=3.0, loss="hinge", features="exact"))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = tacit.Pipeline(steps).fit(here)
    kept = {name: folder_of(sites.home(name) / "state", job.id).result["1.share"] for name in sites.hospitals}
    np.testing.assert_allclose(opened(kept), opened(alone["svm"].model_.share), atol=1e-3)
    assert fitted["svm"].model_.gamma == alone["svm"].model_.gamma
    said = "nobody can work out records of others without clearing, which deals the random numbers, and any one of"
    assert any(line.startswith(said) for line in fitted["svm"].report_.warnings)
    assert all(f"warning: {said}" in sites.log(name) for name in sites.hospitals)  # before they agreed


def opened(shares):
    """The coefficients that the shares of all holders make."""
    words = sum(np.asarray(share.beta, dtype=np.uint64) for share in shares.values())
    return words.view(np.int64) * 2.0**-Q_BITS


def test_no_mask_is_ever_on_two_values_though_dealer_and_holder_were_killed(sites, done):
    job, *_ = done
    assert sites.check_masks() > 3 * 300
    kept = {name: folder_of(sites.home(name) / "state", job.id).result for name in sites.names}
    assert "1.share" not in kept["clearing"]
    assert all(kept[name]["1.share"].beta.dtype == np.uint64 for name in sites.hospitals)
