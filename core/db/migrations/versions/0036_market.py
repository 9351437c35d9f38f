"""What venues say and what is measured of it (0036_market.sql): samples and roll-ups in partitions,
grades, states, transfers, notices, the ledger of warnings, gaps between venues.
"""

from pathlib import Path

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
APPEND_ONLY = (
    "transfer_event",
    "market_notice",
    "market_outcome",
    "warning_event",
    "wci_daily",
    "onchain_day",
)

# Whoever writes samples need not own the tables: these three functions act as their owner does, on
# these three tables alone. A partition is made beside its parent and then attached, for which no
# reader and no writer waits.
PARTS = (
    "create schema if not exists market_parts",
    """
create function market_ensure_parts(parent text, first timestamptz, last timestamptz)
returns integer language plpgsql security definer
set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    unit text := case parent when 'snap_1m' then 'day'
                             when 'snap_2h' then 'month'
                             when 'grade_hour' then 'month' end;
    since timestamptz;
    name text;
    made integer := 0;
begin
    if unit is null then
        raise exception 'market_ensure_parts: % has no partitions', parent;
    end if;
    if last - first > interval '400 days' then
        raise exception 'market_ensure_parts: % to % is too long', first, last;
    end if;
    since := date_trunc(unit, first);
    while since <= last loop
        name := parent || to_char(since, case unit when 'day' then '_YYYYMMDD' else '_YYYYMM' end);
        if to_regclass('market_parts.' || name) is null then
            execute format('lock table public.%I in share update exclusive mode', parent);
            if to_regclass('market_parts.' || name) is null then
                execute format('create table market_parts.%I (like public.%I including all)', name, parent);
                execute format(
                    'alter table public.%I attach partition market_parts.%I for values from (%L) to (%L)',
                    parent, name, since, since + ('1 ' || unit)::interval);
                made := made + 1;
            end if;
        end if;
        since := since + ('1 ' || unit)::interval;
    end loop;
    return made;
end $$
""",
    r"""
create function market_drop_parts(parent text, before timestamptz)
returns integer language plpgsql security definer
set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    part record;
    gone integer := 0;
begin
    if parent not in ('snap_1m', 'snap_2h', 'grade_hour') then
        raise exception 'market_drop_parts: % has no partitions', parent;
    end if;
    for part in
        select c.relname as name,
               (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz as ends
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = ('public.' || parent)::regclass
    loop
        if part.ends <= before then
            execute format('drop table market_parts.%I', part.name);
            gone := gone + 1;
        end if;
    end loop;
    return gone;
end $$
""",
    r"""
create function market_thin_parts(parent text, before timestamptz, keep bigint[])
returns integer language plpgsql security definer
set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    part record;
    thinned integer := 0;
begin
    if parent <> 'snap_1m' then
        raise exception 'market_thin_parts: % is not thinned', parent;
    end if;
    for part in
        select c.relname as name, b.found[1]::timestamptz as since, b.found[2]::timestamptz as ends
        from pg_inherits i join pg_class c on c.oid = i.inhrelid,
             regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)') b(found)
        where i.inhparent = ('public.' || parent)::regclass and c.relname not like '%\_kept'
    loop
        if part.ends <= before then
            execute format('create table market_parts.%I (like public.%I including all)', part.name || '_kept', parent);
            execute format('insert into market_parts.%I select * from market_parts.%I where listing_id = any($1)',
                           part.name || '_kept', part.name) using keep;
            execute format('drop table market_parts.%I', part.name);
            execute format(
                'alter table public.%I attach partition market_parts.%I for values from (%L) to (%L)',
                parent, part.name || '_kept', part.since, part.ends);
            thinned := thinned + 1;
        end if;
    end loop;
    return thinned;
end $$
""",
    "revoke all on function market_thin_parts(text, timestamptz, bigint[]) from public",
    "revoke all on function market_ensure_parts(text, timestamptz, timestamptz) from public",
    "revoke all on function market_drop_parts(text, timestamptz) from public",
)

# No warning is dated back: the database holds each row to its own clock and to the row before it.
# Imported history comes before every other row, so nothing can be slipped in later.
DATED = (
    """
create function refuse_dated_warning() returns trigger language plpgsql as $$
declare
    prior record;
begin
    select at, row_hash, is_imported into prior from warning_event where seq = new.seq - 1;
    if found is distinct from (new.seq > 1) then
        raise exception 'warning_event: seq % does not follow the last row', new.seq;
    end if;
    if new.seq > 1 and (prior.row_hash <> new.prev_hash or new.at < prior.at) then
        raise exception 'warning_event: seq % does not continue the row before it', new.seq;
    end if;
    if new.is_imported and (new.at > clock_timestamp() or (new.seq > 1 and not prior.is_imported)) then
        raise exception 'warning_event: history is past, and imported before any other row';
    end if;
    if not new.is_imported and new.at not between clock_timestamp() - interval '1 minute' and clock_timestamp() then
        raise exception 'warning_event: a warning is dated when it is written';
    end if;
    return new;
end $$
""",
    """
create trigger warning_event_is_dated before insert on warning_event
for each row execute function refuse_dated_warning()
""",
)
TABLES = (
    *("warning_standing", "warning_head", "warning_event", "wci_daily"),
    *("market_outcome", "market_notice", "transfer_event", "network_status"),
    *("asset_state", "listing_state", "onchain_day", "microburst"),
    *("arb_hour", "arb_episode", "arb_change", "arb_multi", "arb_observation"),
    *("scan_run", "venue_state", "market_summary", "market_history", "market_tag", "market_count"),
    *("grade_hour", "snap_2h", "snap_1m", "market_listing", "market_asset"),
)


def upgrade() -> None:
    for statement in filter(str.strip, Path(__file__).with_suffix(".sql").read_text().split(";\n")):
        op.execute(statement)
    for statement in (*PARTS, *DATED):
        op.execute(statement)
    for table in APPEND_ONLY:
        op.execute(GUARD.format(table=table))
    # updated each minute, in place
    op.execute("alter table listing_state set (fillfactor = 70)")


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
    op.execute(
        "drop function market_ensure_parts, market_drop_parts, market_thin_parts, refuse_dated_warning"
    )
    op.execute("drop schema market_parts cascade")
