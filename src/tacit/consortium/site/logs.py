"""Logs: one line per event, for people or, on request, as JSON for machines.

A log stays at its site. It may quote errors of this site's own steps, which can contain data, so it is not for others:
what another site gets is the class of an error and its place (`answers.Finished`). Keys, seeds and payloads are never
logged.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

QUIET = {"nats": logging.ERROR, "asyncio": logging.ERROR, "aiohttp": logging.ERROR}
_JOB = re.compile(r"\bjob ([0-9a-zA-Z]{8,64})\b")


# as in the file
def setup_logging(format: Literal["text", "json"] = "text", stream: TextIO | None = None, *, site: str = "") -> None:  # noqa: A002
    """Send what this process logs to `stream` (standard error); again replaces the first."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(site) if format == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("tacit").setLevel(logging.INFO)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)


class TextLines(logging.Formatter):
    """Time, level if it is not a mere notice, what happened."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(mark)s%(message)s", datefmt="%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and a traceback of what nobody foresaw."""
        record.mark = "" if record.levelno <= logging.INFO else f"{record.levelname}: "
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return a text of several lines, such as a preflight's report, in one; it may quote another party."""
        from tacit.report.words import clean  # noqa: PLC0415 - takes time to import: only who logs waits

        return " | ".join(clean(line) for line in super().formatMessage(record).splitlines())


class JsonLines(logging.Formatter):
    """One object per line.

    Time, level, site, event (the text without its values), message, and job if known.
    """

    def __init__(self, site: str = "") -> None:
        super().__init__()
        self._site = site

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        message = record.getMessage()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "site": self._site,
            "logger": record.name,
            "event": str(record.msg),
            "message": message,
        }
        line |= {"job": found[1]} if (found := _JOB.search(message)) else {}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
