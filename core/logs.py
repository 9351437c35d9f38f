"""Logs of the three processes: one line an event, for people (`console`) or for machines (`json`);
those of libraries too.
"""

import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog
from structlog.typing import Processor

from core.db.outage import OutageError


class LinesOrNothing:
    """Writes to a stream, stdout for None. A line that it cannot take (a full disk, a pipe that is
    closed) is lost, and whoever logged goes on; letters that its encoding lacks, or that move a
    terminal's cursor or turn its text, are escaped.
    """

    def __init__(self, to: TextIO | None) -> None:
        self._to = to

    def write(self, text: str) -> None:
        to = self._to or sys.stdout
        encoding = getattr(to, "encoding", None) or "utf-8"
        with suppress(OSError, ValueError):  # ValueError: the stream is closed
            to.write(_seen(text).encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            (self._to or sys.stdout).flush()


def _seen(text: str) -> str:
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(
        one if one.isprintable() or one == "\n" else ascii(one).strip("'") for one in text
    )


def _or_says_so(rendered: Sequence[Processor]) -> Processor:
    """The processors that make a line of an event; of one that they cannot, a line that says so."""

    def render(logger: Any, name: str, event: Any) -> Any:
        kept = {key: event[key] for key in ("level", "timestamp", "logger") if key in event}
        title = event.get("event")
        try:
            return _made(rendered, logger, name, event)
        except Exception as error:  # whatever a value's own text raises
            kept |= {"event": "no line could be made of an event", "error": type(error).__name__}
            kept |= {"of": title} if type(title) is str else {}
            return _made(rendered, logger, name, kept)

    return render


def _made(rendered: Sequence[Processor], logger: Any, name: str, event: Any) -> Any:
    for processor in rendered:
        event = processor(logger, name, event)
    return event


def _not_again(_: object, level: str, event: Any) -> Any:
    """Of a database that is waited for, which said so once, nobody who meets it says more."""
    if level != "info" and isinstance(sys.exc_info()[1], OutageError):
        raise structlog.DropEvent
    return event


def configure_logs(log_format: str, to: TextIO | None = None) -> None:
    """Set structlog and the standard library's logging up for this process, both to stdout or `to`,
    libraries from WARNING on. A log that cannot be written, or a line that cannot be made, ends no
    process.

    Tracebacks stay plain: a pretty one shows local values, and those may be secrets.
    """
    plain = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    machines: list[Any] = [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
    rendered = [_or_says_so(machines if log_format == "json" else [plain])]
    stamped: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    lines = cast("TextIO", LinesOrNothing(to))
    structlog.configure(
        processors=[_not_again, *stamped, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(lines),
    )
    of_libraries = logging.StreamHandler(lines)
    of_libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *stamped],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[of_libraries])
