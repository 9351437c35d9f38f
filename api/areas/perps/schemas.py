"""Commands and answers of the perpetuals leg (docs/perpetuals.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.kernel.fields import Address, InstantText, PublicId
from api.kernel.operation import AnswerBody, Command
from core.perps.rules.leg import Degraded, LegStatus


class LegPath(Command):
    id: PublicId


class BindLeg(Command):
    """`owner_address`: the account at the venue, which is the wallet that the caller signs in with.

    `agent_address`: the API wallet that it approved there. `dex`: empty for the venue's own.
    """

    id: PublicId
    owner_address: Address
    agent_address: Address
    dex: Annotated[str, Field(pattern=r"^[A-Za-z0-9]{0,16}$")] = ""


class LegView(AnswerBody):
    """Worth and time are from the last reading with a worth; null: none yet."""

    status: LegStatus
    owner_address: str
    agent_address: str
    bound_at: InstantText
    unbound_at: InstantText | None
    dex: str
    last_worth_usdc: str | None
    last_read_at: InstantText | None
    last_reason: Degraded | None
    degraded_ticks: int
    source: str | None


class LegAnswer(AnswerBody):
    enabled: Literal[True]
    mandate: str
    mandate_status: str
    network: str
    hl_market_on: bool = Field(description="true: a leg is bound and the mandate is working")
    agent_address: str | None
    leg: LegView | None
    exit_allowance_bps: int
    note: str
