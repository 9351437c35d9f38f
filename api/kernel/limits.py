"""Figures that settings may change; GET /prices and the discovery document show them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Figures that the specification names and settings may change (docs/rules.md#figures-in-settings)."""

    daily_calls: int = 2_000  # calls a key and UTC day, plan Free
    daily_calls_plus: int = 5_000
    daily_calls_pro: int = 10_000
    registrations_per_minute: int = 10  # unowned, a network address, sliding 60 s
    registrations_per_day: int = 30  # unowned, a network address, UTC day
    owner_sign_ups_per_day: int = 10  # new owners, a network address, UTC day
    owned_registrations_per_day: int = 60  # owned, of all owners, a network address, UTC day
    agents_per_owner: int = 20
    welcome_credits: int = 10  # an unowned agent, or an owner for all agents together
    welcome_per_address_per_day: int = 3
    recovery_failures_per_hour: int = 10  # wrong recovery codes, a network address, sliding hour
    custodial_transfers_per_day: int = 20  # an account and UTC day; the service pays their gas
    custody_queue: int = 10_000  # requests for transfers under way
    custody_queue_per_owner: int = 40  # an account without an owner is its own
    custody_gas_wei_per_day: int = 10**17  # UTC day
    custody_gas_wei_per_owner_per_day: int = 10**16
    custody_gas_wei_per_account_per_day: int = 5 * 10**15
    owner_session_s: int = 24 * 3600
    agent_bearer_s: int = 24 * 3600  # connect's token
    link_wait_s: int = 24 * 3600  # an owned agent's new wallet, before its starter wallet pays it, unless the owner confirms it
    nonce_s: int = 300
    free_reads_per_day: int = 100  # metered reads, an agent account and UTC day
    free_reads_per_owner_per_day: int = 300  # of it, the agents of one owner together
    free_reads_per_owners_address_per_day: int = 3_000  # of it, the agents of all owners that signed up from a network address
    free_reads_per_address_per_day: int = 300  # of it, the unowned agents of a network address together
    open_transfer_reports: int = 20  # an account; each is looked up on the chain again and again
    # The specification names these without a figure (docs/rules.md#figures-in-settings); GET /prices shows them.
    new_account_payout_credits_per_day: int = 200
    rooms_payout_credits_per_day: int = 1_000
    rooms_payout_credits_per_person_per_day: int = 100
    targets_tier_1: int = 20
    targets_tier_2: int = 100
    body_bytes: int = 256 * 1024
