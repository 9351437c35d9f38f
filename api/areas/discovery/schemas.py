"""Answers of discovery and health."""

from typing import Any, Literal

from pydantic import Field

from api.kernel.operation import AnswerBody
from core.health.rules import Health
from core.jobs.rules import RunOutcome


class CatalogCall(AnswerBody):
    method: str
    path: str
    auth: str
    scope: str | None = Field(description="what a narrowed key needs; null: nothing")
    cost: int = Field(description="credits; 0: nothing is charged")
    summary: str
    idempotency_key: bool = Field(description="whether the call takes Idempotency-Key")
    tool: str | None = Field(description="the tool that makes the same call")
    body: dict[str, Any] | None = Field(description="a valid body to send, where one exists")
    allowed: bool | None = Field(
        description="whether this caller may make it; null without a credential"
    )


class ToolsByProfile(AnswerBody):
    connector: list[str]
    claw: list[str]
    full: list[str]


class ToolsOffered(AnswerBody):
    endpoint: str = Field(
        description="the address of the tool endpoint (MCP); its query `profile` selects the tools shown"
    )
    transport: Literal["streamable-http"]
    default_profile: str
    profiles: ToolsByProfile = Field(description="the names of the tools that each profile shows")


class CatalogAnswer(AnswerBody):
    calls: list[CatalogCall]
    tools: ToolsOffered


class SlowJob(AnswerBody):
    name: str
    last_start: str = Field(description="UTC")
    age_s: int = Field(description="seconds since then")
    next_due: str = Field(description="UTC")
    outcome: RunOutcome | None = Field(description="null while it is under way")
    note: str | None = Field(description="what is wrong and what to do about it")


class HealthPart(AnswerBody):
    status: Health
    lag_s: int | None = Field(description="null: it has none, or nobody knows")
    lag_blocks: int | None
    note: str | None = Field(description="what is wrong and what to do about it")
    jobs: list[SlowJob] | None = Field(
        default=None, description="the keeper's slow jobs by their last runs; other parts have none"
    )


class HealthParts(AnswerBody):
    database: HealthPart
    migrations: HealthPart
    indexer: HealthPart
    keeper: HealthPart
    scanner: HealthPart
    chain: HealthPart


class Ready(AnswerBody):
    status: Health
    parts: HealthParts


class Live(AnswerBody):
    status: Literal["ok"]


class Overview(AnswerBody):
    """Of the mandates that have a vault on the chain; those on paper and simulated ones do not count."""

    mandates_at_work: int
    usdc_held: str = Field(description="cash of all vaults, by the record")
    refused_attempts: int = Field(description="of agents, by the vaults or by the service")
    sample_mandate_id: str | None = Field(
        description="a mandate that anybody may look at; null: there is none"
    )
    as_of: str = Field(description="UTC")


class Endpoint(AnswerBody):
    method: str
    path: str
    auth: str


class PlanCalls(AnswerBody):
    free: int
    plus: int
    pro: int


class TierCalls(AnswerBody):
    free: int
    tier_1: int
    tier_2: int


class CallCeilings(AnswerBody):
    """What is enforced, and both tables of the specification."""

    enforced: PlanCalls
    payment_section: PlanCalls
    tier_table: TierCalls
    resets: str
    counts: str


class RateLimits(AnswerBody):
    calls_per_key_and_utc_day: CallCeilings
    unowned_registrations_per_minute: int
    unowned_registrations_per_utc_day: int
    owner_sign_ups_per_address_and_utc_day: int
    agents_per_owner: int
    owner_writes_per_utc_day: int
    wrong_recovery_codes_per_hour: int
    open_transfer_reports_per_agent: int
    starter_wallet_transfers_per_utc_day: int
    notes_without_key_per_address_and_minute: int
    tool_messages_without_key_per_address_and_minute: int
    body_bytes: int


class ServiceDocument(AnswerBody):
    name: str
    version: str
    base_url: str
    chain_id: int
    contracts: dict[str, str]
    capabilities: list[str]
    endpoints: list[Endpoint]
    tools: ToolsOffered
    rate_limits: RateLimits
    instructions: list[str]
