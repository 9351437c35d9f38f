"""Commands and answers of transfer reports (docs/transfers.md)."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.kernel.fields import AccountIdText, Int, PositiveUsdc, TxHash
from api.kernel.operation import Command
from core.transfers.rules import USDC


def _asset(value: object) -> str:
    if not isinstance(value, str) or value.upper() != USDC:
        raise PydanticCustomError("invalid_parameter", "write {asset}, the asset that the chain is read for", {"asset": USDC})
    return USDC


Asset = Annotated[str, BeforeValidator(_asset), WithJsonSchema({"type": "string", "const": USDC})]


class ReportTransfer(Command):
    """`amount`: all that the transaction brought to the agent's linked wallet (in), or took from it (out)."""

    chain_id: Int
    asset: Asset
    amount: PositiveUsdc
    tx_hash: TxHash
    direction: Literal["in", "out"]


class Transfer(BaseModel):
    """Times are UTC, amounts text with six decimals. `override_reason`: why an amount above idle was taken."""

    agent_id: str
    chain_id: int
    asset: str
    amount: str
    tx_hash: str
    direction: Literal["in", "out"]
    reported_by: Literal["agent", "chain"]
    reported_at: str
    confirmed_at: str | None
    status: Literal["reported", "confirmed", "failed"]
    failure: str | None
    override_reason: str | None


class Known(BaseModel):
    """`data_issue` is there only when true: the record of the account is short of facts of the chain, for the reason beside it."""

    data_issue: bool | None = None
    data_issue_reason: str | None = None


class Balance(Known):
    """The four states of one asset on one chain. With `data_issue`, what facts of the chain move is null."""

    chain_id: int
    asset: str
    idle: str | None
    reserved: str
    in_transit: str | None
    delivered: str | None


class AgentBalances(Command):
    id: AccountIdText


class Balances(Known):
    balances: list[Balance]


class TransferReported(BaseModel):
    recorded: bool
    transfer: Transfer
    balance: Balance
