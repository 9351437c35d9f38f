"""The states of a payment, and what those that a key of ours sent to settle cost us."""

from dataclasses import dataclass
from enum import StrEnum


class PaymentState(StrEnum):
    """What became of an authorization.

    claimed --> settled --> served
      ^  '--> failed --'            (failed: sent again, it is claimed; it may settle late)
      '--------'
    """

    CLAIMED = "claimed"
    SETTLED = "settled"
    SERVED = "served"
    FAILED = "failed"


UNSETTLED = (PaymentState.CLAIMED, PaymentState.FAILED)  # it may settle yet


@dataclass(frozen=True, slots=True)
class Authorization:
    """A transfer by authorization: `token` moves `amount` (base units) from `payer` to `pay_to`.
    Addresses in checksum form.
    """

    token: str
    payer: str
    nonce: str
    pay_to: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A settlement that was sent and is not accounted for.

    `claimed_block`: it cannot have been mined below. `valid_before`: unix seconds, exclusive; None:
    not known. `is_contract`: whether the payer had code when it was judged.
    """

    id: int
    tx_hash: str
    wanted: Authorization
    claimed_block: int
    valid_before: int | None
    is_contract: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """By the receipt. `is_reverted`: by the payer's doing; `bars_payer`: a contract's."""

    wei: int
    is_reverted: bool
    bars_payer: bool
