"""The database's part of `make preflight`: itself, its migrations, and what is before it."""

from collections.abc import Iterator

from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from core.db import migrate, revisions
from core.db.base import Base
from core.db.engine import Bounds, Database
from core.db.outage import SAYS, OutageError, OutageKind
from core.findings import PartFinding, right, wrong
from core.health.rules import judge_replica
from core.settings import Settings

SOON = Bounds(pool_size=2, overflow=2, pool_wait_s=3, connect_s=3, statement_s=5, lock_s=1)
AS_PROCESSES = Bounds(pool_size=1, overflow=0, connect_s=3)
LEAST_POSTGRES = 15
GIGABYTE = 10**9
# What keeps an acknowledged commit, and its right values, the best first.
KEEPS = {
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
}
# What each connection is to have, directly or through a pooler, which drops what the process asks for.
SAME = (
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "TimeZone",
    "DateStyle",
    "search_path",
    "synchronous_commit",
)
_SETTING = text("select current_setting(:name)")
# Tables of ours that the role can't read or add to: each process does both with every one.
_CLOSED = text(
    "select relname from pg_class where oid in (select to_regclass(one) from unnest(cast(:tables as text[])) as one)"
    " and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')) order by relname"
)


def durability_line(database: Database) -> PartFinding:
    """Whether what is acknowledged is kept. The role's and the database's own settings count too."""
    what = "commits"
    with database.read() as session:
        found = {name: session.scalar(_SETTING, {"name": name}) for name in KEEPS}
    if off := {name: value for name, value in found.items() if value not in KEEPS[name]}:
        name, value = next(iter(off.items()))
        return wrong(
            what,
            f"{name} is {value}: acknowledged writes may be lost; set it to {KEEPS[name][0]} "
            "(`alter system`, and `alter role ... reset` where the role has its own)",
        )
    return right(what, "acknowledged once they are on disk")


def database_lines(settings: Settings, database: Database) -> Iterator[PartFinding]:
    what, migrations = "database", "migrations"
    url = settings.database_url
    try:
        with database.read() as session:
            number, is_replica, is_read_only, size = session.execute(
                text(
                    "select current_setting('server_version_num')::int, pg_is_in_recovery(),"
                    " current_setting('default_transaction_read_only') = 'on',"
                    " pg_database_size(current_database())"
                )
            ).one()
    except OperationalError as error:
        yield wrong(
            what,
            f"no connection ({_reason(error)}): is it up, and is DATABASE_URL right?",
        )
        return
    version = number // 10_000
    if version < LEAST_POSTGRES:
        yield wrong(what, f"Postgres {version}: {LEAST_POSTGRES} or newer is needed")
    elif is_replica:
        yield wrong(what, "it is a replica and accepts no writes: set DATABASE_URL to the primary")
    elif is_read_only:
        yield wrong(what, SAYS[OutageKind.READ_ONLY])
    else:
        yield right(what, f"Postgres {version}, {size / GIGABYTE:.1f} GB")
    found = revisions.said_by(url).revisions
    if found is None:
        yield wrong(migrations, revisions.MAY_NOT_ASK)
    elif (why := revisions.behind(found) or revisions.ahead(found)) is not None:
        yield wrong(migrations, why)
    elif different := migrate.differences(url):
        yield wrong(
            migrations,
            f"at {found[0]}, but {len(different)} tables or columns differ from it, first "
            f"{different[0]:.120}: restore from a backup, or ask who changed them by hand",
        )
    else:
        yield right(migrations, f"at {found[0]}, the newest, and all tables are as it has them")
        yield _rights(database)


def _rights(database: Database) -> PartFinding:
    with database.read() as session:
        role = session.scalar(text("select current_user"))
        closed = session.scalars(_CLOSED, {"tables": list(Base.metadata.tables)}).all()
    if closed:
        return wrong(
            "role",
            f"{role} may not read or add to {len(closed)} tables, first {closed[0]}: name the owner's or "
            "mandate_app in DATABASE_URL; one that was made after the migrations gets its rights when "
            f"the owner runs `{revisions.COMMAND}` once more",
        )
    return right("role", f"{role} may read and add to every table")


def proxy_lines(settings: Settings, database: Database) -> Iterator[PartFinding]:
    """What is before the database: a pooler, and replicas that answer reads."""
    if settings.database_pooled_url is None and settings.database_read_url is None:
        return
    own = _identity(database)
    if settings.database_pooled_url is not None:
        yield _pooler(settings, settings.database_pooled_url, own)
    replicas = database.replicas
    if settings.database_read_url is None or replicas is None:
        return
    what = "replica"
    found = Database(settings.database_read_url, application_name="preflight", bounds=SOON)
    try:
        if _identity(found) != own:
            yield wrong(
                what, "it follows another database: set DATABASE_READ_URL to a replica of this one"
            )
        elif (note := judge_replica(lag_s := replicas.lag_s(), replicas.most_lag_s)) is not None:
            yield wrong(what, note)
        else:
            yield right(what, f"{lag_s:.0f} s behind")
    except OperationalError:
        yield wrong(what, judge_replica(None, 0) or "")
    finally:
        found.close()


def _pooler(settings: Settings, url: str, own: str) -> PartFinding:
    what = "pooler"
    pooled = Database(url, application_name="preflight", pooled_url=url, bounds=SOON)
    direct = Database(settings.database_url, application_name="preflight", bounds=AS_PROCESSES)
    try:
        if _identity(pooled) != own:
            return wrong(what, "it leads to another database: correct DATABASE_POOLED_URL")
        wanted, found = _settings_of(direct), _settings_of(pooled)
    except OperationalError as error:
        return wrong(
            what,
            f"no connection ({_reason(error)}): is PgBouncer up, and is DATABASE_POOLED_URL right?",
        )
    finally:
        pooled.close()
        direct.close()
    bound = found["statement_timeout"]
    if bound == "0":
        return wrong(
            what,
            "a statement through it has no bound: set connect_query in pgbouncer.ini "
            "(docs/operations/cluster/)",
        )
    for name, value in found.items():
        if value != wanted[name]:
            return wrong(
                what,
                f"{name} through it is {value}, and {wanted[name]} past it: set it in connect_query of "
                "pgbouncer.ini, or for the role (`alter role ... set`)",
            )
    return right(what, f"it leads to the same database, a statement may take {bound}")


def _settings_of(database: Database) -> dict[str, str]:
    with database.read() as session:
        return {name: str(session.scalar(_SETTING, {"name": name})) for name in SAME}


def _identity(database: Database) -> str:
    """What a database and its replicas share, and no other has."""
    statement = "select system_identifier::text from pg_control_system()"
    with database.read() as session:
        return str(session.execute(text(statement)).scalar_one())


def _reason(error: OperationalError) -> str:
    """Why the database refused the connection, in its own words; else what kind of error it was."""
    if isinstance(error, OutageError):
        return SAYS[error.kind]
    _, _, refused = str(error.orig).partition("FATAL:")
    return refused.splitlines()[0].strip() if refused.strip() else type(error.orig).__name__
