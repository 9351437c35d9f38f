"""The block of progress in a mandate read (docs/progress.md): worth, result, rules and what comes
next.

Laws
- worth_est = cash + positions_est; leave_now_est = cash + positions_est - exit_cost_est. Estimates
  are labelled est.
- An unknown spread leaves exit_cost_est and leave_now_est null while money is out; with nothing out
  both are known.
- A rule is ok until a stored flag says otherwise; then it never turns back. The stop line goes by
  worth as well.
- at_cost is the part of positions_est that no adapter values, on paper that the agent has not marked.
  Once all is home, what of it never came back is not_returned, and counts 0.
- The public stop counts at cost what is out where no adapter values it.
- Drafts have no progress in days: day is null until the terms are signed.
- Fees stand by class (docs/rules.md#fees), the agent's own apart, with two net figures that are never
  summed. A fee without a known payload.fee_kind is unclassified, never folded into venue.
- realized_total is everything that was paid: every class, unclassified included, and the agent's fee.
- net_after_fees_est = worth + withdrawn - deposited - reserved. Fees that left the vault are out of
  worth already.
- net_after_fees_realized = received + what is out at cost - spent - payouts; on paper resolves -
  fees - payouts.

What progress does not know of a ledger that is short: null, or the chain's own word where it was
asked.

| known from | what |
|---|---|
| the terms | floor, horizon_days, the texts of the rules |
| the ledger | what the agent reported, rules that are broken already: a broken rule never turns back |
| the chain, when it was asked | status, cash, worth and what follows from both, the fee that was paid, the public stop, next_event, day |
| nobody | realized, fees by class, whether a rule that is not broken yet still is kept |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from core.mandate.rules.cash import unreturned_cost_usdc_e6
from core.mandate.rules.lifecycle import SETTLE_GRACE_S, MarketMode, Status
from core.mandate.rules.limits import DATA_ISSUE
from core.mandate.rules.positions import ChainPosition, open_positions
from core.mandate.rules.state import UNSEEN, MandateFacts, MandateState, Position
from core.mandate.rules.terms import MandateTerms
from core.mandate.rules.violations import RULE_OF_CODE
from core.mandate.rules.worth import (
    VaultSeen,
    Worth,
    agent_fee_reserved_usdc_e6,
    as_seen,
    exit_cost_up,
    worth_of,
)
from core.money import usdc_text, usdc_text_or_none
from core.quarantine.rules import ShortLedger
from core.times import DAY_S, instant_text, utc_text

NONE = "none"
OF_WORTH = (
    "worth_est",
    "worth_as_of",
    "positions_est",
    "at_cost",
    "agent_fee_reserved",
    "leave_now_est",
    "exit_cost_est",
)
OF_THE_VAULT = ("cash", "next_event", "day")


def short_progress(
    block: Mapping[str, Any], *, is_seen: bool, is_worth_seen: bool
) -> dict[str, Any]:
    """The fields of the block that are other than it has them.

    `is_seen`: the chain was asked; `is_worth_seen`: and the vault knew.
    """
    changed: dict[str, Any] = {
        "realized": None,
        "not_returned": None,
        "fees": _fees(block["fees"], is_seen=is_seen, is_worth_seen=is_worth_seen),
        "rules": [rule | {"ok": None if rule["ok"] else False} for rule in block["rules"]],
        "positions": [
            one | {"cost_usdc": None} if one["source"] == "chain" else one
            for one in block["positions"]
        ],
    }
    if not is_worth_seen:
        changed |= dict.fromkeys(OF_WORTH) | {"worth_source": NONE}
    if not is_seen:
        changed |= dict.fromkeys(OF_THE_VAULT) | {
            "public_stop": {"on": None, "reason": DATA_ISSUE, "at_cost_usdc": None}
        }
    return changed


def _fees(fees: Mapping[str, Any], *, is_seen: bool, is_worth_seen: bool) -> dict[str, Any]:
    paid = {"paid_source": "chain"} if is_seen else {"paid": None, "paid_source": NONE}
    reserved = {} if is_worth_seen else {"reserved_est": None}
    net = {} if is_worth_seen else {"value": None, "pct": None, "source": NONE}
    return {
        **fees,
        **dict.fromkeys(("tools", "venue", "network", "realized_total")),
        "unclassified": fees["unclassified"] | {"amount": None, "count": None},
        "agent_fee": fees["agent_fee"] | reserved | paid,
        "net_after_fees_est": fees["net_after_fees_est"] | net,
        "net_after_fees_realized": fees["net_after_fees_realized"] | {"value": None},
    }


AT_ADAPTERS: Final = "adapters"  # the id of a position of which it is not known at which one it is
EST_FORMULA = "worth_est + withdrawn - deposited - agent_fee_reserved"
REALIZED_FORMULA = "received + out_at_cost - spent - payouts"
REALIZED_ON_PAPER = "sum(resolve) - sum(fee) - sum(payout)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressFacts:
    """`spread_bps`: what closing costs, None when nobody knows.

    `now`: unix seconds, latest block's (paper: the clock's).

    `short`: since when the ledger lacks facts of the chain; None: it lacks none. `seen`: what the
    chain says then, None when it was not asked; `now` is its block's time.
    """

    facts: MandateFacts
    terms: MandateTerms
    spread_bps: int | None
    now: int
    short: ShortLedger | None = None
    seen: VaultSeen | None = None


def progress_block(state: MandateState, about: ProgressFacts) -> dict[str, Any]:
    """The whole block.

    `data_issue` and its reason are there only when true, `positions_void` only when there are any.

    Of a short ledger: what `short_progress` says is known.
    """
    if about.short is None:
        return _block(state, worth_of(state, about.facts), about) | data_issue(state, None)
    seen = about.seen
    known, worth = (state, None) if seen is None else (as_seen(state, seen), seen.worth)
    block = _block(
        known, worth or worth_of(known, about.facts), about, is_worth_known=worth is not None
    )
    unknown = short_progress(block, is_seen=seen is not None, is_worth_seen=worth is not None)
    return block | unknown | data_issue(state, about.short)


def _block(
    state: MandateState, worth: Worth, about: ProgressFacts, *, is_worth_known: bool = True
) -> dict[str, Any]:
    block: dict[str, Any] = {
        "status": state.status.value,
        "worth_est": usdc_text(worth.worth_usdc_e6),
        "worth_source": worth.source,
        "worth_as_of": _worth_as_of(state, worth, about.now),
        "realized": usdc_text(state.realized_usdc_e6),
        "floor": usdc_text(about.terms.stop_floor),
        "public_stop": public_stop(state, about),
        "cash": usdc_text(worth.cash_usdc_e6),
        "positions_est": usdc_text(worth.positions_usdc_e6),
        "at_cost": usdc_text(worth.at_cost_usdc_e6),
        "not_returned": usdc_text(state.not_returned_usdc_e6),
        "positions": positions_list(state, about.facts),
        "fees": fees_block(state, worth, about.terms.agent_fee_bps),
        "agent_fee_reserved": usdc_text(
            agent_fee_reserved_usdc_e6(state, worth, about.terms.agent_fee_bps)
        ),
        **_leave_now(worth, about.spread_bps),
        "rules": rules_list(state, about.terms, worth if is_worth_known else None),
        "next_event": next_event(state, about.terms, about.now),
        "day": day_of(state, about.terms, about.now),
        "horizon_days": about.terms.horizon_days,
    }
    void = positions_void(state, about.facts)
    if void:
        block["positions_void"] = void
    return block


def data_issue(state: MandateState, short: ShortLedger | None) -> dict[str, Any]:
    """{data_issue, data_issue_reason} when what is shown is not the whole truth, and why; empty
    when it is.
    """
    if short is not None:
        return short.issue
    if state.data_issue:
        return {
            "data_issue": True,
            "data_issue_reason": "A number in a report could not be read and counts as 0.",
        }
    return {}


def public_stop(state: MandateState, about: ProgressFacts) -> dict[str, Any]:
    """{on, reason, at_cost_usdc}: whether anyone may stop the mandate at its floor now, by
    `enforceStopLine`, and why not.

    `on` null: there is no such stop to have, for the reason given. `at_cost_usdc`: what is out
    where no adapter values it.
    Source: MandateVault.enforceStopLine, worth.
    """
    is_paper = about.facts.market_mode is MarketMode.PAPER
    at_cost = None if is_paper else usdc_text(state.at_cost_usdc_e6)
    reason: str | None = None
    if is_paper:
        reason = "no_vault"
    elif state.status is not Status.WORKING:
        reason = "mandate_not_working"
    elif about.now >= about.terms.ends_at:
        reason = "mandate_ended"
    if reason is not None:
        return {"on": None, "reason": reason, "at_cost_usdc": at_cost}
    return {"on": True, "reason": None, "at_cost_usdc": at_cost}


def positions_list(state: MandateState, facts: MandateFacts) -> list[dict[str, Any]]:
    """Open positions: of a vault as the chain has them (positions.py), on paper as the agent
    reported them.

    Empty for a paper mandate that ended.
    """
    if facts.market_mode is MarketMode.PAPER:
        return [] if state.is_ended else [_on_paper(position) for position in state.positions]
    return [_of_vault(one, state) for one in open_positions(state)]


def positions_void(state: MandateState, facts: MandateFacts) -> list[dict[str, Any]]:
    """What a paper mandate's end voided: {id, name, status void, cost_returned}."""
    if not _is_void(state, facts):
        return []
    return [
        {
            "id": position.id,
            "name": position.name,
            "status": "void",
            "cost_returned": usdc_text(unreturned_cost_usdc_e6(position)),
        }
        for position in state.positions
    ]


