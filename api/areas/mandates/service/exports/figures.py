"""The figures of a statement, one by one: `flows.deposits` is the leaf `deposits` of the block
`flows` of its JSON.
"""

from collections.abc import Iterator, Mapping
from typing import Any

BLOCKS = ("worth", "cash", "flows", "result", "fees", "allowed_vs_used", "breaches")
UNKNOWN = "unknown"

WORDS: Mapping[str, str] = {
    "mandates": "Mandates",
    "worth.start": "Worth at the start, est",
    "worth.end": "Worth at the end, est",
    "worth.at_cost": "Of it at cost, not valued",
    "worth.not_returned": "Never came back",
    "worth.source": "Worth known from",
    "worth.est": "Worth is an estimate",
    "cash.start": "Cash at the start",
    "cash.end": "Cash at the end",
    "flows.deposits": "Deposits",
    "flows.withdrawals": "Withdrawals",
    "flows.net_deposits": "Net deposits",
    "flows.spent": "Spent by the agent",
    "flows.received": "Received back",
    "flows.agent_fee": "Agent's fee",
    "flows.net": "Net change of cash",
    "flows.donated_withdrawn": "Withdrawn beyond own cash",
    "flows.unexplained": "Unexplained",
    "result.realized": "Realized",
    "result.estimated": "Estimated, est",
    "fees.by_type.tools": "Tools",
    "fees.by_type.venue": "Venue",
    "fees.by_type.network": "Network",
    "fees.by_type.unclassified.amount": "Unclassified",
    "fees.by_type.unclassified.count": "Unclassified, how many",
    "fees.by_type.agent_fee": "Agent's fee on the gain",
    "allowed_vs_used.largest_move.used": "Largest move, used",
    "allowed_vs_used.largest_move.allowed": "Largest move, allowed",
    "allowed_vs_used.busiest_day.used": "Busiest 24 hours, used",
    "allowed_vs_used.busiest_day.allowed": "Busiest 24 hours, allowed",
    "allowed_vs_used.busiest_day.ended_at": "Busiest 24 hours, ended at",
    "breaches.reverts.count": "Reverted by the chain",
    "breaches.refusals.count": "Refused attempts in all",
    "breaches.violations.count": "Reports that broke a rule",
    "breaches.violations.codes": "Rules that were broken",
}


def leaves(block: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of everything in a block that holds no further names; a list is one value."""
    for key, value in block.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def figures(statement: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every figure of one statement, block by block."""
    return [
        leaf
        for block in BLOCKS
        if block in statement
        for leaf in leaves(statement[block], f"{block}.")
    ]


# beside the figures of a statement and of totals: shown as a caution, not as a figure
ISSUE = ("data_issue", "data_issue_reason")


def issue_of(block: Mapping[str, Any]) -> str | None:
    """Why the figures are not the whole truth, as a caution; None when they are."""
    if not block.get("data_issue"):
        return None
    return (
        f"DATA ISSUE: these figures are incomplete. {block['data_issue_reason']} Unknown "
        "values have no figure."
    )


def figures_of_total(total: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in leaves(total) if name not in ISSUE]


def said(value: Any) -> str:
    """A figure as people read it. Unknown is said, never 0."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "none"
    return str(value)


def caution(market_mode: str, chain_id: int, *, is_local: bool) -> str:
    """What money a statement of this mode is about (docs/rules.md#simulated-money-says-so)."""
    if market_mode == "paper":
        return "PAPER: no money moved. Every figure follows the agent's own reports."
    place = "a local chain" if is_local else "a public test network"
    return (
        f"TEST NETWORK: chain id {chain_id}, {place}. This is test money without value, and the "
        "prices of its test venue are simulated."
    )
