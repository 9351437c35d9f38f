"""The close-all plan (docs/rules.md#leaving): how the owner leaves, step by step.

A plan sends nothing.

    stop (unless stopped)  ->  one step a position  ->  withdraw

Laws
- The owner's stop is left out in [ends_at, ends_at + 1 day): the plan then says settle_grace and
  until when.
- A position that an adapter reads is closed: by the owner's unwind (data set) or by the service's
  relay (data null, dry_run). A position without a known exit is kept: money out by the chain where
  no adapter values it, and a position at an adapter whose exit nobody here knows. Action keep, reason
  no_known_exit_adapter, type unwind without data and without a signer. A report that the chain does
  not bear out is no position.
- An exit that takes a minimum is given the position's worth less the allowance, rounded down; never 0
  by itself. Where the worth is unknown there is no call and the reason is minimum_needed, until the
  owner allows everything.
- What its venue does not pay now is a step of its own: action keep, reason waits_at_venue, with the
  release that hands the vault the venue's tokens.
- Proceeds are rounded down, costs up. Unknown is null with a reason: one unpriced position leaves
  exit_cost_est null, one unpriced position that the plan closes leaves gets_back_est null.
- `position_label` is the only field that can hold text that an agent wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.mandate.rules.lifecycle import MarketMode, Status, settle_grace_until
from core.mandate.rules.positions import open_positions
from core.mandate.rules.state import MandateFacts, MandateState
from core.mandate.rules.terms import MandateTerms
from core.mandate.rules.worth import agent_fee_owed_usdc_e6, exit_cost_up
from core.money import BPS_ONE, usdc_text, usdc_text_or_none
from core.times import utc_text_or_none

LISTED = "listed"  # the `adapter` of a position at no declared venue
DEFAULT_ALLOWANCE_BPS = 100  # how much less than its worth a sale may bring
NO_EXIT, WAITS, MINIMUM_NEEDED = "no_known_exit_adapter", "waits_at_venue", "minimum_needed"


class ClosedBy(StrEnum):
    OWNER = "owner"  # by the vault's unwind
    RELAY = "relay"  # the service, with its relay key


@dataclass(frozen=True, slots=True)
class OwnerCall:
    """A transaction for the owner to sign. `data` 0x hex; `to` a checksum address."""

    to: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterPosition:
    """What an adapter says it holds for the vault.

    `worth_usdc_e6` None: not priced. A worth of 0 is a position too.

    `adapter`: the declared venue's name, or LISTED; `venue`: its name in the deployment, None: it
    has none there. `unwind`: the owner's call; None: no exit is known, so the position is kept, or
    the owner has to choose a minimum first (`needs_minimum`). `least_usdc_e6`: below which that call
    reverts; None: its exit takes no minimum. `pays_now_usdc_e6`: what a trial of it brought; None: not
    known. `waits`: its venue does not pay it now, and it is kept; `release`: the owner's call for the
    venue's tokens. `dry_run`: what the relay's trial said, where the relay closes it.
    """

    adapter: str
    adapter_address: str
    venue: str | None
    label: str | None
    worth_usdc_e6: int | None
    unwind: OwnerCall | None = None
    needs_minimum: bool = False
    least_usdc_e6: int | None = None
    pays_now_usdc_e6: int | None = None
    waits: bool = False
    release: OwnerCall | None = None
    closed_by: ClosedBy = ClosedBy.OWNER
    dry_run: Mapping[str, Any] | None = None

    @property
    def is_closable(self) -> bool:
        if self.waits:
            return False
        return self.closed_by is ClosedBy.RELAY or self.unwind is not None or self.needs_minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """`now`: unix seconds of the latest block (paper: the clock).

    `spread_bps` None: what closing costs is not known.

    `stop_call` and `withdraw_call` are the owner's calls; None on paper. `relay_positions_read`
    False: a venue could not be read, so there may be positions that the plan does not know.
    """

    facts: MandateFacts
    terms: MandateTerms
    state: MandateState
    positions: Sequence[AdapterPosition]
    relay_positions_read: bool
    stop_call: OwnerCall | None
    withdraw_call: OwnerCall | None
    spread_bps: int | None
    now: int
    allowance_bps: int = DEFAULT_ALLOWANCE_BPS


def least_usdc_e6(worth_usdc_e6: int | None, allowance_bps: int) -> int | None:
    """The least that a sale of what is worth that may bring, rounded down; None: not known. 0 only
    when everything is allowed, or it is worth nothing.
    """
    if allowance_bps == BPS_ONE:
        return 0
    if worth_usdc_e6 is None:
        return None
    return worth_usdc_e6 - exit_cost_up(worth_usdc_e6, allowance_bps)


def close_all_plan(plan: PlanFacts) -> dict[str, Any]:
    """The whole answer of GET /mandate-wallet/mandates/{id}/close-all-plan."""
    grace_until = settle_grace_until(plan.terms.ends_at, plan.now) if _is_live(plan) else None
    closed = _closed(plan)
    kept = [
        *(_keep_at_adapter(one) for one in plan.positions if not one.is_closable),
        *(_keep(label) for label in _elsewhere(plan)),
    ]
    steps = [
        *_stop(plan, grace_until),
        *(_close(one, plan) for one in closed),
        *kept,
        *_withdraw(plan),
    ]
    exit_cost, reason = _exit_cost(plan, keeps_any=bool(kept))
    return {
        "steps": [{"n": n, **step} for n, step in enumerate(steps, start=1)],
        "reason": "settle_grace" if grace_until is not None else None,
        "locked_until": utc_text_or_none(grace_until),
        "exit_allowance_bps": plan.allowance_bps,
        "relay_positions_read": plan.relay_positions_read,
        "closes": len(closed),
        "kept_at_venue": len(kept),
        "exit_cost_est": usdc_text_or_none(exit_cost),
        "exit_cost_reason": reason,
        "gets_back_est": usdc_text_or_none(_gets_back(plan)),
    }


def _is_live(plan: PlanFacts) -> bool:
    return plan.state.status in (Status.SIGNED, Status.WORKING)


def _stop(plan: PlanFacts, grace_until: int | None) -> list[dict[str, Any]]:
    if not _is_live(plan) or grace_until is not None:
        return []
    return [
        _step(
            "stop",
            who="owner",
            text="You sign the stop",
            call=plan.stop_call,
            note="The agent cannot act from then on.",
        )
    ]


def _withdraw(plan: PlanFacts) -> list[dict[str, Any]]:
    """Nothing of a paper mandate is anywhere to be withdrawn from."""
    if plan.facts.market_mode is MarketMode.PAPER:
        return []
    note = "All USDC of the vault goes to you, except a fee that is still owed."
    return [
        _step(
            "withdraw",
            who="owner",
            text="You sign the withdrawal",
            call=plan.withdraw_call,
            note=note,
        )
    ]


def _close(position: AdapterPosition, plan: PlanFacts) -> dict[str, Any]:
    is_relay = position.closed_by is ClosedBy.RELAY
    step = _step(
        "close" if is_relay else "unwind",
        who=position.closed_by.value,
        text="The service closes it with its relay key" if is_relay else "You sign the unwind",
        call=None if is_relay else position.unwind,
        note="Closed at the market." if is_relay else _sale_note(position),
    )
    step |= {
        "venue": position.venue,
        "adapter": position.adapter,
        "adapter_address": position.adapter_address,
        "action": "close_at_market" if is_relay else "unwind",
        "est_proceeds_usdc": usdc_text_or_none(_proceeds(position, plan.spread_bps)),
        "min_proceeds_usdc": usdc_text_or_none(position.least_usdc_e6),
        "withdrawable_now_usdc": usdc_text_or_none(position.pays_now_usdc_e6),
        "reason": MINIMUM_NEEDED if position.needs_minimum else None,
        "position_label": position.label,
    }
    return step | ({"dry_run": position.dry_run} if is_relay else {})


def _sale_note(position: AdapterPosition) -> str:
    if position.needs_minimum:
        return (
            "Its worth is unknown, so no minimum can be proposed: choose the least that you accept; "
            "0 accepts any price."
        )
    least, pays = position.least_usdc_e6, position.pays_now_usdc_e6
    if least is None:
        return "Sold through its adapter; the USDC goes to your vault."
    note = (
        f"Sold through its adapter for at least {usdc_text(least)} USDC, which goes to your vault."
    )
    if pays is not None and pays < least:
        note += f" A sale would bring {usdc_text(pays)} now: wait, or accept less."
    return note


def _keep_at_adapter(position: AdapterPosition) -> dict[str, Any]:
    note = "Held through an adapter whose exit this service does not know."
    if position.waits:
        worth = position.worth_usdc_e6
        part = "All of it" if worth is None else f"About {usdc_text(worth)} USDC"
        note = f"{part} cannot be withdrawn from the venue now. Read the plan again later"
        if position.release is not None:
            note += (
                ", or take the venue's own tokens: once the mandate is over send release_call, then "
                "withdraw those tokens from your vault"
            )
        note += "."
    return _keep(position.label, note, WAITS if position.waits else NO_EXIT) | {
        "venue": position.venue,
        "adapter": position.adapter,
        "adapter_address": position.adapter_address,
        "withdrawable_now_usdc": usdc_text(0) if position.waits else None,
        "release": position.release,
    }


def _keep(
    label: str | None, note: str = "No adapter can close it.", reason: str = NO_EXIT
) -> dict[str, Any]:
    step = _step("unwind", who=None, text=None, call=None, note=note)
    return step | {"action": "keep", "reason": reason, "position_label": label}


def _step(
    kind: str, *, who: str | None, text: str | None, call: OwnerCall | None, note: str
) -> dict[str, Any]:
    return {
        "type": kind,
        "venue": None,
        "adapter": None,
        "action": None,
        "who_signs": who,
        "who_signs_text": text,
        "to": None if call is None else call.to,
        "data": None if call is None else call.data,
        "est_proceeds_usdc": None,
        "min_proceeds_usdc": None,
        "withdrawable_now_usdc": None,
        "release": None,
        "note": note,
        "reason": None,
        "position_label": None,
    }


def _closed(plan: PlanFacts) -> list[AdapterPosition]:
    return [position for position in plan.positions if position.is_closable]


def _elsewhere(plan: PlanFacts) -> list[str | None]:
    """Labels of what is out where no adapter values it: of a vault by the chain, on paper as reported
    until it ended.
    """
    if plan.facts.market_mode is MarketMode.PAPER:
        return [] if plan.state.is_ended else [one.name or one.id for one in plan.state.positions]
    return [
        one.target if one.reported is None else one.reported.name or one.reported.id
        for one in open_positions(plan.state)
        if one.worth_usdc_e6 and not one.is_valued
    ]


def _proceeds(position: AdapterPosition, spread_bps: int | None) -> int | None:
    if position.worth_usdc_e6 is None or spread_bps is None:
        return None
    return position.worth_usdc_e6 - exit_cost_up(position.worth_usdc_e6, spread_bps)


def _exit_cost(plan: PlanFacts, *, keeps_any: bool) -> tuple[int | None, str | None]:
    if not plan.relay_positions_read:
        return None, "relay_positions_not_read"
    if any(position.waits for position in plan.positions):
        return None, WAITS
    if keeps_any or any(position.worth_usdc_e6 is None for position in plan.positions):
        return None, "position_not_priced"
    if plan.positions and plan.spread_bps is None:
        return None, "spread_unknown"
    return sum(
        exit_cost_up(position.worth_usdc_e6 or 0, plan.spread_bps or 0)
        for position in plan.positions
    ), None


def _gets_back(plan: PlanFacts) -> int | None:
    """Cash and proceeds, less the fee that the agent would be owed then: bps of the realised gain,
    less what was paid.
    """
    proceeds = [_proceeds(position, plan.spread_bps) for position in _closed(plan)]
    if not plan.relay_positions_read or None in proceeds:
        return None
    brought = sum(one for one in proceeds if one is not None)
    state = plan.state
    gain = state.received_usdc_e6 + brought - state.spent_usdc_e6
    fee = agent_fee_owed_usdc_e6(gain, plan.terms.agent_fee_bps, state.paid_out_usdc_e6)
    return max(0, state.cash_usdc_e6 + brought - fee)
