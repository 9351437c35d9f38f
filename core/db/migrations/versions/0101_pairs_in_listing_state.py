"""What an exchange tells of a pair is part of the pair's state: `listing_state` takes it from
`market_listing`, which goes. So does `arb_hour`, which summed the rows of `arb_asset_hour`, and what nothing reads: `scan_run`,
columns of `venue_state` and `arb_episode`, and three that `listing_state` had of the samples.
"""

from alembic import op

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None

REFER = {
    "arb_observation": ("buy_id", "sell_id"),
    "market_usual": ("listing_id",),
    "microburst": ("listing_id",),
    "shadow_trade": ("buy_id", "sell_id"),
    "warning_event": ("listing_id",),
}
NAMES = [f"{table}.fk_{table}_{column}" for table, columns in REFER.items() for column in columns]
NEW = (
    *("native_id", "native_base", "uq_listing_state_exchange_native_id", "ck_listing_state_status"),
    *("fk_listing_state_asset_id", "fk_listing_state_listing_id"),
)
UNREAD = {
    "arb_episode": ("best_net_1k_bps",),
    "venue_state": ("networks", "markets_at", "networks_at", "notices_at"),
    "listing_state": ("venue_at", "received_at", "fault_at"),
}
GONE = ["market_listing", "arb_hour", "scan_run"]
# No release ended at 0100, with which version 0.1.0 begins: nothing runs beside this.
UNUSED_SINCE = dict.fromkeys(
    [
        *GONE,
        *(f"{table}.{column}" for table, columns in UNREAD.items() for column in columns),
        *(f"listing_state.{name}" for name in NEW),
        *NAMES,
    ],
    "0100",
)

TAKEN = """
alter table listing_state add native_id text, add native_base text, add min_size_quote float8,
    add listed_at timestamptz, add delisted_at timestamptz;
update listing_state s set native_id = l.native_id, native_base = l.native_base, min_size_quote = l.min_size_quote,
    listed_at = l.listed_at, delisted_at = l.delisted_at
from market_listing l where l.listing_id = s.listing_id;
alter table listing_state alter native_id set not null, alter native_base set not null,
    add constraint uq_listing_state_exchange_native_id unique (exchange, native_id),
    add constraint ck_listing_state_status check (status in ('trading', 'halted', 'delisted')),
    add constraint fk_listing_state_asset_id foreign key (asset_id) references market_asset,
    drop constraint fk_listing_state_listing_id,
    add constraint fk_listing_state_listing_id foreign key (listing_id) references listing;
create index ix_listing_state_asset_id_exchange on listing_state (asset_id, exchange);
drop index ix_listing_state_asset_id
"""


def upgrade() -> None:
    op.execute(TAKEN)
    for table, columns in REFER.items():
        for column in columns:
            name = f"fk_{table}_{column}"
            op.drop_constraint(name, table)
            op.create_foreign_key(name, table, "listing_state", [column], ["listing_id"])
    for table in GONE:
        op.drop_table(table)
    for table, columns in UNREAD.items():
        for column in columns:
            op.drop_column(table, column)
