"""One mark says up to which block nodes agree about uses of sponsored buys, in place of a proof each.

It begins on the newest safe block before the oldest quote of which something is not proved, or on
the safe one where all are; what it then passes is confirmed again.
"""

from alembic import op

revision = "0102"
down_revision = "0101"
branch_labels = None
depends_on = None

UNUSED_SINCE = {"sponsored_proof": "0100", "sponsored_dispute": "0100"}

UPGRADE = """
with used as not materialized (
    select nonce, block_hash from sponsored_use where not exists (
        select from chain_block where hash = sponsored_use.block_hash and not canonical
    )
),
proof as not materialized (
    select nonce, block_hash, is_used from sponsored_proof where not exists (
        select from chain_block where hash = sponsored_proof.block_hash and not canonical
    )
),
unproved as (
    select extract(epoch from min(created_at)) as since from sponsored_buy
    where exists (
        select from unnest(array[buy_nonce, fee_nonce]) as of_buy (nonce)
        where case
            when exists (select from used where used.nonce = of_buy.nonce) then exists (
                select from used where used.nonce = of_buy.nonce and not exists (
                    select from proof
                    where is_used and proof.nonce = used.nonce and proof.block_hash = used.block_hash
                )
            )
            else not exists (select from proof where not is_used and proof.nonce = of_buy.nonce)
        end
    )
)
insert into chain_cursor (name, chain_id, number, hash, epoch, updated_at)
select 'sponsored_confirmed', block.chain_id, block.number, block.hash, safe.epoch, safe.updated_at
from chain_cursor safe
join chain_block block on block.chain_id = safe.chain_id and block.canonical
where
    safe.name = 'safe' and block.number <= safe.number
    and block.ts < coalesce((select since - 3600 from unproved), 'infinity')
order by block.number desc limit 1
on conflict do nothing;
create index ix_sponsored_use_number on sponsored_use (number);
drop table sponsored_proof, sponsored_dispute;
"""


def upgrade() -> None:
    op.execute(UPGRADE)
