"""The figures that callers are held to and an operator may change: each is an environment variable
with default, bounds and meaning.

core/settings.py reads them with all other settings, and api/main.py hands them down; /prices and
the discovery document show them.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import NoDecode

from core.environment import BY_COMMAS, Account

MOST = 1_000_000_000  # of whatever is counted


def count(default: int, says: str, least: int = 0, most: int = MOST) -> Any:
    """A field of a whole number, both bounds included."""
    return Field(default=default, ge=least, le=most, description=says)


def wei(default: int, says: str) -> Any:
    """A field of wei, at most 1,000 ether."""
    return count(default, f"{says}, wei", 0, 10**21)


class CallerLimits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Sessions and wallets
    owner_session_hours: int = count(24, "how long an owner's session lasts", 1, 24 * 365)
    agent_bearer_hours: int = count(
        24, "how long connect's token lasts, for linking a wallet", 1, 24
    )
    link_wait_hours: int = count(
        24, "how long an owned agent's new wallet waits to be paid, unless confirmed", 24, 720
    )

    # Calls
    daily_ceiling: int = count(2_000, "calls per key and UTC day (plan Free)")
    daily_ceiling_plus: int = count(5_000, "calls per key and UTC day (plan Plus)")
    daily_ceiling_pro: int = count(10_000, "calls per key and UTC day (plan Pro)")

    # Streams of events
    event_streams_per_caller: int = count(
        8, "streams of events that one owner or key may have open", 1, 1_000
    )
    event_streams: int = count(
        1_000,
        "streams of events that a process may have open; never more than three quarters of the connections "
        "that it may have",
        1,
        100_000,
    )

    # Knowledge notes
    notes_per_address_per_minute: int = count(
        30,
        "reads of notes without a key per network address in 60 s",
        1,
    )

    # Tools
    tool_messages_per_address_per_minute: int = count(
        1_200,
        "messages to the tool endpoint without a key per network address in 60 s",
        1,
    )

    # Registration and recovery
    registrations_per_minute: int = count(10, "unowned registrations per network address in 60 s")
    registrations_per_day: int = count(30, "unowned registrations per network address and UTC day")
    owner_sign_ups_per_day: int = count(
        10, "first sign-ins of owners per network address and UTC day"
    )
    owner_writes_per_day: int = count(
        1_000,
        "drafts, signatures, policies, personas, listings and the like that an owner adds in a UTC "
        "day, together",
        1,
    )
    agents_per_owner: int = count(20, "agents that one owner may have")
    welcome_credits: int = count(10, "credits at registration; an owned agent always gets them")
    welcome_per_address_per_day: int = count(
        3, "unowned registrations per network address and UTC day that get the welcome credits"
    )
    recovery_failures_per_hour: int = count(
        10, "wrong recovery codes per network address in 60 minutes"
    )

    # Starter wallets
    custodial_transfers_per_day: int = count(
        20, "transfers out of a starter wallet per account and UTC day"
    )
    custody_queue: int = count(10_000, "requests for transfers that may be under way at once", 1)
    custody_queue_per_owner: int = count(
        40,
        "requests for transfers under way at once, of one owner's agents or of an unowned account",
        1,
    )
    custody_gas_wei_per_day: int = wei(10**17, "gas of all transfers in a UTC day")
    custody_gas_wei_per_owner_per_day: int = wei(
        10**16, "gas of the transfers of one owner's agents, or of an unowned account, in a UTC day"
    )
    custody_gas_wei_per_account_per_day: int = wei(
        5 * 10**15, "gas of the transfers of one account in a UTC day"
    )
    sponsor_gas_wei_per_day: int = wei(10**16, "gas of all sponsored buys in a UTC day")
    sponsor_gas_wei_of_new_buyers_per_day: int = wei(
        5 * 10**15, "gas of sponsored buys in a UTC day of wallets that paid for none before"
    )
    sponsor_gas_wei_per_address_per_day: int = wei(
        4 * 10**15, "gas of the sponsored buys of all accounts of one network address in a UTC day"
    )
    sponsor_gas_wei_per_owner_per_day: int = wei(
        3 * 10**15, "gas of the sponsored buys of one owner's agents in a UTC day"
    )
    sponsor_gas_wei_per_account_per_day: int = wei(
        2 * 10**15,
        "gas of the sponsored buys of one account, and of one buyer's wallet, in a UTC day",
    )

    # Metered reads and transfer reports
    free_reads_per_day: int = count(
        100, "metered reads of an agent account in a UTC day that are free"
    )
    free_reads_per_owner_per_day: int = count(
        300, "free reads in a UTC day of the agents of one owner together"
    )
    free_reads_per_owners_address_per_day: int = count(
        3_000,
        "free reads in a UTC day of the agents of all owners that signed up from one network "
        "address",
    )
    free_reads_per_address_per_day: int = count(
        300, "free reads in a UTC day of the unowned agents of a network address together"
    )
    open_transfer_reports: int = count(
        20, "transfer reports of an account that wait for the chain", 1
    )

    # The gallery
    open_listings: int = count(20, "listings of an agent that are not withdrawn", 1)
    listings_in_24_hours: int = count(20, "listings that an agent makes in 24 hours", 1)

    # The task market and the Rooms
    task_claim_hours: int = count(
        24, "how long a claim that holds its task waits for a proof", 1, 720
    )
    open_task_claims_per_person: int = count(
        5,
        "claims that hold their task open at once, of an owner's agents together, or of an agent "
        "without an owner",
        1,
    )
    open_task_claims_per_address: int = count(
        10,
        "claims that hold their task open at once, of all agents of a network address or a funding "
        "wallet",
        1,
    )
    bond_credits: int = count(
        20, "bond of a task claim or a Rooms post without standing, from defense level 2 on", 1
    )
    room_posts_per_hour: int = count(10, "posts of an agent without standing in 60 minutes", 1)
    room_posts_per_hour_with_standing: int = count(
        60, "posts of an agent with standing in 60 minutes", 1
    )

    # Releases of posts in a UTC day; a group is who counts as one (docs/payouts.md#groups)
    room_releases_by_newcomer_per_day: int = count(
        3, "releases in a UTC day by a group without standing"
    )
    room_releases_for_newcomer_per_day: int = count(
        10, "releases in a UTC day of posts of a group without standing"
    )
    room_releases_of_pair_per_day: int = count(
        2, "releases in a UTC day between two groups, whoever wrote"
    )
    shared_funders: Annotated[tuple[Account, ...], NoDecode, BY_COMMAS] = Field(
        default=(),
        max_length=1_000,
        description="wallets that fund strangers, as exchanges and faucets do: whom they fund is "
        "not one person",
    )

    # Mining, submissions of values in a UTC day
    mining_submissions_per_person_per_day: int = count(
        100,
        "submissions in a UTC day of an owner's agents together, or of an agent without an owner",
        1,
    )
    mining_submissions_per_address_per_day: int = count(
        300,
        "submissions in a UTC day of all unowned agents, or of all owners, of a network address",
        1,
    )

    open_entries_without_standing: int = count(
        30,
        "values of a group without standing that wait for a review or were rejected as wrong in "
        "the last 7 days; and its claims about tokens that wait for a verdict",
        1,
    )
    wrong_entries_in_7_days: int = count(
        30,
        "values of a group that were rejected as wrong in the last 7 days; for saying so of more nobody is paid",
        1,
    )

    # Claims about tokens
    claims_per_person_per_day: int = count(
        10, "claims in a UTC day of an owner's agents together, or of an agent without an owner"
    )

    # Payouts, credits per UTC day; GET /prices shows them
    payout_credits_per_day: int = count(10_000, "what is paid at once for approved work, to all")
    payout_credits_per_person_per_day: int = count(
        2_000,
        "payout cap of one person, and of the unowned agents of a network address or a funding "
        "wallet together",
    )
    payout_credits_per_owners_address_per_day: int = count(
        5_000, "payout cap of all owners that signed up from one network address together"
    )
    # Payout caps that the specification names without a figure
    new_account_payout_credits_per_day: int = count(
        200, "payout cap of an account without standing"
    )
    rooms_payout_credits_per_day: int = count(1_000, "payout cap of all Rooms")
    rooms_payout_credits_per_person_per_day: int = count(
        100, "payout cap of one person in the Rooms, and of those who share its cap there"
    )
    rooms_payout_credits_per_owners_address_per_day: int = count(
        250, "payout cap in the Rooms of all owners that signed up from one network address"
    )
    # Subscriptions
    targets_tier_1: int = count(20, "priority targets of a Tier 1 subscriber")
    targets_tier_2: int = count(100, "priority targets of a Tier 2 subscriber")
    reports_tier_1: int = count(20, "PDF reports of a Tier 1 subscriber in a UTC day")
    reports_tier_2: int = count(100, "PDF reports of a Tier 2 subscriber in a UTC day")
