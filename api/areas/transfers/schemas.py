"""Commands and answers of transfer reports (docs/transfers.md)."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.kernel.fields import AccountIdText, InstantText, Int, PositiveUsdc, TxHash
from api.kernel.operation import AnswerBody, Command
from core.transfers.rules import USDC, Direction, Failure, ReportStatus


def _asset(value: object) -> str:
    if not isinstance(value, str) or value.upper() != USDC:
        raise PydanticCustomError(
            "invalid_parameter",
            "write {asset}, the asset that the chain is read for",
            {"asset": USDC},
        )
    return USDC


Asset = Annotated[str, BeforeValidator(_asset), WithJsonSchema({"type": "string", "const": USDC})]


class ReportTransfer(Command):
    """`amount`: all that the transaction brought to the agent's linked wallet (in), or took from it
    (out).
    """

    chain_id: Int
    asset: Asset
    amount: PositiveUsdc
    tx_hash: TxHash
    direction: Literal["in", "out"]


class ReportedTransfer(AnswerBody):
    """Times are UTC, amounts text with six decimals.

    `override_reason`: why an amount above idle was taken.
    """

    agent_id: str
    chain_id: int
    asset: str
    amount: str
    tx_hash: str
    direction: Direction
    reported_by: Literal["agent", "chain"]
    reported_at: InstantText
    confirmed_at: InstantText | None
    status: ReportStatus
    failure: Failure | None
    override_reason: str | None


class AccountAnswer(AnswerBody):
    """What is made of an account's ledger, which may lack facts of the chain."""

    data_issue: Literal[True] | None = Field(
        default=None, description="present only when the data shown is incomplete or disputed"
    )
    data_issue_reason: str | None = None


class Balance(AccountAnswer):
    """The four states of one asset on one chain.

    With `data_issue`, figures that on-chain facts change are null.
    """

    chain_id: int
    asset: str
    idle: str | None
    reserved: str
    in_transit: str | None
    delivered: str | None


class AgentBalances(Command):
    id: AccountIdText


class Balances(AccountAnswer):
    balances: list[Balance]


class TransferReported(AnswerBody):
    recorded: bool
    transfer: ReportedTransfer
    balance: Balance
