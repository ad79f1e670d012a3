"""Gates ask a dealer for what the interface names, and for nothing else: another way to deal fits in beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance import machine_reference as reference
from conformance.case import flat
from conformance.cases_svm import SETTING
from tacit.choreo import Coordinator, Holder, Labeller, Role, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.protocols.learners import svm
from tacit.protocols.shares import dealing
from tacit.protocols.shares.dealing import Dealer, Dealing, Dealt, agree_with_dealer
from tacit.runtimes.together import Together

HELPER = Role("helper", single=True)
NAMES = ("p1", "p2", "p3")


class Elsewhere(Dealer):
    """Deals as the shipped one, at another site: what it keeps is not where a gate that takes short cuts looks."""

    def __init__(self, seeds: Any, known: Any) -> None:
        self.seeds, self.known = seeds, known

    def deal(self, run: Any, correlation: Any, ring: Any, kept: Any) -> Any:
        own, known = self.draw(run, run.tag())
        drawn = self.compute(run, dealing.draw_all, correlation, known, NAMES, ring)
        masks = self.compute(run, dealing.add_masks, drawn, ring)
        given = () if kept is None else kept
        missing = self.compute(run, dealing.complete, correlation, drawn, masks, given, NAMES, ring)
        dealt = run.send(Dealt, HELPER >> Holder, missing)
        return run.local(Holder, dealing.draw_own, correlation, own, dealt, run.who(Holder), NAMES[-1], ring), masks

    def draw(self, run: Any, tag: Any) -> Any:
        return run.pads(self.seeds, tag), run.pads(self.known, tag)

    def compute(self, run: Any, step: Any, *args: Any) -> Any:
        return run.local(HELPER, step, *args)


def deal_elsewhere(run: Any, **ring: Any) -> Dealing:
    found = agree_with_dealer(run, **ring)
    mine, theirs = run.random(Holder), run.random(HELPER)
    keys = {p: m.key for p, m in run.publish_all(dealing.PublicKey, run.local(Holder, dealing.own_key, mine)).items()}
    helper = run.publish(dealing.PublicKey, run.local(HELPER, dealing.own_key, theirs)).key
    seeds = run.local(Holder, dealing.seeds_with, mine, {dealing.DEALER: helper}, run.who(Holder))
    known = run.local(HELPER, dealing.seeds_with, theirs, keys, run.who(HELPER))
    return replace(found, dealer=Elsewhere(seeds, known))


def test_holders_take_turns_in_what_they_are_sent():
    held = reference.parts(NAMES, "horizontal", "2")
    roster = Roster({Holder: NAMES, Labeller: NAMES[:1], Coordinator: ("dealer",)})
    with Together(roster, job=b"dealing", entropy=RootEntropy(roster.parties, b"dealing")) as run:
        flat(svm.train_svm)(run, run.hold(Holder, held), partition="horizontal", **SETTING | {"features": 60})
    sent = [sum(row.bytes or 0 for row in run.ledger if row.type == "Dealt" and row.receiver == p) for p in NAMES]
    assert max(sent) < sum(sent) / 2


@pytest.mark.parametrize(
    ("partition", "chosen"),
    [
        ("horizontal", {"alpha": "auto"}),
        ("horizontal", {"loss": "hinge", "choose_cost": True}),
        ("vertical", {"class_prices": {0: 3.0}}),
        ("vertical", {"loss": "hinge"}),
        ("arbitrary", {"kernel": "poly", "gamma": 0.1}),
    ],
)
def test_another_dealer_takes_the_place_of_the_coordinator_in_every_gate(partition, chosen, monkeypatch):
    monkeypatch.setattr(svm, "agree_with_dealer", deal_elsewhere)
    held = reference.parts(NAMES, partition, "2")
    roster = Roster({Holder: NAMES, Labeller: NAMES[:1], Coordinator: ("idle",), HELPER: ("helper",)})
    with Together(roster, job=b"dealing", entropy=RootEntropy(roster.parties, b"dealing")) as run:
        model = flat(svm.train_svm)(run, run.hold(Holder, held), partition=partition, **SETTING | chosen)
    result = model.as_dict()
    weights = None if "class_prices" not in chosen else lambda y: np.where(y == 0, 3.0, 1.0)
    if chosen.get("loss") == "hinge":
        reference.check_hinge(result, held, partition=partition, weights=weights)
    else:
        reference.check_machine(result, held, partition=partition, weights=weights, atol=2e-2)
    dealt = [row for row in run.ledger if row.type == "Dealt"]
    assert dealt, "nothing was dealt"
    assert {row.sender for row in dealt} == {"helper"}
    assert {row.type for row in run.ledger if row.sender == "idle"} == {"PublicKey"}
