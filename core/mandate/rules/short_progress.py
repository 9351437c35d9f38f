"""What progress does not know of a ledger that is short: null, or the chain's own word where it was
asked.

| known from | what |
|---|---|
| the terms | floor, horizon_days, the texts of the rules |
| the ledger | what the agent reported, rules that are broken already: a broken rule never turns back |
| the chain, when it was asked | status, cash, worth and what follows from both, the fee that was paid, the public stop, next_event, day |
| nobody | realized, fees by class, whether a rule that is not broken yet still is kept |
"""

from collections.abc import Mapping
from typing import Any

from core.mandate.rules.limits import DATA_ISSUE

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
