"""A dossier as a file: a ZIP archive of one BagIt folder (RFC 8493), which is signed by the site that made it.

    bagit.txt, bag-info.txt         what it is
    manifest-sha512.txt             the digest of every file below data/
    signature.json                  the site's signature over the three files above
    tagmanifest-sha512.txt          the digests of all four
    data/                           the RO-Crate

Times in the archive are constant: two dossiers differ where their contents do.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tacit.consortium.dossier.contents import Case, Files, gather, write_json
from tacit.consortium.dossier.crate import METADATA, PREVIEW, describe, identify, render
from tacit.consortium.membership.identity import Identity
from tacit.errors import LocalError
from tacit.files import write_whole

CONTEXT = "dossier"
BAGIT, INFO, MANIFEST = "bagit.txt", "bag-info.txt", "manifest-sha512.txt"
SIGNATURE, TAGS = "signature.json", "tagmanifest-sha512.txt"
SIGNED = (BAGIT, INFO, MANIFEST)
DATA = "data/"
EPOCH = (1980, 1, 1, 0, 0, 0)
LARGEST = 1 << 30  # bytes of all files of a dossier that is verified: an archive can unpack to more than a disk holds
OTHERWISE = "it is no dossier, or was altered: ask its site for it again"


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who vouches for the dossier."""

    site: str
    key: str
    signature: str


def write_dossier(case: Case, path: Path) -> Path:
    """Write the dossier of a job whose run is over."""
    return write_whole(path, make_dossier(case), "the dossier")


def make_dossier(case: Case) -> bytes:
    """Return the archive."""
    files = gather(case)
    files[PREVIEW] = render(case, files).encode()
    files[METADATA] = write_json(describe(case, files))
    return pack(f"dossier-{case.job.id[:8]}-{case.identity.name}", files, identify(case), case.identity)


def pack(folder: str, files: Files, identifier: str, identity: Identity) -> bytes:
    """Return files as a signed bag."""
    payload = {f"{DATA}{name}": content for name, content in sorted(files.items())}
    size = f"{sum(map(len, payload.values()))}.{len(payload)}"
    tags = {
        BAGIT: b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        INFO: f"External-Identifier: {identifier}\nPayload-Oxum: {size}\n".encode(),
        MANIFEST: _manifest(payload),
    }
    signed = identity.sign(CONTEXT, signed_bytes(tags)).hex()
    tags[SIGNATURE] = write_json(Signature(site=identity.name, key=identity.public.hex(), signature=signed))
    return _zip(folder, {**tags, TAGS: _manifest(tags), **payload})


def signed_bytes(tags: Mapping[str, bytes]) -> bytes:
    """Return what a site puts its name to: the digests of what describes the bag, which are those of all its files."""
    return _manifest({name: tags[name] for name in SIGNED})


def unpack(data: bytes) -> tuple[Files, Files]:
    """Return the tag files and the payload of a bag whose files are those that its manifests list, bit for bit."""
    found = _unzip(data)
    payload = {name: content for name, content in found.items() if name.startswith(DATA)}
    tags = {name: content for name, content in found.items() if name not in payload}
    listed = {**_read_manifest(tags, MANIFEST), **_read_manifest(tags, TAGS), TAGS: ""}
    lacking, foreign = sorted(set(listed) - set(found)), sorted(set(found) - set(listed))
    altered = [name for name, content in found.items() if listed.get(name) not in {"", _digest(content)}]
    for names, fault in ((lacking, "lacks"), (foreign, "has a file that is not listed:"), (altered, "was altered in")):
        if names:
            raise LocalError(f"the dossier {fault} {', '.join(names)}: ask its site for it again")
    written = {name: tags.get(name, b"") for name in (*SIGNED, SIGNATURE)}
    if tags[TAGS] != _manifest(written) or tags[MANIFEST] != _manifest(dict(sorted(payload.items()))):
        raise LocalError(f"a manifest of the dossier is not as tacit writes it: {OTHERWISE}")
    return tags, {name.removeprefix(DATA): content for name, content in payload.items()}


def _zip(folder: str, files: Files) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", EPOCH), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _unzip(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive that holds one folder, by their names in it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            fault = _fault_of(entries)
            found = {} if fault else {entry.filename.partition("/")[2]: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error):
        fault = "the file is not a whole ZIP archive"
    if fault:
        raise LocalError(f"{fault}: {OTHERWISE}")
    return found


def _fault_of(entries: Sequence[zipfile.ZipInfo]) -> str:
    if sum(entry.file_size for entry in entries) > LARGEST:
        return f"the dossier unpacks to more than {LARGEST >> 20} MB"
    folders, names = {entry.filename.partition("/")[0] for entry in entries}, {entry.filename for entry in entries}
    return "" if len(folders) == 1 and len(names) == len(entries) else "the archive is not one folder, each file once"


def _manifest(files: Mapping[str, bytes]) -> bytes:
    return "".join(f"{_digest(content)}  {name}\n" for name, content in files.items()).encode()


def _read_manifest(tags: Files, name: str) -> dict[str, str]:
    if name not in tags:
        raise LocalError(f"the archive has no {name}: {OTHERWISE}")
    lines = (line.split("  ", 1) for line in tags[name].decode("utf-8", "replace").splitlines())
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2}  # noqa: PLR2004 - a digest and a name


def _digest(content: bytes) -> str:
    return hashlib.sha512(content).hexdigest()
