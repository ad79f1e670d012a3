"""The journal against a few dicts, reopened between any two operations."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from journals import LARGE, opened

from tacit.errors import LocalError, PeerError

places = st.sampled_from(["/a", "/a#1", "/round[1]/a"])
parties = st.sampled_from(["south", "west"])
small = st.binary(max_size=8)
large = st.binary(min_size=1, max_size=3).map(lambda b: (b * LARGE)[:LARGE])
datas = st.one_of(small, large)


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / "journal"
        self.journal = opened(self.folder)
        self.out, self.order, self.published, self.into = {}, [], set(), {}
        self.memos, self.states, self.rows, self.secrets = {}, {}, [], {}

    def teardown(self):
        self.journal.close()
        shutil.rmtree(self.folder.parent)

    @rule()
    def reopen(self):
        self.journal.close()
        self.journal = opened(self.folder)
        assert self.journal.resumed

    @rule(place=places, receiver=parties, chunks=st.lists(datas, min_size=1, max_size=3))
    def commit_outgoing(self, place, receiver, chunks):
        if self.out.setdefault((place, receiver), chunks) == chunks:
            self.journal.commit_outgoing(place, receiver, chunks)
            self.order += [key for c in range(len(chunks)) if (key := (place, receiver, c)) not in self.order]
        else:
            with pytest.raises(LocalError, match="other bytes were already committed"):
                self.journal.commit_outgoing(place, receiver, chunks)

    @precondition(lambda self: self.order)
    @rule(data=st.data())
    def mark_published(self, data):
        key = data.draw(st.sampled_from(self.order))
        self.journal.mark_published(*key)
        self.published.add(key)

    @rule(place=places, sender=parties, chunk=st.integers(-1, 3), of=st.integers(0, 3), data=datas)
    def commit_incoming(self, place, sender, chunk, of, data):
        known_of, chunks = self.into.get((place, sender), (of, {}))
        if not 0 <= chunk < of or of != known_of or chunks.get(chunk, data) != data:
            with pytest.raises(PeerError, match=f"{sender} .* this ends the run"):
                self.journal.commit_incoming(place, sender, chunk, of, data)
            return
        assert self.journal.commit_incoming(place, sender, chunk, of, data) is (chunk not in chunks)
        self.into[place, sender] = of, {**chunks, chunk: data}

    @rule(place=places, data=datas)
    def commit_memo(self, place, data):
        if self.memos.setdefault(place, data) == data:
            self.journal.commit_memo(place, data)
        else:
            with pytest.raises(LocalError, match="gave another result"):
                self.journal.commit_memo(place, data)

    @rule(base=places, t=st.integers(0, 5), data=datas)
    def checkpoint(self, base, t, data):
        self.journal.checkpoint(base, t, data)
        if t > self.states.get(base, (-1,))[0]:
            self.states[base] = t, data

    @rule(row=small)
    def append_row(self, row):
        self.journal.append_row(row)
        self.rows.append(row)

    @rule(name=st.sampled_from(["root", "pair"]), data=small)
    def secret(self, name, data):
        assert self.journal.secret(name, lambda: data) == self.secrets.setdefault(name, data)

    @rule(peer=parties, n=st.integers(0, 4))
    def peer_says(self, peer, n):
        if n > len({place for place, receiver in self.out if receiver == peer}):
            with pytest.raises(LocalError, match=f"older than what {peer} has seen"):
                self.journal.seen(peer, n)
        else:
            self.journal.seen(peer, n)

    @rule(place=places, data=datas)
    def give_up_a_batch(self, place, data):
        """Nothing of it is kept, whatever it held."""
        with contextlib.suppress(ZeroDivisionError), self.journal.batch():
            self.journal.append_row(data)
            self.journal.checkpoint("/a", 9, data)
            self.journal.commit_incoming(place, "nobody", 0, 1, data)
            raise ZeroDivisionError

    @invariant()
    def holds_what_the_model_holds(self):
        for (place, receiver), chunks in self.out.items():
            assert self.journal.outgoing(place, receiver) == chunks
        for (place, sender), (of, chunks) in self.into.items():
            assert self.journal.incoming(place, sender) == (
                [chunks[c] for c in range(of)] if len(chunks) == of else None
            )
        for base, state in self.states.items():
            assert self.journal.last_checkpoint(base) == state
        assert {place: self.journal.memo(place) for place in self.memos} == self.memos

    @invariant()
    def agrees_on_the_rest(self):
        waiting = [key for key in self.order if key not in self.published]
        self.journal.append_row(b"")  # marks are written with the next batch
        self.rows.append(b"")
        unsent = self.journal.unpublished(0, 1000)
        assert [where for _, *where, _ in unsent] == [list(key) for key in waiting]
        assert all(data == self.out[place, receiver][c] for _, place, receiver, c, data in unsent)
        assert self.journal.unpublished(0, 1) == unsent[:1]
        assert self.journal.unpublished(unsent[0][0] if unsent else 0, 1000) == unsent[1:]
        assert self.journal.rows() == self.rows
        assert self.journal.received() == {
            s: n for s in ("south", "west") if (n := sum(sender == s for _, sender in self.into))
        }
        assert self.journal.incoming("/a", "nobody") is None

    @invariant()
    def has_a_file_for_each_large_body_and_no_other(self):
        named = self.journal._store.all(
            "SELECT digest FROM outgoing WHERE data IS NULL UNION SELECT digest FROM incoming WHERE data IS NULL"
        )
        sealed = sum(len(data) == LARGE for data in [*self.memos.values(), *(data for _, data in self.states.values())])
        assert len(list((self.folder / "bodies").iterdir())) == len(named) + sealed


TestModel = pytest.mark.slow(Model.TestCase)
TestModel.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
