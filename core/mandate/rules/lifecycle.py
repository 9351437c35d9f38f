"""The life of a mandate, and when it locks the owner's money.

The life of a mandate, as one table.

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
  core/mandate/rules/lifecycle.py.

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

When the owner's money is locked, when the owner may stop, and what the chain says of a vault.

Laws
- Only a working mandate locks money, and no lock outlives the end date by more than a day.
- The keeper's mark stops at the floor on that day too. The agent may stop while it is the agent. On the day after the end date
  a stop by the owner is refused, so that the agent's fee can be settled first; but on paper, one by
  the agent too, whose key may be the owner's.

               ends_at              ends_at + 86400
    working       |     settle_grace      |     open
    --------------[-----------------------[-------------->  time
    both may stop     neither may stop        both may stop, the owner may withdraw

- `now` is the latest block's time; for a paper mandate, the clock.

Source: MandateVault.lock, stop and _timeLock; docs/rules.md#lock-and-settle-grace.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final, NamedTuple

from core.errors import SettleGraceError, WrongStatusError
from core.mandate.rules.terms import ZERO_ADDRESS
from core.times import DAY_S, utc_text_or_none, utc_words


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


SETTLE_GRACE_S: Final = DAY_S  # ConstantsLib.SETTLE_GRACE


class LockReason(StrEnum):
    WORKING = "working"
    SETTLE_GRACE = "settle_grace"
    NOTHING_LEFT = "nothing_left"
    NO_VAULT = "no_vault"  # the record's own: the chain knows no vault to ask
    DATA_ISSUE = "data_issue"  # the record's own: it is short, and the chain was not asked


class StoppedBy(StrEnum):
    OWNER = "owner"
    AGENT = "agent"
    KEEPER = "keeper"
    CHAIN = "chain"  # anyone, by enforceStopLine


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFacts:
    """`withdrawable_usdc_e6`: the vault's USDC less the fee owed.

    Times are unix seconds; `ends_at` exclusive.
    """

    status: Status
    market_mode: MarketMode
    has_vault: bool
    ends_at: int
    withdrawable_usdc_e6: int
    stopped_at: int | None = None
    stopped_by: StoppedBy | None = None


@dataclass(frozen=True, slots=True)
class WithdrawalLock:
    """`until`: unix second from which the lock opens by itself; None without a lock by time.

    `withdrawable` None: not known.
    """

    withdrawable: bool | None
    reason: LockReason | None
    until: int | None
    message: str


UNKNOWN_LOCK: Final = WithdrawalLock(
    None,
    LockReason.DATA_ISSUE,
    None,
    "The record is missing facts of the chain, and the chain cannot be read right now. Ask "
    "again: the vault on chain is authoritative.",
)


# Stopping


def settle_grace_until(ends_at: int, now: int) -> int | None:
    """The end of the settle grace while `now` is in [ends_at, ends_at + 86400), else None."""
    until = ends_at + SETTLE_GRACE_S
    return until if ends_at <= now < until else None


def check_stop(by: StoppedBy, ends_at: int, now: int, *, is_paper: bool) -> None:
    """Whether `by` may stop a signed or working mandate now.

    Errors: SettleGraceError, for the owner, and for the agent but on paper.
    """
    until = settle_grace_until(ends_at, now)
    is_gated = by is StoppedBy.OWNER or (by is StoppedBy.AGENT and not is_paper)
    if is_gated and until is not None:
        raise SettleGraceError(until)


# The lock


def lock_of(facts: LockFacts, now: int) -> WithdrawalLock:
    """Whether the owner can withdraw USDC now, why not, and until when.

    Agrees with MandateVault.lock where there is one.
    """
    if not facts.has_vault:
        return WithdrawalLock(False, LockReason.NO_VAULT, None, _no_vault_message(facts))
    until = facts.ends_at + SETTLE_GRACE_S
    if facts.status is Status.WORKING and now < until:
        return _time_lock(facts.ends_at, until, now)
    if facts.withdrawable_usdc_e6 <= 0:
        return WithdrawalLock(
            False,
            LockReason.NOTHING_LEFT,
            None,
            f"{_story(facts)} Nothing is left in the vault.".lstrip(),
        )
    return WithdrawalLock(
        True, None, None, f"{_story(facts)} Only the owner can withdraw.".lstrip()
    )


def lock_to_json(lock: WithdrawalLock) -> dict[str, Any]:
    """{withdrawable, reason, until, message}. Source: docs/rules.md#lock-and-settle-grace."""
    return {
        "withdrawable": lock.withdrawable,
        "reason": lock.reason,
        "until": utc_text_or_none(lock.until),
        "message": lock.message,
    }


