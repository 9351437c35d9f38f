"""Where migration 0102 begins the mark up to which uses of sponsored buys are confirmed: below
whatever was not proved before, and not below what was.
"""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from core.db import migrate
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from tests.integration.databases import execute, url_of

BLOCKS = """
insert into chain_block (chain_id, hash, number, parent_hash, ts, canonical, seen_at)
select 1, decode(lpad(to_hex(n), 64, '0'), 'hex'), n, '\\x00', 1000000 + n * 1000, true, now()
from generate_series(1, 100) n;
insert into chain_block (chain_id, hash, number, parent_hash, ts, canonical, seen_at)
values (1, '\\xff', 60, '\\x00', 1060000, false, now());
insert into chain_cursor (name, chain_id, number, hash, epoch, updated_at)
select 'safe', 1, number, hash, 7, now() from chain_block where number = 90;
insert into account (kind, name, created_at) values ('agent', 'one', now())
"""
# made at the time of block 50, and each of its nonces used in a block
BUY = """
insert into sponsored_buy (id, chain_id, account_id, buyer, recipient, reserve_token, batch, treasury, amount_usdc_e6,
    fee_usdc_e6, credit_usdc_e6, tokens, min_tokens, salt, buy_nonce, fee_nonce, covers_wei, valid_before, expires_at,
    created_at, requests)
select 'sb', 1, id, '', '', '', '', '', 1, 1, 0, 1, 1, '', '\\x01', '\\x02', 1, 1051800, now(), to_timestamp(1050000), 0
from account;
insert into sponsored_use (chain_id, block_hash, log_index, number, tx_hash, nonce, use)
select 1, hash, 0, number, '', '\\x01', 'paid' from chain_block where number = 51
"""
PROOF = "insert into sponsored_proof (chain_id, nonce, block_hash, is_used, by, at) select 1, {}, now() from chain_block where number = {}"
OF_THE_USE = PROOF.format("'\\x01', hash, true, 'nodes'", 51)
OF_NONE = PROOF.format("'\\x02', hash, false, 'nodes'", 60)


@pytest.fixture
def older(postgres: EmbeddedPostgres) -> Iterator[Database]:
    execute(postgres, "create database {}", "sponsored_mark")
    url = url_of(postgres, "sponsored_mark")
    migrate.upgrade(url, "0100")
    database = Database(url)
    yield database
    database.close()
    execute(postgres, "drop database {} with (force)", "sponsored_mark")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "number"),
    [
        ((BLOCKS,), 90),
        ((BLOCKS, BUY, OF_THE_USE, OF_NONE + " and canonical"), 90),
        ((BLOCKS, BUY, OF_THE_USE), 46),  # an hour before, exclusive
        ((BLOCKS, BUY, OF_NONE + " and canonical"), 46),
        ((BLOCKS, BUY, OF_THE_USE, OF_NONE + " and not canonical"), 46),
        ((), None),
    ],
    ids=["no buy", "all is proved", "a lapse is not", "a use is not", "in an orphan", "no record"],
)
def test_the_mark__begins_below_what_is_not_proved(
    older: Database, before: tuple[str, ...], number: int | None
) -> None:
    for statements in before:
        with older.write() as session:
            plain = session.connection(execution_options={"no_parameters": True})
            plain.exec_driver_sql(statements)
    migrate.upgrade(older.engine.url.render_as_string(hide_password=False))
    with older.read() as session:
        query = "select number, epoch from chain_cursor where name = 'sponsored_confirmed'"
        found = session.execute(text(query)).one_or_none()
    assert (None if found is None else tuple(found)) == (None if number is None else (number, 7))
