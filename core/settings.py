"""Every environment variable of the three processes, typed. Read by `*/main.py`, the migrations and scripts only (law 6)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from core.domain.errors import InvalidParameterError


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the contracts stand, as scripts/deploy.py recorded it. `block` is the height of the first of them."""

    chain_id: int
    block: int
    commit: str
    contracts: dict[str, str]  # name of stack.json -> checksum address


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


CommaList = Annotated[list[str], NoDecode]


class Settings(BaseSettings):
    """Names are the variables' names. Lists are written with commas. Defaults suit the local stack of `make up`."""

    model_config = SettingsConfigDict(case_sensitive=False, extra="ignore", frozen=True)

    database_url: str = Field(description="postgresql+psycopg://... of Postgres 15 or newer")
    rpc_urls: CommaList = Field(description="JSON-RPC nodes of the chain, best first")
    rpc_answer_s: float = Field(default=10.0, description="seconds that a node may take for one answer to the indexer")
    rpc_requests_per_s: float = Field(
        default=2_000, gt=0, description="calls a second that a process sends each node at most; a batch counts each of its calls"
    )
    chain_id: int = Field(default=84532, description="the chain's id; every node is asked for it at start")
    deployment_file: Path = Field(description="scripts/deployments/<network>.json")
    log_format: str = Field(default="console", description="console for people, json for machines")

    # API
    host: str = "127.0.0.1"
    port: int = 8000
    base_url: str = Field(default="http://127.0.0.1:8000", description="the address that clients see; the SIWE domain comes from it")
    key_pepper: SecretStr = Field(default=SecretStr(""), description="secret that hashes of keys and tokens are made with")
    operator_key: SecretStr | None = Field(default=None, description="key of the local operator; refused on a chain that is not local")
    operator_addresses: CommaList = Field(default=[], description="wallets that may act as operators")
    trusted_proxies: CommaList = Field(default=[], description="addresses whose X-Forwarded-For is believed")
    owner_session_hours: int = 24
    daily_ceiling: int = Field(default=2_000, description="calls a key and UTC day (plan Free)")
    daily_ceiling_plus: int = Field(default=5_000, description="the same on plan Plus")
    daily_ceiling_pro: int = Field(default=10_000, description="the same on plan Pro")
    registrations_per_minute: int = Field(default=10, description="unowned registrations a network address in 60 s")
    registrations_per_day: int = Field(default=30, description="unowned registrations a network address in a UTC day")
    agents_per_owner: int = 20
    welcome_credits: int = 10
    welcome_per_address_per_day: int = Field(default=3, description="unowned registrations a day that get the welcome credit")

    free_reads_per_day: int = Field(default=100, ge=0, description="metered reads of an agent account in a UTC day that are free")
    new_account_payout_credits_per_day: int = Field(default=200, description="payout cap of an account without standing")
    rooms_payout_credits_per_day: int = Field(default=1_000, description="payout cap of all Rooms")
    rooms_payout_credits_per_person_per_day: int = Field(default=100, description="payout cap of one person in the Rooms")
    targets_tier_1: int = Field(default=20, description="priority targets of a Tier 1 subscriber")
    targets_tier_2: int = Field(default=100, description="priority targets of a Tier 2 subscriber")
    x402_pay_to: str | None = Field(default=None, description="who is paid in USDC for calls; without it no payment is taken")
    x402_settle_private_key: SecretStr | None = Field(default=None, description="settles payments itself; accepted on a local chain only")
    x402_settle_keystore: Path | None = Field(default=None, description="encrypted JSON keystore of the key that settles payments")
    x402_settle_keystore_password_file: Path | None = None
    x402_facilitator_url: str | None = Field(default=None, description="an x402 facilitator that settles instead of a key of ours")

    # Indexer
    poll_interval_ms: int = Field(default=250, description="how often the tip is asked for")
    indexer_metrics_port: int = Field(default=0, ge=0, le=65_535, description="where the indexer serves its metrics, on HOST; 0: nowhere")

    # Keeper
    keeper_private_key: SecretStr | None = Field(default=None, description="accepted on a local chain only")
    keeper_keystore: Path | None = Field(default=None, description="encrypted JSON keystore of the keeper's key")
    keeper_keystore_password_file: Path | None = None
    keeper_tick_s: float = Field(default=1.0, description="seconds between two judgements of every vault")
    keeper_max_head_age_s: int = Field(default=10, description="older heads are stale: no mark is sent on them")
    keeper_max_fee_gwei: int = Field(default=50, description="cap of maxFeePerGas")
    keeper_stop_max_fee_gwei: int = Field(default=500, description="cap of maxFeePerGas of a stop, which is worth more than a mark")

    @field_validator("rpc_urls", "operator_addresses", "trusted_proxies", mode="before")
    @classmethod
    def _lists_are_written_with_commas(cls, value: Any) -> Any:
        return _split(value)

    def deployment(self) -> Deployment:
        """Read the deployment record. Errors: InvalidParameterError naming the variable when it can't be read."""
        try:
            raw = json.loads(self.deployment_file.read_text())
            return Deployment(raw["chain_id"], raw["block"], raw["commit"], {c["name"]: c["address"] for c in raw["contracts"]})
        except (OSError, ValueError, KeyError) as error:
            raise InvalidParameterError(
                "DEPLOYMENT_FILE", f"{self.deployment_file} is no deployment record ({error}); run `make deploy NETWORK=...`"
            ) from error
