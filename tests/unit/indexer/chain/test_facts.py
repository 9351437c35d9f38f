"""What one block says of the product."""

from dataclasses import replace
from typing import Any

from core.blocks.registry import KnownVault
from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.identity.queries import LinkedWallet
from core.mandate.chain import calldata
from core.mandate.rules import events
from core.mandate.rules.terms import ZERO_ADDRESS
from indexer.chain.facts import BlockFacts, facts_of
from indexer.chain.fetch import FetchedBlock
from indexer.chain.watch import WatchList
from tests.personas import AGENT, KEEPER, OWNER, STRANGER
from tests.unit.core.mandate.chain.test_decode import HASH, RULE
from tests.unit.core.mandate.chain.test_decode import log as log_of
from tests.unit.core.mandate.chain.test_typed_data import TERMS

FACTORY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
VAULT = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
ADAPTER = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
X402 = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
HEADER = BlockHeader(5, HASH, HASH, 1_800_000_000, 0, ())


def at(address: str, name: str, *values: Any) -> RawLog:
    return replace(log_of(name, *values), address=address)


def created(agent: str = AGENT.address) -> RawLog:
    terms, rules = calldata.terms_tuple(TERMS), [calldata.rule_tuple(RULE)]
    return at(
        FACTORY, "VaultCreated", VAULT, HASH, OWNER.address, agent, TERMS.public_id, terms, rules
    )


def watch(*agents: str) -> WatchList:
    vaults = {VAULT: KnownVault(VAULT, OWNER.address, 1, agents)} if agents else {}
    return WatchList(FACTORY, USDC, {ADAPTER, X402}, KEEPER.address, vaults, x402_adapter=X402)


def facts(
    watch_list: WatchList, *logs: RawLog, receipts: tuple[TransactionReceipt, ...] = ()
) -> BlockFacts:
    return facts_of(FetchedBlock(HEADER, receipts, logs), watch_list, 84532)


def failed(sender: str, to: str | None = VAULT, status: int = 0) -> TransactionReceipt:
    return TransactionReceipt(HASH, 0, 5, HASH, status, sender, to, 60_000, 0, ())


def test_a_vaults_logs_in_the_block_that_made_it__are_kept() -> None:
    deposited = at(VAULT, "Deposited", OWNER.address, 5, 5, 5)
    found = facts(watch(), created(), deposited)
    assert [type(item.event).__name__ for item in found.found] == ["VaultCreated", "Deposited"]
    assert found.agents == ((VAULT, AGENT.address),)


def test_an_open_board_vault__names_no_agent() -> None:
    assert facts(watch(), created(ZERO_ADDRESS)).agents == ()


def test_logs_of_strangers__are_not_kept() -> None:
    assert (
        facts(watch(AGENT.address), at(STRANGER.address, "Deposited", OWNER.address, 5, 5, 5)).logs
        == ()
    )


def test_a_vault_created_by_another_factory__is_none_of_ours() -> None:
    found = facts(
        watch(),
        replace(created(), address=STRANGER.address),
        at(VAULT, "Deposited", OWNER.address, 5, 5, 5),
    )
    assert (found.logs, found.found) == ((), ())


def test_a_listed_adapter_that_says_deposited__is_kept_and_not_believed() -> None:
    found = facts(watch(AGENT.address), at(ADAPTER, "Deposited", OWNER.address, 5, 5, 5))
    assert (len(found.logs), found.found) == (1, ())


def test_a_vault_that_says_keeper_changed__is_not_believed() -> None:
    assert (
        facts(
            watch(AGENT.address), at(VAULT, "KeeperChanged", KEEPER.address, STRANGER.address)
        ).found
        == ()
    )


def test_a_payment_that_another_listed_adapter_forges__is_kept_and_not_believed() -> None:
    found = facts(watch(AGENT.address), at(ADAPTER, "X402Paid", VAULT, STRANGER.address, 5, HASH))
    assert (len(found.logs), found.found) == (1, ())


def test_a_payment__where_no_x402_adapter_is_deployed__is_not_believed() -> None:
    found = facts(
        replace(watch(AGENT.address), x402_adapter=None),
        at(ADAPTER, "X402Paid", VAULT, STRANGER.address, 5, HASH),
    )
    assert found.found == ()


def test_a_payment_that_the_x402_adapter_reports__is_believed() -> None:
    found = facts(watch(AGENT.address), at(X402, "X402Paid", VAULT, STRANGER.address, 5, HASH))
    assert found.events_of(events.X402Paid) == (events.X402Paid(VAULT, STRANGER.address, 5, HASH),)


def test_a_broken_log_of_a_vault__is_kept_and_told() -> None:
    found = facts(
        watch(AGENT.address), replace(at(VAULT, "Deposited", OWNER.address, 5, 5, 5), data="0x00")
    )
    assert len(found.logs) == 1
    assert [item.event for item in found.found] == [None]


def test_a_failed_call_of_the_agent_or_a_past_one__is_a_reverted_attempt() -> None:
    for sender in (AGENT, STRANGER):
        found = facts(watch(STRANGER.address, AGENT.address), receipts=(failed(sender.address),))
        assert [revert.sender for revert in found.reverts] == [sender.address]


def test_a_failed_call_of_an_agent_that_the_block_itself_named__counts() -> None:
    assert len(facts(watch(), created(), receipts=(failed(AGENT.address),)).reverts) == 1


def test_what_is_no_reverted_attempt() -> None:
    others = (
        failed(AGENT.address, status=1),
        failed(OWNER.address),
        failed(AGENT.address, to=ADAPTER),
        failed(AGENT.address, to=None),
    )
    assert facts(watch(AGENT.address), receipts=others).reverts == ()


def paid(amount: int, **changes: Any) -> tuple[Any, ...]:
    wallets = {AGENT.address: LinkedWallet(7, 0)}
    transfer = replace(at(USDC, "Transfer", STRANGER.address, AGENT.address, amount), **changes)
    found = facts(replace(watch(), wallets=wallets), transfer)
    return found.payments, found.logs


def test_a_transfer_of_nothing_to_a_linked_wallet__leaves_no_row() -> None:
    """Anybody may make thousands of them, in the name of anybody."""
    assert paid(0) == ((), ())
    (((_, log),), logs) = paid(1)
    assert (int(log.data, 16), len(logs)) == (1, 1)


def test_a_transfer_without_an_amount__is_no_payment() -> None:
    assert paid(1, data="0x") == ((), ())


def test_a_failed_call_to_a_foreign_vault__is_not_kept() -> None:
    foreign = watch(AGENT.address)
    foreign.vaults[VAULT] = replace(foreign.vaults[VAULT], mandate_id=None)
    set_ = at(VAULT, "AgentSet", STRANGER.address)
    assert (
        facts(foreign, set_, receipts=(failed(AGENT.address), failed(STRANGER.address))).reverts
        == ()
    )
