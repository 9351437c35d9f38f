"""Every environment variable of the three processes, typed. Read by `*/main.py`, the migrations and scripts only (law 6)."""

import json
import re
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


def _lines_of(path: Path) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InvalidParameterError("CUSTODY_KEY_FILE", f"{path} can't be read ({type(error).__name__})") from None
    if not lines:
        raise InvalidParameterError("CUSTODY_KEY_FILE", f"{path} holds no key")
    return lines


def _keys(variable: str, texts: list[str]) -> tuple[bytes, ...]:
    """32 bytes each. Errors: InvalidParameterError, which says nothing of the text."""
    if not all(_KEY.fullmatch(text) for text in texts):
        raise InvalidParameterError(variable, "write each key as 32 bytes in hex (`openssl rand -hex 32`)")
    return tuple(bytes.fromhex(text.removeprefix("0x")) for text in texts)


_KEY = re.compile(r"(0x)?[0-9a-fA-F]{64}")
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
    api_metrics_port: int = Field(default=0, ge=0, le=65_535, description="where the API serves its metrics, on HOST; 0: nowhere")
    owner_session_hours: int = 24
    daily_ceiling: int = Field(default=2_000, description="calls a key and UTC day (plan Free)")
    daily_ceiling_plus: int = Field(default=5_000, description="the same on plan Plus")
    daily_ceiling_pro: int = Field(default=10_000, description="the same on plan Pro")
    registrations_per_minute: int = Field(default=10, description="unowned registrations a network address in 60 s")
    registrations_per_day: int = Field(default=30, description="unowned registrations a network address in a UTC day")
    agents_per_owner: int = 20
    welcome_credits: int = 10
    welcome_per_address_per_day: int = Field(default=3, description="unowned registrations a day that get the welcome credit")
    recovery_failures_per_hour: int = Field(default=10, description="wrong recovery codes a network address in 60 minutes")

    # Custody: API and keeper
    custody_key: SecretStr | None = Field(default=None, description="32 bytes as hex that custodial keys are sealed with; none: no custody")
    custody_old_keys: SecretStr | None = Field(default=None, description="former CUSTODY_KEYs, for wallets that are still sealed with them")
    custody_key_file: Path | None = Field(default=None, description="file with these keys instead, one a line, the one for new seals first")
    custodial_transfers_per_day: int = Field(default=20, ge=0, description="transfers out of a starter wallet, an account and UTC day")

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
    guard_private_key: SecretStr | None = Field(default=None, description="signs payments of vaults; accepted on a local chain only")
    guard_keystore: Path | None = Field(default=None, description="encrypted JSON keystore of the key that signs payments of vaults")
    guard_keystore_password_file: Path | None = None

    # Indexer
    poll_interval_ms: int = Field(default=250, description="how often the tip is asked for")
    indexer_metrics_port: int = Field(default=0, ge=0, le=65_535, description="where the indexer serves its metrics, on HOST; 0: nowhere")

    indexer_watchdog_s: float = Field(default=120.0, gt=0, description="without a sign of the loop for so long, the process ends")
    audit_every_s: float = Field(default=60.0, gt=0, description="seconds between two rounds of the auditor")
    audit_blocks: int = Field(
        default=8, ge=0, description="blocks that a round of the auditor compares with the second node; 0: no auditor"
    )

    # Keeper
    keeper_private_key: SecretStr | None = Field(default=None, description="accepted on a local chain only")
    keeper_keystore: Path | None = Field(default=None, description="encrypted JSON keystore of the keeper's key")
    keeper_keystore_password_file: Path | None = None
    keeper_remote_signer_url: str | None = Field(default=None, description="who signs for the keeper: eth_signTransaction over HTTP")
    keeper_remote_signer_address: str | None = Field(default=None, description="the account that it signs with")
    keeper_remote_signer_token_file: Path | None = Field(default=None, description="file with the bearer token that it asks for")
    keeper_remote_signer_answer_s: float = Field(default=3.0, gt=0, description="seconds that a remote signer may take, the stops' too")
    keeper_stop_private_key: SecretStr | None = Field(default=None, description="second key, for stops; accepted on a local chain only")
    keeper_stop_keystore: Path | None = Field(default=None, description="encrypted JSON keystore of the stops' key")
    keeper_stop_keystore_password_file: Path | None = None
    keeper_stop_remote_signer_url: str | None = Field(default=None, description="who signs stops: eth_signTransaction over HTTP")
    keeper_stop_remote_signer_address: str | None = Field(default=None, description="the account that it signs stops with")
    keeper_stop_remote_signer_token_file: Path | None = Field(default=None, description="file with the bearer token that it asks for")
    keeper_pauser_private_key: SecretStr | None = Field(
        default=None, description="a pauser's key: removes agents that cannot be stopped; accepted on a local chain only"
    )
    keeper_pauser_keystore: Path | None = Field(default=None, description="encrypted JSON keystore of the pauser's key")
    keeper_pauser_keystore_password_file: Path | None = None
    keeper_pauser_remote_signer_url: str | None = Field(default=None, description="who signs for the pauser: eth_signTransaction over HTTP")
    keeper_pauser_remote_signer_address: str | None = Field(default=None, description="the pauser's account that it signs with")
    keeper_pauser_remote_signer_token_file: Path | None = Field(default=None, description="file with the bearer token that it asks for")
    keeper_marks_a_day: int = Field(default=24, ge=1, description="most marks of one vault in 24 hours; stops are never counted")
    keeper_tick_s: float = Field(default=1.0, description="seconds between two judgements of every vault")
    keeper_max_head_age_s: int = Field(default=10, description="older heads are stale: no mark is sent on them")
    keeper_max_fee_gwei: int = Field(default=50, description="cap of maxFeePerGas")
    keeper_stop_max_fee_gwei: int = Field(default=100, description="cap of maxFeePerGas of a stop, which is worth more than a mark")
    keeper_watchdog_s: float = Field(default=30.0, gt=0, description="without a sign of the tick for so long, the process ends")
    keeper_metrics_port: int = Field(default=0, ge=0, le=65_535, description="where the keeper serves its metrics, on HOST; 0: nowhere")
    keeper_intent_retention_days: int = Field(default=90, ge=1, description="finished intents and requests are kept so long")
    keeper_mark_retention_days: int = Field(default=90, ge=1, description="older judgements are thinned out to the first of each day")

    @field_validator("rpc_urls", "operator_addresses", "trusted_proxies", mode="before")
    @classmethod
    def _lists_are_written_with_commas(cls, value: Any) -> Any:
        return _split(value)

    def custody_keys(self) -> tuple[bytes, ...]:
        """The keys that custodial keys are sealed with, the one for new seals first; empty: no custody.

        Errors: InvalidParameterError naming the variable, never a key.
        """
        if self.custody_key_file is not None:
            if self.custody_key is not None or self.custody_old_keys is not None:
                raise InvalidParameterError("CUSTODY_KEY_FILE", "set it, or CUSTODY_KEY and CUSTODY_OLD_KEYS, not both")
            return _keys("CUSTODY_KEY_FILE", _lines_of(self.custody_key_file))
        if self.custody_key is None:
            if self.custody_old_keys is not None:
                raise InvalidParameterError("CUSTODY_OLD_KEYS", "set CUSTODY_KEY too, which new seals are made with")
            return ()
        old = "" if self.custody_old_keys is None else self.custody_old_keys.get_secret_value()
        return _keys("CUSTODY_KEY", [self.custody_key.get_secret_value()]) + _keys("CUSTODY_OLD_KEYS", _split(old))

    def deployment(self) -> Deployment:
        """Read the deployment record. Errors: InvalidParameterError naming the variable when it can't be read."""
        try:
            raw = json.loads(self.deployment_file.read_text())
            return Deployment(raw["chain_id"], raw["block"], raw["commit"], {c["name"]: c["address"] for c in raw["contracts"]})
        except (OSError, ValueError, KeyError) as error:
            raise InvalidParameterError(
                "DEPLOYMENT_FILE", f"{self.deployment_file} is no deployment record ({error}); run `make deploy NETWORK=...`"
            ) from error
