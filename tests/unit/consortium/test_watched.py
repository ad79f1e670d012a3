"""Files that change: read once, again when they have changed, and never from memory when they are gone."""

import os

import pytest

from tacit.consortium.site.sources import NOWHERE, Watched, stamp_of
from tacit.errors import LocalError


@pytest.fixture
def file(tmp_path):
    """A file that was written a minute ago."""
    path = tmp_path / "policy.toml"
    path.write_text("one")
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    return path


def test_a_file_that_stays_is_read_once(file):
    read = []
    watched = Watched(file, lambda path: read.append(path) or path.read_text())
    assert [watched.now()[1] for _ in range(3)] == ["one"] * 3
    assert len(read) == 1


def test_a_file_of_the_same_size_and_time_is_another_one_if_it_was_put_in_its_place(file, tmp_path):
    watched = Watched(file, lambda path: path.read_text())
    watched.now()
    before = file.stat()
    other = tmp_path / "other"
    other.write_text("two")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    assert watched.now()[1] == "two"


def test_what_a_file_said_is_forgotten_when_it_cannot_be_read(file):
    watched = Watched(file, lambda path: path.read_text())
    watched.now()
    file.unlink()
    assert stamp_of(file) == NOWHERE
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            watched.now()
    file.write_text("three")
    assert watched.now()[1] == "three"


def test_a_file_that_could_not_be_read_is_tried_again(file):
    def read(path):
        text = path.read_text()
        if text == "bad":
            raise LocalError("no policy")
        return text

    watched = Watched(file, read)
    watched.now()
    file.write_text("bad")
    for _ in range(2):
        with pytest.raises(LocalError, match="no policy"):
            watched.now()


def test_a_file_that_was_just_written_is_read_again_since_its_clock_is_coarse(file):
    watched = Watched(file, lambda path: path.read_text())
    file.write_text("two")
    first, _ = watched.now()
    stamp = file.stat().st_mtime_ns
    file.write_text("six")
    os.utime(file, ns=(stamp, stamp))
    second, text = watched.now()
    assert (text, second > first) == ("six", True)


def test_a_folder_is_read_again_when_a_file_in_it_changes_comes_or_goes(tmp_path):
    folder = tmp_path / "cohort" / "year=2024"
    folder.mkdir(parents=True)

    def write(name, content):
        (folder / name).write_text(content)
        os.utime(folder / name, (1, 1))

    write("a.parquet", "one")
    watched = Watched(tmp_path / "cohort", lambda path: sorted(each.name for each in path.rglob("*.parquet")))
    assert watched.now() == watched.now() == (1, ["a.parquet"])
    write("b.parquet", "two")
    assert watched.now() == watched.now() == (2, ["a.parquet", "b.parquet"])
    write("b.parquet", "three")
    assert watched.now()[0] == 3
    (folder / "a.parquet").unlink()
    assert watched.now() == (4, ["b.parquet"])