def _time_lock(ends_at: int, until: int, now: int) -> WithdrawalLock:
    if now < ends_at:
        message = (
            "The mandate is working. Stop it to withdraw; without a stop the money is free from "
            f"{utc_words(until)}."
        )
        return WithdrawalLock(False, LockReason.WORKING, until, message)
    message = (
        "The end date has passed. The agent's fee is settled first; the owner can withdraw from "
        f"{utc_words(until)}."
    )
    return WithdrawalLock(False, LockReason.SETTLE_GRACE, until, message)


def _story(facts: LockFacts) -> str:
    """What happened to the mandate, in one sentence; empty when it was neither stopped nor
    ended.
    """
    if facts.stopped_at is not None:
        return stop_sentence(facts.stopped_by, facts.stopped_at)
    if facts.status is Status.SETTLED:
        return "The mandate ended and its fee is settled."
    if facts.status is Status.WORKING:
        return "The end date has passed."
    return "The mandate is not funded yet."


def stop_sentence(by: StoppedBy | None, stopped_at: int) -> str:
    """Who stopped it and when: `The owner stopped it at 2026-01-01 00:00:00 UTC.`"""
    return f"{_WHO[by] if by else 'It was stopped'} at {utc_words(stopped_at)}."


_WHO: Final[Mapping[StoppedBy, str]] = {
    StoppedBy.OWNER: "The owner stopped it",
    StoppedBy.AGENT: "The agent stopped it",
    StoppedBy.KEEPER: "The keeper stopped it",
    StoppedBy.CHAIN: "The stop line stopped it",
}


def _no_vault_message(facts: LockFacts) -> str:
    if facts.market_mode is MarketMode.PAPER:
        return "A paper mandate holds no money; there is nothing to withdraw."
    return "There is no vault, so there is nothing to withdraw."


# What a read shows beside the lock

UNKNOWN_CHAIN_STATE: Final[Mapping[str, Any]] = {
    "stopped": None,
    "settled": None,
    "agent": None,
    "agent_known": False,
}
UNKNOWN_HOW_TO_ACT: Final = (
    "The record is missing facts of the chain, and the chain cannot be read right now. Ask "
    "the vault before you act: its check() says what it accepts."
)


def chain_state(
    *, has_vault: bool, stopped: bool, settled: bool, agent: str | None, agent_known: bool
) -> dict[str, Any]:
    """{stopped, settled, agent, agent_known}; without a vault the chain says nothing, so all is
    null.

    `agent`: the agent that the vault obeys, null when there is none (removed or stopped) or when it
    is not known.
    """
    if not has_vault:
        return dict(UNKNOWN_CHAIN_STATE)
    shown = agent if agent_known and not (stopped or settled) and agent != ZERO_ADDRESS else None
    return {
        "stopped": stopped,
        "settled": settled,
        "agent": shown,
        "agent_known": agent_known or stopped or settled,
    }


def how_to_act(
    status: Status, *, paused: bool, is_past_end: bool, is_paper: bool = False, was_set: bool = True
) -> str:
    """One sentence for the agent.

    `was_set`: the vault had an agent once. Source: docs/rules.md#after-a-stop.
    """
    if status in ENDED:
        return f"The mandate is {status}. The agent cannot act."
    if status is Status.DRAFT:
        return "The owner has not signed yet. The agent cannot act."
    if is_past_end:
        return "The end date has passed. The agent cannot act."
    if status is Status.SIGNED:
        return (
            "The vault does not hold the whole budget yet. The agent can accept, and act once it "
            "is working."
        )
    if paused:
        if was_set:
            return "The agent is removed on chain. It can act again once the owner sets it."
        return "The vault obeys no agent. One can act once the owner sets it."
    if is_paper:
        return (
            "Read limits.used, then report each buy, sell or move; on paper nothing is sent to a "
            "chain."
        )
    return (
        "Read limits.used, build the call with execute-call, send it with the agent's own key, "
        "and report it with its hash."
    )


def settle_note(status: Status, *, agent_fee_bps: int, has_vault: bool) -> str | None:
    """What a stopped mandate still waits for; None when it is not stopped.

    Source: docs/rules.md#after-a-stop.
    """
    if status is not Status.STOPPED:
        return None
    if not has_vault:
        return "There is nothing to settle on chain: the mandate has no vault."
    share = f"{agent_fee_bps // 100}.{agent_fee_bps % 100:02d}"
    return (
        f"The owner or the keeper can settle: the agent gets {share} % of the realised gain, and "
        "nothing when there is none."
    )
