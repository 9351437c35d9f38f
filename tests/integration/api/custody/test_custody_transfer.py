"""Out of the starter wallet, to the linked wallet, once: HTTP, the outbox, a real keeper, a real
chain.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

import httpx
import pytest
from eth_account import Account
from sqlalchemy import update
from structlog.testing import capture_logs

from api.kernel.limits import Limits
from core.chain.nodes import Nodes
from core.custody.tables import CustodialTransfer, CustodialWallet
from core.hexes import hex_of
from core.mandate.chain.reader import VaultReader
from core.transfers.ledger import writer as transfer_ledger
from tests.integration.api.custody.conftest import (
    NEW,
    OLD,
    PROVISION,
    TRANSFER,
    TRANSFERS,
    USDC,
    Stage,
)
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.integration.keeper.conftest import KilledError
from tests.personas import STRANGER


def reason(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["service"]["reason"]


# Once


def test_all__arrives_at_the_linked_wallet_and_is_confirmed_at_the_safe_block(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    asked = stage.asked(agent)
    wanted = {
        "state": "queued",
        "amount_usdc": "100.000000",
        "from_address": starter,
        "to_address": stage.wallet.address,
        "tx_hash": None,
    }
    assert {name: asked[name] for name in wanted} == wanted
    assert stage.seen(agent)["available_usdc"] == "0.000000"
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert (stage.balance(starter), stage.balance(stage.wallet.address)) == (0, 100 * USDC)
    (tx,) = stage.keepers.txs()
    (sent,) = stage.seen(agent)["transfers"]
    assert sent == asked | {"state": "sent", "tx_hash": hex_of(tx.hash)}
    stage.keepers.make_safe()
    keeper.run()
    assert stage.states(agent) == ["confirmed"]
    assert len(keeper.wire.sent) == 1


def test_the_wallet_needs_no_eth__the_keeper_pays_the_gas(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent)
    stage.keeper().run()
    assert stage.balance(stage.wallet.address) == 100 * USDC
    assert (
        stage.chain.reader.balance_wei(starter),
        stage.chain.reader.transaction_count(starter),
    ) == (0, 0)


@pytest.mark.parametrize("state", ["planned", "signed", "mined"])
def test_killed_in_between__the_next_keeper_brings_it_there_once(
    stage: Stage, agent: dict[str, str], starter: str, state: str
) -> None:
    stage.asked(agent, "40")
    killed = stage.keeper(die_after=state)
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    stage.keepers.make_safe()
    keeper.run()
    assert (stage.balance(starter), stage.balance(stage.wallet.address)) == (60 * USDC, 40 * USDC)
    assert (stage.states(agent), len(stage.keepers.txs())) == (["confirmed"], 1)


@pytest.mark.slow
def test_killed_while_it_sends__the_next_keeper_brings_it_there_once(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent, "40")
    killed = stage.keeper()
    killed.wire.kill_after_send = True
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    keeper = stage.keeper()
    keeper.run()
    assert (stage.balance(starter), stage.balance(stage.wallet.address)) == (60 * USDC, 40 * USDC)
    assert (stage.states(agent), keeper.wire.sent) == (["sent"], [])


def test_the_same_idempotency_key__asks_once(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    first, again = (stage.post(TRANSFER, agent, key="a", amount_usdc="40") for _ in range(2))
    assert (first.status_code, again.status_code, again.headers["Idempotent-Replay"]) == (
        202,
        202,
        "true",
    )
    assert (first.json(), stage.requests()) == (again.json(), (1, 1))
    stage.keeper().run()
    assert stage.balance(stage.wallet.address) == 40 * USDC


def test_another_idempotency_key__is_another_transfer_and_the_money_is_gone(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    assert stage.post(TRANSFER, agent, key="a").status_code == 202
    again = stage.post(TRANSFER, agent, key="b")
    assert reason(again) == (409, "insufficient_idle")
    assert (again.json()["service"]["remaining"], stage.requests()) == ("0.000000", (1, 1))


@pytest.mark.slow
def test_twenty_at_once_of_half_each__exactly_two_succeed(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(
                lambda n: stage.post(TRANSFER, agent, key=f"k{n}", amount_usdc="50"), range(20)
            )
        )
    assert sorted(answer.status_code for answer in answers) == [202] * 2 + [409] * 18
    assert stage.requests() == (2, 2)
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert (stage.balance(starter), stage.balance(stage.wallet.address)) == (0, 100 * USDC)


# How much


def test_to_the_last_base_unit__and_not_one_more(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    over = stage.post(TRANSFER, agent, amount_usdc="100.000001")
    assert (reason(over), over.json()["service"]["remaining"]) == (
        (409, "insufficient_idle"),
        "100.000000",
    )
    assert stage.requests() == (0, 0)
    assert (
        stage.post(TRANSFER, agent, amount_usdc="100.000000").json()["available_usdc"] == "0.000000"
    )


def test_what_is_under_way__is_counted_until_the_chain_paid_it_and_not_longer(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent, "40")
    assert reason(stage.post(TRANSFER, agent, amount_usdc="60.000001")) == (
        409,
        "insufficient_idle",
    )
    stage.keeper().run()
    stage.chain.mint(starter, 5 * USDC)
    seen = stage.seen(agent)
    assert (seen["balance_usdc"], seen["available_usdc"]) == ("65.000000", "65.000000")
    assert stage.asked(agent)["amount_usdc"] == "65.000000"


def test_an_empty_wallet__has_nothing_to_move(stage: Stage, agent: dict[str, str]) -> None:
    stage.provisioned(agent, 0)
    assert reason(stage.post(TRANSFER, agent)) == (409, "insufficient_idle")


def test_an_amount_that_is_none__is_refused_by_its_field(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    amounts: tuple[Any, ...] = ("0", "-1", "1.0000001", "1e3", "all", True, [])
    answers = [stage.post(TRANSFER, agent, amount_usdc=amount) for amount in amounts]
    assert [
        (answer.status_code, answer.json()["detail"].partition(":")[0]) for answer in answers
    ] == [(400, "amount_usdc")] * len(amounts)
    assert stage.requests() == (0, 0)


def test_the_days_last_transfer__and_one_more(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    client = stage.serve(NEW, limits=Limits(custodial_transfers_per_day=2))
    answers = [client.post(TRANSFER, json={"amount_usdc": "1"}, headers=agent) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    stage.clock.now = datetime.combine(
        stage.clock.now.date() + timedelta(days=1), time(0), stage.clock.now.tzinfo
    )
    assert client.post(TRANSFER, json={"amount_usdc": "1"}, headers=agent).status_code == 202


# Where to, and who


def test_without_a_linked_wallet__says_how_to_link_one(stage: Stage) -> None:
    agent = stage.new_agent(None)
    stage.provisioned(agent, USDC)
    answer = stage.post(TRANSFER, agent)
    assert (reason(answer), stage.requests()) == ((409, "wallet_not_linked"), (0, 0))
    assert "/auth/wallet/link" in answer.json()["detail"]


def test_without_a_starter_wallet__the_next_call_makes_one(
    stage: Stage, agent: dict[str, str]
) -> None:
    answer = stage.post(TRANSFER, agent)
    assert reason(answer) == (404, "not_found")
    assert answer.json()["service"]["next"][0] == {
        "method": "POST",
        "path": PROVISION,
        "auth": "key",
        "cost": 0,
    }


def test_another_agents_transfers__are_not_shown(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent)
    other = stage.new_agent(None)
    stage.provisioned(other, 0)
    assert stage.seen(other)["transfers"] == []


def test_transfers__are_paged_newest_first(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    asked = [stage.asked(agent, amount)["id"] for amount in ("1", "2", "3")]
    first = stage.client.get(TRANSFERS, params={"limit": 2}, headers=agent).json()
    rest = stage.client.get(
        TRANSFERS, params={"limit": 2, "cursor": first["next_cursor"]}, headers=agent
    ).json()
    assert [one["id"] for one in (*first["transfers"], *rest["transfers"])] == asked[::-1]
    assert rest["next_cursor"] is None


@pytest.mark.slow
def test_what_arrives__is_a_deposit_of_the_linked_wallet(
    stage: Stage,
    agent: dict[str, str],
    starter: str,
    follower: Follower,
) -> None:
    follower.catch_up()
    stage.asked(agent, "40")
    stage.keeper().run()
    follower.catch_up()
    account_id = stage.sealed(starter).account_id
    with stage.database.read() as session:
        assert transfer_ledger.load_balance(session, account_id, 84532, "USDC").idle_e6 == 40 * USDC


# Keys that are not there


def test_an_api_without_the_wallets_key__refuses_and_writes_nothing(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    version = stage.sealed(starter).key_version
    answer = stage.serve(OLD).post(TRANSFER, json={}, headers=agent)
    assert (reason(answer), stage.requests()) == ((503, "temporarily_unavailable"), (0, 0))
    assert version in answer.json()["detail"]
    assert stage.serve(OLD, NEW).post(TRANSFER, json={}, headers=agent).status_code == 202


def test_a_keeper_without_the_wallets_key__waits_and_the_next_one_with_it_sends(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent)
    wrong = stage.keeper(OLD)
    with capture_logs() as logs:
        wrong.run()
        wrong.run()
    told = [entry for entry in logs if entry["event"] == "request waits"]
    assert (len(told), stage.sealed(starter).key_version in told[0]["why"]) == (1, True)
    assert (stage.states(agent), wrong.wire.sent, stage.balance(starter)) == (
        ["queued"],
        [],
        100 * USDC,
    )
    wrong.die()
    stage.keepers.pass_time(stage.chain.now + 60)
    stage.keeper(OLD, NEW).run()
    assert stage.balance(stage.wallet.address) == 100 * USDC


def test_a_keeper_without_any_key__sends_what_it_can_and_waits_with_the_rest(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent)
    stage.keepers.keeper().run()
    assert (stage.states(agent), stage.keepers.intents()) == (["queued"], [])


@pytest.mark.slow
def test_swapped_ciphertexts__sign_nothing_and_hold_nobody_else_up(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    other = stage.new_agent(Account.create())
    mine, others = stage.sealed(starter), stage.sealed(stage.provisioned(other, 7 * USDC))
    third_wallet = Account.create()
    third = stage.new_agent(third_wallet)
    stage.provisioned(third, 3 * USDC)
    with stage.database.write() as session:
        for wallet, taken in ((mine, others), (others, mine)):
            session.execute(
                update(CustodialWallet)
                .where(CustodialWallet.account_id == wallet.account_id)
                .values(ciphertext=taken.ciphertext)
            )
    for one in (agent, other, third):
        stage.asked(one)
    keeper = stage.keeper()
    keeper.run()
    assert (
        stage.balance(starter),
        stage.balance(others.address),
        stage.balance(third_wallet.address),
    ) == (100 * USDC, 7 * USDC, 3 * USDC)
    assert (stage.states(agent), stage.states(other), len(keeper.wire.sent)) == (
        ["queued"],
        ["queued"],
        1,
    )


def test_a_recipient_that_somebody_wrote_into_the_table__is_not_signed_for(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent)
    with stage.database.write() as session:
        session.execute(update(CustodialTransfer).values(to=bytes.fromhex(STRANGER.address[2:])))
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(agent), keeper.wire.sent, stage.balance(starter)) == (
        ["failed"],
        [],
        100 * USDC,
    )


def test_a_request_that_waited_for_a_day__fails_and_the_money_is_free_again(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    asked = stage.asked(agent)
    stage.keepers.pass_time(int(datetime.fromisoformat(asked["expires_at"]).timestamp()))
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(agent), keeper.wire.sent) == (["failed"], [])
    assert stage.seen(agent)["available_usdc"] == "100.000000"
    keeper.run()
    assert stage.keepers.states() == [("custodial_transfer", "refused")]


# The outside


def test_no_node_answers__the_read_says_so_and_the_transfer_is_refused(
    stage: Stage, agent: dict[str, str], starter: str
) -> None:
    stage.asked(agent, "1")
    stage.deps = replace(
        stage.deps, chain=VaultReader(Nodes(["http://127.0.0.1:9"]), stage.chain.contracts)
    )
    client = stage.serve(NEW)
    assert reason(client.post(TRANSFER, json={}, headers=agent)) == (503, "temporarily_unavailable")
    seen = client.get(TRANSFERS, headers=agent).json()
    assert (seen["balance_usdc"], seen["available_usdc"], seen["transfers"][0]["state"]) == (
        None,
        None,
        "queued",
    )
    assert stage.requests() == (1, 1)
