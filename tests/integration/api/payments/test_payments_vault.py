"""A vault pays through the adapter: its event serves once, for its agent, at the safe block."""

import secrets
from dataclasses import dataclass
from typing import Any

import pytest
from httpx import Response

from core.chain.blocks import TransactionReceipt
from core.chain.nodes import Nodes
from core.hexes import bytes_of
from core.mandate.chain import calldata, typed_data
from core.mandate.chain.calldata import VaultCall
from core.mandate.rules.terms import Rule
from core.mandate.tables import Mandate
from core.mandate.venues import x402
from tests.integration.api.payments.shop import (
    KEY,
    PAGE,
    PRICE,
    Shop,
    decoded,
    encoded,
    reason,
)
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.integration.core.rows import add_mandate
from tests.integration.forger import forge_payment, list_forger
from tests.integration.indexer.clocked import Viewed
from tests.node_transport import in_threads
from tests.personas import AGENT, GUARD

SAFE_AFTER_BLOCKS = 70


class PayingChain(DeployedChain):
    """Its vaults may pay through the x402 adapter too."""

    def rules(self) -> tuple[Rule, ...]:
        both = (
            *DeployedChain.rules(self),
            *self.reader.adapter_rules(self.contracts["x402_adapter"]),
        )
        return tuple(sorted(both, key=lambda rule: (int(rule.target, 16), rule.selector)))


@dataclass
class Fund:
    """A vault whose mandate names the shop's agent."""

    shop: Shop
    vault: str
    headers: dict[str, str]

    def pay(self, **changes: Any) -> TransactionReceipt:
        offer = self.shop.offer("vault", headers=self.headers)
        paid: dict[str, Any] = {
            "pay_to": offer["payTo"],
            "amount": int(offer["amount"]),
            "resource_hash": offer["extra"]["resourceHash"],
            "nonce": "0x" + secrets.token_hex(32),
            "deadline": self.shop.chain.now + 600,
        } | changes
        adapter = offer["extra"]["adapter"]
        guard = GUARD.signer.sign_digest(
            typed_data.x402_payment(adapter, CHAIN_ID, self.vault, **paid).digest
        )
        data = calldata.execute(VaultCall(adapter, paid["amount"], x402.pay(*paid.values(), guard)))
        return self.shop.chain.succeed(AGENT, self.vault, data)

    def present(
        self, tx_hash: str, path: str = PAGE, headers: dict[str, str] | None = None, **accepted: Any
    ) -> Response:
        own = self.headers if headers is None else headers
        offer = self.shop.offer("vault", path, own) | accepted
        payment = {"x402Version": 2, "accepted": offer, "payload": {"transaction": tx_hash}}
        return self.shop.client.get(path, headers={**own, "PAYMENT-SIGNATURE": encoded(payment)})

    def settle(self) -> None:
        self.shop.chain.anvil.mine(SAFE_AFTER_BLOCKS)


@pytest.fixture
def fund(shop: Shop) -> Fund:
    shop.chain = PayingChain(shop.chain.anvil, shop.chain.contracts, shop.chain.start_block)
    shop.open(free_reads_per_day=0, welcome_credits=0)
    vault = shop.chain.create_vault(shop.chain.terms("m_payingvlt", nonce=secrets.randbits(60)))
    agent = shop.client.post("/auth/agent/connect", json={"agent_name": "payer"}).json()
    with shop.database.write() as session:
        mandate = session.get_one(Mandate, add_mandate(session, "m_payingvlt"))
        mandate.agent_id, mandate.vault_address = agent["user_id"], bytes_of(vault)
    return Fund(shop, vault, {KEY: agent["api_key"]})


def test_a_payment_of_a_vault__serves_once_it_is_safe_and_never_again(fund: Fund) -> None:
    tx_hash = fund.pay().tx_hash
    early = fund.present(tx_hash)
    assert (reason(early), early.headers["Retry-After"]) == ((503, "settlement_pending"), "10")
    fund.settle()
    served = fund.present(tx_hash)
    assert (served.status_code, served.headers["content-type"]) == (
        200,
        "text/markdown; charset=utf-8",
    )
    receipt = decoded(served.headers["PAYMENT-RESPONSE"])
    assert receipt == {
        "success": True,
        "transaction": tx_hash,
        "network": "eip155:84532",
        "payer": fund.vault,
    }
    assert reason(fund.present(tx_hash)) == (402, "payment_already_used")
    assert fund.shop.income == PRICE


