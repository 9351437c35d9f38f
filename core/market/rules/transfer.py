"""Whether a token can be moved, per venue, per token and from one venue to another
(docs/market.md#transfer).

Laws
- Unknown is neither open nor closed: it never opens a gate and never blocks a token.
- A gate is open on one chain, with one address: withdrawal there, deposit here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.market.facts import NetworkStatus
from core.market.rules.identity import key_of


class TransferReach(StrEnum):
    """Of a token over its venues."""

    OPEN = "open"
    PARTIAL = "partial"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class GateState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class TransferGate:
    """From A to B. `chains`: those that are open; `fee`: the least withdrawal fee of A on them, in
    units of the token, and `fee_chain` where it is asked; None: unknown.
    """

    state: GateState
    chains: tuple[str, ...]
    fee: float | None
    fee_chain: str | None = None


def any_open(flags: Iterable[bool | None]) -> bool | None:
    """Of a venue over its chains: open if one is, closed if all are, else unknown."""
    seen = set(flags)
    if True in seen:
        return True
    return None if not seen or None in seen else False


def token_transfer(statuses: Iterable[NetworkStatus]) -> TransferReach:
    """`statuses`: of one token, of all its venues. A venue that says nothing of it is unknown."""
    venues: dict[str, list[NetworkStatus]] = {}
    for status in statuses:
        if status.can_deposit is not None or status.can_withdraw is not None:
            venues.setdefault(status.exchange, []).append(status)
    if not venues:
        return TransferReach.UNKNOWN
    if all(any(s.can_deposit and s.can_withdraw for s in chains) for chains in venues.values()):
        return TransferReach.OPEN
    is_any_open = any(s.can_deposit or s.can_withdraw for chains in venues.values() for s in chains)
    return TransferReach.PARTIAL if is_any_open else TransferReach.BLOCKED


def gate(source: Sequence[NetworkStatus], target: Sequence[NetworkStatus]) -> TransferGate:
    """`source`: what A says of the token's chains; `target`: what B says. One token each."""
    pairs = [(a, b) for a in source for b in target]
    found = [(a, _pair(a, b)) for a, b in pairs]
    usable = [a for a, state in found if state is GateState.OPEN]
    if usable:
        chains = tuple(sorted({a.chain for a in usable}))
        fees = [(a.withdraw_fee, a.chain) for a in usable if a.withdraw_fee is not None]
        return TransferGate(GateState.OPEN, chains, *min(fees, default=(None, None)))
    is_unsure = not pairs or any(state is GateState.UNVERIFIED for _, state in found)
    return TransferGate(GateState.UNVERIFIED if is_unsure else GateState.CLOSED, (), None)


def _pair(a: NetworkStatus, b: NetworkStatus) -> GateState:
    if a.can_withdraw is False or b.can_deposit is False:
        return GateState.CLOSED
    unmatched = any(one.chain.startswith("unknown:") for one in (a, b))
    if a.chain != b.chain:
        return GateState.UNVERIFIED if unmatched else GateState.CLOSED
    one, other = key_of(a), key_of(b)
    if one is None or other is None:
        return GateState.UNVERIFIED
    if one != other:
        return GateState.CLOSED
    is_open = bool(a.can_withdraw and b.can_deposit)
    return GateState.OPEN if is_open else GateState.UNVERIFIED
