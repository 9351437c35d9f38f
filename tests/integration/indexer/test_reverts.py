"""Reverted attempts: found without being told, explained, and shown once."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from core.blocks.tables import RevertedTx
from core.chain.abi import call_by_signature
from core.chain.errors import RpcUnreachableError
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.reader import VaultReader
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.new_rows import event_row
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind
from core.mandate.rules.steps import step_groups
from core.mandate.rules.violations import Violation
from core.mandate.venues import test_venue
from core.money import UsdcE6
from indexer.chain import reverts
from indexer.chain.reverts import PATIENCE_ROUNDS
from tests.integration.chain_fixtures import CHAIN_ID, USDC
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import AGENT, OWNER, STRANGER

Working = tuple[Issued, str]


def notes(follower: Follower, mandate: Issued) -> list[LedgerRow]:
    return [row for row in follower.rows(mandate) if row.payload.get("reverted")]


def reasons(follower: Follower) -> list[str | None]:
    with follower.database.read() as session:
        return list(
            session.scalars(
                select(RevertedTx.reason).order_by(RevertedTx.number, RevertedTx.tx_index)
            )
        )


@pytest.mark.row("6 reverts of the block scan", "2.11 attempted")
def test_a_call_above_the_cap__is_one_refusal_with_what_was_attempted(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    receipt = follower.deployed.buy(vault, 101 * USDC)
    follower.catch_up()
    (note,) = notes(follower, mandate)
    refusal = note.payload["refusal"]
    assert (refusal["reason"], refusal["source"], refusal["check"]) == (
        "OverPerTxCap",
        "chain",
        "block_scan",
    )
    adapter = follower.deployed.contracts["test_venue_adapter"]
    assert refusal["attempted"] == {
        "target": adapter,
        "selector": "0xd96a094a",
        "amount_usdc": "101.000000",
    }
    assert (note.tx_hash, note.block_hash, note.cash_delta_usdc_e6) == (
        receipt.tx_hash,
        receipt.block_hash,
        0,
    )
    follower.assert_sound(mandate, vault)


def refused_calls(follower: Follower) -> dict[str, str]:
    """Reason -> call data that is refused for it."""
    chain = follower.deployed
    adapter, usdc = chain.contracts["test_venue_adapter"], chain.contracts["usdc"]
    return {
        "TargetNotAllowed": calldata.execute(
            VaultCall(usdc, 0, calldata.approve(AGENT.address, 1))
        ),
        "OverPerTxCap": chain.buy_data(100 * USDC + 1),
        "NotOwner": calldata.withdraw(usdc, AGENT.address, 1),
        "OverPosition": calldata.execute(VaultCall(adapter, 0, test_venue.sell(1))),
        "ExitNotFree": calldata.execute(VaultCall(adapter, 1, test_venue.sell(1))),
        "ReservedReason": call_by_signature("stop(bytes32)", [calldata.ascii_word("stop_line")]),
        "EmptyBatch": calldata.execute_batch([]),
    }


def test_each_reason__is_named_as_solidity_names_it(follower: Follower, working: Working) -> None:
    _, vault = working
    calls = refused_calls(follower)
    for data in calls.values():
        assert follower.deployed.send(AGENT, vault, data).status == 0
    follower.catch_up()
    assert reasons(follower) == list(calls)


def test_after_a_stop__the_former_agents_attempt_is_found(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    follower.deployed.succeed(OWNER, vault, calldata.stop("enough"))
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    assert notes(follower, mandate)[0].payload["refusal"]["reason"] == "MandateStopped"


def test_a_replaced_agents_attempt__is_found(follower: Follower, working: Working) -> None:
    _, vault = working
    follower.deployed.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
    follower.deployed.buy(vault, USDC, sender=AGENT)
    follower.catch_up()
    assert reasons(follower) == ["NotAgent"]


def test_an_attempt_while_the_agent_is_removed__is_named_so(
    follower: Follower, working: Working
) -> None:
    _, vault = working
    follower.deployed.succeed(OWNER, vault, calldata.remove_agent())
    follower.deployed.buy(vault, USDC, sender=AGENT)
    follower.catch_up()
    assert reasons(follower) == ["NoAgent"]


def test_the_first_second_after_the_end__is_ended_although_the_parent_block_was_not(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    follower.deployed.rpc.call("evm_setNextBlockTimestamp", [mandate.terms.ends_at])
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    assert notes(follower, mandate)[0].payload["refusal"]["reason"] == "MandateEnded"


def test_what_only_an_earlier_call_of_the_same_block_explains__is_unknown(
    follower: Follower, working: Working
) -> None:
    _, vault = working
    chain = follower.deployed
    for _ in range(2):
        chain.buy(vault, 100 * USDC)
    nonce = chain.reader.transaction_count(AGENT.address)
    chain.rpc.call("evm_setAutomine", [False])
    for offset in range(2):
        chain.rpc.call(
            "eth_sendRawTransaction",
            [chain.sign(AGENT, vault, chain.buy_data(60 * USDC), nonce + offset)],
        )
    chain.anvil.mine(1)
    follower.catch_up()
    assert reasons(follower) == ["unknown"]


@pytest.mark.row("2.11 the scan matches plain transactions from the agent wallet to the vault")
def test_strangers_and_other_targets__are_no_attempts(follower: Follower, working: Working) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, USDC, sender=STRANGER)
    follower.deployed.send(
        AGENT, follower.deployed.contracts["test_venue_adapter"], test_venue.sell(1)
    )
    follower.catch_up()
    assert (reasons(follower), notes(follower, mandate)) == ([], [])


@pytest.mark.row("2.11 proves_event_id")
def test_an_attempt_that_the_agent_reported_first__is_proven(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    receipt = follower.deployed.buy(vault, 101 * USDC)
    reported = NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.AGENT,
        occurred_at=now_utc(),
        base_key=f"refusal:{receipt.tx_hash}",
        tx_hash=receipt.tx_hash,
        payload={
            "refusal": {
                "reason": "OverPerTxCap",
                "source": "agent",
                "reason_source": "agent",
                "check": "reported",
            }
        },
    )
    with follower.database.write() as session:
        seq = mandate_ledger.append(session, mandate.id, reported, now_utc()).row.seq
    follower.catch_up()
    (note,) = notes(follower, mandate)
    assert note.payload["proves_event_id"] == seq
    assert follower.state(mandate).refusals_count == 1


@pytest.mark.slow
def test_a_revert_that_a_reorg_removes__is_taken_back_and_noted_again_when_it_returns(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    raw = follower.deployed.sign(AGENT, vault, follower.deployed.buy_data(101 * USDC))
    follower.deployed.rpc.call("eth_sendRawTransaction", [raw])
    follower.deployed.anvil.mine(1)
    follower.catch_up()
    depth = follower.tip.cursor.number - notes(follower, mandate)[0].block_number + 1  # type: ignore[operator]  # a chain note has a block
    follower.deployed.anvil.reorg(depth)
    follower.catch_up()
    assert follower.state(mandate).reverts_count == 0
    follower.deployed.anvil.reorg(1, [(raw, 0)])
    follower.catch_up()
    assert [(note.incarnation, note.reverses_id is not None) for note in notes(follower, mandate)][
        -1
    ] == (2, False)
    assert follower.state(mandate).reverts_count == 1
    follower.assert_sound(mandate, vault)


def false_report(follower: Follower, mandate: Issued, tx_hash: str, amount: int) -> None:
    row = event_row(
        kind="buy",
        amount_usdc_e6=UsdcE6(amount),
        tx_hash=tx_hash,
        why="bought",
        payload={"target": follower.deployed.contracts["test_venue_adapter"]},
        violation=Violation(("over_per_tx_cap",), {}),
        fact=tx_hash[2:34],
        now=now_utc(),
        chain_id=CHAIN_ID,
    )
    with follower.database.write() as session:
        mandate_ledger.append(session, mandate.id, row, now_utc())


def confirmed(follower: Follower, mandate: Issued, vault: str) -> list[bool]:
    """Of each step of the agent."""
    groups = step_groups(follower.rows(mandate), None, vault=vault)
    steps = [step for group in groups for step in group.steps]
    return [step["confirmed_on_chain"] for step in steps if step["reported_by"] == "agent"]


def test_a_trade_of_a_call_that_the_scan_finds_reverted__breaks_no_rule_of_its_own(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    receipt = follower.deployed.buy(vault, 101 * USDC)
    false_report(follower, mandate, receipt.tx_hash, 101 * USDC)
    assert follower.state(mandate).violation_codes == ("over_per_tx_cap",)
    follower.catch_up()
    state = follower.state(mandate)
    assert (state.violation_codes, state.violations_count, state.reverts_count) == ((), 0, 1)
    assert confirmed(follower, mandate, vault) == [False]
    follower.assert_sound(mandate, vault)


def test_a_trade_of_a_block_that_a_reorg_takes_back__is_not_confirmed_any_more(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    receipt = follower.deployed.buy(vault, 10 * USDC)
    false_report(follower, mandate, receipt.tx_hash, 10 * USDC)
    follower.catch_up()
    assert (confirmed(follower, mandate, vault), follower.state(mandate).violation_codes) == (
        [True],
        (),
    )
    depth = follower.tip.cursor.number - (follower.rows(mandate)[-1].block_number or 0) + 1
    follower.deployed.anvil.reorg(depth)
    follower.catch_up()
    assert confirmed(follower, mandate, vault) == [False]
    assert follower.state(mandate).violation_codes == ("over_per_tx_cap",)
    follower.assert_sound(mandate, vault)


class Lagging(VaultReader):
    """A node that does not know a transaction yet, for as many questions as it is told to."""

    lags = 0

    def transaction(self, tx_hash: str) -> dict[str, Any] | None:
        self.lags -= 1
        return None if self.lags >= 0 else super().transaction(tx_hash)


@pytest.mark.parametrize(
    ("rounds", "reason"), [(PATIENCE_ROUNDS - 1, "OverPerTxCap"), (PATIENCE_ROUNDS, "unknown")]
)
def test_a_node_that_lags_behind_the_one_that_showed_the_block__is_asked_again(
    follower: Follower, working: Working, rounds: int, reason: str
) -> None:
    """One look-up at a lagging node once wrote `unknown` for ever, at once, and sooner still for an
    old block.
    """
    _, vault = working
    follower.deployed.buy(vault, 101 * USDC)
    reader = Lagging(follower.deployed.rpc, follower.deployed.contracts)
    reader.lags = rounds
    follower.clock = lambda: now_utc() + timedelta(hours=1)
    follower.restart(reader=reader)
    follower.tip.round()
    for _ in range(rounds - 1):
        follower.reverted_calls.round()
    assert reasons(follower) == [None]
    follower.reverted_calls.round()
    follower.reverted_calls.round()
    assert reasons(follower) == [reason]


def test_reverted_calls_to_a_foreign_vault__are_neither_kept_nor_run_again(
    follower: Follower, working: Working
) -> None:
    """Anybody may create a vault of terms of their own and send failing calls to it for ever."""
    chain = follower.deployed
    foreign = chain.create_vault(chain.terms("m_foreignaaa", nonce=7))
    follower.catch_up()
    for _ in range(3):
        assert chain.buy(foreign, 101 * USDC).status == 0
    follower.catch_up()
    assert reasons(follower) == []


@pytest.mark.slow
def test_one_vaults_many_reverted_calls__hold_up_no_other_vaults(
    follower: Follower, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, noisy = working
    chain = follower.deployed
    other_mandate = follower.issue("m_quietaaaaa", nonce=8)
    other = chain.create_vault(other_mandate.terms)
    follower.catch_up()
    for _ in range(6):
        assert chain.buy(noisy, 101 * USDC).status == 0
    assert chain.buy(other, 102 * USDC).status == 0
    monkeypatch.setattr(reverts, "REVERTS_A_ROUND", 2)
    follower.tip.round()
    follower.reverted_calls.round()
    assert reasons(follower) == ["OverPerTxCap", *[None] * 5, "OverPerTxCap"]
    follower.reverted_calls.round()
    assert reasons(follower) == [*["OverPerTxCap"] * 3, *[None] * 3, "OverPerTxCap"]


class Unanswering(VaultReader):
    """One call that no node answers in time."""

    stuck = ""

    def transaction(self, tx_hash: str) -> dict[str, Any] | None:
        if tx_hash == self.stuck:
            raise RpcUnreachableError("eth_call", ["ReadTimeout"])
        return super().transaction(tx_hash)


@pytest.mark.slow
def test_a_reverted_call_that_no_node_answers__stands_behind_the_others_and_is_given_up(
    follower: Follower, working: Working
) -> None:
    _, vault = working
    reader = Unanswering(follower.deployed.rpc, follower.deployed.contracts)
    reader.stuck = follower.deployed.buy(vault, 101 * USDC).tx_hash
    follower.deployed.buy(vault, 101 * USDC)
    follower.clock = lambda: now_utc() + timedelta(hours=1)
    follower.restart(reader=reader)
    follower.tip.round()
    follower.reverted_calls.round()
    assert reasons(follower) == [None, None]
    follower.reverted_calls.round()
    assert reasons(follower) == [None, "OverPerTxCap"]
    for _ in range(PATIENCE_ROUNDS):
        follower.reverted_calls.round()
    assert reasons(follower) == ["unknown", "OverPerTxCap"]
