"""What an operation is: one row of the catalogue, the command it takes and the service that answers.

A service is `def name(call: Call, caller: AgentCaller | OwnerCaller | ..., command: Command) -> Answer`. It raises Refusal
(or a MandateError of the domain) and never commits: `perform` (api/kernel/pipeline.py) owns the transaction.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from api.catalog import ROWS, Row
from api.kernel.metrics import Metrics
from api.kernel.payments.rails import Rails
from api.kernel.payments.used_up import UsedUp
from api.kernel.workers import CALLS, CALLS_OF_ONE, LARGE, LARGE_WAITING, SETTLING, SETTLING_OF_ONE, Workers
from core.chain.signer import DigestSigner
from core.custody.keys import KeyMaker
from core.db.engine import Database, WriteSession
from core.mandate.chain.reader import VaultReader


class Command(BaseModel):
    """Base of every command: path, query and body merged; unknown fields are refused; types are strict (no "5" for 5)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class NoInput(Command):
    """The command of a call that takes nothing."""


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is no JSON. `name`: what it is saved as, of A-Z a-z 0-9 . _ - alone."""

    media_type: str
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is JSON: no Decimal, no float; {"text": ...} on a row of another media type. `headers` are added and not replayed.

    `lines` go out instead of the body: text of whole lines, made while it is sent, after the call's own session has ended.
    `file` makes what a read answers instead of the body, after its session has ended; it may raise Refusal. Its media type is one
    that the row names in `also_as`.
    """

    body: Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    lines: Iterator[str] | None = None
    file: Callable[[], File] | None = None


@dataclass(frozen=True, slots=True)
class NextCall:
    """A call that fixes a refusal: a row of the catalogue, ids for its path and a valid body, if it needs one."""

    key: str
    ids: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class Refusal(Exception):
    """A call is refused; `reason` is a row of api.kernel.refusals.REASONS, `detail` one sentence that says what to do.

    `status` differs from the reason's own only where a decision says so. `remaining` and `missing` are JSON values,
    `retry_at` is aware UTC. `extra` adds top-level keys to the body (`recorded`, `codes`). `next_calls` names calls first to
    last; without it the reason's own list stands; ids of the refused call's path are filled in either way.
    `block` adds fields to the machine-readable block.
    `keeps_write`: what the service wrote before it raised is kept, and so is the call's idempotency key.
    """

    def __init__(
        self,
        reason: str,
        detail: str,
        *,
        status: int | None = None,
        remaining: Any = None,
        retry_at: datetime | None = None,
        missing: Any = None,
        extra: Mapping[str, Any] | None = None,
        next_calls: tuple[str | NextCall, ...] | None = None,
        headers: Mapping[str, str] | None = None,
        keeps_write: bool = False,
        block: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.status = status
        self.remaining = remaining
        self.retry_at = retry_at
        self.missing = missing
        self.extra = dict(extra or {})
        self.next_calls = next_calls
        self.headers = dict(headers or {})
        self.keeps_write = keeps_write
        self.block = dict(block or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Figures that the specification names and settings may change (decisions 16, 18, 53)."""

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
    # The specification names these without a figure (decisions 18); GET /prices shows them.
    new_account_payout_credits_per_day: int = 200
    rooms_payout_credits_per_day: int = 1_000
    rooms_payout_credits_per_person_per_day: int = 100
    targets_tier_1: int = 20
    targets_tier_2: int = 100
    body_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """What create_app is given. `contracts` has stack.json's names. `clock` gives aware UTC. `is_local`: every node runs here.

    `rails` None: payments in USDC are not set up, free reads and credits work.
    `workers` serve the calls, since services wait for database and chain: `large` those with large bodies, whose work is done beside
    the others', `settling` what payments wait for. create_app shuts them down.
    """

    database: Database
    chain: VaultReader
    chain_id: int
    base_url: str
    contracts: Mapping[str, str]
    pepper: bytes
    clock: Callable[[], datetime]
    limits: Limits = field(default_factory=Limits)
    operator_addresses: frozenset[str] = frozenset()
    trusted_proxies: tuple[str, ...] = ()
    is_local: bool = False
    metrics: Metrics
    rails: Rails | None = None
    workers: Workers = field(default_factory=lambda: Workers(CALLS, CALLS_OF_ONE))
    large: Workers = field(default_factory=lambda: Workers(LARGE, 1, "large", LARGE_WAITING))
    settling: Workers = field(default_factory=lambda: Workers(SETTLING, SETTLING_OF_ONE, "settling"))
    custody: KeyMaker | None = None  # None: starter wallets are off
    guard: DigestSigner | None = None  # None: vaults can't pay for web resources
    used_up: UsedUp = field(default_factory=UsedUp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as a service sees it. `now` is the call's one time; `client` the caller's network address, IPv6 by /64.

    On a GET `db` is one snapshot that the database itself keeps read-only (core.db.engine.ReadSession).
    """

    db: WriteSession
    now: datetime
    deps: Deps
    request_id: str
    client: str


Service = Callable[[Call, Any, Any], Answer]


@dataclass(frozen=True, slots=True)
class Operation:
    """`key` names a row of the catalogue. `answer_type` documents the answer in OpenAPI; it does not shape it.

    `refuses`: the reasons that the service itself refuses with; what the kernel refuses follows from the row
    (api.kernel.reasons). A reason that an answer names and this does not is a defect, and tests look for it.
    `in_turn`: calls of one network address are served one by one, since they wait for one lock.
    """

    key: str
    command_type: type[Command]
    service: Service
    answer_type: type[BaseModel] | None = None
    refuses: tuple[str, ...] = ()
    in_turn: bool = False

    @property
    def row(self) -> Row:
        return ROWS[self.key]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What goes out, by HTTP or as a tool's result."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    media_type: str = "application/json"  # of another one the body is {"text": ...}, or there are lines
    lines: Iterator[str] | None = None
    file: File | None = None
