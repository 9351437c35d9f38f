"""Answers of discovery and health."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class CatalogCall(BaseModel):
    method: str
    path: str
    auth: str
    scope: str | None = Field(description="what a narrowed key needs; null: nothing")
    cost: int = Field(description="credits; 0: nothing is charged")
    summary: str
    idempotency_key: bool = Field(description="whether the call takes Idempotency-Key")
    tool: str | None = Field(description="the tool that makes the same call")
    body: dict[str, Any] | None = Field(description="a body valid as it stands, where one exists")
    allowed: bool | None = Field(description="whether this caller may make it; null without a credential")


class ToolsOffered(BaseModel):
    endpoint: str = Field(description="the address of the tool endpoint (MCP); its query `profile` selects the tools shown")
    transport: Literal["streamable-http"]
    default_profile: str
    profiles: dict[str, list[str]] = Field(description="the names of the tools that each profile shows")


class CatalogAnswer(BaseModel):
    calls: list[CatalogCall]
    tools: ToolsOffered


class SlowJob(BaseModel):
    name: str
    last_start: str = Field(description="UTC")
    age_s: int = Field(description="seconds since then")
    next_due: str = Field(description="UTC")
    outcome: Literal["ok", "failed", "skipped"] | None = Field(description="null while it is under way")
    duration_ms: int | None
    note: str | None = Field(description="what is wrong and what to do about it")


class Part(BaseModel):
    status: Literal["ok", "degraded", "down"]
    lag_s: int | None
    lag_blocks: int | None
    note: str | None = Field(description="what is wrong and what to do about it")
    jobs: list[SlowJob] | None = Field(default=None, description="the keeper's slow jobs by their last runs; other parts have none")


class Ready(BaseModel):
    status: Literal["ok", "degraded", "down"]
    parts: dict[str, Part]


class Live(BaseModel):
    status: Literal["ok"]


class Discovery(BaseModel):
    name: str
    version: str
    base_url: str
    chain_id: int
    contracts: dict[str, str]
    capabilities: list[str]
    endpoints: list[dict[str, str]]
    tools: ToolsOffered
    rate_limits: dict[str, Any]
    instructions: list[str]
