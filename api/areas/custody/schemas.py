"""Commands and answers of the custodial starter wallet (docs/custody.md)."""

from typing import Annotated

from pydantic import Field

from api.kernel.fields import WHOLE, Id, PositiveUsdc
from api.kernel.operation import AnswerBody, Command
from core.custody.rules import TransferState


class StarterWallet(AnswerBody):
    address: str
    chain_id: int
    created: bool = Field(description="true: this call created the wallet")


class TransferOut(Command):
    amount_usdc: PositiveUsdc | None = Field(
        default=None,
        description="USDC to move, at least 1.000000; null: the whole available balance",
    )


class StarterTransfer(AnswerBody):
    """Times are UTC.

    `tx_hash`: of the newest attempt, null before the first and when somebody else's transaction
    paid it.
    """

    id: str
    state: TransferState
    amount_usdc: str
    from_address: str
    to_address: str
    tx_hash: str | None
    reason: str | None = Field(
        description="why it failed, or why the chain refuses it now, if possible as the chain "
        "reports it; null: no known problem"
    )
    created_at: str
    expires_at: str = Field(description="from when the chain no longer accepts it")


class TransferAsked(AnswerBody):
    transfer: StarterTransfer
    available_usdc: str = Field(description="USDC left for further transfers")


class TransfersQuery(Command):
    cursor: Id | None = None
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 50


class StarterTransfers(AnswerBody):
    address: str
    chain_id: int
    balance_usdc: str | None = Field(description="balance in USDC; null while no node answers")
    available_usdc: str | None = Field(description="balance less pending transfers, USDC")
    transfers: list[StarterTransfer]
    next_cursor: str | None
