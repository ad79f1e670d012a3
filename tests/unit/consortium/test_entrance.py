"""What a site starts with: its key, its certificate, and a list that is not older than one it has seen."""

import shutil

import pytest
from consortium_sites import Consortium

from tacit.consortium.membership.members import FILE, identity_of, remember
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.example_files import example_analyst
from tacit.consortium.site.settings import AnalystSettings
from tacit.errors import LocalError

OLDER = (
    r"consortium.members is version 2, and this site has seen version 3: an older list could bring a revoked key back"
)


@pytest.fixture
def site(tmp_path):
    """An analyst's folder, a way to give it the registrar's current list, and one to read its settings."""

    class Site:
        consortium = Consortium(tmp_path / "authority")
        identity = consortium.join("analyst", "analyst")
        folder = identity.key_file.parent
        listed = folder / "consortium.members"

        def update(self):
            shutil.copy(self.consortium.folder / "registrar" / "consortium.members", self.listed)

        @property
        def settings(self):
            file = self.folder / "analyst.toml"
            file.write_text(example_analyst(ca_fingerprint=self.consortium.registrar.identity.fingerprint))
            return AnalystSettings.from_toml(file)

    made = Site()
    made.update()
    return made


def test_an_old_list_is_refused_after_a_restart_too(site):
    old = site.listed.read_bytes()
    assert identity_of(site.settings)[1].version == 2
    site.consortium.join("north")
    site.update()
    assert identity_of(site.settings)[1].version == 3
    site.listed.write_bytes(old)
    with pytest.raises(LocalError, match=OLDER):
        identity_of(site.settings)
    with pytest.raises(LocalError, match=OLDER):
        Analyst(site.settings)
    site.update()
    assert identity_of(site.settings)[1].version == 3


def test_versions_of_another_registrar_count_by_themselves(site, tmp_path):
    other = Consortium(tmp_path / "other").members
    state = site.settings.state
    remember(state, other)
    assert identity_of(site.settings)[1].version == 2
    remember(state, other)
    assert sorted((state / FILE).read_text().count(m.registrar) for m in (other, site.consortium.members)) == [1, 1]


def test_what_was_seen_never_goes_back(site):
    old = site.consortium.members
    site.consortium.join("north")
    state = site.settings.state
    remember(state, site.consortium.members)
    remember(state, old)
    assert b":3" in (state / FILE).read_bytes()


@pytest.mark.parametrize("content", [b"", b"3", b'{"a": "b"}', b"[" * 100_000])
def test_a_damaged_file_is_refused_in_one_line(site, content):
    state = site.settings.state
    state.mkdir()
    (state / FILE).write_bytes(content)
    with pytest.raises(LocalError, match=r"members.seen is damaged: restore it from a backup"):
        identity_of(site.settings)
