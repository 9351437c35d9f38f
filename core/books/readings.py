"""What ledgers say, and whether that is all: the one way by which answers come to a ledger's state.

Laws
- A reading has to be unpacked: whoever takes `said` has `short` in hand, and says so (`data_issue`).
- The areas of the API load no state by another way (tests/architecture/test_short_ledgers.py).
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy.orm import Session

from core.books import mandate_ledger, transfer_ledger
from core.db.engine import WriteSession
from core.db.repositories.quarantine import ACCOUNT, MANDATE, shorts_of
from core.domain.mandate.short import ShortLedger
from core.domain.mandate.state import MandateState
from core.domain.transfers import FourStates

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class Reading(Generic[Said]):
    """`said`: the state that the ledger tells of. `short`: what of the chain it lacks; None: nothing, so that `said` is the truth."""

    said: Said
    short: ShortLedger | None

    @property
    def data_issue(self) -> dict[str, Any]:
        """{data_issue, data_issue_reason} of a short ledger; empty of one that lacks nothing."""
        return {} if self.short is None else self.short.issue


def mandates_now(session: Session, mandate_ids: Collection[int]) -> dict[int, Reading[MandateState]]:
    """By mandate the fold of its ledger, in two SELECTs."""
    states, shorts = mandate_ledger.load_heads(session, mandate_ids), shorts_of(session, MANDATE, mandate_ids)
    return {mandate_id: Reading(state, shorts.get(mandate_id)) for mandate_id, state in states.items()}


def mandates_before(session: Session, mandate_ids: Collection[int], at: datetime) -> dict[int, Reading[MandateState]]:
    """By mandate the fold of the rows before `at`, which begins a week. A gap that begins later takes nothing from it."""
    states, shorts = mandate_ledger.load_before(session, mandate_ids, at), shorts_of(session, MANDATE, mandate_ids)
    reaching = {mandate_id: short for mandate_id, short in shorts.items() if short.reaches_before(at)}
    return {mandate_id: Reading(state, reaching.get(mandate_id)) for mandate_id, state in states.items()}


def balances_now(session: Session, account_id: int) -> Reading[dict[tuple[int, str], FourStates]]:
    """Every balance of the account, by chain and asset, in their order."""
    return Reading(transfer_ledger.load_balances(session, account_id), _short_account(session, account_id))


def balance_now(session: Session, account_id: int, chain_id: int, asset: str) -> Reading[FourStates]:
    return Reading(transfer_ledger.load_balance(session, account_id, chain_id, asset), _short_account(session, account_id))


def lock_balance(session: WriteSession, account_id: int, chain_id: int, asset: str, now: datetime) -> Reading[FourStates]:
    """As `balance_now`, and no entry of the account is written by another until the transaction ends."""
    balance = transfer_ledger.lock_balance(session, account_id, chain_id, asset, now)
    return Reading(balance, _short_account(session, account_id))


def _short_account(session: Session, account_id: int) -> ShortLedger | None:
    return shorts_of(session, ACCOUNT, [account_id]).get(account_id)
