"""What an operation is, declared once: its call, who may make it, what it takes and answers, the
handler and its refusals.

    AREA (api/areas/<area>/operations.py) --> Catalogue (found by folder: api/catalogue.py) --> routes, tools, OpenAPI, next calls

A handler is `def name(call: ReadCall | WriteCall, caller: AgentCaller | OwnerCaller | ..., command:
Command) -> Answer`. It raises Refusal (or a MandateError of a context's rules) and never commits:
`perform` (api/kernel/pipeline.py) owns the transaction. Its types are the declaration of what a call
takes and answers; mypy refuses one of another caller, and one that writes in a read.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from functools import cache
from threading import Lock
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Protocol,
    Self,
    TypeVar,
    get_args,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection

from api.kernel.auth import Auth
from api.kernel.built import BuiltBody
from api.kernel.caller import Caller
from api.kernel.left_out import NullLeavesOut
from api.kernel.limits import Limits
from api.kernel.metrics import ApiMetrics
from api.kernel.outcome import EVENT_STREAM, JSON, File, Outcome
from api.kernel.tokens import TokenKind, mint
from api.kernel.tool import Tool
from api.kernel.workers import Pools
from core.credits.rules.prices import Price
from core.db.engine import Database, ReadSession, WriteSession

if TYPE_CHECKING:
    # made of operations, or of a context
    from api.kernel.catalogue import Catalogue
    from api.kernel.sale import MeteredRead, OneSale
    from api.kernel.streams import StreamPlace
    from core.mandate.chain.reader import VaultReader


class Command(NullLeavesOut):
    """Base of every command and its objects: path, query, body merged; strict types (no "5" for 5)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class NoInput(Command):
    """Of a call that takes nothing."""


def _as_published(schema: dict[str, Any]) -> None:
    """Open to further fields, and described in lines as long as their paragraphs. What is left out
    is not there: it has no default.
    """
    schema.pop("additionalProperties", None)
    for one in schema.get("properties", {}).values():
        one.pop("default", None)
    if "description" in schema:
        paragraphs = schema["description"].split("\n\n")
        schema["description"] = "\n\n".join(" ".join(text.split()) for text in paragraphs)


