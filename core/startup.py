"""Where settings become values: what is wrong with them ends the process at once, with one line
that says what to write, and exit code 2.

The line is logged in the format that was asked for, without a traceback, and shows no value: a
value may be a secret.
"""

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from sqlalchemy.exc import SQLAlchemyError

from core.db import revisions
from core.db.metadata import import_tables
from core.errors import InvalidParameterError
from core.health.rules import judge_clock
from core.logs import configure_logs
from core.settings import Settings, asked_log_format

EXIT_CODE = 2

log = structlog.get_logger("startup")


def read_settings(*, answers: bool = False) -> Settings:
    """The environment's settings, with the logs set up and the tables of all contexts loaded.

    `answers`: stdout is for a command's answer, so that logs go to stderr.
    """
    import_tables()
    gc.freeze()  # what imports made stays: the collector need not look through it again
    configure_logs(asked_log_format(), sys.stderr if answers else None)
    with refusals():
        settings = Settings()
        if not answers:
            require_database(settings.database_url)
    return settings


def require_database(url: str) -> None:
    """A database that does not answer yet is waited for later, by who needs it; a clock that is off is
    logged, since a vault is stopped all the same.

    Errors: InvalidParameterError for a database that this code can't work on.
    """
    before = time.time()
    try:
        answer = revisions.said_by(url)
    except SQLAlchemyError:
        return
    if (off := judge_clock(before, answer.now, time.time())) is not None:
        log.error("the clock is off", note=off)
    if answer.revisions is None:
        raise InvalidParameterError("DATABASE_URL", revisions.MAY_NOT_ASK)
    if (why := revisions.behind(answer.revisions)) is not None:
        raise InvalidParameterError("DATABASE_URL", why)
    if (newer := revisions.ahead(answer.revisions)) is not None:
        log.warning("the database is ahead of this code", note=newer)


@contextmanager
def refusals() -> Iterator[None]:
    """A setting that is refused inside the block ends the process."""
    try:
        yield
    except ValidationError as error:
        _refuse(
            "; ".join(
                _sentence(one) for one in error.errors(include_input=False, include_url=False)
            )
        )
    except InvalidParameterError as error:
        _refuse(str(error))


def _refuse(sentence: str) -> None:
    log.error("configuration refused", error=" ".join(sentence.split()))
    sys.exit(EXIT_CODE)


def _sentence(error: ErrorDetails) -> str:
    """The variable, what is wrong with it, and what it is."""
    name = str(error["loc"][0])
    says = error["msg"].removeprefix("Value error, ")
    field = Settings.model_fields.get(name)
    return f"{name.upper()}: {says}" + (
        f" ({field.description})" if field is not None and field.description else ""
    )
