"""The dossier of a run, as `tacit dossier` writes it, for whoever is logged in at a site that took part in the run."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.responses import Response

from tacit.consortium.dossier.bag import make_dossier
from tacit.consortium.dossier.contents import Case
from tacit.consortium.membership.members import identity_of
from tacit.page.visit import Views, Visit


def send(visit: Visit) -> Response:
    """Return the dossier as a file; it is made and signed when it is asked for, and not kept."""
    desk = visit.desk
    folder = desk.folder(visit.job)
    made = make_dossier(Case(folder, *identity_of(desk.settings), datetime.now(UTC)))
    return visit.attach(made, f"dossier-{folder.id[:8]}-{desk.name}.zip", "application/zip")


VIEWS: Views = {("POST", "/runs/{job}/dossier"): send}
