"""The block of fees (docs/rules.md#fees): by class, the agent's own, and two net figures that are
never summed.

Laws
- A fee without a known payload.fee_kind is unclassified, never folded into venue.
- realized_total is everything that was paid: every class, unclassified included, and the agent's
  fee.
- net_after_fees_est = worth + withdrawn - deposited - reserved. Fees that left the vault are out of
  worth already.
- net_after_fees_realized = received + what is out at cost - spent - payouts; on paper resolves -
  fees - payouts.
"""

from typing import Any

from core.mandate.rules.state import MandateState
from core.mandate.rules.worth import Worth, agent_fee_reserved_usdc_e6
from core.money import usdc_text

EST_FORMULA = "worth_est + withdrawn - deposited - agent_fee_reserved"
REALIZED_FORMULA = "received + out_at_cost - spent - payouts"
REALIZED_ON_PAPER = "sum(resolve) - sum(fee) - sum(payout)"


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
