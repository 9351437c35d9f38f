"""From a block to the record: what the tip loop writes, and what it refuses to write."""

from typing import Any

import pytest
from sqlalchemy import func, select

from core.blocks import queries as repository
from core.blocks.queries import CursorMovedError
from core.blocks.tables import Adapter, ChainBlock, RawLogRow, Vault, VaultAgentRow
from core.chain.abi import encode_values, function, types_of
from core.chain.blocks import BlockHeader, TransactionReceipt
from core.chain.reader import LATEST, At
from core.db import leadership as leader
from core.db.leadership import LeadershipLostError
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.terms import UNPINNED, RuleKind
from core.mandate.tables import MandateEvent
from core.mandate.venues import test_venue
from indexer.chain.fetch import BlockContradictionError
from tests.integration.chain_fixtures import CHAIN_ID, USDC
from tests.integration.forger import FORGER, answering, forge_payment, list_forger
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import AGENT, DEPLOYER, KEEPER, OPERATOR, OWNER, STRANGER

Working = tuple[Issued, str]


def count(follower: Follower, table: type[object]) -> int:
    with follower.database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_funded_vault__makes_the_mandate_work(follower: Follower, working: Working) -> None:
    mandate, vault = working
    row = follower.mandate(mandate)
    assert (row.status, row.vault_address) == ("working", bytes.fromhex(vault[2:]))
    assert follower.story(mandate) == ["signed", "vault_created", "deposit"]
    follower.assert_sound(mandate, vault)


def test_a_mandates_life__stands_in_the_ledger_and_ends_at_nothing(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    chain, usdc = follower.deployed, follower.deployed.contracts["usdc"]
    chain.buy(vault, 40 * USDC)
    chain.succeed(OPERATOR, chain.contracts["test_venue"], test_venue.set_price(1_500_000))
    chain.sell(vault, 10 * USDC)
    chain.succeed(OWNER, vault, calldata.remove_agent())
    chain.succeed(OWNER, vault, calldata.set_agent(AGENT.address))
    chain.succeed(AGENT, vault, calldata.stop("done"))
    chain.succeed(
        OWNER,
        vault,
        calldata.unwind(
            [VaultCall(chain.contracts["test_venue_adapter"], 0, test_venue.sell(30 * USDC))]
        ),
    )
    chain.succeed(OWNER, vault, calldata.settle())
    chain.succeed(
        OWNER, vault, calldata.withdraw(usdc, OWNER.address, chain.reader.usdc_balance(vault))
    )
    follower.catch_up()
    assert follower.story(mandate)[3:] == [
        "move",
        "move",
        "agent_removed",
        "agent_set",
        "stop",
        "unwound",
        "payout",
        "withdraw",
    ]
    stop = next(row for row in follower.rows(mandate) if row.kind == "stop")
    assert (stop.reported_by, stop.payload["stopped"]["reason"]) == ("agent", "done")
    follower.assert_sound(mandate, vault)
    assert follower.state(mandate).cash_usdc_e6 == 0


def test_a_mark_at_the_floor__is_the_keepers_and_stops_in_the_same_block(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, 100 * USDC)
    follower.deployed.succeed(
        OPERATOR, follower.deployed.contracts["test_venue"], test_venue.set_price(500_000)
    )
    follower.deployed.succeed(KEEPER, vault, calldata.mark())
    follower.catch_up()
    mark, stop = follower.rows(mandate)[-2:]
    assert (mark.reported_by, stop.reported_by, stop.kind) == ("keeper", "keeper", "stop")
    assert (mark.block_hash, stop.payload["stopped"]["worth_usdc"]) == (
        stop.block_hash,
        "950.000000",
    )
    assert follower.mandate(mandate).status == "stopped"


def test_a_vault_of_unknown_terms__is_kept_without_a_mandate(follower: Follower) -> None:
    vault = follower.deployed.create_vault(follower.deployed.terms("m_unknown234"))
    follower.catch_up()
    with follower.database.read() as session:
        row = session.scalars(select(Vault)).one()
    assert (row.address, row.mandate_id, row.public_id) == (
        bytes.fromhex(vault[2:]),
        None,
        "m_unknown234",
    )
    assert count(follower, MandateEvent) == 0
    assert count(follower, RawLogRow) > 0


def test_listed_adapters__come_with_the_rules_that_they_publish(follower: Follower) -> None:
    follower.catch_up()
    with follower.database.read() as session:
        rows = {row.address: row for row in session.scalars(select(Adapter))}
    venue = follower.deployed.contracts["test_venue_adapter"]
    kinds = [(rule["target"], rule["kind"]) for rule in rows[bytes.fromhex(venue[2:])].rules]
    assert (len(rows), kinds) == (2, [(venue, RuleKind.VALUED), (venue, RuleKind.EXIT)])


def test_an_adapter_whose_code_fails__publishes_nothing_and_holds_nobody_up(
    follower: Follower,
) -> None:
    """Its answer, an invalid opcode, is no revert to a node; the indexer once asked for it for
    ever, at the block that listed it.
    """
    broken, chain = "0x00000000000000000000000000000000000000AA", follower.deployed
    chain.rpc.call("anvil_setCode", [broken, "0xfe"])
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(broken))
    follower.tip.round()
    assert follower.tip.cursor.hash == follower.head_hash
    with follower.database.read() as session:
        rows = {row.address: row for row in session.scalars(select(Adapter))}
    assert rows[bytes.fromhex(broken[2:])].rules == []


