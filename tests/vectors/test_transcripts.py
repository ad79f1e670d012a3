"""Recorded runs are played again bit for bit, and altered ones stop where the file says."""

from __future__ import annotations

import json

import pytest

from tacit import errors
from tacit.runtimes import apart
from vectors.transcript import RECORDED, RUNS, Bad, transcripts

BAD = sorted(RUNS.glob("bad_*.json"))


def test_every_file_is_played():
    assert {f.stem for f in RUNS.glob("*.json")} == {*RECORDED, *(f.stem for f in BAD)}


@pytest.mark.parametrize("name", RECORDED)
def test_every_party_sends_the_recorded_bytes_and_ends_with_the_recorded_result(name):
    for view in transcripts(RUNS / f"{name}.json"):
        assert view.replay() == view.result, view.party


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_an_altered_envelope_stops_its_receiver_at_the_named_step(file):
    bad = Bad(**json.loads(file.read_text(encoding="utf-8")))
    kind = getattr(errors, bad.error, None) or getattr(apart, bad.error)
    with pytest.raises(kind) as raised:
        bad.replay()
    assert (type(raised.value).__name__, raised.value.__notes__) == (bad.error, [bad.place])
    assert str(raised.value).startswith(bad.says)