def rules_list(
    state: MandateState, terms: MandateTerms, worth: Worth | None
) -> list[dict[str, Any]]:
    """[{key, text, ok}]: a rule is false once a stored flag breaks it; the stop line once the
    mandate stopped at it, and while a working one is estimated at the line or below: on paper
    nothing else would say so. `worth` None: not known.
    """
    broken = {RULE_OF_CODE.get(code) for code in state.violation_codes}
    texts = {
        "budget": (
            f"Spends no more than the budget of {usdc_text(terms.budget_usdc)} USDC and what "
            "came back"
        ),
        "per_action": f"Spends at most {usdc_text(terms.per_tx_cap)} USDC in one action",
        "per_day": f"Spends at most {usdc_text(terms.daily_cap)} USDC in any 24 hours",
        "markets": "Acts only at the allowed targets",
        "stop_line": f"Stays above the stop line of {usdc_text(terms.stop_floor)} USDC",
        "stop": "Does not act after a stop",
        "period": f"Does not act from {utc_text(terms.ends_at)} on",
    }
    if (
        state.mark is not None
        and state.mark.worth_usdc_e6 <= terms.stop_floor
        and not _has_paid_the_owner(state)
    ):
        broken.add("stop_line")
    if state.stop_worth_usdc_e6 is not None and state.stop_worth_usdc_e6 <= terms.stop_floor:
        broken.add("stop_line")
    if (
        worth is not None
        and state.status is Status.WORKING
        and worth.worth_usdc_e6 <= terms.stop_floor
    ):
        broken.add("stop_line")
    return [{"key": key, "text": text, "ok": key not in broken} for key, text in texts.items()]


