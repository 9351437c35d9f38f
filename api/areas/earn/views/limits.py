"""The caps of payouts, out of the figures that an operator may change."""

from api.areas.earn.rules.payout import PayoutLimits
from core.limits import CallerLimits
from core.public_accounts import PUBLIC_ACCOUNTS


def payout_limits(limits: CallerLimits) -> PayoutLimits:
    return PayoutLimits(
        day_budget=limits.payout_credits_per_day,
        person=limits.payout_credits_per_person_per_day,
        owners_address=limits.payout_credits_per_owners_address_per_day,
        new_account=limits.new_account_payout_credits_per_day,
        rooms=limits.rooms_payout_credits_per_day,
        rooms_person=limits.rooms_payout_credits_per_person_per_day,
        rooms_owners_address=limits.rooms_payout_credits_per_owners_address_per_day,
        wrong_entries=limits.wrong_entries_in_7_days,
        # whose keys everybody has funds strangers, too
        shared_funders=frozenset(one.lower() for one in (*limits.shared_funders, *PUBLIC_ACCOUNTS)),
    )
