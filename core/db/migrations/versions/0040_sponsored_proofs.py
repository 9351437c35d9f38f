"""What verdicts on sponsored buys rest on; running totals of the reserve token's conversions, kept by
the transaction that changes them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

HASH = sa.LargeBinary(32)
AT = sa.DateTime(timezone=True)

# One row of a table counts in one part, or in none. `reserve_counted` moves it from the part where
# it counted to the one where it counts; a chain's blocks move the events in them.
TOTALS = """
create function reserve_count(chain bigint, counted text, d_rows bigint, d_amount numeric) returns void
language sql as $$
insert into reserve_total as one (chain_id, part, rows, amount) values (chain, counted, d_rows, d_amount)
on conflict (chain_id, part) do update set rows = one.rows + excluded.rows, amount = one.amount + excluded.amount
$$;

create function reserve_event_part(event reserve_event) returns text language sql stable as $$
select case when event.kind <> 'converted' then null
  when exists (select from chain_block b where b.chain_id = event.chain_id and b.hash = event.block_hash and not b.canonical)
  then 'replaced' else 'events' end
$$;

create function reserve_event_counted() returns trigger language plpgsql as $$
declare part text;
begin
  if tg_op <> 'INSERT' then
    part := reserve_event_part(old);
    if part is not null then perform reserve_count(old.chain_id, part, -1, -old.usdc_e6); end if;
  end if;
  if tg_op <> 'DELETE' then
    part := reserve_event_part(new);
    if part is not null then perform reserve_count(new.chain_id, part, 1, new.usdc_e6); end if;
  end if;
  return null;
end $$;
create trigger reserve_event_is_counted after insert or update or delete on reserve_event
for each row execute function reserve_event_counted();

create function reserve_block_counted() returns trigger language plpgsql as $$
declare
  block chain_block := case when tg_op = 'DELETE' then old else new end;
  is_replaced boolean := tg_op <> 'DELETE' and not block.canonical;
  events bigint;
  usdc numeric;
begin
  select count(*), coalesce(sum(usdc_e6), 0) into events, usdc from reserve_event
   where chain_id = block.chain_id and block_hash = block.hash and kind = 'converted';
  if events > 0 then
    perform reserve_count(block.chain_id, case when is_replaced then 'events' else 'replaced' end, -events, -usdc);
    perform reserve_count(block.chain_id, case when is_replaced then 'replaced' else 'events' end, events, usdc);
  end if;
  return null;
end $$;
create trigger reserve_block_is_counted after update on chain_block
for each row when (old.canonical is distinct from new.canonical) execute function reserve_block_counted();
create trigger reserve_orphan_is_counted after insert on chain_block
for each row when (not new.canonical) execute function reserve_block_counted();
create trigger reserve_dropped_orphan_is_counted after delete on chain_block
for each row when (not old.canonical) execute function reserve_block_counted();

create function reserve_conversion_count(one reserve_conversion, sign integer) returns void language plpgsql as $$
begin
  perform reserve_count(one.chain_id, case when one.status = 'reversed' then 'reversed' else 'conversions' end,
                        sign, sign * one.usdc_e6);
  if one.status = 'credited' then
    perform reserve_count(one.chain_id, 'credited', sign, sign * one.usdc_e6);
    insert into reserve_touched as seen (account_id, touches) values (one.account_id, 1)
    on conflict (account_id) do update set touches = seen.touches + 1;
  end if;
end $$;
create function reserve_conversion_counted() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then perform reserve_conversion_count(old, -1); end if;
  if tg_op <> 'DELETE' then perform reserve_conversion_count(new, 1); end if;
  return null;
end $$;
create trigger reserve_conversion_is_counted after insert or delete on reserve_conversion
for each row execute function reserve_conversion_counted();
create trigger reserve_changed_conversion_is_counted after update on reserve_conversion
for each row when (old.status in ('credited', 'reversed') or new.status in ('credited', 'reversed')
                   or (old.chain_id, old.usdc_e6) is distinct from (new.chain_id, new.usdc_e6))
execute function reserve_conversion_counted();

create function reserve_converted_count(one reserve_converted, sign integer) returns void language plpgsql as $$
begin
  perform reserve_count(0, 'sums', sign, sign * one.usdc_e6);
  perform reserve_count(0, 'worth', sign, sign * div(one.usdc_e6, 10000));
  insert into reserve_touched as seen (account_id, touches) values (one.account_id, 1)
  on conflict (account_id) do update set touches = seen.touches + 1;
