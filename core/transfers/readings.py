"""What agents' transfer ledgers say, and whether that is all."""

from datetime import datetime

from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.quarantine.queries import ACCOUNT
from core.quarantine.rules import Reading, ShortLedger
from core.quarantine.views.held import shorts_of
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.rules import FourStates


def balances_now(session: Session, account_id: int) -> Reading[dict[tuple[int, str], FourStates]]:
    """Every balance of the account, by chain and asset, in their order."""
    return Reading(
        transfer_ledger.load_balances(session, account_id), _short_account(session, account_id)
    )


def balance_now(
    session: Session, account_id: int, chain_id: int, asset: str
) -> Reading[FourStates]:
    return Reading(
        transfer_ledger.load_balance(session, account_id, chain_id, asset),
        _short_account(session, account_id),
    )


def lock_balance(
    session: WriteSession, account_id: int, chain_id: int, asset: str, now: datetime
) -> Reading[FourStates]:
    """As `balance_now`, and no entry of the account is written by another until the transaction
    ends.
    """
    balance = transfer_ledger.lock_balance(session, account_id, chain_id, asset, now)
    return Reading(balance, _short_account(session, account_id))


def _short_account(session: Session, account_id: int) -> ShortLedger | None:
    return shorts_of(session, ACCOUNT, [account_id]).get(account_id)
