"""A consortium on one machine: a registrar, and sites with their keys and certificates."""

from pathlib import Path

from tacit.consortium.membership.certificate_request import Request, create
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.registrar import Registrar

HOSTS = ("127.0.0.1", "localhost")


class Consortium:
    """All keys in one place, as only a test may have them."""

    def __init__(self, folder: Path, name: str = "Northern hospitals") -> None:
        self.folder = folder
        (folder / "registrar").mkdir(parents=True)
        self.registrar = Registrar.init(folder / "registrar", name)

    @property
    def members(self):
        return self.registrar.members

    def request(self, name, kind="party", folder="first"):
        """A new key at a site of its own, and its request."""
        site = self.folder / name / folder
        site.mkdir(parents=True)
        identity, path = create(site, name, kind, HOSTS if kind == "coordinator" else ())
        return identity, Request.load(path)

    def join(self, name, kind="party") -> Identity:
        """A new member with its certificate."""
        identity, request = self.request(name, kind)
        self.registrar.sign(request, kind)
        return self.fetch(identity)

    def fetch(self, identity) -> Identity:
        """The certificate from the registrar, put beside the key."""
        issued = self.folder / "registrar" / f"{identity.name}.crt"
        identity.certificate_file.write_bytes(issued.read_bytes())
        return Identity.load(identity.key_file)
