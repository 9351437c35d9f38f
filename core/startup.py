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
        return Settings()


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
