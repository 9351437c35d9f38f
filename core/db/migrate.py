"""Migrations of the database:

    mandate-wallet migrate upgrade          bring the database to the newest revision
    mandate-wallet migrate adopt            take over a database from before 0.1.0, and say what was done
    mandate-wallet migrate current          name its revision
    mandate-wallet migrate check            say where the tables of the code differ from it
    mandate-wallet migrate draft "words"    write the next migration from these differences; read it before use

The database is DATABASE_URL's. A URL may stand after the command instead, if it holds no password:
who may list processes reads their arguments.
"""

# A column added to a tables.py needs a new migration (`draft` on an upgraded, empty
# database); tests/integration/core/db/test_migrations.py fails as long as tables and migrations differ.

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.util import CommandError
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Connection, create_engine, make_url, pool
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from core.db import adoption
from core.db.base import Base
from core.db.outage import OutageError, log_outages
from core.db.revisions import behind, newest, oldest, recorded
from core.errors import InvalidParameterError
from core.settings import asked_database_url

Answer = TypeVar("Answer")

MIGRATIONS = Path(__file__).parent / "migrations"
URL_FORM = "write postgresql+psycopg://user:password@host/name"
URL_RULE = f"The URL is not one of a database: {URL_FORM}"


def upgrade(url: str, to: str = "head") -> None:
    """Bring the database to the newest revision, or to that one; nothing happens when it is there.

    Safe from several processes at once. Errors: CommandError for a revision that is not known here.
    """

    def work(connection: Connection) -> None:
        found = recorded(connection)
        if found and found[0] < oldest():
            raise CommandError(f"The database is not upgraded: {behind(found)}")
        connection.rollback()
        command.upgrade(_config(connection), to)

    _with_connection(url, work)


def adopt(url: str) -> list[str]:
    """What was done to a database from before 0.1.0; empty: it was done before.

    Errors: CommandError for a database that is at a migration which this code does not know.
    """
    return _with_connection(url, adoption.adopt)


def current(url: str) -> str | None:
    """The database's revision, or several with `and`; None when it was never migrated."""
    return " and ".join(_with_connection(url, recorded)) or None


def differences(url: str) -> list[str]:
    """Where the loaded tables and the migrated database differ; empty = they agree."""
    return _with_connection(url, _differences)


def draft(url: str, words: str) -> None:
    """Write the next migration file from where the loaded tables differ."""
    _with_connection(
        url,
        lambda connection: command.revision(
            _config(connection), words, autogenerate=True, rev_id=f"{int(newest()) + 1:04d}"
        ),
    )


def _differences(connection: Connection) -> list[str]:
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "compare_server_default": True}
    )
    return [repr(difference) for difference in compare_metadata(context, Base.metadata)]


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    return config


def _with_connection(url: str, work: Callable[[Connection], Answer]) -> Answer:
    engine = create_engine(
        url,
        poolclass=pool.NullPool,
        connect_args={"application_name": "mandate migrate", "connect_timeout": 5},
    )
    log_outages(engine)
    with engine.connect() as connection:
        return work(connection)


def main(arguments: list[str], import_tables: Callable[[], None]) -> int:
    """`import_tables`: loads all tables that the code has. The exit code."""
    try:
        return _run(arguments, import_tables)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{URL_RULE} ({error}).\n")
    except ArgumentError:
        sys.stderr.write(f"{URL_RULE}.\n")
    except InvalidParameterError as error:
        sys.stderr.write(f"{error}.\n")
    except OutageError as error:
        sys.stderr.write(f"{error}\n")
    except OperationalError:
        sys.stderr.write("The database does not answer; check the URL's host, port and password.\n")
    except CommandError as error:  # a revision that this code does not know, one that is behind
        sys.stderr.write(f"{str(error).rstrip('.')}. This code knows up to {newest()}.\n")
    except ProgrammingError as error:
        if not isinstance(error.orig, InsufficientPrivilege):
            raise
        sys.stderr.write(
            f"{error.orig.diag.message_primary}; name the role that owns the tables.\n"
        )
    return 1


def _run(arguments: list[str], import_tables: Callable[[], None]) -> int:
    if {"-h", "--help"} & {*arguments}:
        sys.stdout.write(__doc__)
        return 0
    match arguments:
        case _ if any(one.startswith("-") for one in arguments):
            sys.stderr.write(__doc__)
            return 2
        case ["upgrade", *given] if len(given) < 2:
            upgrade(_url_of(given))
        case ["adopt", *given] if len(given) < 2:
            url = _url_of(given)
            done = adopt(url) or ["nothing to do"]
            sys.stdout.write("\n".join([*done, f"the database is at {current(url)}"]) + "\n")
        case ["current", *given] if len(given) < 2:
            sys.stdout.write(f"{current(_url_of(given)) or 'never migrated'}\n")
        case ["check", *given] if len(given) < 2:
            import_tables()
            found = differences(_url_of(given))
            sys.stdout.write("\n".join(found or ["the tables and the database agree"]) + "\n")
            return 1 if found else 0
        case ["draft", *given, words] if len(given) < 2:
            if not (MIGRATIONS.parents[2] / "pyproject.toml").exists():
                sys.stderr.write("A migration is written in a checkout, and this is a package.\n")
                return 1
            import_tables()
            draft(_url_of(given), words)
        case _:
            sys.stderr.write(__doc__)
            return 2
    return 0


def _url_of(given: Sequence[str]) -> str:
    """Errors: InvalidParameterError when neither the command nor the environment names one."""
    url = given[0] if given else asked_database_url()
    if not url:
        raise InvalidParameterError("DATABASE_URL", f"it is not set: {URL_FORM}")
    return make_url(url).render_as_string(hide_password=False)
