"""When the owner's money is locked, when the owner may stop, and what the chain says of a vault.

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

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from core.errors import SettleGraceError
from core.mandate.rules.lifecycle import ENDED, MarketMode, Status
from core.mandate.rules.terms import ZERO_ADDRESS
from core.times import DAY_S, utc_text_or_none, utc_words

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
    "The record is short of facts of the chain, and the chain cannot be asked now. Ask "
    "again: the vault on chain is the truth.",
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
    "The record is short of facts of the chain, and the chain cannot be asked now. Ask the vault "
    "before you act: its check() says what it takes."
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
        return "Nothing is to be settled on chain: the mandate has no vault."
    share = f"{agent_fee_bps // 100}.{agent_fee_bps % 100:02d}"
    return (
        f"The owner or the keeper can settle: the agent gets {share} % of the realised gain, and "
        "nothing when there is none."
    )
