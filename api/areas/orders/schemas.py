"""Commands and answers of the operator's orders (docs/operator-orders.md)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, InstantText, KeySignature, above_0
from api.kernel.operation import AnswerBody, Command
from core.perps.rules.operator_orders import (
    E8_PATTERN,
    ClaimedOutcome,
    OrderState,
    OrderType,
)
from core.perps.rules.orders import Side

ConfirmId = Annotated[
    str,
    Field(pattern=r"^0x[0-9a-f]{32}$", description="the confirm_id from /mandate-wallet/order"),
]
E8Text = Annotated[
    str,
    Field(
        pattern=E8_PATTERN,
        description="a decimal above 0 as text, 8 decimals at most",
        json_schema_extra={"pattern": f"^{above_0(9, 8)}$"},
    ),
]


class PrepareOrder(Command):
    """`sign_mode`: the order is signed with your own key, which the service never has. `limit_px`: of
    a limit order alone.
    """

    sign_mode: Literal["client"]
    coin: Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,16}$")]
    side: Annotated[Side, Field(strict=False)]
    type: Annotated[OrderType, Field(strict=False)]
    size: E8Text
    limit_px: E8Text | None = None
    reduce_only: bool = False


class ExecuteOrder(Command):
    confirm_id: ConfirmId
    signature: KeySignature = Field(
        description="65 bytes r, s, v, or 64 (EIP-2098), over sign.typed_data of the prepared order"
    )


class RecordOrder(Command):
    """`signal_id`: of the fund's signal that the order follows."""

    confirm_id: ConfirmId
    outcome: Annotated[ClaimedOutcome, Field(strict=False)]
    signal_id: Annotated[int, Field(ge=1, le=2**53 - 1), WHOLE] | None = None


class ToSignShown(AnswerBody):
    digest: str
    typed_data: dict[str, Any] = Field(description="EIP-712 typed data for a wallet or library")


class OperatorOrderShown(AnswerBody):
    """`status` and fill figures come from the venue; `reported` is what you reported."""

    confirm_id: str = Field(description="id of the order, also the venue's client order id")
    status: OrderState
    account: str
    coin: str
    side: Side
    type: OrderType
    size: str
    limit_px: str
    reduce_only: bool
    largest_fill_usdc: str
    prepared_at: InstantText
    expires_at: InstantText
    avg_px: str | None
    filled_size: str | None
    oid: int | None
    venue_words: str | None = Field(description="why the venue refused it, in the venue's words")
    reported: ClaimedOutcome | None
    signal_id: int | None
    source: str
    note: str


class OrderPrepared(OperatorOrderShown):
    mid: str
    left_today_usdc: str = Field(description="what orders may still open today, after this one")
    nonce: int
    sign: ToSignShown
