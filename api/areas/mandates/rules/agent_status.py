"""agent_status of GET /mandate-wallet/agents/me: what the agent holds and what ended
(docs/rules.md#after-a-stop).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from core.mandate.rules.lifecycle import ACTIVE, CLOSED, MarketMode
from core.mandate.rules.progress import data_issue
from core.mandate.rules.state import MandateState
from core.money import usdc_text
from core.quarantine.rules import ShortLedger
from core.times import instant_text_or_none

MAX_ENDED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMandate:
    """One mandate that names the agent, with the fold of its ledger.

    `short`: what the ledger lacks; then no number of it is known.
    """

    public_id: str
    market_mode: MarketMode
    state: MandateState
    short: ShortLedger | None = None


def agent_status(mandates: Iterable[HeldMandate]) -> dict[str, Any]:
    """{active_mandates, ended_mandates}: signed or working ones; stopped or settled ones, newest
    first, at most 10.
    """
    listed = list(mandates)
    active = [held for held in listed if held.state.status in ACTIVE]
    ended = [held for held in listed if held.state.status in CLOSED]
    return {
        "active_mandates": [_active(held) for held in active],
        "ended_mandates": [_ended(held) for held in _newest(ended)],
    }


def _newest(ended: Sequence[HeldMandate]) -> list[HeldMandate]:
    timed = [held for held in ended if held.state.ended_at is not None]
    return sorted(timed, key=lambda held: (held.state.ended_at, held.public_id), reverse=True)[
        :MAX_ENDED
    ]


def _active(held: HeldMandate) -> dict[str, Any]:
    return {
        "id": held.public_id,
        "status": held.state.status.value,
        "vault": held.state.vault_address,
        "market_mode": held.market_mode.value,
        "paused": None if held.short else held.state.is_paused,
    } | data_issue(held.state, held.short)


def _ended(held: HeldMandate) -> dict[str, Any]:
    return {
        "id": held.public_id,
        "status": held.state.status.value,
        "ended_at": instant_text_or_none(held.state.ended_at),
        "vault": held.state.vault_address,
        "market_mode": held.market_mode.value,
        "net_usdc": None if held.short else usdc_text(held.state.realized_usdc_e6),
        "net_basis": "realized",
    } | data_issue(held.state, held.short)