def test_a_delisted_adapter__has_its_listing_closed(follower: Follower) -> None:
    adapter = follower.deployed.contracts["test_venue_adapter"]
    receipt = follower.deployed.succeed(
        DEPLOYER, follower.deployed.contracts["factory"], calldata.delist_adapter(adapter)
    )
    follower.catch_up()
    with follower.database.read() as session:
        row = session.scalars(
            select(Adapter).where(Adapter.address == bytes.fromhex(adapter[2:]))
        ).one()
    assert row.delisted_block_hash == bytes.fromhex(receipt.block_hash[2:])


def test_an_adapter_that_a_block_delists_and_lists_again__is_listed(follower: Follower) -> None:
    chain = follower.deployed
    adapter, factory = chain.contracts["test_venue_adapter"], chain.contracts["factory"]
    follower.catch_up()
    nonce = chain.reader.transaction_count(DEPLOYER.address)
    chain.rpc.call("evm_setAutomine", [False])
    for offset, data in enumerate(
        (calldata.delist_adapter(adapter), calldata.list_adapter(adapter))
    ):
        chain.rpc.call(
            "eth_sendRawTransaction", [chain.sign(DEPLOYER, factory, data, nonce + offset)]
        )
    chain.anvil.mine(1)
    follower.catch_up()
    with follower.database.read() as session:
        rows = session.scalars(
            select(Adapter)
            .where(Adapter.address == bytes.fromhex(adapter[2:]))
            .order_by(Adapter.listed_number)
        ).all()
    assert [row.delisted_block_hash is None for row in rows] == [False, True]


@pytest.mark.row("6 factory notes on mandates whose vault existed before", "6 KeeperProposed")
def test_a_keeper_proposal__is_noted_where_a_vault_existed_before(
    follower: Follower, working: Working
) -> None:
    mandate, _ = working
    without_vault = follower.issue("m_novault2345", nonce=2)
    follower.deployed.succeed(
        DEPLOYER, follower.deployed.contracts["factory"], calldata.propose_keeper(STRANGER.address)
    )
    follower.catch_up()
    note = follower.rows(mandate)[-1]
    assert (note.payload["factory"], note.payload["event"]) == (True, "KeeperProposed")
    assert note.payload["args"]["proposedKeeper"] == STRANGER.address
    assert follower.story(without_vault) == ["signed"]


@pytest.mark.row("6 KeeperChanged")
def test_the_factorys_first_keeper__is_no_change(follower: Follower, working: Working) -> None:
    mandate, _ = working
    assert "factory" not in follower.story(mandate)


def test_every_agent_of_a_vault__is_kept(follower: Follower, working: Working) -> None:
    _, vault = working
    follower.deployed.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
    follower.catch_up()
    with follower.database.read() as session:
        agents = {row.agent for row in session.scalars(select(VaultAgentRow))}
    assert agents == {bytes.fromhex(AGENT.address[2:]), bytes.fromhex(STRANGER.address[2:])}


@pytest.mark.slow
def test_far_behind__fifty_blocks_a_round_in_order(follower: Follower) -> None:
    follower.catch_up()
    start = follower.tip.cursor.number
    follower.deployed.anvil.mine(80)
    assert [done.written for done in follower.catch_up()] == [50, 30]
    assert count(follower, ChainBlock) == start + 80 - follower.chain.start_block + 2


