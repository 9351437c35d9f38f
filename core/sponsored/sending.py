"""Asking the keeper to send a buy: one request of the outbox for each time, by its number.

accepted --1--> both transfers ... fee submitted alone --2--> the purchase ... taken back by a reorg --n--> what is left
"""

from datetime import datetime

from core.db.engine import WriteSession
from core.keeper import requests as outbox
from core.keeper.rules import Purse
from core.money import usdc_text
from core.sponsored.documents import call_of
from core.sponsored.rules import BuyPart
from core.sponsored.tables import SponsoredBuy

KIND = "sponsored_buy"
ROLE = "sponsor"


def key_of(buy_id: str, number: int) -> str:
    """The outbox's key of a buy's n-th request, from 1."""
    return f"{KIND}:{buy_id}:{number}"


def ask(session: WriteSession, buy: SponsoredBuy, part: BuyPart, number: int, now: datetime) -> int:
    """The id of the request. `buy` is accepted."""
    assert buy.gas_scopes is not None, "only an accepted buy is sent"
    request = outbox.NewRequest(
        key=key_of(buy.id, number),
        chain_id=buy.chain_id,
        kind=KIND,
        role=ROLE,
        to=call_of(buy, part)[0],
        reason={
            "buy": buy.id,
            "part": part,
            "account_id": buy.account_id,
            "amount_usdc": usdc_text(buy.amount_usdc_e6),
            "fee_usdc": usdc_text(buy.fee_usdc_e6),
        },
        purse=Purse.SPONSOR,
        most_wei=buy.covers_wei,
        gas_scopes=tuple(buy.gas_scopes),
    )
    return outbox.ask(session, request, now)