def next_event(state: MandateState, terms: MandateTerms, now: int) -> dict[str, str] | None:
    """{code, at}: what the agent announced, else the end, else the end of the grace; None when
    nothing is due.
    """
    if state.status is not Status.WORKING:
        return None
    announced = _announced(state)
    if announced is not None and now < announced < terms.ends_at:
        return {"code": "agent_next", "at": utc_text(announced)}
    if now < terms.ends_at:
        return {"code": "ends", "at": utc_text(terms.ends_at)}
    until = terms.ends_at + SETTLE_GRACE_S
    return {"code": "settle_grace_ends", "at": utc_text(until)} if now < until else None


def day_of(state: MandateState, terms: MandateTerms, now: int) -> int | None:
    """The day of the mandate, 1 to horizon_days: day 1 is [issued_at, issued_at + 86400).

    None before the signature.

    It no longer changes once the mandate ended.
    """
    if state.signed_at is None:
        return None
    at = now if state.ended_at is None else int(state.ended_at.timestamp())
    return min(max(1, (at - terms.issued_at) // DAY_S + 1), terms.horizon_days)


def _leave_now(worth: Worth, spread_bps: int | None) -> dict[str, Any]:
    cost: int | None = None
    if worth.positions_usdc_e6 == 0:
        cost = 0
    elif spread_bps is not None:
        cost = exit_cost_up(worth.positions_usdc_e6, spread_bps)
    leave_now = None if cost is None else max(0, worth.worth_usdc_e6 - cost)
    return {
        "leave_now_est": usdc_text_or_none(leave_now),
        "leave_now_basis": {
            "formula": "cash + positions_est - exit_cost_est",
            "spread_bps": spread_bps,
        },
        "exit_cost_est": usdc_text_or_none(cost),
    }


def _on_paper(position: Position) -> dict[str, Any]:
    return {
        **_reported(position),
        "cost_usdc": usdc_text(position.cost_usdc_e6),
        "worth_est": usdc_text(position.mark_usdc_e6),
        "worth_source": position.mark_source,
        "worth_at": instant_text(position.mark_at),
    }


def _of_vault(one: ChainPosition, state: MandateState) -> dict[str, Any]:
    by_mark = one.is_valued and state.mark is not None
    figures = {
        "cost_usdc": usdc_text(one.cost_usdc_e6),
        "worth_est": usdc_text_or_none(one.worth_usdc_e6),
        "worth_source": "chain_mark" if by_mark else "cost",
        "worth_at": instant_text(state.mark.at) if by_mark and state.mark else None,
    }
    if one.reported is None:
        named = one.target or AT_ADAPTERS
        return {"id": named, "name": None, "status": "open", "source": "chain", **figures}
    if one.worth_usdc_e6 is None:
        figures["worth_source"] = UNSEEN
    is_marked = one.reported.mark_source == "agent_mark"
    return {
        **_reported(one.reported),
        **figures,
        "agent_mark_usdc": usdc_text(one.reported.mark_usdc_e6) if is_marked else None,
        "agent_mark_at": instant_text(one.reported.mark_at) if is_marked else None,
    }


def _reported(position: Position) -> dict[str, Any]:
    return {
        "id": position.id,
        "name": position.name,
        "status": "open",
        "source": "agent",
        "qty": position.qty,
        "target": position.target,
        "opened_at": instant_text(position.opened_at),
    }


def _worth_as_of(state: MandateState, worth: Worth, now: int) -> str | None:
    if worth.source == "chain":
        return utc_text(now)
    if worth.source == "chain_mark" and state.mark is not None:
        return instant_text(state.mark.at)
    times: Sequence[datetime] = (
        [position.mark_at for position in state.positions] if worth.source == "agent_mark" else []
    )
    return instant_text(max(times)) if times else None


def _announced(state: MandateState) -> int | None:
    try:
        at = datetime.fromisoformat(state.next_at or "")
    except ValueError:
        return None
    return int(at.timestamp()) if at.tzinfo else None


def _is_void(state: MandateState, facts: MandateFacts) -> bool:
    return facts.market_mode is MarketMode.PAPER and state.is_ended


def _has_paid_the_owner(state: MandateState) -> bool:
    """After the owner took the money out, a low worth breaks no line."""
    return state.is_ended and state.withdrawn_usdc_e6 > 0


# Fees


def fees_block(state: MandateState, worth: Worth, agent_fee_bps: int) -> dict[str, Any]:
    """The whole block, amounts as text with six decimals."""
    reserved = agent_fee_reserved_usdc_e6(state, worth, agent_fee_bps)
    net_est = worth.worth_usdc_e6 + state.withdrawn_usdc_e6 - state.deposited_usdc_e6 - reserved
    return {
        **fees_by_class(state),
        "agent_fee": {
            "reserved_est": usdc_text(reserved),
            "paid": usdc_text(state.paid_out_usdc_e6),
            "paid_source": "payout_rows" if state.settled_at else "none",
        },
        "realized_total": usdc_text(state.fees_usdc_e6 + state.paid_out_usdc_e6),
        "net_after_fees_est": {
            "value": usdc_text(net_est),
            "est": True,
            "source": worth.source,
            "pct": pct_text(net_est, state.deposited_usdc_e6),
            "formula": EST_FORMULA,
        },
        "net_after_fees_realized": {
            "value": usdc_text(state.realized_usdc_e6),
            "est": False,
            "formula": REALIZED_ON_PAPER if state.vault_address is None else REALIZED_FORMULA,
        },
    }


def fees_by_class(state: MandateState) -> dict[str, Any]:
    """tools, venue and network as text; unclassified with its count."""
    return {
        "tools": usdc_text(state.fees_tools_usdc_e6),
        "venue": usdc_text(state.fees_venue_usdc_e6),
        "network": usdc_text(state.fees_network_usdc_e6),
        "unclassified": {
            "amount": usdc_text(state.fees_unclassified_usdc_e6),
            "count": state.fees_unclassified_count,
            "source": "fee_events_without_fee_kind",
        },
    }


def pct_text(part_usdc_e6: int, whole_usdc_e6: int) -> str | None:
    """Percent with two decimals, cut off towards zero: 5 of 200 is `"2.50"`. None when there is no
    whole.
    """
    if whole_usdc_e6 <= 0:
        return None
    hundredths = abs(part_usdc_e6) * 10_000 // whole_usdc_e6
    sign = "-" if part_usdc_e6 < 0 and hundredths else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02d}"
