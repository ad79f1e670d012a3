"""Who takes part, and as what."""

import pytest

from tacit.choreo import ChoreographyError, Coordinator, Everyone, Holder, LocalError, Role, Roster


def test_parties_stand_in_the_order_of_their_roles_each_once():
    roster = Roster({Holder: ("ben", "ann"), Coordinator: ("ann",), Role("judge"): ("zoe", "ben")})
    assert roster.parties == ("ben", "ann", "zoe")
    assert roster[Everyone] == roster.parties
    assert roster[Holder] == ("ben", "ann")


def test_a_party_listed_twice_in_a_role_is_refused():
    with pytest.raises(
        LocalError, match="role holder lists a party twice: ann, ben, ann; give each party its own name"
    ):
        Roster({Holder: ("ann", "ben", "ann")})


@pytest.mark.parametrize("parties", [(), ("ann", "ben")])
def test_a_single_role_needs_exactly_one_party(parties):
    with pytest.raises(LocalError, match=f"role coordinator needs exactly one party, got {len(parties)}"):
        Roster({Coordinator: parties})


def test_each_member_is_a_single_role_named_after_its_party():
    members = Roster({Holder: ("ben", "ann")}).members(Holder)
    assert [(str(m), m.name, m.single) for m in members] == [("ben", "holder", True), ("ann", "holder", True)]


def test_a_member_role_is_its_party():
    roster = Roster({Holder: ("ben", "ann")})
    assert [roster[m] for m in roster.members(Holder)] == [("ben",), ("ann",)]


def test_a_member_role_of_nobody_is_refused():
    with pytest.raises(ChoreographyError):
        Roster({Holder: ("ben", "ann")})[Role("holder", single=True, party="zed")]


def test_the_role_of_a_party_is_the_first_it_takes():
    roster = Roster({Holder: ("ann", "ben"), Coordinator: ("ben",)})
    assert (roster.role_of("ann"), roster.role_of("ben")) == ("holder", "holder")


def test_an_arrow_is_a_channel_from_source_to_target():
    channel = Holder >> Coordinator
    assert (channel.source, channel.target) == (Holder, Coordinator)
