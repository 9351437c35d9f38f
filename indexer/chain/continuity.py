"""Whether a vault's events explain what the chain says of it. Pure.

    position at the block before  +  events in order  =  position at the last block

The equations are the contract's own (contracts/MandateVault.sol) and exact, but for one: anybody
may send USDC to a vault, so that a balance may rise by more than its events say, and never by less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from core.mandate.chain.lens import VaultTotals
from core.mandate.chain.reader import VaultPosition
from core.mandate.rules.events import (
    AgentRemoved,
    AgentSet,
    Deposited,
    Executed,
    ProceedsReceived,
    Settled,
    Stopped,
    Unwound,
    VaultEvent,
    Withdrawn,
)
from core.mandate.rules.terms import ZERO_ADDRESS

NOTHING = VaultTotals(0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """An event of the vault, and where it stands."""

    number: int
    tx_hash: str
    event: VaultEvent


@dataclass(frozen=True, slots=True)
class Gap:
    """What the events do not explain; the omitted one stands in one of the blocks `first` to
    `last`.
    """

    what: str
    first: int
    last: int


@dataclass(slots=True)
class _Tally:
    """What the events add up to so far.

    `nonce` and `balance` None, `agent` empty: not known yet; the heights are where they were said.
    """

    nonce: int | None
    tx_hash: str
    balance: int | None
    totals: dict[str, int]
    agent: str
    nonce_at: int
    balance_at: int


def gap_in(
    before: VaultPosition | None,
    after: VaultPosition | None,
    told: Sequence[PlacedEvent],
    blocks: tuple[int, int],
    usdc: str,
) -> Gap | None:
    """The first thing that the events leave open; None: they explain everything.

    `blocks`: the first and last height of `told`.

    A position is None when no node has that state any more: then only what the events say of one
    another is checked.
    """
    run = _Tally(
        None if before is None else before.totals.nonce,
        "",
        None if before is None else before.balance,
        asdict(NOTHING if before is None else before.totals),
        "" if before is None else before.agent,
        blocks[0],
        blocks[0],
    )
    funding = _funding_withdrawals(before, after, told, usdc)
    for one in told:
        gap = _nonce_gap(run, one) or _balance_gap(run, one, usdc)
        _count(run, one.event, usdc, is_funding=funding > 0)
        if isinstance(one.event, Withdrawn) and one.event.token == usdc:
            funding -= 1
        if (
            isinstance(one.event, Deposited)
            and None not in (before, after)
            and run.totals["deposited"] != one.event.deposited
        ):
            gap = gap or Gap("its deposits do not add up", *blocks)
        if gap is not None:
            return gap
    if after is None:
        return None
    if run.balance is not None and after.balance < run.balance:
        return Gap(
            f"its balance fell to {after.balance}, its events say {run.balance}",
            run.balance_at,
            blocks[1],
        )
    what = None if before is None else _totals_fault(run, after)
    return None if what is None else Gap(what, *blocks)


def _nonce_gap(run: _Tally, one: PlacedEvent) -> Gap | None:
    """Calls of one batch share their number; the next batch has the next."""
    if not isinstance(one.event, Executed):
        return None
    number, is_of_batch = (
        one.event.nonce,
        one.tx_hash == run.tx_hash and run.nonce == one.event.nonce + 1,
    )
    expected, since = run.nonce, run.nonce_at
    run.nonce, run.tx_hash, run.nonce_at = number + 1, one.tx_hash, one.number
    if expected is None or number == expected or is_of_batch:
        return None
    return Gap(f"its execution {number} follows {expected - 1}", since, one.number)


def _balance_gap(run: _Tally, one: PlacedEvent, usdc: str) -> Gap | None:
    delta = _delta(one.event, usdc)
    if delta is None or not isinstance(
        one.event, Deposited | Executed | ProceedsReceived | Unwound | Settled | Withdrawn
    ):
        return None
    expected, since = None if run.balance is None else run.balance + delta, run.balance_at
    run.balance, run.balance_at = one.event.balance, one.number
    if expected is None or one.event.balance >= expected:
        return None
    return Gap(f"its balance is {one.event.balance}, its events say {expected}", since, one.number)


def _delta(event: VaultEvent, usdc: str) -> int | None:
    """By how much the event moves the vault's USDC; None: not at all."""
    match event:
        case Deposited() | ProceedsReceived():
            return event.amount
        case Executed():
            return event.received - event.spent
        case Unwound():
            return event.received
        case Settled():
            return -event.fee
        case Withdrawn() if event.token == usdc:
            return -event.amount
    return None


# What an event adds to the vault's totals: (total, field of the event).
_ADDS: Mapping[type, Sequence[tuple[str, str]]] = {
    Deposited: (("deposited", "amount"),),
    Executed: (("spent", "spent"), ("received", "received")),
    Unwound: (("received", "received"),),
    ProceedsReceived: (("received", "amount"),),
    Settled: (("fee_paid", "fee"),),
}


def _count(run: _Tally, event: VaultEvent, usdc: str, *, is_funding: bool) -> None:
    totals = run.totals
    for total, field in _ADDS.get(type(event), ()):
        totals[total] += getattr(event, field)
    match event:
        case Executed() if run.nonce is not None:
            totals["nonce"] = run.nonce
        case Withdrawn() if event.token == usdc and is_funding:
            totals["deposited"] = min(totals["deposited"], event.balance)
        case Withdrawn() if event.token == usdc:
            totals["withdrawn"] += event.amount
        case AgentSet():
            run.agent = event.agent
        case AgentRemoved() | Stopped() | Settled():
            run.agent = ZERO_ADDRESS


def _funding_withdrawals(
    before: VaultPosition | None,
    after: VaultPosition | None,
    told: Sequence[PlacedEvent],
    usdc: str,
) -> int:
    """How many of the first withdrawals were made before the mandate worked: they take deposits
    back and count as nothing else.

    Amounts are never 0, so that the last ones whose sum is what was withdrawn since are the others.
    """
    amounts = [
        one.event.amount
        for one in told
        if isinstance(one.event, Withdrawn) and one.event.token == usdc
    ]
    if before is None or after is None:
        return 0
    left, found = after.totals.withdrawn - before.totals.withdrawn, len(amounts)
    while found and left > 0:
        found -= 1
        left -= amounts[found]
    return found


def _totals_fault(run: _Tally, said: VaultPosition) -> str | None:
    """`unvalued_out` depends on the rules, and is not counted here."""
    if run.agent and run.agent != said.agent:
        return f"its events leave it the agent {run.agent}, the chain says {said.agent}"
    for name in (
        "nonce",
        "deposited",
        "spent",
        "received",
        "withdrawn",
        "fee_paid",
    ):
        ours, theirs = run.totals[name], getattr(said.totals, name)
        if ours != theirs:
            return f"its events add up to {name} {ours}, the chain says {theirs}"
    return None
