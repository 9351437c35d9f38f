"""The rules of the mandate vault, by topic (docs/vault-rules.md).

Laws
- A figure is here only if something enforces it: a constant of the contracts, which a test
  compares, or a setting or price, which is read from where it is enforced.
- A rule that nothing enforces today has no figure, and its status says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.credits.rules.prices import PAYOUT_POINT_PRICE, PRICES
from core.fund.rules.creation import LEAST_PILOT
from core.fund.rules.journey import SPOT_PILOT
from core.limits import CallerLimits

CONSTANTS: Final = "ConstantsLib"
CONTRACTS_PAGE: Final = "docs/contracts.md"


class Topic(StrEnum):
    DEPOSITS = "Deposits & withdrawals"
    NAV = "NAV & pricing gate"
    REBALANCING = "Rebalancing"
    SUPPLY_AUCTION = "Supply auction"
    SUPPLIER_TIERS = "Supplier tiers"
    FEES = "Fees"
    BONDS = "Bonds"
    ROLES = "Roles & keys"
    EXITS = "Emergency exits"
    PILOT = "Pilot limits"
    ACCESS = "Agent access & pricing"


class Enforcer(StrEnum):
    """`CONTRACT_IMMUTABLE`: the signed terms, and the contract's code, which nobody can change."""

    CONTRACT_CONSTANT = "contract constant"
    CONTRACT_IMMUTABLE = "contract immutable"
    SERVER = "server"
    POLICY = "policy"


class RuleStatus(StrEnum):
    LIVE = "live-testnet"
    TARGET = "mainnet-target"
    POLICY = "policy"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Binding:
    """`value` as text, in `unit`."""

    id: str
    topic: Topic
    rule: str
    source: str
    enforced_by: Enforcer = Enforcer.CONTRACT_IMMUTABLE
    value: str | None = None
    unit: str | None = None
    status: RuleStatus = RuleStatus.LIVE


UNDER_REVIEW: Final = {
    "settle_grace": "Whether a day is long enough for a keeper that is down at a mandate's end.",
    "payout_point": "Whether a point stays worth the same when the day's budget is always used up.",
}
"""Rule id -> the question that is open."""


def _constant(
    id_: str, topic: Topic, rule: str, name: str, value: int, unit: str | None
) -> Binding:
    source = f"{CONSTANTS}.{name}"
    return Binding(id_, topic, rule, source, Enforcer.CONTRACT_CONSTANT, str(value), unit)


CONTRACT_RULES: Final = (
    Binding(
        "withdraw_owner",
        Topic.DEPOSITS,
        "Only the owner withdraws, to an address that the owner names. No key of the agent or of "
        "this service can.",
        "MandateVault.withdraw",
    ),
    Binding(
        "working_at_budget",
        Topic.DEPOSITS,
        "The mandate works once deposits reach its budget; a deposit above the budget is refused.",
        "MandateVault.deposit",
    ),
    _constant(
        "settle_grace",
        Topic.DEPOSITS,
        "From the mandate's end the keeper has this long to settle; then the owner withdraws "
        "without it.",
        "SETTLE_GRACE",
        86_400,
        "seconds",
    ),
    Binding(
        "withdraw_before_end",
        Topic.DEPOSITS,
        "A working mandate is locked until it is stopped or has ended; the owner may stop "
        "it at any time before its end.",
        "MandateVault.lock",
    ),
    Binding(
        "worth",
        Topic.NAV,
        "Worth is the vault's own cash, what its adapters report as the worth of its "
        "positions, and, at cost, the money that no adapter values.",
        "MandateVault.worth",
    ),
    Binding(
        "mark",
        Topic.NAV,
        "A mark is what the vault measures when the keeper asks it to; the keeper supplies "
        "no figure.",
        "MandateVault.mark",
    ),
    Binding(
        "stop_line",
        Topic.NAV,
        "At or below the stop line that the owner signed, a mark stops the vault in its own "
        "transaction; anybody may call the stop line too.",
        "MandateVault.mark, enforceStopLine",
    ),
    Binding(
        "per_action",
        Topic.REBALANCING,
        "One call, or one batch, spends at most the cap per action that the owner signed, "
        "inclusive.",
        "OverPerTxCap",
    ),
    _constant(
        "day_window",
        Topic.REBALANCING,
        "The cap per day counts what left the vault in this period; money that comes back "
        "does not free any of it.",
        "DAY_WINDOW",
        86_400,
        "seconds",
    ),
    _constant(
        "most_rules",
        Topic.REBALANCING,
        "A mandate allows at most this many functions of targets, and at least one.",
        "MAX_RULES",
        32,
        "functions",
    ),
    Binding(
        "end",
        Topic.REBALANCING,
        "From the end that the owner signed no action of the agent passes.",
        "MandateEnded",
    ),
    Binding(
        "performance_fee",
        Topic.FEES,
        "The agent's fee is a share, signed by the owner, of what was received above what was "
        "spent, rounded down; it is paid when the mandate settles.",
        "MandateVault.settle",
    ),
    Binding(
        "fee_payee",
        Topic.FEES,
        "The fee goes only to its payee: the agent of the terms, unless the payee named another.",
        "NotPayee",
    ),
    _constant(
        "handover_delay",
        Topic.ROLES,
        "A new keeper or guard can act at the earliest this long after it was proposed in public.",
        "HANDOVER_DELAY",
        172_800,
        "seconds",
    ),
    _constant(
        "handover_window",
        Topic.ROLES,
        "A proposal of a keeper or guard can be accepted for this long after that, inclusive.",
        "HANDOVER_WINDOW",
        604_800,
        "seconds",
    ),
    Binding(
        "guard",
        Topic.ROLES,
        "The guard signs x402 payments, which the agent still has to execute inside its caps.",
        "X402Adapter.pay",
    ),
    Binding(
        "no_upgrade",
        Topic.ROLES,
        "Nobody changes the terms, the rules or the code of a vault that exists.",
        CONTRACTS_PAGE,
    ),
    Binding(
        "exits_open",
        Topic.EXITS,
        "A pause never stops withdraw, stop, unwind, settle or mark.",
        "MandateVaultFactory.pause",
    ),
    Binding(
        "owner_unwinds",
        Topic.EXITS,
        "The owner sells positions through the mandate's exit functions while it works and after.",
        "MandateVault.unwind",
    ),
    Binding(
        "exit_page",
        Topic.EXITS,
        "The owner can withdraw with only a wallet, through a page that needs no server.",
        "docs/exit.md",
        Enforcer.POLICY,
        status=RuleStatus.POLICY,
    ),
)