def test_a_restart__goes_on_where_the_last_block_ended(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    follower.restart()
    follower.deployed.buy(vault, 40 * USDC)
    follower.catch_up()
    assert follower.story(mandate)[-1] == "move"
    follower.assert_sound(mandate, vault)


def test_a_second_leader__fences_the_first(follower: Follower, working: Working) -> None:
    mandate, vault = working
    with follower.database.write() as session:
        leader.raise_epoch(session, "indexer", "another", now_utc())
    follower.deployed.buy(vault, 40 * USDC)
    before = repository_cursor(follower)
    with pytest.raises(LeadershipLostError):
        follower.catch_up()
    assert (repository_cursor(follower), follower.story(mandate)[-1]) == (before, "deposit")


def test_a_cursor_that_another_process_moved__stops_the_write(
    follower: Follower, working: Working
) -> None:
    _, vault = working
    behind = follower.tip
    follower.restart()
    follower.deployed.buy(vault, 40 * USDC)
    follower.catch_up()
    with pytest.raises(CursorMovedError):
        behind.round()


def repository_cursor(follower: Follower) -> repository.Cursor | None:
    with follower.database.read() as session:
        return repository.cursor(session, "tip")


class LaggingReader(VaultReader):
    """A node whose head is behind by `lag` blocks, or that has lost a block's receipts."""

    lag = 0
    receipts_lost = False
    receipts_cut = False

    def header(self, at: At = LATEST) -> BlockHeader | None:
        head = super().header(at)
        return super().header(head.number - self.lag) if at == LATEST and head is not None else head

    def receipts(self, block_hash: str) -> tuple[TransactionReceipt, ...] | None:
        found = super().receipts(block_hash)
        return None if self.receipts_lost else found[:-1] if self.receipts_cut and found else found


def lagging(follower: Follower) -> LaggingReader:
    reader = LaggingReader(follower.deployed.rpc, follower.deployed.contracts)
    follower.restart(reader=reader)
    return reader


def test_a_lower_head_with_our_hash__is_a_lagging_node(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    reader = lagging(follower)
    before = follower.tip.cursor
    reader.lag = 3
    done = follower.tip.round()
    assert (done.written, done.unwound, follower.tip.cursor) == (0, None, before)
    follower.assert_sound(mandate, vault)


def test_receipts_that_are_not_there__end_the_round_quietly_and_those_that_are_cut_fail_it(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    reader = lagging(follower)
    follower.deployed.buy(vault, 40 * USDC)
    reader.receipts_lost = True
    assert (follower.tip.round().written, follower.story(mandate)[-1]) == (0, "deposit")
    reader.receipts_lost, reader.receipts_cut = False, True
    with pytest.raises(BlockContradictionError):
        follower.tip.round()
    assert follower.story(mandate)[-1] == "deposit"
    reader.receipts_cut = False
    follower.catch_up()
    follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_the_finalized_height__is_written_down_once_it_was_said_twice_and_only_rises(
    follower: Follower,
) -> None:
    follower.deployed.anvil.mine(80)
    follower.catch_up()
    follower.tip.note_finality()
    with follower.database.read() as session:
        assert repository.cursor(session, "finalized") is None
    follower.tip.note_finality()
    with follower.database.read() as session:
        first = repository.cursor(session, "finalized")
    assert first is not None
    assert first.number == follower.tip.cursor.number - 64
    with follower.database.write() as session:
        repository.save_mark(
            session, "finalized", CHAIN_ID, repository.Cursor(1, first.hash), 99, now_utc()
        )
    with follower.database.read() as session:
        assert repository.cursor(session, "finalized") == first


@pytest.mark.parametrize(("count", "stored"), [(32, 32), (33, 0)])
def test_a_listed_contracts_rules__are_kept_up_to_32(
    follower: Follower, count: int, stored: int
) -> None:
    rules = [(FORGER, f"0x{n:08x}", UNPINNED, RuleKind.VALUED) for n in range(count)]
    assert rules_kept(follower, rules) == stored


@pytest.mark.parametrize(
    "rules",
    [
        [(STRANGER.address, "0x00000001", UNPINNED, 0)],
        [(FORGER, "0x00000002", UNPINNED, 0), (FORGER, "0x00000001", UNPINNED, 0)],
        [(FORGER, "0x00000001", UNPINNED, 0), (FORGER, "0x00000001", UNPINNED, 1)],
        [(FORGER, "0x00000001", UNPINNED, 4)],
        [(FORGER, "0x00000001", UNPINNED, 0), (FORGER, "0x00000002", UNPINNED, 3)],
        [(FORGER, "0x00000001", UNPINNED, 0), (FORGER, "0x00000002", UNPINNED, 1)],
    ],
    ids=[
        "of another contract",
        "unsorted",
        "twice",
        "of an unknown kind",
        "payments among others",
        "spends, values nothing",
    ],
)
def test_a_listed_contract__that_publishes_what_no_adapter_may__publishes_nothing(
    follower: Follower, rules: list[Any]
) -> None:
    assert rules_kept(follower, rules) == 0


def rules_kept(follower: Follower, rules: list[Any]) -> int:
    published = function("TestVenueAdapter", "rules")
    list_forger(
        follower.deployed, code=answering(encode_values(types_of(published.outputs), [rules]))
    )
    follower.catch_up()
    with follower.database.read() as session:
        row = session.scalars(
            select(Adapter).where(Adapter.address == bytes.fromhex(FORGER[2:]))
        ).one()
    return len(row.rules)


def test_a_payment_that_another_listed_adapter_forges__is_no_row_of_the_ledger(
    follower: Follower, working: Working
) -> None:
    """A listed adapter once put any cost into any mandate's record: the event names the vault, and
    every adapter was believed.
    """
    mandate, vault = working
    list_forger(follower.deployed)
    follower.catch_up()
    before, logs = follower.story(mandate), count(follower, RawLogRow)
    forge_payment(follower.deployed, vault, STRANGER.address, 3 * USDC, "0x" + "44" * 32)
    follower.catch_up()
    assert follower.story(mandate) == before
    assert count(follower, RawLogRow) == logs + 1
    follower.assert_sound(mandate, vault)