class AnswerBody(BaseModel):
    """Base of every answer. A handler may set no field that is not declared, and OpenAPI still says
    that a version may add some.

    What is left unset is left out: a field with a default is there only where it says something.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra=_as_published)

    @classmethod
    def of(cls, row: object, **given: Any) -> Self:
        """What is given, and the other fields as `row` has them by the same names; a field with a
        default is there only if it is given.
        """
        wanted = [name for name, field in cls.model_fields.items() if field.is_required()]
        same = {name: getattr(row, name) for name in wanted if name not in given}
        return cls(**same | given)


class Text(AnswerBody):
    """An answer of another media type than JSON; a tool gets it as this object."""

    text: str


class Lines(AnswerBody):
    """An answer that is streamed, line by line."""


class Events(AnswerBody):
    """An answer that goes on: server-sent events (api/kernel/streams.py)."""


PartT = TypeVar("PartT")
AnswerT = TypeVar("AnswerT", bound=BaseModel, covariant=True)


@dataclass(frozen=True, slots=True)
class Answer(Generic[AnswerT]):
    """`body`: what is answered, as its type declares it, or built as that. `headers` are added and not
    replayed.

    `lines` go out instead of the body: text of whole lines, made while it is sent, after the call's
    own session has ended. `file` makes what a read answers instead of the body, after its session
    has ended; it may raise Refusal. Its media type is one that the row names in `also_as`.
    `events`: where the stream begins that goes out instead of the body. `sale`: what is sold once.
    """

    body: AnswerT | BuiltBody[AnswerT]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    lines: Iterator[str] | None = None
    file: Callable[[], File] | None = None
    events: "StreamPlace | None" = None
    sale: "OneSale | None" = None


@dataclass(frozen=True, slots=True)
class NextCall:
    """A call that fixes a refusal: an operation's key, ids for its path, a valid body if it needs
    one, and the credits that this body costs (None: the operation's price).
    """

    key: str
    ids: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    cost: int | None = None


@dataclass(eq=False, repr=False)
class Refusal(Exception):
    """A call is refused; `reason` is one of the catalogue's reasons, `detail` one sentence that
    says what to do.

    `status` differs from the reason's own only where a decision says so. `remaining` and `missing`
    are JSON values, `retry_at` is aware UTC. `extra` adds top-level keys to the body (`recorded`,
    `codes`). `next_calls` names calls first to last; without it the reason's own list applies; ids
    of the refused call's path are filled in either way. `block` adds fields to the machine-readable
    block.
    `keeps_write`: what the service wrote before it raised is kept. `keeps_key`: so is the refusal
    itself, as the answer to the call's idempotency key; without it the key is free again.
    """

    reason: str
    detail: str
    _: KW_ONLY
    status: int | None = None
    remaining: Any = None
    retry_at: datetime | None = None
    missing: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    next_calls: tuple[str | NextCall, ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    keeps_write: bool = False
    keeps_key: bool = False
    block: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.detail)


class Parts:
    """What an application holds beside what every call needs, by its type: what the settings of an area
    decide, and what an area keeps. The kernel knows none of them by name.

    Threads may share it. What it was not given is made at the first `of`, by its defaults.
    """

    def __init__(self, *given: object) -> None:
        self._held: dict[type, Any] = {type(part): part for part in given if part is not None}
        self._lock = Lock()

    def find(self, kind: type[PartT]) -> PartT | None:
        """None: it is not set up."""
        return self._held.get(kind)

    def of(self, kind: type[PartT]) -> PartT:
        with self._lock:
            if kind not in self._held:
                self._held[kind] = kind()
            return self._held[kind]  # type: ignore[no-any-return]  # held by its type

    def having(self, kind: type[PartT], part: PartT | None) -> "Parts":
        """The same with another one of this kind, or without any."""
        found = Parts()
        found._held = {**self._held, kind: part}
        if part is None:
            del found._held[kind]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """What create_app is given.

    `contracts` has stack.json's names. `clock` gives aware UTC. `workers` serve the calls, since
    services wait for database and chain; create_app shuts them down. `parts`: what areas bring.
    """

    catalogue: "Catalogue"
    database: Database
    chain: "VaultReader"
    chain_id: int
    base_url: str
    contracts: Mapping[str, str]
    pepper: bytes
    clock: Callable[[], datetime]
    limits: Limits = field(default_factory=Limits)
    metrics: ApiMetrics
    workers: Pools = field(default_factory=Pools)
    parts: Parts = field(default_factory=Parts)

    def with_part(self, kind: type[PartT], part: PartT | None) -> "Deps":
        return replace(self, parts=self.parts.having(kind, part))


@dataclass(frozen=True, slots=True)
class Access:
    """Who is believed: wallets whose sign-in makes an operator (lower case), and proxies that name the
    address they call for. `is_local`: every node runs here.
    """

    operator_addresses: frozenset[str] = frozenset()
    trusted_proxies: tuple[str, ...] = ()
    is_local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as a handler sees it.

    `now` is the call's one time; `client` the caller's network address, IPv6 by /64.
    """

    db: ReadSession | WriteSession
    now: datetime
    deps: Deps
    request_id: str
    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall(Call):
    """`db` is one snapshot that the database itself keeps read-only."""

    db: ReadSession


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall(Call):
    """What is written to `db` is committed when the call is answered, or not at all. `mint` makes a
    new secret of a kind, once each. `keeps_answer`: so that what is written belongs into `db`, with it.
    """

    db: WriteSession
    keeps_answer: bool = True
    mint: Callable[[TokenKind], str] = mint

    @contextmanager
    def runs(self) -> Iterator[Connection]:
        """Where a statement runs that is all that the call writes: by itself, with no transaction around
        it, or in that of the answer which is kept with it.
        """
        if self.keeps_answer:
            self.db.flush()
            yield self.db.connection()
            return
        with self.deps.database.statements() as connection:
            yield connection


class Family(StrEnum):
    """Which rules of refusal apply: wallet routes carry the block and `scope_denied`, core ones
    `agent_key_scope`.
    """

    CORE = "core"
    WALLET = "wallet"


CallerT = TypeVar("CallerT", bound=Caller)
CommandT = TypeVar("CommandT", bound=Command)
BodyT = TypeVar("BodyT", bound=BaseModel)
SoldT = TypeVar("SoldT", bound=Command, contravariant=True)

Settle = Callable[[], Outcome]
"""What is left of a call that a payment covers: look it up or settle it, which waits for a chain,
and serve.
"""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How long anyone may keep an answer that no credential was sent for, and, `private_max_age_s`,
    the caller that a credential was sent for; None: not at all. `keeps`: we do too
    (kept_answers.py).
    """

    max_age_s: int
    private_max_age_s: int | None = None
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class CallBounds:
    """`in_turn`: calls of one network address are served one by one, since they wait for one lock.
    `asks_nothing`: its handler asks neither database nor chain, so that a call without a credential
    needs no thread. `per_minute`: which of Limits bounds the calls of a network address without a
    key, all operations that name it together (over_rate.py). `adds_rows`: an owner's have a
    ceiling a UTC day; no way out does.
    """

    in_turn: bool = False
    asks_nothing: bool = False
    per_minute: str | None = None
    adds_rows: bool = False


class ShownSecrets(Enum):
    """To whom an answer has new secrets, which the same call with the same key gets again for a
    while: whoever calls from the network address of the first call, where no credential was sent; or
    whoever can send its body, which holds a secret or a signature.
    """

    TO_ADDRESS = auto()
    TO_SENDER = auto()


class Sold(Protocol[SoldT]):
    """What a read is charged by. `is_there`: whether there is something at this path, so that nobody
    pays for what is not there.
    """

    @property
    def price(self) -> Price: ...

    def is_there(self, command: SoldT, /) -> bool: ...

    def charged(self, read: "MeteredRead", outcome: Outcome) -> Outcome | Settle:
        """The outcome once it is paid; what is left to do, where that waits for a chain.

        Errors: Refusal, OutsideError.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """One call. `path` has {names} that are fields of the command; {path} matches several segments.
    What it takes and answers, its handler says: by the types of its last parameter and its result.

    `key` is `<area>.<verb>`. `refuses`: the reasons that the handler itself refuses with; what the
    kernel refuses follows from the operation (api.kernel.reasons). A reason that an answer names
    and this does not is a defect, and tests look for it. `sold`: of a read that is charged for.
    `media`: the media type of a plain success, then those that the query `format` asks for instead;
    the answer of another one than JSON is lines, or the body {"text": ...}. `statuses`: of a plain
    success, then others that are no refusal. `block`: every refusal carries the machine-readable
    object; without it a core refusal is a sentence alone, but for 401, 402 and 429. `example`: a
    valid body, used in next calls and OpenAPI. `idempotent`: takes Idempotency-Key.
    `more`: what the summary has no room for, in OpenAPI.
    """

    key: str
    method: str
    path: str
    auth: Auth[Caller]
    summary: str
    handler: Callable[[Any, Any, Any], Answer[BaseModel]]
    family: Family = Family.CORE
    scope: str | None = None
    block: bool = True
    example: Mapping[str, Any] | None = None
    idempotent: bool = False
    secrets: ShownSecrets | None = None
    sold: Sold[Any] | None = None
    media: tuple[str, ...] = (JSON,)
    statuses: tuple[int, ...] = (200,)
    cache: CachePolicy | None = None
    bounds: CallBounds = CallBounds()
    tool: Tool | None = None
    more: str | None = None
    refuses: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        return self.key.partition(".")[0]

    @property
    def command(self) -> type[Command]:
        return _declared(self.handler)[0]

    @property
    def answer(self) -> type[BaseModel]:
        return _declared(self.handler)[1]

    @property
    def price_credits(self) -> int:
        """0: nothing is charged."""
        return 0 if self.sold is None else self.sold.price.credits or 0

    @property
    def streams(self) -> bool:
        """Whether it is answered with server-sent events."""
        return self.media[0] == EVENT_STREAM

    @property
    def takes_body(self) -> bool:
        """Whether the command has required fields that the path does not fill, so that a call
        without a body fails.
        """
        return self.method in ("POST", "PUT") and any(
            field.is_required() and f"{{{name}}}" not in self.path
            for name, field in self.command.model_fields.items()
        )


@cache
def _declared(handler: Callable[..., Any]) -> tuple[type[Command], type[BaseModel]]:
    """The command that a handler takes, and the body of its answer."""
    *_, command, answer = get_type_hints(handler).values()
    return command, get_args(answer)[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Read(Operation, Generic[CallerT, CommandT, BodyT]):
    """A GET: its handler gets a session that cannot write."""

    method: str = "GET"
    auth: Auth[CallerT]
    handler: Callable[[ReadCall, CallerT, CommandT], Answer[BodyT]]
    sold: Sold[CommandT] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Write(Operation, Generic[CallerT, CommandT, BodyT]):
    """A POST, a PUT that replaces, or a DELETE."""

    method: str = "POST"
    auth: Auth[CallerT]
    handler: Callable[[WriteCall, CallerT, CommandT], Answer[BodyT]]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a call is refused.

    `retry_safe`: the same request can succeed later unchanged, as it can whenever a refusal has a
    time. `who_fixes`: caller, agent, owner or service. `next_calls`: keys of operations that fix it.
    `example`: the sentence that OpenAPI shows.
    """

    status: int
    retry_safe: bool = False
    who_fixes: str = "caller"
    next_calls: tuple[str, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """What a folder of api/areas adds to the service.

    `about`: one sentence. `reasons`: those that no other area refuses with. `capabilities`: what the
    discovery document lists.
    """

    name: str
    about: str
    operations: tuple[Operation, ...]
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
