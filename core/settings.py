"""Every environment variable of the three processes, typed and bounded.

Read by `*/main.py`, the migrations and scripts only (law 6).

Laws
- Each setting is parsed here, once: type, bounds, finite numbers. What can't work is refused at
  start (core.startup), never met later.
- A variable that is set and empty is as one that is not set (core/environment.py).
- A rule that spans several settings is in `Settings.model_post_init`.
"""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode, SettingsConfigDict

from core.db.replicas import ReplicaPlace
from core.environment import (
    BY_COMMAS,
    Account,
    DatabaseUrl,
    Environment,
    HttpUrl,
    Network,
    optional,
    split,
)
from core.errors import InvalidParameterError
from core.hexes import read_account
from core.house import House
from core.key_settings import MEANS_NOTHING_WITHOUT, SIGN, KeySettings
from core.limits import CallerLimits, count
from core.perps_settings import PerpsSettings
from core.times import DAY_S


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the contracts stand, as scripts/deploy.py recorded it."""

    chain_id: int
    block: int  # the height of the first of them
    commit: str
    contracts: dict[str, str]  # name of stack.json -> checksum address


def _node(url: str) -> tuple[Any, ...]:
    """What makes a node another one: its URL without what spelling leaves open.

    Another key or path is another account.
    """
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return (
        parts.scheme,
        parts.username,
        parts.password,
        parts.hostname,
        port,
        parts.path.rstrip("/"),
        parts.query,
    )


def _lines_of(path: Path) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            "CUSTODY_KEY_FILE", f"{path} can't be read ({type(error).__name__})"
        ) from None
    if not lines:
        raise InvalidParameterError("CUSTODY_KEY_FILE", f"{path} holds no key")
    return lines


def _keys(variable: str, texts: list[str]) -> tuple[bytes, ...]:
    """32 bytes each. Errors: InvalidParameterError, which says nothing of the text."""
    if not all(_KEY.fullmatch(text) for text in texts):
        raise InvalidParameterError(
            variable, "write each key as 32 bytes in hex (`openssl rand -hex 32`)"
        )
    return tuple(bytes.fromhex(text.removeprefix("0x")) for text in texts)


_KEY = re.compile(r"(0x)?[0-9a-fA-F]{64}")
_VENUE = re.compile("[a-z]{2,32}")
_BOND = re.compile(r"([1-9][0-9]{0,14}):([1-9][0-9]{0,11})", re.ASCII)


def seconds(default: float, least: float, most: float, says: str) -> Any:
    """A field of seconds, both bounds included; never infinite."""
    return Field(default=default, ge=least, le=most, allow_inf_nan=False, description=says)


def metrics_port(says: str) -> Any:
    return count(0, says, 0, 65_535)


def _venue(text: str) -> str:
    if not _VENUE.fullmatch(text):
        raise ValueError("write ids of exchanges with commas, such as kraken,upbit, or sim")
    return text


def _bonds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    written = split(value)
    found = [_BOND.fullmatch(one) for one in written]
    bonds = {int(one[1]): int(one[2]) for one in found if one is not None}
    if len(bonds) < len(written):
        raise ValueError("write each account once, as id:credits with commas: 17:5000,21:2500")
    return bonds


CreditBonds = Annotated[dict[int, int], NoDecode, BeforeValidator(_bonds)]


class _Asked(Environment):
    takes_half_quotes = True  # until the settings are read, which refuse them by name

    log_format: str = ""
    database_url: str = ""


def asked_log_format() -> str:
    """As LOG_FORMAT says, before anything is known to be right."""
    return "json" if _Asked().log_format == "json" else "console"


def asked_database_url() -> str:
    """As DATABASE_URL says, for a command that needs no other setting; empty: it says nothing."""
    return _Asked().database_url


class Settings(
    Environment,
    CallerLimits,
    House,
    KeySettings,
    PerpsSettings,
):
    """Names are the variables' names.

    Lists are written with commas. Defaults suit the local stack of `make up`.
    """

    model_config = SettingsConfigDict(
        case_sensitive=False, extra="ignore", frozen=True, env_ignore_empty=True
    )

    # Chain and logs
    rpc_urls: Annotated[list[HttpUrl], NoDecode, BY_COMMAS] = Field(
        min_length=1, description="JSON-RPC nodes of the chain, best first, with commas"
    )
    rpc_answer_s: float = seconds(
        10.0, 0.1, 60, "seconds that a node may take for one answer to the indexer"
    )
    rpc_requests_per_s: float = Field(
        default=2_000,
        ge=10,
        le=1_000_000,
        allow_inf_nan=False,
        description="the most calls per second that a process sends to each node; batched ones count",
    )
    chain_id: int = Field(
        default=84532,
        ge=1,
        le=2**53 - 1,
        description="the chain's id; every node is asked for it at start",
    )
    deployment_file: Path = Field(
        description="what deploy wrote: scripts/deployments/<network>.json"
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="console for people, json for machines"
    )

    # API
    host: str = Field(
        default="127.0.0.1",
        pattern=r"^[^\s/]+$",
        description="where the API and all metrics listen",
    )
    port: int = count(8000, "where the API listens", 1, 65_535)
    base_url: HttpUrl = Field(
        default="http://127.0.0.1:8000",
        description="the address that clients see; the SIWE domain comes from it",
    )
    key_pepper: SecretStr = Field(
        default=SecretStr(""),
        description="secret for the hashes of keys and tokens; the API needs it",
    )
    operator_key: SecretStr | None = optional(
        "key of the local operator; refused on a chain that is not local"
    )
    operator_addresses: Annotated[list[Account], NoDecode, BY_COMMAS] = Field(
        default=[], description="wallets that may act as operators"
    )
    trusted_proxies: Annotated[list[Network], NoDecode, BY_COMMAS] = Field(
        default=[], description="addresses and networks whose X-Forwarded-For is trusted"
    )
    local_stack: bool = Field(
        default=False,
        description="`make up` sets it: the faucet and the built-in wallet of its own chain; they exist nowhere else",
    )
    api_metrics_port: int = metrics_port("where the API serves its metrics, on HOST; 0: nowhere")

    # Custody: API and keeper
    custody_key: SecretStr | None = optional(
        "32 bytes in hex to seal custodial keys with; none: no custody"
    )
    custody_old_keys: SecretStr | None = optional(
        "former CUSTODY_KEYs, for wallets that are still sealed with them"
    )
    custody_key_file: Path | None = optional(
        "file with these keys, one per line, the one for new seals first"
    )

    # Payments: API
    x402_pay_to: Account | None = optional(
        "who is paid in USDC for calls; without it no payment is taken"
    )
    x402_facilitator_url: HttpUrl | None = optional(
        "an x402 facilitator that settles instead of a key of ours"
    )
    x402_gas_wei_per_usdc: int = count(
        4 * 10**14, "gas in wei that settling 1 USDC with a key of ours may cost at most", 1, 10**30
    )
    x402_gas_wei_per_day: int = count(
        10**16, "gas in wei that settling may use in a UTC day, over all processes", 0, 10**30
    )
    x402_contract_gas_wei_per_day: int = count(
        25 * 10**14, "of these, for payers that are contracts", 0, 10**30
    )

    # Indexer
    poll_interval_ms: int = count(250, "how often the tip is asked for", 10, 60_000)
    indexer_metrics_port: int = metrics_port(
        "where the indexer serves its metrics, on HOST; 0: nowhere"
    )
    indexer_watchdog_s: float = seconds(
        120.0, 30, 3_600, "without a sign of the loop for so long, the process ends"
    )
    audit_every_s: float = seconds(60.0, 0.1, DAY_S, "seconds between two rounds of the auditor")
    audit_blocks: int = count(
        8,
        "final blocks that a round of the auditor compares with the second node; 0: no auditor",
        0,
        10_000,
    )

    # Keeper
    keeper_remote_signer_answer_s: float = seconds(
        3.0, 0.1, 30, "seconds that a remote signer may take, the stops' too"
    )
    keeper_marks_a_day: int = count(
        24, "most marks of one vault in 24 hours; stops are never counted", 1, DAY_S
    )
    keeper_tick_s: float = seconds(1.0, 0.05, 60, "seconds between two judgements of every vault")
    keeper_max_head_age_s: int = count(
        10, "older heads are stale: no mark is sent on them", 1, 3_600
    )
    keeper_max_fee_gwei: int = count(50, "cap of maxFeePerGas", 1, 1_000_000)
    keeper_stop_max_fee_gwei: int = count(
        100, "cap of maxFeePerGas of a stop, which is worth more than a mark", 1, 1_000_000
    )
    keeper_watchdog_s: float = seconds(
        30.0, 2, 3_600, "without a sign of the tick for so long, the process ends"
    )
    keeper_metrics_port: int = metrics_port(
        "where the keeper serves its metrics, on HOST; 0: nowhere"
    )
    keeper_intent_retention_days: int = count(
        90, "finished intents and requests are kept so long", 1, 36_500
    )
    keeper_mark_retention_days: int = count(
        90, "older judgements are thinned out to the first of each day", 1, 36_500
    )

    # Database
    database_url: DatabaseUrl = Field(
        description="postgresql+psycopg://... of Postgres 15 or newer"
    )
    database_pooled_url: DatabaseUrl | None = optional(
        "the same database through PgBouncer (pool_mode transaction), for the API's short "
        "transactions; none: they use DATABASE_URL"
    )
    database_read_url: DatabaseUrl | None = optional(
        "replicas that answer the API's reads as soon as they have all that was "
        "committed; none: the primary answers"
    )
    database_read_wait_ms: int = count(
        50, "milliseconds that a read waits for a replica, then the primary answers it", 0, 1_000
    )
    database_read_lag_s: int = count(
        30, "seconds behind from which a replica is said to be in trouble", 1, 86_400
    )

    # Fund
    fund_credit_bonds: CreditBonds = Field(
        default={},
        description="accounts whose bond may be in credits, with how many: id:credits with commas",
    )

    # Scanner
    venues: Annotated[list[Annotated[str, AfterValidator(_venue)]], NoDecode, BY_COMMAS] = Field(
        default=["sim"],
        description="exchanges that the scanner reads, by their ids with commas; sim: simulated ones",
    )
    sim_listings: int = count(500, "pairs that the simulated exchanges list", 50, 20_000)
    bursts_at_once: int = count(
        4, "microburst captures of one exchange at the same time; 0: none", 0, 50
    )
    scanner_watchdog_s: int = count(
        120, "seconds without a sign of the scanner's loop until its process ends", 30, 3_600
    )

    # Sponsored buys
    gas_eth_usd: Decimal | None = Field(
        default=None,
        gt=0,
        le=1_000_000,
        decimal_places=6,
        description="what 1 ETH costs in USD: what exchanges are held against, or the price itself; "
        "none: it is not known, and no sponsored buy is quoted",
    )
    gas_eth_source: Literal["market", "fixed"] = Field(
        default="market",
        description="what gas is reckoned in USDC by: market, the median over exchanges, within half "
        "and twice GAS_ETH_USD; fixed, GAS_ETH_USD itself",
    )

    def model_post_init(self, context: Any) -> None:
        """Rules that span several settings. Errors: InvalidParameterError."""
        nodes = [_node(url) for url in self.rpc_urls]
        if len(set(nodes)) < len(nodes):
            place = next(nodes.index(node) + 1 for node in nodes if nodes.count(node) > 1)
            raise InvalidParameterError(
                "RPC_URLS",
                f"name each node once, however it is written; node {place} is listed twice, and "
                "a node cannot confirm itself",
            )
        for key in SIGN:
            for what, needed in MEANS_NOTHING_WITHOUT.items():
                if getattr(self, f"{key}_{what}", None) and not getattr(self, f"{key}_{needed}"):
                    raise InvalidParameterError(
                        f"{key}_{what}".upper(),
                        f"it means nothing without {key.upper()}_{needed.upper()}; set both or neither",
                    )
        # a spare gives a sign after two waits of a tick
        if self.keeper_watchdog_s < 2 * self.keeper_tick_s + 1:
            raise InvalidParameterError(
                "KEEPER_WATCHDOG_S",
                "write at least twice KEEPER_TICK_S and 1 s; else a process that waits is ended",
            )
        if self.indexer_watchdog_s < 3 * self.rpc_answer_s:
            raise InvalidParameterError(
                "INDEXER_WATCHDOG_S",
                "write at least three times RPC_ANSWER_S; else one slow answer ends the process",
            )

    def replica(self) -> ReplicaPlace | None:
        """None: there is none."""
        if self.database_read_url is None:
            return None
        return ReplicaPlace(
            self.database_read_url, self.database_read_wait_ms / 1000, self.database_read_lag_s
        )

    def custody_keys(self) -> tuple[bytes, ...]:
        """The keys that custodial keys are sealed with, the one for new seals first; empty: no
        custody.

        Errors: InvalidParameterError naming the variable, never a key.
        """
        if self.custody_key_file is not None:
            if self.custody_key is not None or self.custody_old_keys is not None:
                raise InvalidParameterError(
                    "CUSTODY_KEY_FILE", "set it, or CUSTODY_KEY and CUSTODY_OLD_KEYS, not both"
                )
            return _keys("CUSTODY_KEY_FILE", _lines_of(self.custody_key_file))
        if self.custody_key is None:
            if self.custody_old_keys is not None:
                raise InvalidParameterError(
                    "CUSTODY_OLD_KEYS", "set CUSTODY_KEY too, which new seals are made with"
                )
            return ()
        old = "" if self.custody_old_keys is None else self.custody_old_keys.get_secret_value()
        return _keys("CUSTODY_KEY", [self.custody_key.get_secret_value()]) + _keys(
            "CUSTODY_OLD_KEYS", split(old)
        )

    def deployment(self, *needed: str) -> Deployment:
        """Read the deployment record, which has to name the `needed` contracts.

        Errors: InvalidParameterError naming the variable when it can't be read, or is of another
        chain than CHAIN_ID.
        """
        try:
            found = _deployment(json.loads(self.deployment_file.read_text()))
        except FileNotFoundError:
            rule = f"{self.deployment_file} does not exist; run `make deploy NETWORK=...`"
            raise InvalidParameterError("DEPLOYMENT_FILE", rule) from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            rule = (
                f"{self.deployment_file} is not a deployment record ({type(error).__name__}: "
                f"{error}); run `make deploy NETWORK=...`"
            )
            raise InvalidParameterError("DEPLOYMENT_FILE", rule) from None
        missing = [name for name in needed if name not in found.contracts]
        if missing:
            rule = f"{self.deployment_file} names no {' and no '.join(missing)}; run `make deploy`"
            raise InvalidParameterError("DEPLOYMENT_FILE", rule)
        if found.chain_id != self.chain_id:
            rule = (
                f"it is {self.chain_id}, but the record in DEPLOYMENT_FILE is for chain "
                f"{found.chain_id}; make them agree"
            )
            raise InvalidParameterError("CHAIN_ID", rule)
        return found


def _deployment(raw: Any) -> Deployment:
    """Errors: KeyError, TypeError and ValueError for what is no record."""
    contracts = {
        contract["name"]: read_account(contract["address"]) for contract in raw["contracts"]
    }
    if type(raw["chain_id"]) is not int or type(raw["block"]) is not int or raw["block"] < 0:
        raise ValueError("chain_id and block are whole numbers")
    return Deployment(raw["chain_id"], raw["block"], str(raw["commit"]), contracts)
