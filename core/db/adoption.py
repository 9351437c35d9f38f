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
    "wci_daily: dropped, published_day has its days": """
        insert into published_day (subject, day, version, as_of, computed_at, cause, rules, figures)
        select 'warning_statistics', day, 1, max(computed_at), max(computed_at), 'first', 'wci_v1',
               jsonb_object_agg(version, figures || jsonb_build_object('definition', definition))
        from wci_daily group by day on conflict do nothing;
        drop table wci_daily;
    """,
    "market_summary.wci, market_summary.wci_at: dropped, published_day has them": (
        "alter table market_summary drop column wci, drop column wci_at"
    ),
    "fund_index_day, fund_index_member: dropped, published_day has their days": """
        insert into published_day (subject, day, version, as_of, computed_at, cause, rules, figures)
        select 'fund_index:' || d.index_id, d.day, 1, d.at, d.at, 'first', 'indices_v1',
               jsonb_build_object('delivery_chain', d.delivery_chain, 'is_simulated', d.is_simulated, 'members',
                   coalesce(jsonb_agg(to_jsonb(m) - 'index_id' - 'day' order by m.ticker)
                            filter (where m.ticker is not null), '[]'))
        from fund_index_day d left join fund_index_member m on m.index_id = d.index_id and m.day = d.day
        group by d.index_id, d.day on conflict do nothing;
        drop table fund_index_member, fund_index_day;
    """,
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
    "reserve_total, reserve_touched: dropped, each look at the reserve token sums the rows": """
        drop function reserve_event_counted, reserve_block_counted, reserve_conversion_counted,
            reserve_converted_counted, reserve_credit_counted, reserve_event_part, reserve_conversion_count,
            reserve_converted_count, reserve_count, reserve_touch cascade;
        drop table reserve_total, reserve_touched;
        alter table reserve_reading drop column audited_number, drop column audited_at,
            drop column compared_account_id;
    """,
    "market_look, market_loose_parts, market_attach_part: dropped, nothing calls them": (
        "drop function market_attach_part(text, timestamptz);"
        "drop function market_loose_parts(text, timestamptz, timestamptz);"
        "drop type market_look"
    ),
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
            is_adopted = len(found) == 1 and found[0] in revisions.known()
            if (why := revisions.behind(found)) is not None and not is_adopted:
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
