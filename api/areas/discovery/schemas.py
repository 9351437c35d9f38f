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
    scope: str | None = Field(description="scope that a restricted key needs; null: none")
    cost: int = Field(description="credits per call; 0: free")
    summary: str
    idempotency_key: bool = Field(description="whether the call takes Idempotency-Key")
    tool: str | None = Field(description="name of the MCP tool that makes the same call")
    body: dict[str, Any] | None = Field(description="an example of a valid body; null: it has none")
    allowed: bool | None = Field(
        description="true: this caller may make the call; null without a credential"
    )


class ToolsByProfile(AnswerBody):
    connector: list[str]
    claw: list[str]
    full: list[str]


class ToolsOffered(AnswerBody):
    endpoint: str = Field(
        description="URL of the tool endpoint (MCP); its query parameter `profile` selects the "
        "tools shown"
    )
    transport: Literal["streamable-http"]
    default_profile: str
    profiles: ToolsByProfile = Field(description="names of the tools in each profile")


class CatalogAnswer(AnswerBody):
    calls: list[CatalogCall]
    tools: ToolsOffered


class SlowJob(AnswerBody):
    name: str
    last_start: str = Field(description="UTC time")
    age_s: int = Field(description="seconds since last_start")
    next_due: str = Field(description="UTC time")
    outcome: RunOutcome | None = Field(description="result of the last run; null: still running")
    note: str | None = Field(description="what is wrong and how to fix it; null: nothing")


class HealthPart(AnswerBody):
    status: Health
    lag_s: int | None = Field(description="lag in seconds; null: unknown, or the part has no lag")
    lag_blocks: int | None
    note: str | None = Field(description="what is wrong and how to fix it; null: nothing")
    jobs: list[SlowJob] | None = Field(
        default=None, description="slow jobs with their last runs; only the keeper has them"
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
    """Figures of mandates with a vault on the chain; paper and simulated ones are not counted."""

    mandates_at_work: int
    usdc_held: str = Field(description="USDC cash in all vaults, by the record")
    refused_attempts: int = Field(description="agents' attempts refused by a vault or the service")
    sample_mandate_id: str | None = Field(
        description="id of a public sample mandate; null: there is none"
    )
    as_of: str = Field(description="UTC time")


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
    """The enforced limits, and both tables of the specification."""

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
