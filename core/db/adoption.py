"""A database from before 0.1.0, which became one migration: what it has that no code uses any more
goes, it is recorded at that migration, and its rows stay.
"""

from alembic.util import CommandError
from sqlalchemy import Connection

from core.db import locks, revisions
from core.db.migrations import grants

# what is said of each, and how it is done
GOES = {
    "job_run.epoch: dropped, nothing reads it": "alter table job_run drop column epoch",
    "task_claim.address, task_claim.funder: dropped, task_claim.groups has both": (
        "update task_claim set groups = array_remove("
        "array[person, address, 'wallet:' || substr(funder, 8)], null) where groups = '{}';"
        "alter table task_claim drop column address, drop column funder"
    ),
    "wci_daily: dropped, published_day has its days": "drop table wci_daily",
    "market_summary.wci, market_summary.wci_at: dropped, published_day has them": (
        "alter table market_summary drop column wci, drop column wci_at"
    ),
    "fund_index_day, fund_index_member: dropped, published_day has their days": (
        "drop table fund_index_member, fund_index_day"
    ),
    "fund_index.day: dropped, published_day has it": "alter table fund_index drop column day",
    "owner_alert: alerts `public_stop_off` are called `money_at_cost`": """
        update owner_alert set kind = 'money_at_cost' where kind = 'public_stop_off';
        alter table owner_alert drop constraint ck_owner_alert_kind;
        alter table owner_alert add constraint ck_owner_alert_kind check (kind in (
            'keeper_change', 'money_at_cost', 'record_held', 'hl_key_lost', 'agent_wallet_linked',
            'agent_recovered'
        ));
    """,
    "listing_state.source: recorded answers are no source of their own any more": """
        update listing_state set source = 'live' where source = 'replay';
        alter table listing_state drop constraint ck_listing_state_source;
        alter table listing_state add constraint ck_listing_state_source
            check (source in ('live', 'simulated'));
    """,
}


def adopt(connection: Connection) -> list[str]:
    """What was done, a sentence each; empty: it was done before. All of it happens, or nothing.

    The connection must be the owner's, and no process of before 0.1.0 may run.
    Errors: CommandError for a database that is at another migration.
    """
    with connection.begin():
        locks.MIGRATION.wait(connection)
        found = revisions.recorded(connection)
        if found != [revisions.LAST_BEFORE]:
            if (why := revisions.behind(found)) is not None:
                raise CommandError(f"The database is not adopted: {why}")
            return []
        as_it_stands = connection.execution_options(no_parameters=True)
        for statement in GOES.values():
            as_it_stands.exec_driver_sql(statement)
        connection.exec_driver_sql(
            "update alembic_version set version_num = %s", (revisions.oldest(),)
        )
        grants.apply(connection)
    return list(GOES)