end $$;
create function reserve_converted_counted() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then perform reserve_converted_count(old, -1); end if;
  if tg_op <> 'DELETE' then perform reserve_converted_count(new, 1); end if;
  return null;
end $$;
create trigger reserve_converted_is_counted after insert or update or delete on reserve_converted
for each row execute function reserve_converted_counted();

create function reserve_credit_counted() returns trigger language plpgsql as $$
begin
  perform reserve_count(0, 'credits', 1, -new.counter_delta);
  insert into reserve_touched as seen (account_id, touches) values (new.account_id, 1)
  on conflict (account_id) do update set touches = seen.touches + 1;
  return null;
end $$;
create trigger reserve_credit_is_counted after insert on credit_entry
for each row when (new.counter = 'reserve') execute function reserve_credit_counted();

insert into reserve_total (chain_id, part, rows, amount)
select chain_id, reserve_event_part(e), count(*), sum(usdc_e6) from reserve_event e where kind = 'converted' group by 1, 2
union all
select chain_id, case when status = 'reversed' then 'reversed' else 'conversions' end, count(*), sum(usdc_e6)
  from reserve_conversion group by 1, 2
union all
select chain_id, 'credited', count(*), sum(usdc_e6) from reserve_conversion where status = 'credited' group by 1
union all
select 0, 'sums', count(*), coalesce(sum(usdc_e6), 0) from reserve_converted
union all
select 0, 'worth', count(*), coalesce(sum(div(usdc_e6, 10000)), 0) from reserve_converted
union all
select 0, 'credits', count(*), coalesce(-sum(counter_delta), 0) from credit_entry where counter = 'reserve';
"""
TRIGGERS = (
    ("reserve_event_is_counted", "reserve_event"),
    ("reserve_block_is_counted", "chain_block"),
    ("reserve_orphan_is_counted", "chain_block"),
    ("reserve_dropped_orphan_is_counted", "chain_block"),
    ("reserve_conversion_is_counted", "reserve_conversion"),
    ("reserve_changed_conversion_is_counted", "reserve_conversion"),
    ("reserve_converted_is_counted", "reserve_converted"),
    ("reserve_credit_is_counted", "credit_entry"),
)
FUNCTIONS = (
    "reserve_credit_counted()",
    "reserve_converted_counted()",
    "reserve_converted_count(reserve_converted, integer)",
    "reserve_conversion_counted()",
    "reserve_conversion_count(reserve_conversion, integer)",
    "reserve_block_counted()",
    "reserve_event_counted()",
    "reserve_event_part(reserve_event)",
    "reserve_count(bigint, text, bigint, numeric)",
)


def upgrade() -> None:
    op.create_table(
        "sponsored_proof",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("nonce", HASH, nullable=False),
        sa.Column("block_hash", HASH, nullable=False),
        sa.Column("is_used", sa.Boolean(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "by in ('receipts', 'nodes', 'one_node')", name=op.f("ck_sponsored_proof_by")
        ),
        sa.PrimaryKeyConstraint("chain_id", "nonce", "block_hash", name=op.f("pk_sponsored_proof")),
    )
    op.create_table(
        "sponsored_dispute",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("nonce", HASH, nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("since", AT, nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("next_at", AT, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "nonce", name=op.f("pk_sponsored_dispute")),
    )
    _totals()


def _totals() -> None:
    op.create_table(
        "reserve_total",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.Numeric(78, 0), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "part", name=op.f("pk_reserve_total")),
    )
    op.create_table(
        "reserve_touched",
        sa.Column("account_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("touches", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_reserve_touched")),
    )
    op.add_column("reserve_reading", sa.Column("audited_number", sa.BigInteger(), nullable=True))
    op.add_column("reserve_reading", sa.Column("audited_at", AT, nullable=True))
    op.create_index(
        "ix_reserve_conversion_chain_id_number", "reserve_conversion", ["chain_id", "number"]
    )
    op.execute(TOTALS)


def downgrade() -> None:
    for trigger, table in TRIGGERS:
        op.execute(f"drop trigger {trigger} on {table}")
    for function in FUNCTIONS:
        op.execute(f"drop function {function}")
    op.drop_index("ix_reserve_conversion_chain_id_number", table_name="reserve_conversion")
    op.drop_column("reserve_reading", "audited_at")
    op.drop_column("reserve_reading", "audited_number")
    op.drop_table("reserve_touched")
    op.drop_table("reserve_total")
    op.drop_table("sponsored_dispute")
    op.drop_table("sponsored_proof")
