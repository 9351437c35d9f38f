"""The life of a mandate, as one table.

Laws
- A status only ever moves along a line of the table. Everything not in it is refused with
  WrongStatusError.
- stopped, settled and cancelled are final for the agent; nothing leads back to signed or working.
- A pause is a flag beside the status, never a status (docs/rules.md#pause).
- A reorg is not a move: the rows of the lost block are reversed and the status is folded again from
  what is left, so a fold may well show an earlier status than before. The table binds callers, not
  the fold's history.
- On testnet the table says what may be asked for, and the chain's row moves the status: a stop or a
  cancellation of signed terms is asked for by a call that the owner sends, and an end of terms
  without money is said once its block is safe (docs/decisions/0003).
- Signed terms without a vault are cancelled by time too: from endsAt on, by a safe block, no vault
  can be made of them.
- When the owner may stop (the day after the end) is a question of time, not of status:
  core/mandate/rules/lock.py.

            assign               accept              accept
             .--.                 .--.                .--.
             v  |                 v  |                v  |
  (new) --> draft --- sign ----> signed --- fund --> working --- stop ---> stopped --- settle -->
  settled
             |  '--- sign (paper) -|--|---------------^ |                    ^                     ^  |
             |                     |  '---- stop -------|--------------------'                     |  '-- settle
             |                     |                    '------------- settle (after the end) -----'
             '-- cancel --> cancelled <-- cancel (without a vault)

Source: docs/rules.md#lifecycle, docs/rules.md#accepting; MandateVault.Status.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple

from core.errors import WrongStatusError


class Status(StrEnum):
    DRAFT = "draft"
    SIGNED = "signed"
    WORKING = "working"
    STOPPED = "stopped"
    SETTLED = "settled"
    CANCELLED = "cancelled"


class VaultStatus(IntEnum):
    """Of a vault, as the contract numbers them. Source: contracts/interfaces/IMandateVault.sol."""

    FUNDING = 0
    WORKING = 1
    STOPPED = 2
    SETTLED = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class MarketMode(StrEnum):
    PAPER = "paper"  # no vault: works from the signature on, cash comes from reports
    TESTNET = "testnet"  # a vault on a test network: cash comes from the chain


class MandateMove(StrEnum):
    ASSIGN = "assign"  # the owner designates the agent
    SIGN = "sign"  # the owner's signature of the terms
    FUND = "fund"  # deposits reached the budget
    ACCEPT = "accept"  # the agent accepts
    STOP = "stop"  # by owner, agent, keeper or the stop line
    SETTLE = "settle"  # the agent's fee was settled
    CANCEL = "cancel"  # the owner drops it before there is a vault


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFacts:
    """What a move's condition looks at.

    `is_past_end`: the block's time (paper: the clock) is at or after ends_at.
    """

    market_mode: MarketMode = MarketMode.TESTNET
    has_vault: bool = False
    is_fully_funded: bool = False
    is_past_end: bool = False


class When(StrEnum):
    """A condition; the value is the sentence that a refusal gives."""

    ALWAYS = "always"
    ON_TESTNET = "only on a test network"
    ON_PAPER = "only on paper"
    WITHOUT_VAULT = "only while it has no vault; stop it instead"
    FULLY_FUNDED = "only once the vault holds the whole budget"
    PAST_END = "only after a stop or from its end date on"


class Transition(NamedTuple):
    status: Status
    move: MandateMove
    when: When
    next: Status


TABLE: tuple[Transition, ...] = (
    Transition(Status.DRAFT, MandateMove.ASSIGN, When.ALWAYS, Status.DRAFT),
    Transition(Status.DRAFT, MandateMove.SIGN, When.ON_TESTNET, Status.SIGNED),
    Transition(Status.DRAFT, MandateMove.SIGN, When.ON_PAPER, Status.WORKING),
    Transition(Status.DRAFT, MandateMove.CANCEL, When.ALWAYS, Status.CANCELLED),
    Transition(Status.SIGNED, MandateMove.ACCEPT, When.ALWAYS, Status.SIGNED),
    Transition(Status.SIGNED, MandateMove.FUND, When.FULLY_FUNDED, Status.WORKING),
    Transition(Status.SIGNED, MandateMove.STOP, When.ALWAYS, Status.STOPPED),
    Transition(Status.SIGNED, MandateMove.CANCEL, When.WITHOUT_VAULT, Status.CANCELLED),
    Transition(Status.WORKING, MandateMove.ACCEPT, When.ALWAYS, Status.WORKING),
    Transition(Status.WORKING, MandateMove.STOP, When.ALWAYS, Status.STOPPED),
    Transition(Status.WORKING, MandateMove.SETTLE, When.PAST_END, Status.SETTLED),
    Transition(Status.STOPPED, MandateMove.SETTLE, When.ALWAYS, Status.SETTLED),
    Transition(Status.SETTLED, MandateMove.SETTLE, When.ALWAYS, Status.SETTLED),
)

# What a mandate is by the status of its vault.
OF_VAULT: Mapping[VaultStatus, Status] = {
    VaultStatus.FUNDING: Status.SIGNED,
    VaultStatus.WORKING: Status.WORKING,
    VaultStatus.STOPPED: Status.STOPPED,
    VaultStatus.SETTLED: Status.SETTLED,
}
ACTIVE = (Status.SIGNED, Status.WORKING)  # a mandate that an agent holds
CLOSED = (Status.STOPPED, Status.SETTLED)  # ended otherwise than by a cancellation
ENDED = (*CLOSED, Status.CANCELLED)  # final for the agent
# whose ledgers get the factory's events; docs/rules.md#factory-notes
NOTED = (*ACTIVE, Status.STOPPED)

_HOLDS: Mapping[When, Callable[[MoveFacts], bool]] = {
    When.ALWAYS: lambda facts: True,
    When.ON_TESTNET: lambda facts: facts.market_mode is MarketMode.TESTNET,
    When.ON_PAPER: lambda facts: facts.market_mode is MarketMode.PAPER,
    When.WITHOUT_VAULT: lambda facts: not facts.has_vault,
    When.FULLY_FUNDED: lambda facts: facts.is_fully_funded,
    When.PAST_END: lambda facts: facts.is_past_end,
}


def next_status(status: Status, move: MandateMove, facts: MoveFacts) -> Status:
    """Where `move` leads from `status`; the same status when it changes nothing.

    Errors: WrongStatusError with status, move and what would allow it.
    """
    lines = [line for line in TABLE if line.status is status and line.move is move]
    for line in lines:
        if _HOLDS[line.when](facts):
            return line.next
    raise WrongStatusError(status, move, lines[0].when if lines else _from_where(move))


def _from_where(move: MandateMove) -> str:
    allowed = dict.fromkeys(
        "a draft" if line.status is Status.DRAFT else line.status.value
        for line in TABLE
        if line.move is move
    )
    return f"only while it is {' or '.join(allowed)}"
