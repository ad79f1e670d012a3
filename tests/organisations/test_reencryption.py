"""Sites that die once their ciphertexts are on their way.

Encrypted again they would be others, and the replies would not fit them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.case import merged, of_party
from conformance.cases import CASES
from organisations.relay import Meeting, Relay

pytest.importorskip("tenseal")
pytest.importorskip("gmpy2")
CASES_AND_DEATHS = {"gram_arbitrary_horizontal_rbf_3_classes": {"p1", "p2", "p3"}, "gram_weights_rows": {"coordinator"}}


class DiedError(Exception):
    """As `kill -9` would end it."""


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    with Relay(tmp_path_factory.mktemp("relay"), [f"p{i + 1}" for i in range(3)]) as relay:
        yield relay


def lives(meeting, case, inputs, me, uploading):
    """What a site gets out of a run in which it dies once its upload is on its way."""
    died = set()
    while True:
        with meeting.seat(me) as (run, courier, _):
            received = run._receive

            def fatal(place, *rest, received=received):
                if "Upload" in place and me in uploading and place not in died:
                    died.add(place)
                    raise DiedError
                return received(place, *rest)

            run._receive = fatal
            try:
                result = case.run(run, of_party(inputs, me))
            except DiedError:
                continue
            courier.finish(20.0)
            return result, len(died)


@pytest.mark.parametrize(("name", "uploading"), CASES_AND_DEATHS.items())
def test_a_site_that_dies_after_its_upload_goes_on_with_what_it_sent(name, uploading, relay):
    case = CASES[name]
    roster = case.roster(3)
    inputs, meeting = case.inputs(roster), Meeting(relay, roster)
    with ThreadPoolExecutor(len(roster.parties)) as pool:
        played = list(pool.map(lambda me: lives(meeting, case, inputs, me, uploading), roster.parties))
    assert {p for p, (_, deaths) in zip(roster.parties, played, strict=True) if deaths} == uploading
    case.check(merged({p: result for p, (result, _) in zip(roster.parties, played, strict=True)}), inputs)
    meeting.close()
