"""When a job may go on without a site that is away.

The problem. Sums with a site's records and the same sums without them differ by that site's own sums. So a job that
goes on without a site begins again, as a run of its own (another id, journal, keys and masks), and only if

    for every run of this job in which something of records has moved here, and every site that takes part in one of
    that run and the new one only: that site's own consent says that it may be left out (`Record.left_out`)      (1)

Each remaining site checks (1) by its own journals, so that a coordinator that says of a site that it is away, once it
has its sums, is refused. That suffices: a sum over all holders is opened only if every one of them has sent its part,
and (1) counts a run from before this site's first such part. It holds in both directions: once there was a sum without
a site, no run with it begins.

Other jobs count too. The register compares the parties of the new run with those of all earlier jobs on the same
records (`consent.register`), and refuses a difference of one or two, unless these consented. A run in which nothing of
records has moved is no earlier one.

Not protected: that a coordinator says of a site that it is away before anything was summed. It gains what it would have
of the same job, proposed without that site; everybody's consent says that this may happen, and whom the result is of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.consortium.jobs.answers import Start
from tacit.consortium.jobs.job import Columns, Job
from tacit.errors import LocalError, PeerError
from tacit.runtimes.apart import StoppedError

Casts = Sequence[tuple[str, ...]]  # runs of one job, each by who was absent from it
DIFFERS = "who takes part differs by "  # how the kind of a `CastError` begins
SUMMED = "sums were opened, and the policy there does not say left_out = true"
TOO_FEW = "the policy asks for more parties"


class CastError(StoppedError):
    """This site does not play a run between other parties than an earlier one, or than its policy allows."""

    def __init__(self, me: str, differing: Iterable[str], why: str) -> None:
        kind = f"{DIFFERS}{', '.join(differing)}: {why}"
        super().__init__(me, "the start", kind)
        self.args = (f"{me} does not play this run, since {kind}; the job waits until all are there",)


@dataclass(frozen=True)
class Casting:
    """How a run stands to other runs of its job, as the register compares it with earlier jobs.

    absent: who takes no part. unopened: digests of the runs that opened nothing, and whose place it takes. left: the
    columns of those who take no part and consented to it, so that their absence is no difference.
    """

    absent: tuple[str, ...] = ()
    unopened: frozenset[str] = frozenset()
    left: Mapping[str, Columns] = field(default_factory=dict)


EVERYBODY = Casting()


def casting_of(job: Job, start: Start, casts: Casts, summed: Casts) -> Casting:
    """Return how an attempt stands to the runs that began, and to those of them in which records were summed."""
    unopened = {job.without(absent).digest for absent in casts if absent not in summed} - {start.cast(job).digest}
    left = {party: job.columns[party] for party in start.absent if party in consenting(start)}
    return Casting(start.absent, frozenset(unopened), left)


def say_without(start: Start) -> str:
    """Return without whom an attempt is, for the log."""
    return f" without {', '.join(start.absent)}" if start.absent else ""


def consenting(start: Start) -> frozenset[str]:
    """Return the sites whose own consent says that they may be left out after sums with their records were opened."""
    return frozenset(answer.site for answer in start.answers if answer.record.left_out)


def check_absence(job: Job, start: Start, summed: Iterable[Iterable[str]], me: str) -> Job:
    """Return the job as it is played in an attempt; raise unless (1) holds. `summed` are the absent of earlier runs."""
    cast = check_cast(job, start)
    if differing := find_differing(start, summed):
        raise CastError(me, differing, SUMMED)
    return cast


def check_cast(job: Job, start: Start) -> Job:
    """Return the job as it is to be played; refuse to leave anybody out of a job that does not say so."""
    if start.absent and job.on_absence != "leave":
        raise PeerError(f"job {job.id} goes on without {', '.join(start.absent)}, and its on_absence is 'wait'")
    try:
        return start.cast(job)
    except LocalError as error:
        raise PeerError(f"job {job.id} cannot go on without {', '.join(start.absent)}: {error}") from None


def find_differing(start: Start, summed: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the sites, but for those that consented, whose own sums would follow from this run and earlier ones."""
    found = {party for absent in summed for party in set(absent) ^ set(start.absent)}
    return tuple(sorted(found - consenting(start)))
