"""Balance, ledger and prices (docs/credits.md)."""

from api.areas.credits.schemas import (
    CreditBalance,
    CreditPosting,
    DailyCalls,
    Ledger,
    LedgerQuery,
    LimitEntry,
    PriceEntry,
    PriceList,
)
from api.kernel.caller import AgentCaller, Nobody
from api.kernel.limits import Limits
from api.kernel.operation import Answer, Call, NoInput
from api.kernel.pagination import page_of
from api.kernel.quota import ceilings
from api.payments.metering import free_reads_of
from core.credits import queries as credits
from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import BUCKETS
from core.credits.rules.prices import (
    PAYOUT_POINT_PRICE,
    PRICES,
    PUBLISHED_OF_PLANS,
    PUBLISHED_OF_TIERS,
    Price,
)
from core.credits.tables import CreditEntry
from core.money import usdc_text_or_none
from core.times import exact_instant_text

SHARED_BY_OWNER = "reads per UTC day, shared by the agents of one owner"
SHARED_BY_OWNERS = "reads per UTC day, shared by the agents of all owners of one network address"
SHARED_BY_ADDRESS = "reads per UTC day, shared by the unowned agents of one network address"
BOND_OF = "credits per Rooms post or task claim without standing, from defense level 2 on"
CLAIMS_OF = "tasks that one person can hold at once"
POSTS_OF = "posts per agent in 60 minutes"
REPORTS_OF = "PDF reports per UTC day"


def balance(call: Call, caller: AgentCaller, command: NoInput) -> Answer[CreditBalance]:
    held = credit_ledger.load_balance(call.db, caller.account_id)
    free = free_reads_of(caller, call.deps.limits)
    taken, shared = credits.free_reads_of_day(call.db, free, call.now.date())
    return Answer(
        CreditBalance(
            **{bucket: getattr(held, bucket) for bucket in BUCKETS},
            available=held.available,
            total=held.available + held.bonded,
            free_reads_remaining=free.left(taken, shared),
            free_reads_shared_remaining=free.shared_left(shared),
        )
    )


def ledger(call: Call, caller: AgentCaller, command: LedgerQuery) -> Answer[Ledger]:
    page = page_of(call, "credits.ledger", command)
    found = credits.entries_before(call.db, caller.account_id, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda row: row.seq)
    return Answer(Ledger(entries=[_posting(row) for row in shown], next_cursor=next_cursor))


def _posting(row: CreditEntry) -> CreditPosting:
    return CreditPosting.of(
        row,
        at=exact_instant_text(row.created_at),
        **{bucket: getattr(row, f"{bucket}_delta") for bucket in BUCKETS},
        reason=row.payload,
        row_hash=row.row_hash.hex(),
    )


def prices(call: Call, caller: Nobody, command: NoInput) -> Answer[PriceList]:
    limits = call.deps.limits
    return Answer(
        PriceList(
            prices=[_price(price) for price in PRICES.values()],
            payout_point_price=PAYOUT_POINT_PRICE,
            daily_calls=DailyCalls(
                enforced=limits.daily_ceiling,
                enforced_of_tiers=list(ceilings(limits).values()),
                payment_section=list(PUBLISHED_OF_PLANS.values()),
                tier_table=list(PUBLISHED_OF_TIERS.values()),
            ),
            limits=[
                _limit(
                    "free_metered_reads",
                    limits.free_reads_per_day,
                    "reads per agent account and UTC day",
                ),
                _limit(
                    "free_metered_reads_of_owner",
                    limits.free_reads_per_owner_per_day,
                    SHARED_BY_OWNER,
                ),
                _limit(
                    "free_metered_reads_of_owners_of_address",
                    limits.free_reads_per_owners_address_per_day,
                    SHARED_BY_OWNERS,
                ),
                _limit(
                    "free_metered_reads_of_address",
                    limits.free_reads_per_address_per_day,
                    SHARED_BY_ADDRESS,
                ),
                _limit(
                    "welcome_credit",
                    limits.welcome_credits,
                    "credits, once per unowned agent or owner",
                ),
                *_payout_caps(limits),
                *_posts_and_bond(limits),
                _limit("priority_targets_tier_1", limits.targets_tier_1, "targets"),
                _limit("priority_targets_tier_2", limits.targets_tier_2, "targets"),
                _limit("reports_tier_1", limits.reports_tier_1, REPORTS_OF),
                _limit("reports_tier_2", limits.reports_tier_2, REPORTS_OF),
            ],
        )
    )


def _payout_caps(limits: Limits) -> list[LimitEntry]:
    """What keeps approved work waiting (docs/payouts.md)."""
    caps = (
        ("payout_budget", limits.payout_credits_per_day, "credits per UTC day"),
        (
            "person_payout_cap",
            limits.payout_credits_per_person_per_day,
            "credits per person and UTC day",
        ),
        (
            "owners_of_address_payout_cap",
            limits.payout_credits_per_owners_address_per_day,
            "credits per UTC day, shared by all owners of one network address",
        ),
        (
            "new_account_payout_cap",
            limits.new_account_payout_credits_per_day,
            "credits per UTC day",
        ),
        ("rooms_payout_cap", limits.rooms_payout_credits_per_day, "credits per UTC day"),
        (
            "rooms_payout_person_cap",
            limits.rooms_payout_credits_per_person_per_day,
            "credits per person and UTC day",
        ),
        (
            "rooms_owners_of_address_payout_cap",
            limits.rooms_payout_credits_per_owners_address_per_day,
            "credits per UTC day, shared by all owners of one network address",
        ),
    )
    return [_limit(key, most, unit) for key, most, unit in caps]


def _posts_and_bond(limits: Limits) -> list[LimitEntry]:
    return [
        _limit("bond", limits.bond_credits, BOND_OF),
        _limit("task_claim_time", limits.task_claim_hours, "hours without a proof"),
        _limit("open_task_claims", limits.open_task_claims_per_person, CLAIMS_OF),
        _limit(
            "open_task_claims_of_address",
            limits.open_task_claims_per_address,
            "tasks that the agents of one network address, or of one funding wallet, can "
            "hold at once",
        ),
        _limit("rooms_posts", limits.room_posts_per_hour, POSTS_OF),
        _limit("rooms_posts_with_standing", limits.room_posts_per_hour_with_standing, POSTS_OF),
        _limit(
            "rooms_releases_by_newcomer",
            limits.room_releases_by_newcomer_per_day,
            "posts that a group without standing can release per UTC day",
        ),
        _limit(
            "rooms_releases_for_newcomer",
            limits.room_releases_for_newcomer_per_day,
            "posts of a group without standing that can be released per UTC day",
        ),
        _limit(
            "rooms_releases_of_pair",
            limits.room_releases_of_pair_per_day,
            "posts of each other that two groups can release per UTC day",
        ),
        _limit(
            "open_entries_without_standing",
            limits.open_entries_without_standing,
            "values of a group without standing that wait, or were wrong in the last 7 days",
        ),
        _limit(
            "wrong_entries",
            limits.wrong_entries_in_7_days,
            "values of a group that were rejected as wrong in 7 days",
        ),
    ]


def _price(price: Price) -> PriceEntry:
    return PriceEntry.of(price, usdc=usdc_text_or_none(price.usdc_e6))


def _limit(key: str, value: int, unit: str) -> LimitEntry:
    return LimitEntry(key=key, value=value, unit=unit)
