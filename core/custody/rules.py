"""Custodial wallets, and transfers out of them: what a request's way through the outbox means, and
how much is still free.

Laws
- A request is one EIP-3009 authorization: the chain pays it at most once, and never at or after its
  `expires_at`.
- Whether it was paid is the chain's word (its authorization is used), read at the block at which
  the balance is read.
- `confirmed` is the chain's `safe` block, as with every other transfer.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.keeper.rules import QUEUED, IntentState
from core.money import UnixSeconds, UsdcE6

LEAST_TRANSFER_USDC_E6 = UsdcE6(1_000_000)
TRANSFER_GAS = 150_000  # the most that a transfer may use; about half of it is used


def gas_kept_wei(base_fee_wei: int) -> int:
    """What is kept of the day's gas when a transfer is asked for: at three times the base fee of
    now, a first offer with a tip of up to that fee. The keeper keeps more where needed.
    """
    return TRANSFER_GAS * 3 * base_fee_wei


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedKey:
    """A wallet's key as its row holds it.

    `ciphertext`: nonce, tag, 32 encrypted bytes. `address` is checksummed.
    """

    account_id: int
    address: str
    ciphertext: bytes = field(repr=False)
    key_version: str

    @property
    def bound_to(self) -> bytes:
        """What the seal is bound to beside its key."""
        return f"custodial_wallet:{self.account_id}:{self.address}".encode()


class TransferState(StrEnum):
    QUEUED = "queued"
    SENT = "sent"
    CONFIRMED = "confirmed"
    FAILED = "failed"


# By the outbox's words. A request whose nonce was lost is sent again, so it is queued.
_STATES: Mapping[str, TransferState] = {
    QUEUED: TransferState.QUEUED,
    IntentState.PLANNED: TransferState.QUEUED,
    IntentState.SUPERSEDED: TransferState.QUEUED,
    IntentState.NONCE_LOST: TransferState.QUEUED,
    IntentState.SIGNED: TransferState.SENT,
    IntentState.BROADCAST: TransferState.SENT,
    IntentState.MINED: TransferState.SENT,
    IntentState.SAFE: TransferState.CONFIRMED,
    IntentState.DONE: TransferState.CONFIRMED,
    IntentState.REVERTED: TransferState.FAILED,
    IntentState.REFUSED: TransferState.FAILED,
}


@dataclass(frozen=True, slots=True)
class Authorized:
    """What one request may still take.

    `nonce`: of its authorization, 0x hex; `expires_at`: unix seconds, exclusive.
    """

    nonce: str
    amount_usdc_e6: UsdcE6
    expires_at: UnixSeconds


def transfer_state(outbox_state: str, *, is_used: bool) -> TransferState:
    """`is_used`: the chain says that the authorization was used.

    A failed request whose authorization somebody else sent (it is in the call data of the failed
    attempt) was paid all the same.
    """
    state = _STATES[outbox_state]
    return TransferState.CONFIRMED if is_used and state is TransferState.FAILED else state


def why_not_paid(outbox_state: str, refused: str | None, shown: TransferState) -> str | None:
    """Why it failed, or why it is not sent now; None of any other. `refused`: when it was last tried."""
    if shown is TransferState.QUEUED:
        return refused
    if shown is not TransferState.FAILED:
        return None
    if outbox_state == IntentState.REVERTED:
        return "its transaction failed on chain"
    return refused or "it could not be sent for an hour"


def available_usdc_e6(
    balance_usdc_e6: UsdcE6, under_way: Iterable[Authorized], used: Collection[str], at: UnixSeconds
) -> UsdcE6:
    """The balance without what requests under way may still take from it, never below 0.

    Balance, `used` and `at` are of one block. What is used left the balance already; what has
    expired never will.
    """
    taken = sum(
        one.amount_usdc_e6 for one in under_way if one.nonce not in used and at < one.expires_at
    )
    return UsdcE6(max(0, balance_usdc_e6 - taken))
