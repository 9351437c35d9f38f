"""Where settings become values: what is wrong with them ends the process at once, with one line
that says what to write, and exit code 2.

The line is logged in the format that was asked for, without a traceback, and shows no value: a
value may be a secret.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from sqlalchemy.exc import SQLAlchemyError

from core.db import revisions
from core.db.metadata import import_tables
from core.errors import InvalidParameterError
from core.logs import configure_logs
from core.settings import Settings, asked_log_format

EXIT_CODE = 2


def read_settings(*, answers: bool = False) -> Settings:
    """The environment's settings, with the logs set up and the tables of all contexts loaded.

    `answers`: stdout is for a command's answer, so that logs go to stderr.
    """
    import_tables()
    configure_logs(asked_log_format(), sys.stderr if answers else None)
    with refusals():
        settings = Settings()
        if not answers:
            require_migrated(settings.database_url)
    return settings


def require_migrated(url: str) -> None:
    """A database that does not answer yet is waited for later, by who needs it.

    Errors: InvalidParameterError for one that this code can't work on.
    """
    try:
        found = revisions.recorded_at(url)
    except SQLAlchemyError:
        return
    if found is None:
        rule = revisions.MAY_NOT_ASK
    elif (why := revisions.behind(found)) is not None:
        rule = why
    else:
        if (newer := revisions.ahead(found)) is not None:
            structlog.get_logger("startup").warning(
                "the database is ahead of this code", note=newer
            )
        return
    raise InvalidParameterError("DATABASE_URL", rule)


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
    structlog.get_logger("startup").error("configuration refused", error=" ".join(sentence.split()))
    sys.exit(EXIT_CODE)


def _sentence(error: ErrorDetails) -> str:
    """The variable, what is wrong with it, and what it is."""
    name = str(error["loc"][0])
    says = error["msg"].removeprefix("Value error, ")
    field = Settings.model_fields.get(name)
    return f"{name.upper()}: {says}" + (
        f" ({field.description})" if field is not None and field.description else ""
    )
