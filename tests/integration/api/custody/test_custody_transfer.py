"""Out of the starter wallet, to the linked wallet, once: HTTP, the outbox, a real keeper, a real
chain.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from eth_account import Account
from sqlalchemy import update
from structlog.testing import capture_logs

from core.chain.nodes import Nodes
from core.custody.tables import CustodialTransfer, CustodialWallet
from core.hexes import hex_of
from core.mandate.chain.reader import VaultReader
from tests.integration.api.conftest import reason
from tests.integration.api.custody.conftest import (
    NEW,
    OLD,
    PROVISION,
    TRANSFER,
    USDC,
    Stage,
)
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.integration.keeper.conftest import KilledError
from tests.personas import STRANGER

# Once


def test_all__arrives_at_the_linked_wallet_and_is_confirmed_at_the_safe_block(stage: Stage) -> None:
    asked = stage.asked()
    wanted = {
        "state": "queued",
        "amount_usdc": "100.000000",
        "from_address": stage.starter,
        "to_address": stage.wallet.address,
        "tx_hash": None,
    }
    assert {name: asked[name] for name in wanted} == wanted
    assert stage.seen()["available_usdc"] == "0.000000"
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert stage.paid() == (0, 100 * USDC)
    (tx,) = stage.keepers.txs()
    (sent,) = stage.seen()["transfers"]
    assert sent == asked | {"state": "sent", "tx_hash": hex_of(tx.hash)}
    stage.keepers.make_safe()
    keeper.run()
    assert stage.states() == ["confirmed"]
    assert len(keeper.wire.sent) == 1


@pytest.mark.parametrize("state", ["planned", "signed", "mined"])
def test_killed_in_between__the_next_keeper_brings_it_there_once(stage: Stage, state: str) -> None:
    stage.asked("40")
    killed = stage.keeper(die_after=state)
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    stage.keepers.make_safe()
    keeper.run()
    assert stage.paid() == (60 * USDC, 40 * USDC)
    assert (stage.states(), len(stage.keepers.txs())) == (["confirmed"], 1)


@pytest.mark.slow
def test_killed_while_it_sends__the_next_keeper_brings_it_there_once(stage: Stage) -> None:
    stage.asked("40")
    killed = stage.keeper()
    killed.wire.kill_after_send = True
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    keeper = stage.keeper()
    keeper.run()
    assert stage.paid() == (60 * USDC, 40 * USDC)
    assert (stage.states(), keeper.wire.sent) == (["sent"], [])


@pytest.mark.slow
def test_twenty_at_once_of_half_each__exactly_two_succeed(stage: Stage) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda n: stage.post(TRANSFER, key=f"k{n}", amount_usdc="50"), range(20))
        )
    assert sorted(answer.status_code for answer in answers) == [202] * 2 + [409] * 18
    assert stage.requests() == (2, 2)
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert stage.paid() == (0, 100 * USDC)


# How much


def test_to_the_last_base_unit__and_not_one_more(stage: Stage) -> None:
    over = stage.ask("100.000001")
    assert (reason(over), over.json()["service"]["remaining"]) == (
        (409, "insufficient_idle"),
        "100.000000",
    )
    assert stage.requests() == (0, 0)
    assert stage.ask("100.000000").json()["available_usdc"] == "0.000000"


def test_what_is_under_way__is_counted_until_the_chain_paid_it_and_not_longer(stage: Stage) -> None:
    stage.asked("40")
    assert reason(stage.ask("60.000001")) == (409, "insufficient_idle")
    stage.keeper().run()
    stage.chain.mint(stage.starter, 5 * USDC)
    seen = stage.seen()
    assert (seen["balance_usdc"], seen["available_usdc"]) == ("65.000000", "65.000000")
    assert stage.asked()["amount_usdc"] == "65.000000"


def test_an_empty_wallet__has_nothing_to_move(bare: Stage) -> None:
    bare.provisioned(0)
    assert reason(bare.post(TRANSFER)) == (409, "insufficient_idle")


def test_an_amount_that_is_none__is_refused_by_its_field(stage: Stage) -> None:
    amounts: tuple[Any, ...] = ("0", "-1", "1.0000001", "1e3", "all", True, [])
    answers = [stage.ask(amount) for amount in amounts]
    assert [
        (answer.status_code, answer.json()["detail"].partition(":")[0]) for answer in answers
    ] == [(400, "amount_usdc")] * len(amounts)
    assert stage.requests() == (0, 0)


# Where to, and who


def test_without_a_linked_wallet__says_how_to_link_one(bare: Stage) -> None:
    agent = bare.new_agent(None)
    bare.provisioned(USDC, agent)
    answer = bare.post(TRANSFER, agent)
    assert (reason(answer), bare.requests()) == ((409, "wallet_not_linked"), (0, 0))
    assert "/auth/wallet/link" in answer.json()["detail"]


def test_without_a_starter_wallet__the_next_call_makes_one(bare: Stage) -> None:
    answer = bare.post(TRANSFER)
    assert reason(answer) == (404, "not_found")
    assert answer.json()["service"]["next"][0] == {
        "method": "POST",
        "path": PROVISION,
        "auth": "key",
        "cost": 0,
    }


def test_another_agents_transfers__are_not_shown(stage: Stage) -> None:
    stage.asked()
    other = stage.new_agent(None)
    stage.provisioned(0, other)
    assert stage.seen(other)["transfers"] == []


def test_transfers__are_paged_newest_first(stage: Stage) -> None:
    asked = [stage.asked(amount)["id"] for amount in ("1", "2", "3")]
    first = stage.seen(limit=2)
    rest = stage.seen(limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in (*first["transfers"], *rest["transfers"])] == asked[::-1]
    assert rest["next_cursor"] is None


# Keys that are not there


def test_an_api_without_the_wallets_key__refuses_and_writes_nothing(stage: Stage) -> None:
    version = stage.sealed(stage.starter).key_version
    stage.serve(OLD)
    answer = stage.post(TRANSFER)
    assert (reason(answer), stage.requests()) == ((503, "temporarily_unavailable"), (0, 0))
    assert version in answer.json()["detail"]
    stage.serve(OLD, NEW)
    assert stage.post(TRANSFER).status_code == 202


def test_a_keeper_without_the_wallets_key__waits_and_the_next_one_with_it_sends(
    stage: Stage,
) -> None:
    stage.asked()
    wrong = stage.keeper(OLD)
    with capture_logs() as logs:
        wrong.run()
        wrong.run()
    told = [entry for entry in logs if entry["event"] == "request waits"]
    assert (len(told), stage.sealed(stage.starter).key_version in told[0]["why"]) == (1, True)
    assert (stage.states(), wrong.wire.sent, stage.balance(stage.starter)) == (
        ["queued"],
        [],
        100 * USDC,
    )
    wrong.die()
    stage.keepers.pass_time(stage.chain.now + 60)
    stage.keeper(OLD, NEW).run()
    assert stage.balance(stage.wallet.address) == 100 * USDC


def test_a_keeper_without_any_key__sends_what_it_can_and_waits_with_the_rest(stage: Stage) -> None:
    stage.asked()
    stage.keepers.keeper().run()
    assert (stage.states(), stage.keepers.intents()) == (["queued"], [])


@pytest.mark.slow
def test_swapped_ciphertexts__sign_nothing_and_hold_nobody_else_up(stage: Stage) -> None:
    other = stage.new_agent(Account.create())
    mine, others = stage.sealed(stage.starter), stage.sealed(stage.provisioned(7 * USDC, other))
    third_wallet = Account.create()
    third = stage.new_agent(third_wallet)
    stage.provisioned(3 * USDC, third)
    with stage.database.write() as session:
        for wallet, taken in ((mine, others), (others, mine)):
            session.execute(
                update(CustodialWallet)
                .where(CustodialWallet.account_id == wallet.account_id)
                .values(ciphertext=taken.ciphertext)
            )
    for one in (stage.agent, other, third):
        stage.asked(of=one)
    keeper = stage.keeper()
    keeper.run()
    assert (
        stage.balance(stage.starter),
        stage.balance(others.address),
        stage.balance(third_wallet.address),
    ) == (100 * USDC, 7 * USDC, 3 * USDC)
    assert (stage.states(), stage.states(other), len(keeper.wire.sent)) == (
        ["queued"],
        ["queued"],
        1,
    )


def test_a_recipient_that_somebody_wrote_into_the_table__is_not_signed_for(stage: Stage) -> None:
    stage.asked()
    with stage.database.write() as session:
        session.execute(update(CustodialTransfer).values(to=bytes.fromhex(STRANGER.address[2:])))
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(), keeper.wire.sent, stage.balance(stage.starter)) == (
        ["failed"],
        [],
        100 * USDC,
    )


def test_a_request_that_waited_for_a_day__fails_and_the_money_is_free_again(stage: Stage) -> None:
    asked = stage.asked()
    stage.keepers.pass_time(int(datetime.fromisoformat(asked["expires_at"]).timestamp()))
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(), keeper.wire.sent) == (["failed"], [])
    assert stage.seen()["available_usdc"] == "100.000000"
    keeper.run()
    assert stage.keepers.states() == [("custodial_transfer", "refused")]


# The outside


def test_no_node_answers__the_read_says_so_and_the_transfer_is_refused(stage: Stage) -> None:
    stage.asked("1")
    stage.deps = replace(
        stage.deps, chain=VaultReader(Nodes(["http://127.0.0.1:9"]), stage.chain.contracts)
    )
    stage.serve(NEW)
    assert reason(stage.post(TRANSFER)) == (503, "temporarily_unavailable")
    seen = stage.seen()
    assert (seen["balance_usdc"], seen["available_usdc"], seen["transfers"][0]["state"]) == (
        None,
        None,
        "queued",
    )
    assert stage.requests() == (1, 1)
