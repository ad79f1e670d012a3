"""One text, played in one process or at four parties of their own.

What each of them gets out of it, errors included.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.apart import Apart, queue_posts
from tacit.runtimes.together import Together

JOB = b"the job"


def outcome(play, run):
    try:
        return play(run)
    except Exception as error:  # noqa: BLE001 - the error is what a test looks at
        return error


@pytest.fixture(scope="session")
def roster():
    return Roster({Holder: ("ann", "ben", "cat"), Coordinator: ("hub",)})


@pytest.fixture(scope="session")
def together(roster):
    def played(play, *, roster=roster, **settings):
        with Together(roster, job=JOB, entropy=RootEntropy(roster.parties, JOB), **settings) as run:
            return play(run)

    return played


@pytest.fixture(scope="session")
def apart(roster):
    """Outcomes by party."""

    def played(play, *, roster=roster, patience=20.0):
        posts = queue_posts(roster.parties)

        def one(me):
            run = Apart(me, roster, posts[me], job=JOB, entropy=RootEntropy([me], JOB), patience=patience)
            result = outcome(play, run)
            if isinstance(result, Exception):
                run.stop(result)
            return result

        with ThreadPoolExecutor(len(roster.parties)) as pool:
            return dict(zip(roster.parties, pool.map(one, roster.parties), strict=True))

    return played


@pytest.fixture(params=["together", "apart"])
def outcomes(request, together, apart):
    """What every process that walks the text gets: one process, or one per party."""
    if request.param == "apart":
        return lambda play, **settings: list(apart(play, **settings).values())
    return lambda play, **settings: [together(lambda run: outcome(play, run), **settings)]