def test_a_transaction_that_no_node_knows__is_refused_and_not_waited_for(fund: Fund) -> None:
    """A made-up hash was called pending, for ever."""
    answer = fund.present("0x" + "12" * 32)
    assert reason(answer) == (402, "payment_invalid")
    assert answer.json()["service"]["retry_safe"] is False
    assert (
        answer.json()["detail"]
        == f"There is no such transaction on chain {CHAIN_ID}; send it again once it is mined."
    )


def test_a_transaction_that_waits_for_its_block__is_pending(fund: Fund) -> None:
    chain = fund.shop.chain
    chain.rpc.call("evm_setAutomine", [False])
    try:
        waiting = chain.rpc.call(
            "eth_sendTransaction", [{"from": AGENT.address, "to": AGENT.address, "value": "0x0"}]
        )
        assert reason(fund.present(waiting)) == (503, "settlement_pending")
    finally:
        chain.rpc.call("evm_setAutomine", [True])
        chain.anvil.mine()


def test_while_no_node_says_whether_it_knows_a_transaction__it_is_pending(
    fund: Fund, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Nodes, "batch_of_each", lambda *_, **__: {})
    assert reason(fund.present("0x" + "12" * 32)) == (503, "settlement_pending")


@pytest.mark.parametrize(
    "changes",
    [{"amount": PRICE - 1}, {"pay_to": "0x" + "12" * 20}, {"resource_hash": "0x" + "34" * 32}],
)
def test_a_payment_of_a_vault__of_something_else__does_not_serve(
    fund: Fund, changes: dict[str, Any]
) -> None:
    tx_hash = fund.pay(**changes).tx_hash
    fund.settle()
    answer = fund.present(tx_hash)
    assert reason(answer) == (402, "payment_invalid")
    assert "contains no X402Paid of 10000 base units" in answer.json()["detail"]


def test_a_payment_that_another_listed_adapter_forges__does_not_serve(fund: Fund) -> None:
    offer = fund.shop.offer("vault", headers=fund.headers)
    list_forger(fund.shop.chain)
    forged = forge_payment(
        fund.shop.chain,
        fund.vault,
        offer["payTo"],
        int(offer["amount"]),
        offer["extra"]["resourceHash"],
    )
    assert len(forged.logs) == 1
    fund.settle()
    assert reason(fund.present(forged.tx_hash)) == (402, "payment_invalid")
    assert fund.shop.income == 0


def test_a_payment_of_a_vault__is_presented_by_its_own_agent_only(fund: Fund) -> None:
    tx_hash = fund.pay().tx_hash
    fund.settle()
    nobody, stranger = (
        fund.present(tx_hash, headers={}),
        fund.present(tx_hash, headers=fund.shop.agent()),
    )
    assert [reason(nobody), reason(stranger)] == [(402, "payment_invalid")] * 2
    assert "Only its agent can present" in nobody.json()["detail"]
    assert "belongs to no mandate that names you" in stranger.json()["detail"]
    assert fund.present(tx_hash).status_code == 200


@pytest.mark.parametrize("tx_hash", ["", "0x12", "0x" + "zz" * 32])
def test_a_transaction__that_is_no_hash__is_refused(fund: Fund, tx_hash: str) -> None:
    assert reason(fund.present(tx_hash)) == (402, "payment_invalid")


def test_a_node_that_calls_its_newest_block_safe__makes_no_payment_safe(fund: Fund) -> None:
    """As Erigon was reported to (erigontech/erigon 15498); one node's word served."""
    wire = Viewed(fund.shop.chain.anvil.url)
    newest = {"params": ["latest", False], "method": "eth_getBlockByNumber", "id": 1}

    def early(call: dict[str, Any], result: Any) -> Any:
        is_safe = call["method"] == newest["method"] and call["params"][0] == "safe"
        return wire.sent([{"jsonrpc": "2.0", **newest}])[0]["result"] if is_safe else result

    wire.view = early
    rpc = Nodes(["http://first", "http://second"], transport=in_threads(wire))
    tx_hash = fund.pay().tx_hash
    fund.shop.chain.reader.rpc, own = rpc, fund.shop.chain.reader.rpc
    try:
        assert reason(fund.present(tx_hash)) == (503, "settlement_pending")
        fund.settle()
        assert fund.present(tx_hash).status_code == 200
    finally:
        fund.shop.chain.reader.rpc = own
        rpc.close()
        wire.close()
