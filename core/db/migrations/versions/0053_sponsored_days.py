"""In what a sponsored buy counts for a day; running totals without a row that all writers change; which
accounts were compared last, and up to where the record was right.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

# A moved total is a row of its own: one row that a transaction changes a thousand times has a thousand
# versions until it ends, and whoever else moves it waits.
COUNT = """
create or replace function reserve_count(chain bigint, counted text, d_rows bigint, d_amount numeric) returns void
language sql as $$
insert into reserve_total (chain_id, part, rows, amount) values (chain, counted, d_rows, d_amount)
$$
"""
# Once for each account and transaction: whoever reads sees all of a transaction, or nothing.
TOUCH = """
create function reserve_touch(account bigint) returns void language sql as $$
insert into reserve_touched as seen (account_id, touches, touched_by)
values (account, 1, pg_current_xact_id()::text::bigint)
on conflict (account_id) do update set touches = seen.touches + 1, touched_by = excluded.touched_by
where seen.touched_by is distinct from excluded.touched_by
$$
"""
OLD_COUNT = """
create or replace function reserve_count(chain bigint, counted text, d_rows bigint, d_amount numeric) returns void
language sql as $$
insert into reserve_total as one (chain_id, part, rows, amount) values (chain, counted, d_rows, d_amount)
on conflict (chain_id, part) do update set rows = one.rows + excluded.rows, amount = one.amount + excluded.amount
$$
"""
OLD_TOUCH = """insert into reserve_touched as seen (account_id, touches) values ({account}, 1)
    on conflict (account_id) do update set touches = seen.touches + 1"""
TOUCHING = """
create or replace function reserve_conversion_count(one reserve_conversion, sign integer) returns void
language plpgsql as $$
begin
  perform reserve_count(one.chain_id, case when one.status = 'reversed' then 'reversed' else 'conversions' end,
                        sign, sign * one.usdc_e6);
  if one.status = 'credited' then
    perform reserve_count(one.chain_id, 'credited', sign, sign * one.usdc_e6);
    {of_one};
  end if;
end $$;
create or replace function reserve_converted_count(one reserve_converted, sign integer) returns void
language plpgsql as $$
begin
  perform reserve_count(0, 'sums', sign, sign * one.usdc_e6);
  perform reserve_count(0, 'worth', sign, sign * div(one.usdc_e6, 10000));
  {of_one};
end $$;
create or replace function reserve_credit_counted() returns trigger language plpgsql as $$
begin
  perform reserve_count(0, 'credits', 1, -new.counter_delta);
  {of_new};
  return null;
end $$
"""
COUNTED = ("sponsored_buy", "outbox_queue")
OLD_SCOPES = """
update {table} set gas_scopes = array['sponsor:account:' || account_id, 'sponsor:total'] where {where}
"""
ACCEPTED = "accepted_at is not null"


def upgrade() -> None:
    for table in COUNTED:
        op.add_column(table, sa.Column("gas_scopes", ARRAY(sa.Text()), nullable=True))
    op.execute(OLD_SCOPES.format(table="sponsored_buy", where=ACCEPTED))
    op.execute(OLD_SCOPES.format(table="outbox_queue", where="purse = 'sponsor'"))
    op.create_check_constraint(
        op.f("ck_sponsored_buy_counted"),
        "sponsored_buy",
        "(accepted_at is null) = (gas_scopes is null)",
    )
    op.create_index(
        "ix_sponsored_buy_accepted_at",
        "sponsored_buy",
        ["accepted_at"],
        postgresql_where=sa.text(ACCEPTED),
    )
    op.drop_constraint("pk_reserve_total", "reserve_total", type_="primary")
    op.add_column(
        "reserve_total", sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False)
    )
    op.create_primary_key("pk_reserve_total", "reserve_total", ["id"])
    op.add_column("reserve_touched", sa.Column("touched_by", sa.BigInteger(), nullable=True))
    op.execute(COUNT)
    op.execute(TOUCH)
    op.execute(
        TOUCHING.format(
            of_one="perform reserve_touch(one.account_id)",
            of_new="perform reserve_touch(new.account_id)",
        )
    )
    for column in ("compared_account_id", "right_number"):
        op.add_column("reserve_reading", sa.Column(column, sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for column in ("right_number", "compared_account_id"):
        op.drop_column("reserve_reading", column)
    op.execute(
        TOUCHING.format(
            of_one=OLD_TOUCH.format(account="one.account_id"),
            of_new=OLD_TOUCH.format(account="new.account_id"),
        )
    )
    op.execute("drop function reserve_touch(bigint)")
    op.drop_column("reserve_touched", "touched_by")
    op.execute(
        "with moved as (delete from reserve_total returning chain_id, part, rows, amount)"
        " insert into reserve_total (chain_id, part, rows, amount)"
        " select chain_id, part, sum(rows), sum(amount) from moved group by 1, 2"
    )
    op.drop_constraint("pk_reserve_total", "reserve_total", type_="primary")
    op.drop_column("reserve_total", "id")
    op.create_primary_key("pk_reserve_total", "reserve_total", ["chain_id", "part"])
    op.execute(OLD_COUNT)
    op.drop_index("ix_sponsored_buy_accepted_at", table_name="sponsored_buy")
    op.drop_constraint(op.f("ck_sponsored_buy_counted"), "sponsored_buy", type_="check")
    for table in COUNTED:
        op.drop_column(table, "gas_scopes")
