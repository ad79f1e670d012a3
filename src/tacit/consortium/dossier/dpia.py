"""A data-protection impact assessment of a job as a document that people complete: GDPR, article 35 (7).

What the job, its disclosure, the sites' answers and the release check say is filled in. What only people know is a
blank, which begins with the word FILL IN and stands out in colour. So it can be written before the run, for who decides
about it, and after it with the figures that were measured.

The document is OpenDocument text (ISO/IEC 26300): an archive of XML files, of which the first names the kind.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from xml.sax.saxutils import escape

from tacit.consortium.consent.budget import say_price
from tacit.consortium.consent.proposals import Planned, in_steps
from tacit.consortium.dossier.recipients import find_recipients, write_annex
from tacit.consortium.jobs.answers import Answer
from tacit.consortium.jobs.job import Job
from tacit.report.decision import (
    NOTHING,
    TESTABLE,
    find_dealer,
    list_learnt,
    moves_nothing,
    say_dealt,
    say_measured,
    say_status,
    tells_model,
)
from tacit.report.release import HEADS, Release, list_lines
from tacit.report.words import clean, listing

BLANK = "FILL IN"
Row = Sequence[str]
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file inside, so that the same job gives the same bytes


def write_dpia(
    job: Job, site: str, now: datetime, answers: Sequence[Answer] = (), release: Release | None = None
) -> bytes:
    """Return the document, as `site` would complete it; `release` is what attacks on the model found out."""
    return pack_text([*_begin(job, site, now), *_describe(job), *_justify(job), *_name(job, now), *_weigh(job, release),
                      *_decide(site, answers)])  # fmt: skip


# The parts of the assessment


def _begin(job: Job, site: str, now: datetime) -> Iterator[str]:
    yield paragraph(f"Data protection impact assessment: {job.purpose}", "Title")
    yield paragraph(f"For {site}, written {now:%Y-%m-%d} from the files of job {job.id}. {say_status()}.")
    yield paragraph("Everything here but the blanks follows from the signed job and its run. It is no legal advice.")
    yield blank("names of who completes this, and the date")


def _describe(job: Job) -> Iterator[str]:
    yield heading("1. Description of the processing (article 35 (7) (a))")
    yield paragraph(f"{job.submitter} asks {listing(job.parties)} for a study of the dataset {job.dataset}.")
    columns = {
        party: "all that it offers" if names == "all" else listing(names) for party, names in job.columns.items()
    }
    rows = ((party, columns[party], str(job.rows[party] or "not declared")) for party in job.parties)
    yield table(("site", "columns", "records"), rows)
    yield from bullets(in_steps(job))
    yield paragraph("Records stay at their sites.")
    yield blank(
        "whose data it is (patients of which clinic and years), which categories, whether children are among them"
    )
    yield heading("2. Purpose and legal basis")
    yield table(("", ""), (("purpose", job.purpose), ("legal basis, as proposed", job.legal_basis)))
    yield blank("the legal basis of this site (article 6), and for health data the condition of article 9 (2)")
    yield blank("how the persons are informed (articles 13 and 14), and how they object")


def _justify(job: Job) -> Iterator[str]:
    yield heading("3. Necessity and proportionality (article 35 (7) (b))")
    yield paragraph(
        "No records are pooled. The study reveals what section 5 lists, and a message that is not listed is not sent."
    )
    yield paragraph(f"Results are kept for {job.retention_days} days. The proposal ends on {job.expires:%Y-%m-%d}.")
    yield blank("why each column is needed, and why fewer records or an aggregate from one site would not do")


def _name(job: Job, now: datetime) -> Iterator[str]:
    roles = write_annex(job, (), now)["roles"]
    yield heading("4. Parties and recipients")
    yield table(
        ("role", "who"), ((name, said if isinstance(said, str) else listing(said)) for name, said in roles.items())
    )
    yield blank(
        "contact and data-protection officer of each; the arrangement of article 26; the contract of article 28"
    )
    yield blank("transfers to third countries, if a recipient is outside the EEA")
    yield heading("5. What each of them learns")
    yield table(("who", "learns"), ((who, "; ".join(facts)) for who, facts in list_learnt(Planned.of(job))))
    if moves_nothing(Planned.of(job)):
        yield paragraph(f"What else moves: {NOTHING}")


def _weigh(job: Job, release: Release | None) -> Iterator[str]:
    recipients = find_recipients(job, release)
    annex = write_annex(job, recipients, job.expires)
    yield heading("6. Risks for the persons, and how likely they are (article 35 (7) (c))")
    yield table(
        ("risk", "likelihood", "how severe for a person"), ((*risk, f"{BLANK}") for risk in _risks(job, release))
    )
    if release is not None:
        yield paragraph(f"Attacks on the model that were measured. {release.how}")
        yield table(HEADS, list_lines(release))
    yield paragraph("Can each recipient identify a person?")
    yield from bullets(one.line for one in recipients)
    yield heading("7. Measures (article 35 (7) (d))")
    promised = [f"{name}: {said}" for name, said in say_price(job)] or ["differential privacy: no"]
    yield from bullets([*annex["measures"], *promised, f"release check: {_say_gate(job, release)}"])
    yield blank("measures of this site: who may log in, where its server stands, how staff are trained")
    yield heading("8. Residual risks")
    yield from bullets([*annex["coalitions"], *annex["residual risks"]])
    yield blank("which of these are accepted, by whom, and why; if one stays high, consult the authority (article 36)")


def _risks(job: Job, release: Release | None) -> Iterator[tuple[str, str]]:
    run = Planned.of(job)
    if tells_model(run):
        yield f"By the model: {TESTABLE}", say_measured(release) if release else "Not measured."
    dealer = find_dealer(run)
    if dealer is not None:
        unlikely = "As likely as that these two break their word: no technique stops them."
        yield say_dealt(f"{dealer}, which deals the random numbers,", run), unlikely
    yield "A site is broken into: its own records, the model, and its keys are read.", f"{BLANK}: of this site"
    yield (
        "The answers of the model are wrong for a group of persons, and are used.",
        "See the evaluation in the report.",
    )


def _say_gate(job: Job, release: Release | None) -> str:
    if release is not None:
        return "refused, so that the analyst has no model" if release.refused else "made; the figures are in section 6"
    return "part of the study, which has not ended" if job.arguments.get("release") is not None else "no"


def _decide(site: str, answers: Sequence[Answer]) -> Iterator[str]:
    yield heading("9. Consultation")
    yield blank("advice of the data-protection officer (article 35 (2)), and whether it was followed")
    yield blank("views of the persons or their representatives (article 35 (9)), or why they were not asked")
    yield heading("10. Decision")
    if answers:
        said = (
            (a.site, a.record.verdict, listing(a.record.by) or "its policy", f"{a.record.at:%Y-%m-%d}") for a in answers
        )
        yield table(("site", "answered", "by", "on"), said)
    yield blank(f"{site} takes part / takes part on these conditions / does not take part")
    yield blank("when this assessment is looked at again, and what would change it (article 35 (11))")
    yield heading("11. Signatures")
    roles = ("controller", "data-protection officer", "who is responsible for the records")
    yield table(("role", "name", "date", "signature"), ((role, BLANK, BLANK, BLANK) for role in roles))


# The document: paragraphs of XML, packed as OpenDocument text


def paragraph(text: str, style: str = "Text") -> str:
    """Return a paragraph."""
    return f'<text:p text:style-name="{style}">{_write(text)}</text:p>'


def blank(what: str) -> str:
    """Return a blank that people fill in."""
    return paragraph(f"{BLANK}: {what}.", "Blank")


def heading(text: str) -> str:
    """Return a heading."""
    return f'<text:h text:style-name="Head" text:outline-level="1">{_write(text)}</text:h>'


def bullets(lines: Iterable[str]) -> Iterator[str]:
    """Yield a paragraph for each line."""
    yield from (paragraph(f"• {line}") for line in dict.fromkeys(lines))


def table(heads: Row, rows: Iterable[Row]) -> str:
    """Return a table."""
    head = f"<table:table-header-rows>{_row(heads, 'Strong')}</table:table-header-rows>" if any(heads) else ""
    columns = f'<table:table-column table:number-columns-repeated="{len(heads)}"/>'
    body = "".join(_row(row, "Text") for row in rows)
    return f'<table:table table:style-name="Grid">{columns}{head}{body}</table:table>'


def _row(cells: Row, style: str) -> str:
    made = (paragraph(cell, "Blank" if cell.startswith(BLANK) else style) for cell in cells)
    inner = "".join(
        f'<table:table-cell table:style-name="Cell" office:value-type="string">{p}</table:table-cell>' for p in made
    )
    return f"<table:table-row>{inner}</table:table-row>"


def _write(text: str) -> str:
    return escape(clean(text))


def pack_text(body: Iterable[str]) -> bytes:
    """Return paragraphs as a document."""
    named = " ".join(f'xmlns:{name}="{URN}:{urn}:1.0"' for name, urn in NAMESPACES.items())
    content = f'{XML}<office:document-content {named} office:version="1.3">{STYLES}<office:body><office:text>'
    files = {
        "mimetype": KIND,
        "content.xml": f"{content}{''.join(body)}</office:text></office:body></office:document-content>",
        "META-INF/manifest.xml": f"{XML}{MANIFEST}",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            how = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, EPOCH), text, how)
    return packed.getvalue()


XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
KIND = "application/vnd.oasis.opendocument.text"
URN = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = {"office": "office", "text": "text", "table": "table", "style": "style", "fo": "xsl-fo-compatible"}
MANIFEST = (
    f'<manifest:manifest xmlns:manifest="{URN}:manifest:1.0" manifest:version="1.3">'
    f'<manifest:file-entry manifest:full-path="/" manifest:version="1.3" manifest:media-type="{KIND}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)


def _style(name: str, text: str, around: str = "") -> str:
    return (
        f'<style:style style:name="{name}" style:family="paragraph"><style:paragraph-properties {around}/>'
        f'<style:text-properties fo:font-family="sans-serif" {text}/></style:style>'
    )


STYLES = (
    "<office:automatic-styles>"
    + _style("Title", 'fo:font-size="18pt" fo:font-weight="bold"', 'fo:margin-bottom="0.3cm"')
    + _style("Head", 'fo:font-size="13pt" fo:font-weight="bold"', 'fo:margin-top="0.5cm" fo:keep-with-next="always"')
    + _style("Text", 'fo:font-size="10pt"', 'fo:margin-top="0.1cm" fo:margin-bottom="0.1cm"')
    + _style("Strong", 'fo:font-size="10pt" fo:font-weight="bold"')
    + _style(
        "Blank", 'fo:font-size="10pt" fo:background-color="#fff2b3"', 'fo:margin-top="0.1cm" fo:margin-bottom="0.1cm"'
    )
    + '<style:style style:name="Grid" style:family="table"><style:table-properties style:width="17cm"'
    ' fo:margin-top="0.1cm" fo:margin-bottom="0.2cm"/></style:style>'
    '<style:style style:name="Cell" style:family="table-cell"><style:table-cell-properties fo:padding="0.1cm"'
    ' fo:border="0.5pt solid #999999"/></style:style></office:automatic-styles>'
)
