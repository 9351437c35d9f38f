"""Logs of the three processes: one line an event, for people (`console`) or for machines (`json`)."""

import logging
import sys
from typing import Any

import structlog


def configure_logs(log_format: str) -> None:
    """Set structlog up for this process. Tracebacks stay plain: a pretty one shows local values, and those may be secrets."""
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    machines: list[Any] = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(machines if log_format == "json" else [plain]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
