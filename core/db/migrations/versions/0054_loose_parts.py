"""Partitions of the market that are filled before they are attached: two functions beside those of 0036,
on the same tables, acting as their owner does. And a sample as a type, so that a statement takes many
of them as one parameter.
"""

from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

# Made without indexes: they are built at once from the rows when the partition is attached, to which
# Postgres adds each index that its parent has. Until then nobody but its writer knows it. A partition
# that there is already is left alone and not told.
LOOSE = """
create function market_loose_parts(parent text, first timestamptz, last timestamptz)
returns table (part text, since timestamptz, ends timestamptz) language plpgsql security definer
set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    name text;
begin
    if parent not in ('snap_2h', 'grade_hour') then
        raise exception 'market_loose_parts: % is not filled so', parent;
    end if;
    if last - first > interval '400 days' then
        raise exception 'market_loose_parts: % to % is too long', first, last;
    end if;
    execute format('lock table public.%I in share update exclusive mode', parent);
    since := date_trunc('month', first);
    while since <= last loop
        name := parent || to_char(since, '_YYYYMM');
        ends := since + interval '1 month';
        if to_regclass('market_parts.' || name) is null then
            execute format('create table market_parts.%I (like public.%I including all excluding indexes)', name, parent);
            if session_user <> current_user then
                execute format('grant usage on schema market_parts to %I', session_user);
                execute format('grant insert on market_parts.%I to %I', name, session_user);
            end if;
            part := 'market_parts.' || name;
            return next;
        end if;
        since := ends;
    end loop;
end $$
"""
ATTACH = """
create function market_attach_part(parent text, since timestamptz)
returns void language plpgsql security definer
set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    name text := parent || to_char(since, '_YYYYMM');
begin
    if parent not in ('snap_2h', 'grade_hour') or since <> date_trunc('month', since) then
        raise exception 'market_attach_part: % has no partition from %', parent, since;
    end if;
    execute format('alter table public.%I attach partition market_parts.%I for values from (%L) to (%L)',
                   parent, name, since, since + interval '1 month');
end $$
"""
LOOK = """
create type market_look as (
    listing_id bigint, ts timestamptz, every_s integer, fault text,
    mid float8, spread_bps float8, bid_05_usd float8, ask_05_usd float8, bid_1_usd float8, ask_1_usd float8,
    bid_2_usd float8, ask_2_usd float8, slip_buy_1k_bps float8, slip_sell_1k_bps float8,
    slip_buy_10k_bps float8, slip_sell_10k_bps float8, imbalance float8, usd_per_quote float8,
    fx_source text, is_truncated boolean, volume_24h_usd float8, can_deposit boolean, can_withdraw boolean,
    venue_at timestamptz, received_at timestamptz
)
"""


def upgrade() -> None:
    op.execute(LOOK)
    op.execute(LOOSE)
    op.execute(ATTACH)
    for function in (
        "market_loose_parts(text, timestamptz, timestamptz)",
        "market_attach_part(text, timestamptz)",
    ):
        op.execute(f"revoke all on function {function} from public")


def downgrade() -> None:
    op.execute("drop function market_loose_parts, market_attach_part")
    op.execute("drop type market_look")
