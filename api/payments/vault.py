"""A payment by a vault: the adapter's event X402Paid, that the chain has, is presented by its
transaction and serves once.

    PAYMENT-SIGNATURE: base64({"x402Version": 2, "accepted": <the offer of scheme vault>, "payload": {"transaction": "0x..."}})

Laws
- The event must name our payee, the price and the resource, in a transaction that is at or below
  the chain's `safe` block, as two nodes say where two are configured.
- An event is public, so that only the agent of the vault's mandate may present it.
"""

from datetime import timedelta
from typing import Final

from x402.schemas import PaymentPayload, SettleResponse

from api.kernel.caller import AgentCaller
from api.kernel.operation import Refusal
from api.kernel.sale import MeteredRead
from api.payments.offer import (
    ADAPTER,
    Till,
    receipt_header,
    unpaid,
    vault_requirements,
)
from api.payments.payment_config import PaymentConfig
from api.payments.sent import require_offered
from core.chain.blocks import TransactionReceipt
from core.chain.errors import RpcRefusedError
from core.chain.reader import ChainReader, transaction_of
from core.hexes import bytes_of
from core.mandate.queries import is_agent_of_vault
from core.mandate.rules.events import X402Paid
from core.payments import queries as payments
from core.payments.chain import ASKED_S, resource_hash, safe_receipt, vault_payments_of

RETRY_S: Final = 10
HASH_CHARACTERS: Final = 66


def pay(till: Till, payload: PaymentPayload) -> dict[str, str]:
    """Take the payment; answers the receipt's header.

    Errors: Refusal payment_invalid, payment_already_used, settlement_pending.
    """
    read, payment_config = till.read, till.payment_config
    offer = vault_requirements(read, payment_config)
    if offer is None:
        raise unpaid(
            read,
            "payment_invalid",
            "Vaults can't pay here: no adapter is deployed; pay with the scheme exact.",
        )
    if not isinstance(read.caller, AgentCaller):
        raise unpaid(
            read,
            "payment_invalid",
            "Only its agent can present a vault's payment; send the agent's key too.",
        )
    require_offered(read, payload.accepted, offer)
    receipt = _safe_receipt(read, _transaction(read, payload))
    paid = [
        (index, event)
        for index, event in vault_payments_of(receipt, read.deps.contracts[ADAPTER])
        if _is_for(read, payment_config, event)
    ]
    if not paid:
        wanted = f"{offer.amount} base units to {offer.pay_to} for {read.resource}"
        raise unpaid(
            read,
            "payment_invalid",
            f"The transaction contains no X402Paid of {wanted}; present the one that paid for "
            "this call.",
        )
    vault = _serve(till, read.caller, receipt, paid)
    return receipt_header(
        SettleResponse(
            success=True, transaction=receipt.tx_hash, network=payment_config.network, payer=vault
        )
    )


def _transaction(read: MeteredRead, payload: PaymentPayload) -> str:
    sent = payload.payload.get("transaction")
    if isinstance(sent, str) and len(sent) == HASH_CHARACTERS and sent.startswith("0x"):
        try:
            bytes_of(sent)
        except ValueError:
            pass
        else:
            return sent.lower()
    raise unpaid(
        read,
        "payment_invalid",
        "PAYMENT-SIGNATURE: payload.transaction is not a transaction hash; write 0x and 64 hex "
        "characters.",
    )


def _safe_receipt(read: MeteredRead, tx_hash: str) -> TransactionReceipt:
    """Errors: Refusal payment_invalid, settlement_pending while the transaction waits for its
    block, or for that to be safe.
    """
    chain = read.deps.chain
    receipt = safe_receipt(chain, tx_hash)
    if receipt is None and not _may_be_mined(chain, tx_hash):
        detail = (
            f"There is no such transaction on chain {read.deps.chain_id}; send it again once it "
            "is mined."
        )
        raise unpaid(read, "payment_invalid", detail)
    if receipt is None:
        detail = (
            "The vault's payment is not confirmed in a safe block yet; send the same call with the "
            "same payment again."
        )
        raise Refusal("settlement_pending", detail, retry_at=read.now + timedelta(seconds=RETRY_S))
    return receipt


def _may_be_mined(chain: ChainReader, tx_hash: str) -> bool:
    """False: of the nodes that answer none knows the transaction, mined or waiting.

    The one that it was sent to may be the only one yet.
    """
    by_node = chain.rpc.batch_of_each(
        [("eth_getTransactionByHash", [tx_hash])], ASKED_S, parse=[transaction_of(tx_hash)]
    )
    answers = [answer for (answer,) in by_node.values() if not isinstance(answer, RpcRefusedError)]
    return not answers or any(answer is not None for answer in answers)


def _is_for(read: MeteredRead, payment_config: PaymentConfig, event: X402Paid) -> bool:
    logged = (event.pay_to, event.amount, event.resource_hash)
    return logged == (payment_config.pay_to, read.amount_usdc_e6, resource_hash(read.resource))


def _serve(
    till: Till, agent: AgentCaller, receipt: TransactionReceipt, paid: list[tuple[int, X402Paid]]
) -> str:
    """The vault whose payment serves; of several equal events of one transaction each serves
    once.
    """
    read, chain_id = till.read, till.read.deps.chain_id
    own = [
        (i, e)
        for i, e in paid
        if is_agent_of_vault(till.session, chain_id, bytes_of(e.vault), agent.account_id)
    ]
    if not own:
        raise unpaid(
            read,
            "payment_invalid",
            "The paying vault belongs to no mandate that names you; only its agent can present "
            "its payments.",
        )
    for log_index, event in own:
        is_new = payments.serve_vault_payment(
            till.session,
            chain_id=chain_id,
            tx_hash=bytes_of(receipt.tx_hash),
            log_index=log_index,
            vault=bytes_of(event.vault),
            account_id=agent.account_id,
            resource=read.resource,
            price_key=read.price.key,
            amount_usdc_e6=event.amount,
            served_at=read.now,
        )
        if is_new:
            till.serve()
            return event.vault
    raise unpaid(
        read,
        "payment_already_used",
        "This payment of the vault has already paid for a call; pay again for this one.",
    )
