"""The call data of the API's requests, by kind. A builder answers the same bytes for the same request,
whenever it is asked: a request that is planned again is no second one.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from core.chain.reader import ChainReader
from core.custody.keys import CustodySigner, authorization_nonce
from core.custody.views import payment_of_request
from core.errors import OutsideError
from core.hexes import bytes_of
from core.keeper.queue import OutboxRequest
from core.mandate.chain import calldata, typed_data
from core.sponsored import queries as sponsored
from core.sponsored.days import failed_too_often
from core.sponsored.documents import call_of
from core.sponsored.rules import BuyPart, can_send, part_to_send
from core.times import start_of_day

CUSTODIAL_TRANSFER = "custodial_transfer"
SPONSORED_BUY = "sponsored_buy"


class LapsedError(Exception):
    """Its time has passed: the request can never be sent."""


Builder = Callable[[Session, OutboxRequest, datetime], bytes]
"""Call data of a request. Errors: LapsedError; OutsideError when it cannot be built now."""


def custodial_transfers(signer: CustodySigner, usdc: str) -> Builder:
    """Builds a transfer as the wallet's own EIP-3009 authorization, which the custody's gas key
    sends and pays for.
    """

    def build(session: Session, request: OutboxRequest, now: datetime) -> bytes:
        found = payment_of_request(session, request.id)
        if found is None:
            raise OutsideError("no custodial transfer belongs to this request")
        wallet, transfer = found.wallet, found.transfer
        if found.is_void:
            raise LapsedError(
                "its recipient is no longer linked, or the agent's secrets have been replaced "
                "since it was requested"
            )
        if now >= transfer.expires_at:
            raise LapsedError(f"its authorization expired at {transfer.expires_at.isoformat()}")
        if found.payable_at is None or now < found.payable_at:
            raise OutsideError("the linked wallet waits for its owner")
        until, nonce = int(transfer.expires_at.timestamp()), authorization_nonce(transfer.key)
        message = (wallet.address, transfer.to, transfer.amount_usdc_e6, 0, until, nonce)
        signature = signer.sign_digest(
            wallet, typed_data.transfer_authorization(usdc, request.chain_id, *message).digest
        )
        return bytes_of(calldata.transfer_with_authorization(*message, signature))

    return build


def sponsored_buys(codes: ChainReader) -> Builder:
    """Builds what is left of a buy, as the request's key says: both transfers, or the purchase.

    A buyer with code may refuse what it signed and let the sponsor pay for it: such a buy waits,
    since that is one node's word, and lapses with its authorizations.
    """

    def build(session: Session, request: OutboxRequest, now: datetime) -> bytes:
        seen = sponsored.find_any(session, str(request.reason["buy"]))
        if seen is None:
            raise LapsedError("no sponsored buy belongs to this request")
        buy = seen.buy
        if not can_send(buy.valid_before, int(now.timestamp())):
            raise LapsedError(f"its authorizations are good until {buy.valid_before}")
        part = BuyPart(request.reason["part"])
        left = part_to_send(*seen.fates)
        if left is not part:
            raise LapsedError("one of its authorizations has meanwhile been used or cancelled")
        if failed_too_often(session, buy.gas_scopes or (), start_of_day(now)):
            raise OutsideError(
                "too many transactions of the account, its owner, address or the buyer failed today"
            )
        if codes.code_at(buy.buyer):
            raise OutsideError("the buyer's address has code")
        return bytes_of(call_of(buy, part)[1])

    return build


def builders_of(
    custody: CustodySigner | None, contracts: Mapping[str, str], codes: ChainReader
) -> dict[str, Builder]:
    """By kind; without `custody` no transfer out of a custodial wallet is built."""
    builders: dict[str, Builder] = {SPONSORED_BUY: sponsored_buys(codes)}
    if custody is not None:
        builders[CUSTODIAL_TRANSFER] = custodial_transfers(custody, contracts["usdc"])
    return builders