ANNOUNCED_RULES: Final = (
    Binding(
        "supply_auction",
        Topic.SUPPLY_AUCTION,
        "There is no auction of vault supply.",
        "docs/vault-rules.md",
        Enforcer.POLICY,
        status=RuleStatus.CLOSED,
    ),
    Binding(
        "supplier_tiers",
        Topic.SUPPLIER_TIERS,
        "Suppliers of vaults have no tiers.",
        "docs/vault-rules.md",
        Enforcer.POLICY,
        status=RuleStatus.CLOSED,
    ),
    Binding(
        "application_bond",
        Topic.BONDS,
        "An applicant who wants to run a fund on an index posts a bond that the server computes.",
        "docs/vault-rules.md",
        Enforcer.POLICY,
        status=RuleStatus.POLICY,
    ),
    Binding(
        "test_money",
        Topic.PILOT,
        "Money is only test USDC on Base Sepolia.",
        "docs/vault-rules.md",
        Enforcer.POLICY,
        status=RuleStatus.POLICY,
    ),
    Binding(
        "real_money",
        Topic.PILOT,
        "Vaults that hold real money open only after an audit of the contracts.",
        "docs/vault-rules.md",
        Enforcer.POLICY,
        status=RuleStatus.TARGET,
    ),
)


def vault_rules(limits: CallerLimits) -> tuple[Binding, ...]:
    """All rules, by topic in the topics' order."""
    order = list(Topic)
    found = (*CONTRACT_RULES, *_of_settings(limits), *_of_prices(), *_of_pilots(), *ANNOUNCED_RULES)
    return tuple(sorted(found, key=lambda one: order.index(one.topic)))


# setting -> topic, unit, rule; of each other one the rule is what core/limits.py says of it
_SAID: Final[Mapping[str, tuple[Topic, str, str]]] = {
    "bond_credits": (
        Topic.BONDS,
        "credits",
        (
            "From defense level 2 on, an agent without standing bonds this much for a task claim or "
            "a Rooms post."
        ),
    ),
    "agents_per_owner": (Topic.PILOT, "agents", "An owner has at most this many agents."),
    "daily_ceiling": (
        Topic.ACCESS,
        "calls",
        "On the Free plan, a key can make at most this many calls per UTC day.",
    ),
    "free_reads_per_day": (
        Topic.ACCESS,
        "reads",
        "An agent account can read this many metered pages free of charge per UTC day.",
    ),
    "welcome_credits": (
        Topic.ACCESS,
        "credits",
        "An owned agent, and an unowned one that qualifies, gets this much as a welcome.",
    ),
    "payout_credits_per_day": (
        Topic.ACCESS,
        "credits",
        "Approved work is paid at once up to this much per UTC day, then in order of approval.",
    ),
}


def _of_settings(limits: CallerLimits) -> Iterator[Binding]:
    """Every figure that callers are held to, in the order of core/limits.py."""
    for setting, field in CallerLimits.model_fields.items():
        if setting == "shared_funders":  # wallets, no figure
            continue
        says = f"{field.description}."
        default = (Topic.ACCESS, None, says[:1].upper() + says[1:])
        topic, unit, rule = _SAID.get(setting, default)
        value = str(getattr(limits, setting))
        yield Binding(setting, topic, rule, setting.upper(), Enforcer.SERVER, value, unit)


def _of_prices() -> Iterator[Binding]:
    read = PRICES["playbook_read"].credits
    for id_, rule, value, source in (
        (
            "playbook_read",
            "A page of a playbook costs this much once the free reads are used up.",
            None if read is None else str(read),
            "GET /prices: playbook_read",
        ),
        (
            "payout_point",
            "An approved point is paid with this much.",
            str(PAYOUT_POINT_PRICE),
            "GET /prices: payout_point_price",
        ),
    ):
        yield Binding(id_, Topic.ACCESS, rule, source, Enforcer.SERVER, value, "credits")


def _of_pilots() -> Iterator[Binding]:
    for id_, rule, least, source in (
        (
            "spot_pilot",
            "A spot pilot counts as done in its maker's journey after this long.",
            SPOT_PILOT,
            "GET /fund/me/journey: spot_pilot_days",
        ),
        (
            "pilot_before_creation",
            (
                "The maker of a fund can request its vault at the earliest this long after the "
                "pilot began."
            ),
            LEAST_PILOT,
            "POST /fund/vaults/{id}/request-creation",
        ),
    ):
        yield Binding(id_, Topic.PILOT, rule, source, Enforcer.SERVER, str(least.days), "days")
