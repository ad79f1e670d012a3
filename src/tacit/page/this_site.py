"""This site: its policy in words, members and their certificates, disk, clock, versions, and who may log in."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from starlette.responses import Response

from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.states import OVER
from tacit.consortium.site.health import complaints_about, describe_health
from tacit.consortium.site.settings import PartySettings
from tacit.page.desk import Desk
from tacit.page.visit import Views, Visit
from tacit.report.words import human_bytes, listing

SOON = timedelta(days=30)  # before its last day a certificate is said to end soon
PACKAGES = ("tacit", "numpy", "scikit-learn", "cryptography", "nats-py", "starlette")
Lines = Iterator[tuple[str, str]]


def show(visit: Visit) -> Response:
    """Show the site."""
    desk, now = visit.desk, datetime.now(UTC)
    return visit.page(
        "site.html",
        facts=list(describe_site(desk, now)),
        policy=list(describe_policy(desk.policy)) if desk.kind == "party" else [],
        parameters=list(describe_parameters(desk.policy)) if desk.kind == "party" else [],
        datasets=list_datasets(desk),
        members=sorted(desk.members, key=lambda member: (member.kind, member.name)),
        consortium=desk.members.consortium,
        edition=desk.members.version,
        people=desk.people.names(),
        now=now,
        soon=now + SOON,
        versions=[("python", platform.python_version()), *((n, v) for n in PACKAGES if (v := _version(n)))],
    )


def describe_site(desk: Desk, now: datetime) -> Lines:
    """Yield how the site is."""
    disk, jobs = shutil.disk_usage(desk.state), desk.list_jobs()
    yield "kind", desk.kind
    if (health := desk.read_health()) is None:
        yield "message server", "connected" if desk.connected else "not reached at the moment; tried again until it is"
        yield "disk", f"{human_bytes(disk.free)} free of {human_bytes(disk.total)}"
    else:
        yield from describe_health(health)
        yield from (("look at this", each.says) for each in complaints_about(health))
    yield "time here", f"{now:%Y-%m-%d %H:%M:%S} UTC; all sites of a job must agree within 60 seconds"
    yield "jobs", f"{len(jobs):,}, of which {sum(line.state not in OVER for line in jobs):,} are not over"
    if desk.kind == "party":
        yield "policy", f"{desk.policy.file}, digest {desk.policy.digest[:16]}"


def list_datasets(desk: Desk) -> list[tuple[str, str]]:
    """Return the datasets that a party offers, and where each is; a connection is a secret and not shown."""
    if not isinstance(desk.settings, PartySettings):
        return []
    return [(name, each.path.name if each.path else "a query") for name, each in desk.settings.datasets.items()]


TOGETHER = ("automatic", "approvers", "approvals_needed", "disclosures", "parameters", "other_parameters", "file")


def describe_policy(policy: Policy) -> Lines:
    """Yield what a policy says, in words: every key of its file, so that none is left out."""
    automatic = f"accepted at once if {_which(policy.disclosures, 'its disclosure is')}; others wait until "
    yield "a job that meets every rule", f"{automatic if policy.automatic else 'waits until '}{_who_approves(policy)}"
    for name in policy.__struct_fields__:
        if name not in TOGETHER:  # said above, or in a table of their own
            yield from _say_rule(name.replace("_", " "), getattr(policy, name))


def _say_rule(name: str, value: Any) -> Lines:
    """Yield a key of a policy; of a table each of its keys."""
    if isinstance(value, msgspec.Struct):
        said = ", ".join(f"{key.replace('_', ' ')} {_say(each)}" for key, each in msgspec.structs.asdict(value).items())
        yield name, said
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _say_rule(f"{name}: {key}", each)
    else:
        yield name, _say(value)


def _say(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (listing(value) or "none") if isinstance(value, tuple) else "none" if value is None else str(value)


def describe_parameters(policy: Policy) -> Lines:
    """Yield what a job may choose."""
    for name in policy.parameters:
        yield name, str(policy.bounds_of(name))
    yield "others", "their defaults only" if policy.other_parameters == "default" else "any value"


def _who_approves(policy: Policy) -> str:
    needed, people = policy.approvals_needed, listing(policy.approvers)
    who = people if needed == len(policy.approvers) else f"{needed} of {people}"
    return f"{who} {'approves' if needed == 1 else 'approve'} it"


def _which(allowed: tuple[str, ...] | str, what: str) -> str:
    return "nothing more is asked" if allowed == "any" else f"{what} one of the {len(allowed)} that the policy lists"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


VIEWS: Views = {("GET", "/site"): show}
