"""What the application's role may do, for deployments that do not connect as the tables' owner.

Create the role `mandate_app` (with login and password), let the three processes connect as it, and
migrate as the owner. The grants are set again after every migration: tables are read and written,
but the rows of ledgers and logs, which a trigger guards, are only read and inserted (law 3). Functions make and drop
partitions as their owner. Where there is no such role nothing is done, and the triggers alone guard
the ledgers.
"""

from sqlalchemy import Connection, text

APPLICATION_ROLE = "mandate_app"
# the tables that the function of append_only.sql guards
_APPEND_ONLY = text(
    "select string_agg(distinct tgrelid::regclass::text, ', ') from pg_trigger"
    " where tgfoid = to_regproc('refuse_change_of_book')"
)


def apply(connection: Connection) -> None:
    """Grant and revoke. The connection must be the owner's; the caller commits."""
    if (
        connection.scalar(
            text("select 1 from pg_roles where rolname = :role"), {"role": APPLICATION_ROLE}
        )
        is None
    ):
        return
    kept = connection.scalar(_APPEND_ONLY)
    connection.execute(text(f"grant usage on schema public to {APPLICATION_ROLE}"))
    connection.execute(
        text(
            "grant select, insert, update, delete on all tables in schema public to "
            f"{APPLICATION_ROLE}"
        )
    )
    connection.execute(text(f"revoke update, delete, truncate on {kept} from {APPLICATION_ROLE}"))
    connection.execute(
        text(f"grant execute on all functions in schema public to {APPLICATION_ROLE}")
    )
    connection.execute(
        text(f"revoke insert, update, delete on alembic_version from {APPLICATION_ROLE}")
    )
